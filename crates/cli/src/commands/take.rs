//! `tl take`: the changes of a fork, or of a worktree, come home.

use super::Context;
use super::restore::files;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::safe_line;

/// Bring the changes of a fork, or of an agent's worktree, into the folder that it comes from
///
/// Three-way: what only was changed there comes in. The fork is closed, and its folder goes if nothing is lost by that. If both changed the same in different ways, nothing is
/// changed and the files are named. The state before is kept first.
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
    let taken = context.tell(async |client| Ok(client.take(&args.key, args.agent.as_deref()).await?)).await;
    let taken = taken.map_err(|failure| failure.about(&args.key))?;
    output.document(&taken, || {
        let into = safe_line(&taken.into.key);
        let mut text = match into == args.key {
            true => format!("{into}: what was done apart is in its folder now\n"),
            false => format!("{}: its changes are in {into} now, and it is closed\n", safe_line(&args.key)),
        };
        text.push_str(&files(&taken.files));
        for kept in &taken.kept {
            text.push_str(&output.paint(Style::Warn, &format!("  left as it is: {}\n", safe_line(kept))));
        }
        let undo = format!("tl restore {into} --undo brings back what was there before\n");
        text.push_str(&output.paint(Style::Faint, &undo));
        text
    })
}
