//! What Throughline itself answers: to orders that need no agent, to courtesies, and where it has to ask.
//!
//! A pure function of the decision and of what stands around the message, in the person's language; no agent is woken
//! (DESIGN §3.6). How one task stands is told from its record: see [`present::status`].

use crate::approval::{Settlement, Verdict};
use crate::context::Surroundings;
use crate::conversation::Received;
use crate::ids::{ApprovalId, PersonId, TaskId};
use crate::policy::rule_for;
use crate::present::reply::{Subject, ack, always, clarify, correctable, decided, help, settled};
use crate::present::{self, Locale};
use crate::rejection::Rejection;
use crate::reply::{Action, Reply};
use crate::route::{Intent, RouteDecision, Scope};
use crate::task::Lifecycle;
use crate::view::{ApprovalRow, TaskRow};

/// What is said to a message besides what an agent may say; nothing where an agent is to speak.
#[must_use]
pub fn reply(locale: Locale, person: PersonId, decision: &RouteDecision, around: &Surroundings) -> Option<Reply> {
    let about = decision.intent.task().and_then(|task| around.task(task)).map(subject);
    let announced = || about.and_then(|about| decided(locale, &decision.intent, about));
    let what = |id: ApprovalId| around.approval(id).map(|row| row.approval.ask.title.clone()).unwrap_or_default();
    match &decision.intent {
        Intent::Status { .. } => {
            let mut open: Vec<TaskRow> =
                around.tasks.iter().filter(|task| task.lifecycle == Lifecycle::Open).cloned().collect();
            open.sort_by_key(|task| (task.activity.rank(), std::cmp::Reverse(task.updated_at)));
            Some(present::status::of_all(locale, &open, around.now))
        }
        Intent::Clarify { candidates, approvals } => Some(ask(locale, decision, around, candidates, approvals)),
        Intent::Approve { approval, scope, .. } => {
            let once = settled(locale, &Settlement::Approved { by: person, given: None }, &what(*approval));
            Some(match (scope, around.approval(*approval)) {
                (Scope::Always, Some(row)) => always(locale, once, *approval, offered(row)),
                (Scope::Always | Scope::Once, _) => once,
            })
        }
        Intent::Deny { approval, .. } => {
            Some(settled(locale, &Settlement::Denied { by: person, reason: None, given: None }, &what(*approval)))
        }
        Intent::Cancel { running, .. } if running.is_empty() => Some(Reply::plain(locale.nothing_to_cancel())),
        Intent::Cancel { task: None, running } => {
            let stopped = running.iter().filter_map(|task| around.task(*task));
            let lines: Vec<String> = stopped
                .filter_map(|row| decided(locale, &decision.intent, subject(row)))
                .map(|reply| reply.text)
                .collect();
            Some(Reply::plain(lines.join("\n")))
        }
        Intent::Ack => Some(ack(locale)),
        Intent::Help => Some(help(locale)),
        Intent::SwitchAgent { agent: None, .. }
        | Intent::Cancel { .. }
        | Intent::Close { .. }
        | Intent::Focus { .. }
        | Intent::Correct { .. }
        | Intent::FreshSession { .. } => announced(),
        Intent::Continue { .. }
        | Intent::Answer { .. }
        | Intent::NewTask { .. }
        | Intent::AddExecution { .. }
        | Intent::SwitchAgent { .. }
        | Intent::Retry { .. }
        | Intent::Fork { .. } => None,
    }
}

/// Tells of a task that was started by inference, with the one step that undoes it.
#[must_use]
pub fn announcement(
    locale: Locale,
    decision: &RouteDecision,
    started: &TaskRow,
    focus: Option<TaskRow>,
) -> Option<Reply> {
    let inferred = matches!(decision.intent, Intent::NewTask { .. }) && decision.confidence < 1.0;
    let others: Vec<TaskRow> = focus.into_iter().filter(|focus| inferred && focus.id != started.id).collect();
    let announced = decided(locale, &decision.intent, subject(started)).filter(|_| !others.is_empty())?;
    Some(correctable(locale, announced, decision.id, &others, &decision.intent))
}

/// The same message, asked back: an agent works on the one that it would move.
#[must_use]
pub fn consent(locale: Locale, received: Received) -> Received {
    let Intent::Correct { decision, task } = received.decision.intent else { return received };
    let stop = Action::Correct { decision, task, interrupt: true };
    let reply = Reply::plain(locale.turn_in_the_way()).or(locale.button_stop(), stop);
    let asked = RouteDecision {
        intent: Intent::Clarify { candidates: task.into_iter().collect(), approvals: vec![] },
        ..received.decision
    };
    Received { decision: asked, reply: Some(reply), ..received }
}

/// The rule that "always" would make, in words; or why there is none.
fn offered(row: &ApprovalRow) -> Result<String, String> {
    match rule_for(&row.approval.ask, row.id) {
        Ok(draft) => Ok(draft.words()),
        Err(Rejection::NoRule { why }) => Err(why),
        Err(other) => Err(other.to_string()),
    }
}

fn subject(row: &TaskRow) -> Subject<'_> {
    Subject { key: &row.key, title: &row.title, agent: &row.agent }
}

/// A question back, with what it could be: requests to decide one by one, or tasks.
fn ask(
    locale: Locale,
    decision: &RouteDecision,
    around: &Surroundings,
    tasks: &[TaskId],
    approvals: &[ApprovalId],
) -> Reply {
    if approvals.is_empty() {
        let candidates: Vec<TaskRow> = tasks.iter().filter_map(|task| around.task(*task).cloned()).collect();
        let mut reply = clarify(locale, decision.id, &candidates);
        // Where there is nothing to choose from, why is what matters: no such task, no such agent.
        if let (true, Some(why)) = (candidates.is_empty(), decision.evidence.first()) {
            let mut letters = why.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
            reply.text = format!("{first}{}. {}", letters.as_str(), reply.text);
        }
        return reply;
    }
    let pending = approvals.iter().filter_map(|id| around.approval(*id));
    pending.fold(Reply::plain(locale.which()), |reply, row| {
        // Two agents may ask for the same: the task comes first, so that nobody decides the wrong one.
        let key = around.task(row.task).map_or("", |task| task.key.as_str());
        let what = format!("{key} {}", row.approval.ask.title).trim().to_owned();
        let decide = |verdict| Action::Decide { approval: row.id, verdict, digest: row.approval.digest() };
        let yes = format!("{}: {what}", locale.button_approve());
        let no = format!("{}: {what}", locale.button_deny());
        reply.or(yes, decide(Verdict::Approve)).or(no, decide(Verdict::Deny))
    })
}
