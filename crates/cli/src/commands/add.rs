//! `tl add`: a second agent under the same task. It replaces nothing.

use std::ffi::OsString;

use throughline_api::task::AddExecution;

use super::{Context, say};
use crate::failure::Outcome;
use crate::role::RoleArg;
use crate::safe_text::safe_line;
use crate::task_change;
use crate::timeline_view::role_word;

/// Add an agent to a task, in a role
///
/// In a worktree of its own (`--worktree`) it writes while the others do; `tl take KEY --agent A` brings its changes into the
/// task's folder, `tl discard KEY --agent A` is done with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Which agent
    #[arg(long, value_name = "A")]
    agent: String,
    /// As what
    #[arg(long, value_name = "R")]
    role: RoleArg,
    /// In a worktree of its own
    #[arg(long)]
    worktree: bool,
    /// What it is to do first; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    text: Vec<OsString>,
    /// Return at once instead of watching
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let add = AddExecution { agent: args.agent.clone(), role: args.role.into(), worktree: args.worktree };
    let change = context.tell(async |client| Ok(client.add_execution(&args.key, &add).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    let locale = context.locale().await?;
    let mut done = locale.joined(&add.agent, role_word(locale, add.role));
    if let Some(read_only) = &change.read_only {
        let held =
            if read_only.enforced_by.is_some() { locale.read_only_enforced() } else { locale.read_only_not_enforced() };
        done = locale.both(done, held);
    }
    let added = change.task.executions.last().map(|execution| execution.id);
    let own = change.task.worktrees.iter().find(|own| Some(own.execution) == added);
    if let Some(own) = own {
        done.push_str(&format!(", in {}", safe_line(&own.root)));
    }
    if args.text.is_empty() {
        return task_change::print(&context, &change, |_| done).await;
    }
    // A stream of documents has no place for a line of its own: the timeline has it.
    if !context.output.is_json() {
        task_change::print(&context, &change, |_| done).await?;
    }
    say::run(context, say::Args::to(args.key, added, args.text, args.detach)).await
}
