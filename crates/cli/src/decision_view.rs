//! What was made of a message, in one line: `→ continues *Fix routing* (shop-12) with demo`.

use throughline_api::message::{Decision, SentMessage};
use throughline_api::task::{Execution, Task};

use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};

/// The decision, and why the message waits if it does; each line with its newline.
pub(crate) fn line(output: Output, sent: &SentMessage, task: &Task) -> String {
    let target = &sent.decision.aim.target;
    let execution = executing(sent, task);
    let agent = execution.map_or(task.summary.agent.as_str(), |found| found.agent.as_str());
    let agent = safe_line(agent);
    let title = safe_glance(&task.summary.title, 60);
    let key = safe_line(&task.summary.key);
    let named = format!("*{title}* ({key})");
    let text = match sent.decision.aim.intent.as_str() {
        "new_task" => format!("→ new task {key} *{title}* with {agent}"),
        "continue" | "answer" => format!("→ continues {named} with {agent}"),
        "add_execution" => {
            let role = target.role.map_or("editor", |role| role.word());
            format!("→ adds {agent} as {role} to {named}")
        }
        other => format!("→ {}: {named}", safe_line(&other.replace('_', " "))),
    };
    let mut text = output.paint(Style::Accent, &text) + "\n";
    if let Some(wait) = waiting(sent, execution) {
        text.push_str(&output.paint(Style::Warn, &wait));
        text.push('\n');
    }
    text
}

/// The decision on a message that went to no task.
pub(crate) fn bare(decision: &Decision) -> String {
    let why = decision.evidence.first().map_or("", String::as_str);
    format!("→ {}: {}", decision.aim.intent.replace('_', " "), safe_line(why))
}

/// The execution that has the message, or will have it.
fn executing<'a>(sent: &SentMessage, task: &'a Task) -> Option<&'a Execution> {
    let has = |execution: &&Execution| {
        let active = execution.active_turn.as_ref();
        let last = execution.last_turn.as_ref();
        active.is_some_and(|turn| turn.input == sent.input.id)
            || last.is_some_and(|turn| turn.input == sent.input.id)
            || execution.queue.iter().any(|queued| queued.input == sent.input.id)
    };
    let named = sent.decision.aim.target.execution;
    task.executions.iter().find(|execution| named == Some(execution.id)).or_else(|| task.executions.iter().find(has))
}

fn waiting(sent: &SentMessage, execution: Option<&Execution>) -> Option<String> {
    let execution = execution?;
    let place = execution.queue.iter().position(|queued| queued.input == sent.input.id);
    if let Some(place) = place {
        let agent = safe_line(&execution.agent);
        return Some(match place {
            0 => format!("queued: {agent} is busy with another turn, this comes next"),
            _ => format!("queued: {agent} is busy, {place} more wait before this"),
        });
    }
    let turn = execution.active_turn.as_ref()?;
    let behind = turn.behind.as_deref()?;
    (turn.input == sent.input.id).then(|| format!("queued: waits for {}", safe_line(behind)))
}
