//! `tl discard`: be done with a fork. What was in its folder is kept.

use super::Context;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::safe_line;

/// Be done with a fork: close it and remove its folder
///
/// Nothing is lost: its files are kept as a checkpoint, and come back when something is said to it. A folder
/// that holds what cannot be kept (commits on no branch, or too much) stays, and it is said where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which fork
    #[arg(value_name = "KEY")]
    key: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let discarded = context.tell(async |client| Ok(client.discard(&args.key).await?)).await;
    let discarded = discarded.map_err(|failure| failure.about(&args.key))?;
    output.document(&discarded, || {
        let key = safe_line(&args.key);
        let Some(why) = &discarded.stays else {
            let back = output.paint(Style::Faint, &format!("tl reopen {key} brings all of it back\n"));
            return format!("{key}: closed, and its folder is gone\n{back}");
        };
        let hint = discarded.hint.as_deref().unwrap_or("look at what is in it");
        format!("{key}: closed; {}\n{}\n", safe_line(why), output.paint(Style::Faint, &safe_line(hint)))
    })
}
