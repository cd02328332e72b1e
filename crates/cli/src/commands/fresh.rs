//! `tl fresh`: the next turn starts without the agent's context; the task stays.

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::task_change;

/// Drop the agent's context; the task, its plan and its notes stay
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let change = context.tell(async |client| Ok(client.fresh(&args.key).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    task_change::print(&context, &change, Locale::starts_over).await
}
