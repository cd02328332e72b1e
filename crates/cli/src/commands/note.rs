//! `tl note`: words that go along with a task, or with every task of a project, into every handoff.

use std::ffi::OsString;

use throughline_api::task::PinNote;

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::message_content;
use crate::safe_text::safe_line;
use crate::task_change;

/// Pin a note to a task or a project: every agent that takes it on gets to read it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pin it to this project, and so to all of its tasks
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Which task; left out with --project
    #[arg(value_name = "KEY")]
    key: OsString,
    /// The words; `-` reads them from stdin
    #[arg(required_unless_present = "project", value_name = "TEXT")]
    text: Vec<OsString>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let Args { project, key, mut text } = args;
    if let Some(project) = &project {
        text.insert(0, key);
        let note = PinNote { text: message_content::text(&text)? };
        let pinned = context.tell(async |client| Ok(client.pin_project_note(project, &note).await?)).await?;
        return context.output.document(&pinned, || format!("{}: noted\n", safe_line(&pinned.project.name)));
    }
    let key = key.to_string_lossy();
    let note = PinNote { text: message_content::text(&text)? };
    let change = context.tell(async |client| Ok(client.pin_note(&key, &note).await?)).await;
    let change = change.map_err(|failure| failure.about(&key))?;
    task_change::print(&context, &change, Locale::noted).await
}
