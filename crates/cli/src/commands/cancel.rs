//! `tl cancel`: stop the running turn; the task and its session stay.

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::task_change;

/// Stop what runs on a task; what was done stays
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let change = context.tell(async |client| Ok(client.cancel(&args.key).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    task_change::print(&context, &change, Locale::told_to_stop).await
}
