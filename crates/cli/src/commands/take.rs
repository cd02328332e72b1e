//! `tl take`: a fork's changes come home.

use super::Context;
use super::restore::files;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::safe_line;

/// Bring a fork's changes into the workspace that it was forked from, and be done with the fork
///
/// Three-way: what only the fork changed comes in. If both changed the same in different ways, nothing is
/// changed and the files are named. The state before is kept first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which fork
    #[arg(value_name = "KEY")]
    key: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let taken = context.tell(async |client| Ok(client.take(&args.key).await?)).await;
    let taken = taken.map_err(|failure| failure.about(&args.key))?;
    output.document(&taken, || {
        let into = safe_line(&taken.into.key);
        let mut text = format!("{}: its changes are in {into} now, and it is closed\n", safe_line(&args.key));
        text.push_str(&files(&taken.files));
        for kept in &taken.kept {
            text.push_str(&output.paint(Style::Warn, &format!("  left as it is: {}\n", safe_line(kept))));
        }
        let undo = format!("tl restore {into} --undo brings back what was there before\n");
        text.push_str(&output.paint(Style::Faint, &undo));
        text
    })
}
