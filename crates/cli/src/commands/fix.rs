//! `tl fix`: what a reviewer, tester or researcher found goes to the editor.

use super::{Context, say};
use crate::failure::Outcome;
use crate::interrupt::Interrupt;

/// Have the editor mend what the others found
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
    let interrupt = Interrupt::listen()?;
    let after = context.ask(async |client| Ok(client.status().await?.cursor)).await?;
    // The same findings are sent once, however often this is asked.
    let sent = context.ask(async |client| Ok(client.send_findings(&args.key).await?)).await;
    let sent = sent.map_err(|failure| failure.about(&args.key))?;
    say::shown(&context, sent, after, args.detach, interrupt).await
}
