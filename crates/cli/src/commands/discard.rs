//! `tl discard`: be done with a fork, or with a worktree. What was in its folder is kept.

use super::Context;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::safe_line;

/// Be done with a fork, or with an agent's worktree: remove its folder, and close the task that worked there
///
/// Nothing is lost: its files are kept as a checkpoint, and come back when something is said to it. A folder
/// that holds what cannot be kept (commits on no branch, or too much) stays, and it is said where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Whose worktree, where several agents of the task have one
    #[arg(long, value_name = "A")]
    agent: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let discarded = context.tell(async |client| Ok(client.discard(&args.key, args.agent.as_deref()).await?)).await;
    let discarded = discarded.map_err(|failure| failure.about(&args.key))?;
    output.document(&discarded, || {
        let key = safe_line(&args.key);
        let state = if discarded.closed { "closed" } else { "it goes on without what was done apart" };
        let Some(why) = &discarded.stays else {
            let back = match discarded.closed {
                true => format!("tl reopen {key} brings all of it back\n"),
                false => "what is said to its agent next brings all of it back\n".to_owned(),
            };
            let back = output.paint(Style::Faint, &back);
            return format!("{key}: {state}, and the folder is gone\n{back}");
        };
        let hint = discarded.hint.as_deref().unwrap_or("look at what is in it");
        format!("{key}: {state}; {}\n{}\n", safe_line(why), output.paint(Style::Faint, &safe_line(hint)))
    })
}
