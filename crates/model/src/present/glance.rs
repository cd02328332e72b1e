//! Glance: one line about a task, for a list, a phone or a push. At most [`MAX_CHARS`] characters.

use super::locale::Locale;
use super::{cut, fit};
use crate::budget::Spent;
use crate::execution::Activity;
use crate::task::{Lifecycle, Task};
use crate::view::{TaskRow, WaitingFor};

/// A glance is never longer.
pub const MAX_CHARS: usize = 200;
/// What somebody wrote has so much room in it.
const QUOTED_CHARS: usize = 120;
/// And a name so much.
pub(super) const NAME_CHARS: usize = 40;

/// One line about a task: "shop-12: codex is waiting for approval: `cargo test`".
#[must_use]
pub fn glance(locale: Locale, task: &Task) -> String {
    let text = words(locale, task);
    match task.key.as_str() {
        "" => text,
        key => cut(format!("{}: {text}", fit(key, NAME_CHARS)), MAX_CHARS),
    }
}

/// The same line from a row of the list, without the key, which stands in front there.
#[must_use]
pub fn row_glance(locale: Locale, row: &TaskRow) -> String {
    line(locale, &Seen::row(row))
}

/// The same line without the key, where that stands in front.
#[must_use]
pub fn words(locale: Locale, task: &Task) -> String {
    line(locale, &Seen::task(task))
}

/// What a glance looks at.
struct Seen<'a> {
    agent: &'a str,
    lifecycle: Lifecycle,
    activity: Activity,
    asked: Option<&'a str>,
    said: &'a str,
    spent: Option<Spent>,
    silent_secs: Option<u64>,
    plan: Option<(usize, usize)>,
    unasked_mode: Option<String>,
}

impl<'a> Seen<'a> {
    fn task(task: &'a Task) -> Self {
        Seen {
            agent: task.foremost().map_or("agent", |execution| execution.agent.as_str()),
            lifecycle: task.lifecycle,
            activity: task.activity(),
            asked: task.approvals.pending.first().map(|pending| pending.approval.ask.title.as_str()),
            said: task.last_said(),
            spent: task.spent(),
            silent_secs: task.executions.iter().find_map(|execution| execution.active.as_ref()?.silent_secs),
            plan: task.plan.progress(),
            unasked_mode: task.unasked_mode(),
        }
    }

    fn row(row: &'a TaskRow) -> Self {
        Seen {
            agent: row.foremost(),
            lifecycle: row.lifecycle,
            activity: row.activity.clone(),
            asked: match &row.waiting_for {
                Some(WaitingFor::Approval(what)) => Some(what),
                Some(WaitingFor::Budget(_)) | None => None,
            },
            said: &row.last_said,
            spent: match &row.waiting_for {
                Some(WaitingFor::Budget(spent)) => Some(spent.clone()),
                Some(WaitingFor::Approval(_)) | None => None,
            },
            silent_secs: None,
            plan: row.plan,
            unasked_mode: row.unasked_mode.clone(),
        }
    }
}

fn line(locale: Locale, seen: &Seen<'_>) -> String {
    let agent = fit(seen.agent, NAME_CHARS);
    let said = match &seen.spent {
        Some(spent) => fit(&spent.question(locale), QUOTED_CHARS),
        None => fit(seen.said, QUOTED_CHARS),
    };
    let quote = |text: &str| fit(text, QUOTED_CHARS);
    let text = match (seen.lifecycle, &seen.activity) {
        (Lifecycle::Closed | Lifecycle::Archived, Activity::Resting) if said.is_empty() => locale.closed(),
        (Lifecycle::Closed | Lifecycle::Archived, Activity::Resting) => locale.closed_after(said),
        (_, Activity::WaitingApproval) => match seen.asked {
            Some(what) => locale.asks_approval(agent, quote(what)),
            None => locale.waits_for_approval(agent),
        },
        (_, Activity::WaitingAnswer) if said.is_empty() => locale.asks(agent),
        (_, Activity::WaitingAnswer) => locale.asks_this(agent, said),
        (_, Activity::Blocked { reason, until: Some(until) }) => {
            locale.is_blocked_until(agent, until.utc(), quote(reason))
        }
        (_, Activity::Blocked { reason, until: None }) => locale.is_blocked(agent, quote(reason)),
        (_, Activity::Failed { reason }) => locale.has_failed(agent, quote(reason)),
        (_, Activity::Working) => working(locale, agent, seen),
        (_, Activity::Queued { reason }) => locale.waits_for(agent, quote(reason)),
        (_, Activity::Resting) if said.is_empty() => locale.rests(agent),
        (_, Activity::Resting) => locale.rests_after(agent, said),
    };
    // A mode that asks for nothing is said wherever the task is shown.
    let text = match &seen.unasked_mode {
        Some(mode) => locale.asks_for_nothing(fit(mode, NAME_CHARS), text),
        None => text,
    };
    cut(text, MAX_CHARS)
}

fn working(locale: Locale, agent: String, seen: &Seen<'_>) -> String {
    match (seen.silent_secs, seen.plan) {
        (Some(secs), _) => locale.is_silent(agent, secs.div_ceil(60)),
        (None, Some((done, total))) => locale.works_on_plan(agent, done, total),
        (None, None) => locale.works(agent),
    }
}
