//! Presentation: pure renderings of the record. Today the glance; card and timeline join it with the three views.

use crate::execution::Activity;
use crate::task::{Lifecycle, Task};
use crate::view::TaskRow;

/// One line about a task: "Codex is waiting for approval: `cargo test`".
#[must_use]
pub fn glance(task: &Task) -> String {
    let agent = task.primary().map_or("the agent", |execution| execution.agent.as_str());
    let asked = task.approvals.pending.first().map(|pending| pending.approval.ask.title.as_str());
    let said = task.primary().map(|execution| execution.past.last_said.as_str()).unwrap_or_default();
    let stalled = task.executions.iter().find_map(|execution| execution.active.as_ref()?.silent_secs);
    let text = match (stalled, task.activity()) {
        (Some(secs), Activity::Working) => format!("{agent} has not been heard of for {} min", secs.div_ceil(60)),
        (_, activity) => line(agent, task.lifecycle, &activity, asked, said),
    };
    if task.key.is_empty() { text } else { format!("{}: {text}", task.key) }
}

/// The same line from a row of the list, which has no request to quote.
#[must_use]
pub fn row_glance(row: &TaskRow) -> String {
    line(&row.agent, row.lifecycle, &row.activity, None, &row.last_said)
}

fn line(agent: &str, lifecycle: Lifecycle, activity: &Activity, asked: Option<&str>, said: &str) -> String {
    let quoted = |text: &str| if text.is_empty() { String::new() } else { format!(": {text}") };
    match (lifecycle, activity) {
        (Lifecycle::Closed | Lifecycle::Archived, Activity::Resting) => format!("closed{}", quoted(said)),
        (_, Activity::WaitingApproval) => match asked {
            Some(what) => format!("{agent} is waiting for approval: `{what}`"),
            None => format!("{agent} is waiting for approval"),
        },
        (_, Activity::WaitingAnswer) => format!("{agent} asks{}", quoted(said)),
        (_, Activity::Blocked { reason }) => format!("{agent} is blocked: {reason}"),
        (_, Activity::Failed { reason }) => format!("{agent} failed: {reason}"),
        (_, Activity::Working) => format!("{agent} is working"),
        (_, Activity::Queued { reason }) => format!("{agent} waits for {reason}"),
        (_, Activity::Resting) => format!("{agent} rests{}", quoted(said)),
    }
}
