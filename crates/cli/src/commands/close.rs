//! `tl close`: the person is done with a task; any follow-up reopens it.

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::task_change;

/// Be done with a task; saying something to it reopens it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Put it away: what is large about it goes after a while (see `tl gc`)
    #[arg(long)]
    archive: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let change = context
        .tell(async |client| {
            Ok(if args.archive { client.archive(&args.key).await? } else { client.close(&args.key).await? })
        })
        .await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    let done = if args.archive { Locale::archived } else { Locale::closed };
    task_change::print(&context, &change, done).await
}
