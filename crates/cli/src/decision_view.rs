//! What was made of a message, in one line: `→ continues *Fix routing* (shop-12) with demo`.

use throughline_api::message::{Action, Decision, SentMessage};
use throughline_api::task::{Execution, Task};
use throughline_model::present::Locale;

use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::timeline_view::role_word;

/// The decision, and why the message waits if it does; each line with its newline.
pub(crate) fn line(output: Output, locale: Locale, sent: &SentMessage, task: &Task) -> String {
    let target = &sent.decision.aim.target;
    let execution = executing(sent, task);
    let agent = execution.map_or(task.summary.agent.as_str(), |found| found.agent.as_str());
    let agent = safe_line(agent);
    let title = safe_glance(&task.summary.title, 60);
    let key = safe_line(&task.summary.key);
    let named = locale.task_named(&title, &key);
    let text = match sent.decision.aim.intent.as_str() {
        "new_task" => locale.decided_new(key, title, agent),
        "continue" => locale.decided_continue(named, agent),
        "answer" => locale.decided_answer(named, agent),
        "add_execution" => locale.decided_add(agent, role_word(locale, target.role.unwrap_or_default()), named),
        "switch_agent" => {
            let with = target.agent.as_deref().or(target.model.as_deref()).unwrap_or_default();
            locale.decided_switch(named, safe_line(with))
        }
        "correct" => locale.moved(named, agent),
        "fresh_session" => locale.decided_fresh(named),
        "retry" => locale.decided_retry(named, agent),
        // The message is told of the fork; what it is beside is the task that it comes from.
        "fork" => match &task.forked_from {
            Some(source) => locale.decided_fork_as(key, title, safe_line(&source.task.key)),
            None => locale.decided_fork(named),
        },
        "status" => locale.decided_status(named),
        "approve" => locale.decided_approve(named),
        "deny" => locale.decided_deny(named),
        "cancel" => locale.decided_cancel(named),
        "close" => locale.decided_close(named),
        "focus" => locale.decided_focus(named),
        other => locale.decided_so(safe_line(&other.replace('_', " ")), named),
    };
    let mut text = output.paint(Style::Accent, &text) + "\n";
    if let Some(wait) = waiting(locale, sent, execution) {
        text.push_str(&output.paint(Style::Warn, &wait));
        text.push('\n');
    }
    text
}

/// The decision on a message that went to no task; with its newline.
pub(crate) fn bare(output: Output, locale: Locale, decision: &Decision) -> String {
    let text = match decision.aim.intent.as_str() {
        "status" => locale.decided_status_of_all(),
        "cancel" => locale.decided_cancel_all(),
        "clarify" => locale.decided_clarify(),
        "ack" => locale.decided_ack(),
        "help" => locale.decided_help(),
        other => format!("→ {}", safe_line(&other.replace('_', " "))),
    };
    output.paint(Style::Accent, &text) + "\n"
}

/// What Throughline itself says, with numbered choices and how to take them from a shell.
pub(crate) fn reply(locale: Locale, sent: &SentMessage) -> String {
    let Some(reply) = &sent.reply else { return String::new() };
    // What was made of the message is told by the line above.
    let said = reply.text.lines().filter(|line| !line.starts_with('→'));
    let mut text: String = said.map(|line| safe_line(line) + "\n").collect();
    if sent.decision.aim.intent == "new_task" {
        text.push_str(&format!("  {}\n", locale.undo_new_task("`tl undo`")));
        return text;
    }
    let taken = reply.choices.iter().filter_map(|choice| Some((choice, how(&choice.action)?)));
    for (number, (choice, how)) in taken.enumerate() {
        text.push_str(&format!("  {}. {}\n", number + 1, locale.because(safe_line(&choice.label), how)));
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

fn waiting(locale: Locale, sent: &SentMessage, execution: Option<&Execution>) -> Option<String> {
    let execution = execution?;
    let place = execution.queue.iter().position(|queued| queued.input == sent.input.id);
    if let Some(place) = place {
        let agent = safe_line(&execution.agent);
        return Some(match place {
            0 => locale.queued_first(agent),
            _ => locale.queued_behind(agent, place),
        });
    }
    let turn = execution.active_turn.as_ref()?;
    let behind = turn.behind.as_deref()?;
    (turn.input == sent.input.id).then(|| locale.queued_for(safe_line(behind)))
}
