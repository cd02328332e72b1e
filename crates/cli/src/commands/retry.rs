//! `tl retry`: the last turn once more, on the person's word.

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::follow::{Aim, follow};
use crate::interrupt::Interrupt;
use crate::task_change;

/// Run a task's last turn again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Return at once instead of watching
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let mut interrupt = Interrupt::listen()?;
    let order = context.tell(async |client| Ok(client.retry(&args.key).await?));
    let change = interrupt.or(order).await.map_err(|failure| failure.about(&args.key))?;
    let output = context.output;
    if args.detach {
        return task_change::print(&context, &change, Locale::runs_again).await;
    }
    if !output.is_json() {
        task_change::print(&context, &change, Locale::runs_again).await?;
    }
    let aim = Aim::newest(&change.task, None, change.cursor)?;
    follow(&context, aim, interrupt).await
}
