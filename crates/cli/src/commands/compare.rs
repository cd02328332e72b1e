//! `tl compare`: two forks, or a fork and its source, side by side.

use throughline_api::workspace::ComparedTask;

use super::Context;
use super::restore::files;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::{safe, safe_line};

/// Compare two forks of one task, or a fork with its source
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The one
    #[arg(value_name = "KEY")]
    left: String,
    /// The other
    #[arg(value_name = "KEY")]
    right: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let compared = context.ask(async |client| Ok(client.compare(&args.left, &args.right).await?)).await;
    let compared = compared.map_err(|failure| failure.about(&args.left))?;
    output.document(&compared, || {
        let side = |task: &ComparedTask| {
            let title = format!("{} changed since they parted:", safe_line(&task.key));
            format!("{}\n{}", output.paint(Style::Strong, &title), files(&task.changed))
        };
        let mut text = side(&compared.left) + &side(&compared.right);
        let title = format!("from {} to {}:", safe_line(&compared.left.key), safe_line(&compared.right.key));
        text.push_str(&output.paint(Style::Strong, &title));
        text.push('\n');
        if compared.between.is_empty() {
            text.push_str("  nothing differs\n");
        }
        for diff in &compared.between {
            match &diff.patch {
                Some(patch) => text.push_str(&safe(patch)),
                None => text.push_str(&files(std::slice::from_ref(&diff.file))),
            }
        }
        text
    })
}
