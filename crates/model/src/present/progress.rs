//! Progress: what the message says by which a chat follows work. Which task, how far it is, and the last step: a few
//! short lines, and one when the work is over.

use super::locale::Locale;
use super::{cut, fit, glance};
use crate::ids::TurnId;
use crate::item::{ToolCall, ToolStatus};
use crate::plan::PlanStatus;
use crate::task::Task;
use crate::time::Timestamp;
use crate::turn::TurnOutcome;

/// So much of a title, a step of the plan or a call is shown.
const LINE_CHARS: usize = 80;

/// How far work is that began at this time. Words in `*stars*` are a title, words in backticks are typed.
#[must_use]
pub fn progress(locale: Locale, task: &Task, call: Option<&ToolCall>, since: Timestamp, now: Timestamp) -> String {
    let stands = glance::words(locale, task);
    let mut lines = vec![
        format!("⏳ {}", named(task)),
        match now.millis_since(since) / 60_000 {
            0 => stands,
            minutes => locale.for_minutes(stands, minutes),
        },
    ];
    let step = task.plan.entries.iter().find(|entry| entry.status == PlanStatus::InProgress);
    lines.extend(step.map(|step| format!("▸ {}", fit(&step.content, LINE_CHARS))));
    lines.extend(call.map(|call| {
        let mark = match call.status {
            ToolStatus::Pending | ToolStatus::InProgress => "…",
            ToolStatus::Completed => "✓",
            ToolStatus::Failed => "✗",
        };
        format!("{mark} `{}`", fit(&call.title, LINE_CHARS).replace('`', "'"))
    }));
    cut(lines.join("\n"), glance::MAX_CHARS * 2)
}

/// How work ended that this turn led on and that began at this time; none if the record does not say any more.
#[must_use]
pub fn worked(locale: Locale, task: &Task, turn: TurnId, since: Timestamp) -> Option<String> {
    let ended = task.executions.iter().filter_map(|execution| execution.past.last.as_ref());
    let last = ended.into_iter().find(|last| last.id == turn)?;
    let mark = match last.outcome {
        TurnOutcome::Completed { .. } => "✓",
        TurnOutcome::Cancelled
        | TurnOutcome::Failed { .. }
        | TurnOutcome::Unknown { .. }
        | TurnOutcome::Interrupted { .. } => "✗",
    };
    let took = locale.took(last.at.millis_since(since));
    let mut line =
        format!("{mark} {}", locale.because(named(task), locale.worked(locale.outcome(&last.outcome), took)));
    if let Some((done, total)) = task.plan.progress() {
        line = format!("{line}{}{}", locale.comma(), locale.steps_done(done, total));
    }
    Some(line)
}

fn named(task: &Task) -> String {
    format!("{} *{}*", fit(&task.key, glance::NAME_CHARS), fit(&task.title, LINE_CHARS).replace('*', ""))
}
