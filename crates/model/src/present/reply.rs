//! Reply: what Throughline itself says to a person, where no agent has to be asked.
//!
//! Every decision is announced ("→ continues *Fix routing* (shop-12) with codex"), with what corrects it in one step.

use super::fit;
use super::glance::{NAME_CHARS, row_glance};
use super::locale::Locale;
use crate::approval::Settlement;
use crate::ids::{ApprovalId, DecisionId};
use crate::rejection::Rejection;
use crate::reply::{Action, Link, Reply};
use crate::route::Intent;
use crate::view::TaskRow;

/// So many tasks are offered when it is not clear which one was meant.
const CANDIDATES: usize = 6;

/// The task that a decision is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The handle that a person types.
    pub key: &'a str,
    /// What it is called.
    pub title: &'a str,
    /// Whose turn it will be.
    pub agent: &'a str,
}

/// Announces what was made of a message. What is answered by something else ([`clarify`], a status, [`help`])
/// announces nothing.
#[must_use]
pub fn decided(locale: Locale, intent: &Intent, about: Subject<'_>) -> Option<Reply> {
    let agent = fit(about.agent, NAME_CHARS);
    let key = fit(about.key, NAME_CHARS);
    let title = fit(about.title, 60);
    let task = locale.task_named(&title, &key);
    let text = match intent {
        Intent::NewTask { .. } => locale.decided_new(key, title, agent),
        Intent::Continue { .. } => locale.decided_continue(task, agent),
        Intent::Answer { .. } => locale.decided_answer(task, agent),
        Intent::AddExecution { agent, role, .. } => {
            locale.decided_add(fit(agent, NAME_CHARS), locale.role(*role), task)
        }
        Intent::SwitchAgent { agent: to, model, .. } => {
            let to = to.as_deref().or(model.as_deref()).unwrap_or(about.agent);
            locale.decided_switch(task, fit(to, NAME_CHARS))
        }
        Intent::FreshSession { .. } => locale.decided_fresh(task),
        Intent::Retry { .. } => locale.decided_retry(task, agent),
        Intent::Fork { .. } => locale.decided_fork(task),
        Intent::Approve { .. } => locale.decided_approve(task),
        Intent::Deny { .. } => locale.decided_deny(task),
        Intent::Cancel { .. } => locale.decided_cancel(task),
        Intent::Close { .. } => locale.decided_close(task),
        Intent::Focus { .. } => locale.decided_focus(task),
        Intent::Correct { .. } => locale.moved(task, agent),
        Intent::Status { .. } | Intent::Clarify { .. } | Intent::Ack | Intent::Help => return None,
    };
    Some(Reply::plain(text))
}

/// Offers to undo a decision: the other readings of it, and a task of its own where it was not that.
#[must_use]
pub fn correctable(locale: Locale, reply: Reply, decision: DecisionId, others: &[TaskRow], intent: &Intent) -> Reply {
    let reply = others.iter().take(CANDIDATES).fold(reply, |reply, row| {
        reply.or(
            locale.button_meant(fit(&row.key, NAME_CHARS)),
            Action::Correct { decision, task: Some(row.id), interrupt: false },
        )
    });
    match intent.task() {
        Some(_) => reply.or(locale.button_new_task(), Action::Correct { decision, task: None, interrupt: false }),
        None => reply,
    }
}

/// Asks what the person meant, with a choice for each task that it could be about, and for a new one.
#[must_use]
pub fn clarify(locale: Locale, decision: DecisionId, candidates: &[TaskRow]) -> Reply {
    let mut reply = Reply::plain(match candidates {
        [] => locale.which_or_new(),
        _ => locale.which(),
    });
    for row in candidates.iter().take(CANDIDATES) {
        let key = fit(&row.key, NAME_CHARS);
        let title = fit(&row.title, 60);
        reply.text.push_str(&format!("\n{key} *{title}* — {}", row_glance(locale, row)));
        reply = reply.or(format!("{key} {title}"), Action::Correct { decision, task: Some(row.id), interrupt: false });
        reply.links.push(Link { label: row.key.clone(), task: row.id, key: row.key.clone(), at: None });
    }
    reply.or(locale.button_new_task(), Action::Correct { decision, task: None, interrupt: false })
}

/// How to use this.
#[must_use]
pub fn help(locale: Locale) -> Reply {
    Reply::plain(locale.help())
}

/// The answer to a courtesy.
#[must_use]
pub fn ack(locale: Locale) -> Reply {
    Reply::plain(locale.ack())
}

/// A message went from one task to another, or to one of its own.
#[must_use]
pub fn moved(locale: Locale, to: Subject<'_>) -> Reply {
    let task = locale.task_named(fit(to.title, 60), fit(to.key, NAME_CHARS));
    Reply::plain(locale.moved(task, fit(to.agent, NAME_CHARS)))
}

/// What became of a request.
#[must_use]
pub fn settled(locale: Locale, settlement: &Settlement, what: &str) -> Reply {
    let what = fit(what, 120);
    Reply::plain(match settlement {
        Settlement::Approved { .. } => locale.approved(what),
        Settlement::Denied { .. } => locale.denied(what),
        Settlement::Ruled { ruling } => locale.because(what, locale.ruled(&ruling.standing)),
        Settlement::Expired => locale.expired(what),
        Settlement::Void { cause, .. } => locale.void(what, fit(cause, 120)),
    })
}

/// A yes for now, by someone who meant it for later too: the rule that would do that is theirs to make, by a button
/// that shows it (DESIGN §8).
#[must_use]
pub fn always(locale: Locale, reply: Reply, approval: ApprovalId, rule: Result<String, String>) -> Reply {
    let add = |text: String| Reply { text: format!("{}\n{text}", reply.text), ..reply.clone() };
    match rule {
        Ok(rule) => {
            add(locale.always_offer(rule.clone())).or(locale.button_always(rule), Action::MakeRule { approval })
        }
        Err(why) => add(locale.always_not(why)),
    }
}

/// A "no" in the person's language, as far as it is about what they can do. Its code and hint stay what they are.
#[must_use]
pub fn refused(locale: Locale, rejection: &Rejection) -> Reply {
    Reply::plain(match rejection {
        Rejection::NoTurn { verb: "cancel" } => locale.nothing_to_cancel(),
        Rejection::NoTurn { verb: "retry" } => locale.nothing_to_retry(),
        Rejection::ApprovalSettled { .. } => locale.already_decided(),
        Rejection::TurnRunning => locale.turn_in_the_way(),
        Rejection::InputGone => locale.input_gone(),
        Rejection::QueueFull { waiting } => locale.queue_full(waiting),
        Rejection::Empty => locale.nothing_said(),
        Rejection::Forbidden => locale.not_allowed(),
        Rejection::NotShown => locale.not_shown_whole(),
        other @ Rejection::ModelUnknown { .. } => format!("{other}: {}", other.hint()),
        other @ (Rejection::NoTurn { .. }
        | Rejection::NoFindings
        | Rejection::NotFound { .. }
        | Rejection::Exists { .. }
        | Rejection::DigestMismatch
        | Rejection::QuestionSettled
        | Rejection::BadAnswer { .. }
        | Rejection::NoRule { .. }
        | Rejection::TooManyRules
        | Rejection::PolicyChanged
        | Rejection::NoSuchOption
        | Rejection::StaleEpoch { .. }
        | Rejection::WorkspaceBusy { .. }
        | Rejection::WorkspaceGone
        | Rejection::NotAFork
        | Rejection::WhichWorktree { .. }
        | Rejection::LastExecution
        | Rejection::NeedsConsent
        | Rejection::NotAvailable { .. }) => other.to_string(),
    })
}
