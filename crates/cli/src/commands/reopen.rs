//! `tl reopen`: go on with a closed task.

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::task_change;

/// Go on with a task that was closed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let change = context.tell(async |client| Ok(client.reopen(&args.key).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    task_change::print(&context, &change, Locale::reopened).await
}
