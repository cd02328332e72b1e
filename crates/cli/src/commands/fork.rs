//! `tl fork`: another way from where a task stands, in a workspace of its own.

use std::ffi::OsString;

use throughline_api::event::Frame;
use throughline_api::task::{TaskChange, TaskRef};
use throughline_api::timeline::EntryBody;
use throughline_api::workspace::ForkTask;
use throughline_model::present::Locale;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::follow::{Aim, follow};
use crate::interrupt::Interrupt;
use crate::message_content;
use crate::output::Style;
use crate::safe_text::{safe_glance, safe_line};
use crate::timeline_view::change_end;
use crate::watch::Watch;

/// Try another way from where a task stands, in a workspace of its own
///
/// The fork is a task of its own with the same agent, unless another is named, and a worktree that begins
/// with the files as they are now, or were after a turn. tl compare, tl take and tl discard go on from there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// What to say to the fork first; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    text: Vec<OsString>,
    /// As it was after this turn: its number or id
    #[arg(long, value_name = "T")]
    turn: Option<String>,
    /// With this agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Return at once instead of watching
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let text = if args.text.is_empty() { None } else { Some(message_content::text(&args.text)?) };
    let mut interrupt = Interrupt::listen()?;
    let wanted = ForkTask { turn: args.turn, agent: args.agent, text };
    let order = context.tell(async |client| Ok(client.fork(&args.key, &wanted).await?));
    let change = interrupt.or(order).await.map_err(|failure| failure.about(&args.key))?;
    let output = context.output;
    output.json(&change)?;
    let summary = &change.task.summary;
    let key = safe_line(&summary.key).into_owned();
    let line = format!("{key} *{}*: forked from {}", safe_glance(&summary.title, 60), safe_line(&args.key));
    output.line(&format!("{line}, in {}", safe_line(&change.task.root)))?;
    if args.detach {
        return Ok(());
    }
    tokio::select! {
        ready = ready(&context, &change) => ready?,
        () = interrupt.pressed() => return Ok(()),
    }
    if wanted.text.is_none() {
        return output.line(&output.paint(Style::Faint, &format!("tl say --task {key} … goes on there")));
    }
    let aim = Aim::newest(&change.task, None, change.cursor)?;
    follow(&context, aim, interrupt).await
}

/// Waits until the workspace is prepared, and says what is worth knowing about it.
async fn ready(context: &Context, change: &TaskChange) -> Outcome {
    let summary = &change.task.summary;
    let task = TaskRef { id: summary.id, key: summary.key.clone() };
    let mut watch = Watch::new(context, &task, Some(change.cursor.clone()));
    loop {
        let Frame::Entry(entry) = watch.next().await? else { continue };
        let EntryBody::WorkspaceChangeEnded { kept, notes, failure, .. } = &entry.body else { continue };
        if let Some(why) = failure {
            let hint = format!("`tl discard {}`, then fork again", summary.key);
            return Err(Failure::new("fork_failed", format!("its workspace was not prepared: {why}")).hint(hint));
        }
        return match change_end(context.output, Locale::En, kept, notes) {
            Some(text) => context.output.line(&text),
            None => Ok(()),
        };
    }
}
