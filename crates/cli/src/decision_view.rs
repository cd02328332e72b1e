//! What was made of a message, in one line: `→ continues *Fix routing* (shop-12) with demo`.

use throughline_api::message::{Action, Decision, SentMessage};
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
        "switch_agent" => {
            let with = target.agent.as_deref().or(target.model.as_deref()).unwrap_or_default();
            format!("→ {named} goes on with {}", safe_line(with))
        }
        "correct" => format!("→ moves the message before to {named}"),
        "fresh_session" => format!("→ a fresh session for {named}"),
        "retry" => format!("→ runs the last turn of {named} again"),
        "status" => format!("→ how {named} stands, from the record"),
        "approve" => format!("→ approves what {named} asks"),
        "deny" => format!("→ denies what {named} asks"),
        "cancel" => format!("→ stops {named}"),
        "close" => format!("→ closes {named}"),
        "focus" => format!("→ turns to {named}"),
        other => format!("→ {}: {named}", safe_line(&other.replace('_', " "))),
    };
    let mut text = output.paint(Style::Accent, &text) + "\n";
    if let Some(wait) = waiting(sent, execution) {
        text.push_str(&output.paint(Style::Warn, &wait));
        text.push('\n');
    }
    text
}

/// The decision on a message that went to no task; with its newline.
pub(crate) fn bare(output: Output, decision: &Decision) -> String {
    let text = match decision.aim.intent.as_str() {
        "status" => "→ how everything stands, from the record",
        "cancel" => "→ stops everything",
        "clarify" => "→ asks back",
        "ack" => "→ nothing to do",
        "help" => "→ how to use this",
        other => &format!("→ {}", safe_line(&other.replace('_', " "))),
    };
    output.paint(Style::Accent, text) + "\n"
}

/// What Throughline itself says, with numbered choices and how to take them from a shell.
pub(crate) fn reply(sent: &SentMessage) -> String {
    let Some(reply) = &sent.reply else { return String::new() };
    // What was made of the message is told by the line above.
    let said = reply.text.lines().filter(|line| !line.starts_with('→'));
    let mut text: String = said.map(|line| safe_line(line) + "\n").collect();
    if sent.decision.aim.intent == "new_task" {
        text.push_str("  not a new task? `tl undo`\n");
        return text;
    }
    let taken = reply.choices.iter().filter_map(|choice| Some((choice, how(&choice.action)?)));
    for (number, (choice, how)) in taken.enumerate() {
        text.push_str(&format!("  {}. {}: {how}\n", number + 1, safe_line(&choice.label)));
    }
    text
}

/// The command that takes a choice; what a task's buttons do has commands of its own.
fn how(action: &Action) -> Option<String> {
    match action {
        Action::Correct { decision, task, interrupt } => {
            let target = task.map_or("--new".to_owned(), |task| format!("--task {task}"));
            let consent = if *interrupt { " --interrupt" } else { "" };
            Some(format!("tl correct --decision {decision} {target}{consent}"))
        }
        Action::Decide { approval, option, .. } if option == "allow" => Some(format!("tl approve {approval}")),
        Action::Decide { approval, .. } => Some(format!("tl deny {approval}")),
        Action::MakeRule { approval } => Some(format!("tl rules from {approval}")),
        _ => None,
    }
}

/// Whether an agent is to do something about it, so that there is a turn to follow.
pub(crate) fn wakes_agent(decision: &Decision) -> bool {
    match decision.aim.intent.as_str() {
        "continue" | "answer" | "new_task" | "add_execution" | "retry" | "correct" => true,
        "switch_agent" => decision.aim.target.agent.is_some(),
        _ => false,
    }
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
