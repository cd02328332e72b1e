//! `tl note`: words that go along with a task, into every handoff.

use std::ffi::OsString;

use throughline_api::task::PinNote;

use super::Context;
use crate::failure::Outcome;
use crate::message_content;
use crate::task_change;

/// Pin a note to a task: every agent that takes it on gets to read it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// The words; `-` reads them from stdin
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<OsString>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let text = message_content::text(&args.text)?;
    let note = PinNote { text };
    let change = context.tell(async |client| Ok(client.pin_note(&args.key, &note).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    task_change::print(context.output, &change, "noted")
}
