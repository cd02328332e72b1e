//! `tl retry`: the last turn once more, on the person's word.

use throughline_api::task::{Task, TaskRef};
use uuid::Uuid;

use super::Context;
use crate::failure::{Failure, Outcome};
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
        return task_change::print(output, &change, "runs again");
    }
    if !output.is_json() {
        task_change::print(output, &change, "runs again")?;
    }
    let (input, turn) = requested(&change.task).ok_or_else(|| {
        Failure::new("internal", "the turn that was asked for is not there").hint(format!("tl show {}", args.key))
    })?;
    let aim = Aim {
        task: TaskRef { id: change.task.summary.id, key: change.task.summary.key.clone() },
        input,
        turn,
        after: change.cursor,
    };
    follow(&context, aim, interrupt).await
}

/// The input that runs again, and its turn if it is one already; the newest if it was that quick.
pub(super) fn requested(task: &Task) -> Option<(Uuid, Option<Uuid>)> {
    let execution = task.executions.iter().find(|execution| execution.primary)?;
    let active = execution.active_turn.as_ref();
    let queued = execution.queue.first();
    let last = execution.last_turn.as_ref();
    active
        .map(|turn| (turn.input, Some(turn.id)))
        .or_else(|| queued.map(|queued| (queued.input, None)))
        .or_else(|| last.map(|turn| (turn.input, Some(turn.id))))
}
