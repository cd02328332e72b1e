//! Tasks as a person sees them: a line in a list, and a card with all that is under one.

use std::fmt::Write as _;

use throughline_api::task::{ActivityWord, Execution, Lifecycle, RuntimeSession, Task, TaskSummary};

use crate::approval_view;
use crate::moment::ago;
use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table};
use crate::timeline_view::words;
use crate::turn_view::{end_line, plan_line};

/// A list, one line for each, behind an indent.
pub(crate) fn list(output: Output, tasks: &[TaskSummary], indent: &str) -> String {
    let rows: Vec<Vec<Cell>> = tasks.iter().map(row).collect();
    let table = table(output, &rows);
    table.lines().fold(String::new(), |mut text, line| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}{line}");
        text
    })
}

fn row(task: &TaskSummary) -> Vec<Cell> {
    vec![
        Cell::styled(safe_line(&task.key), Style::Strong),
        Cell::styled(state(task), style(task)),
        Cell::new(safe_glance(&task.title, 40)),
        Cell::styled(safe_glance(&glance(task), 60), Style::Faint),
        Cell::styled(ago(&task.updated_at), Style::Faint),
    ]
}

/// The glance without the key, which stands in front already.
fn glance(task: &TaskSummary) -> String {
    let prefix = format!("{}: ", task.key);
    let glance = task.glance.strip_prefix(&prefix).unwrap_or(&task.glance);
    glance.to_owned()
}

/// Both axes in one word: the lifecycle where it says more.
fn state(task: &TaskSummary) -> String {
    match (task.lifecycle, task.activity.word) {
        (Lifecycle::Open, word) => word.word().replace('_', " "),
        (lifecycle, ActivityWord::Resting) => lifecycle.word().to_owned(),
        (lifecycle, word) => format!("{lifecycle}, {}", word.word().replace('_', " ")),
    }
}

fn style(task: &TaskSummary) -> Style {
    match task.activity.word {
        ActivityWord::WaitingApproval | ActivityWord::WaitingAnswer => Style::Warn,
        ActivityWord::Blocked | ActivityWord::Failed => Style::Bad,
        ActivityWord::Working => Style::Good,
        ActivityWord::Queued => Style::Accent,
        ActivityWord::Resting | ActivityWord::Unknown => Style::Faint,
    }
}

/// One task with all that is under it.
pub(crate) fn card(output: Output, task: &Task) -> String {
    let summary = &task.summary;
    let mut text = format!(
        "{}  {}\n",
        output.paint(Style::Strong, &safe_line(&summary.key)),
        output.paint(Style::Strong, &safe_line(&summary.title))
    );
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<9} {value}");
    };
    let mut stands = output.paint(style(summary), &state(summary));
    if let Some(reason) = &summary.activity.reason {
        let _ = write!(stands, ": {}", safe_line(reason));
    }
    field("state", &stands);
    field("project", &format!("{} in {}", safe_line(&summary.project.name), safe_line(&task.root)));
    for execution in &task.executions {
        field("agent", &execution_line(execution));
    }
    if !summary.last_said.is_empty() {
        field("said", &safe_glance(&summary.last_said, 100));
    }
    for entry in &task.plan {
        field("plan", &plan_line(entry));
    }
    for note in &task.notes {
        field("note", &safe_glance(note, 100));
    }
    for queued in task.executions.iter().flat_map(|execution| &execution.queue) {
        let said = safe_glance(&words(&queued.content), 80);
        field("queued", &format!("{said} (input {})", queued.input));
    }
    for approval in &task.approvals {
        text.push_str(&approval_view::request(output, approval));
        text.push_str(&approval_view::how_to_answer(approval));
    }
    text
}

fn execution_line(execution: &Execution) -> String {
    let mut text = format!("{} as {}", safe_line(&execution.agent), execution.role.word());
    if let Some(end) = &execution.ended {
        let _ = write!(text, ", {}", safe_line(end));
    }
    match execution.turns {
        1 => text.push_str(", 1 turn"),
        turns => {
            let _ = write!(text, ", {turns} turns");
        }
    }
    if let Some(session) = &execution.runtime_session {
        let _ = write!(text, ", session {}", session_words(session));
    }
    if let Some(turn) = &execution.active_turn {
        let _ = write!(text, ", turn {}", turn.stage.word().replace('_', " "));
        if let Some(behind) = &turn.behind {
            let _ = write!(text, " behind {}", safe_line(behind));
        }
        if let Some(secs) = turn.silent_secs {
            let _ = write!(text, ", not heard of for {} min", secs.div_ceil(60));
        }
    } else if let Some(turn) = &execution.last_turn {
        let _ = write!(text, ", last turn {}", end_line(&turn.end));
    }
    text
}

fn session_words(session: &RuntimeSession) -> String {
    match &session.model {
        Some(model) => format!("{} ({})", session.phase, safe_line(model)),
        None => session.phase.to_string(),
    }
}
