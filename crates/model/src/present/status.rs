//! Status: what a person is told who asks how things stand. From the record alone, with links to the events that
//! each statement rests on. No agent is asked, and nothing is guessed.

use super::card::since;
use super::glance::{self, NAME_CHARS, row_glance};
use super::locale::Locale;
use super::{card, fit};
use crate::content::plain_text;
use crate::event::{Event, Recorded, Seq};
use crate::execution::Activity;
use crate::item::ItemBody;
use crate::plan::PlanStatus;
use crate::reply::{Action, Link, Reply};
use crate::task::{Task, TaskEvent};
use crate::time::Timestamp;
use crate::view::TaskRow;

/// So many tasks are named in one answer.
const TASKS: usize = 12;
/// So many files are named in one answer.
const FILES: usize = 5;
/// So much of what somebody said.
const SAID_CHARS: usize = 300;

/// Where in the record the newest of each kind stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The agent's last words.
    pub said: Option<Seq>,
    /// The end of the last turn.
    pub ended: Option<Seq>,
    /// What it changed.
    pub changed: Option<Seq>,
    /// The plan.
    pub plan: Option<Seq>,
    /// The last request.
    pub asked: Option<Seq>,
}

impl Evidence {
    /// How many of a task's newest records are looked at.
    pub const LOOK_BACK: usize = 100;

    /// Finds it in a task's records, newest first.
    #[must_use]
    pub fn of(newest_first: &[Recorded]) -> Self {
        let mut found = Evidence::default();
        for record in newest_first {
            let place = match &record.event {
                Event::Task(event) => found.place(event),
                Event::Person(_) | Event::Project(_) | Event::Conversation(_) | Event::Workspace(_) => None,
            };
            if let Some(place) = place {
                place.get_or_insert(record.seq);
            }
        }
        found
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "an answer rests on few kinds of events")]
    fn place(&mut self, event: &TaskEvent) -> Option<&mut Option<Seq>> {
        match event {
            TaskEvent::ItemRecorded { item, .. } if matches!(item.body, ItemBody::Message { .. }) => {
                Some(&mut self.said)
            }
            TaskEvent::TurnEnded { .. } => Some(&mut self.ended),
            TaskEvent::CheckpointTaken { checkpoint } if !checkpoint.changed.is_empty() => Some(&mut self.changed),
            TaskEvent::PlanRevised { .. } => Some(&mut self.plan),
            TaskEvent::ApprovalRequested { .. } => Some(&mut self.asked),
            _ => None,
        }
    }
}

/// How one task stands.
#[must_use]
pub fn of_task(locale: Locale, task: &Task, evidence: &Evidence, now: Timestamp) -> Reply {
    let mut lines = vec![headline(&task.key, &task.title, &glance::words(locale, task))];
    let mut links = vec![];
    let mut rests_on = |label: String, at: Option<Seq>| {
        links.extend(at.map(|at| Link { label, task: task.id, key: task.key.clone(), at: Some(at) }));
    };
    if let Some(then) = since(task) {
        lines[0] = locale.since(&lines[0], locale.ago(then, now));
    }
    if !task.approvals.pending.is_empty() {
        rests_on(locale.label_request(), evidence.asked);
    }
    if let Some(last) = task.primary().and_then(|execution| execution.past.last.as_ref()) {
        // A failure is the state itself, and told there.
        if !matches!(task.activity(), Activity::Failed { .. } | Activity::Blocked { .. }) {
            lines.push(locale.last_turn_was(locale.outcome(&last.outcome), locale.ago(last.at, now)));
        }
        rests_on(locale.label_result(), evidence.ended);
    }
    if let Some((done, total)) = task.plan.progress() {
        let current = task.plan.entries.iter().find(|entry| entry.status != PlanStatus::Completed);
        lines.push(match current {
            Some(step) => locale.plan_at(done, total, fit(&step.content, 120)),
            None => locale.plan_done(total),
        });
        rests_on(locale.label_plan(), evidence.plan);
    }
    let past = task.primary().map(|execution| &execution.past);
    if let Some(past) = past.filter(|past| !past.changed.is_empty()) {
        let names: Vec<String> = past.changed.iter().take(FILES).map(|file| fit(&file.path, 100)).collect();
        let hidden = past.changed.len() - names.len();
        let names = names.join(&locale.comma());
        let files = locale.files(past.changed.len() as u64);
        lines.push(if hidden == 0 { locale.changed(files, names) } else { locale.changed_and_more(files, names) });
        rests_on(locale.label_changed(), evidence.changed);
    }
    if let Some(past) = past.filter(|past| !past.last_said.is_empty()) {
        // Who rests or asks was quoted above.
        if !matches!(task.activity(), Activity::Resting | Activity::WaitingAnswer) {
            lines.push(locale.last_words(fit(&past.last_said, SAID_CHARS)));
        }
        rests_on(locale.label_said(), evidence.said);
    }
    if let Some(queued) = task.executions.iter().find_map(|execution| execution.queue.first()) {
        lines.push(locale.queued_next(fit(&plain_text(&queued.content), 120)));
    }
    links.push(Link { label: task.key.clone(), task: task.id, key: task.key.clone(), at: None });
    let mut choices = card::card(locale, task, card::Around { project: "", now }).buttons;
    // A request is decided where its exact bytes are shown, and a status does not show them.
    choices.retain(|choice| !matches!(choice.action, Action::Decide { .. }));
    Reply { text: lines.join("\n"), choices, links }
}

/// How all tasks stand that these rows are of: what needs the person comes first, as rows are sorted.
#[must_use]
pub fn of_all(locale: Locale, rows: &[TaskRow], now: Timestamp) -> Reply {
    if rows.is_empty() {
        return Reply::plain(locale.nothing_open());
    }
    let needing = rows.iter().filter(|row| row.activity.needs_person()).count();
    let mut lines = vec![match needing {
        0 => locale.nothing_needs_you(),
        count => locale.need_you(count as u64),
    }];
    let line = |row: &TaskRow| {
        let glance = row_glance(locale, row);
        locale.since(headline(&row.key, &row.title, &glance), locale.ago(row.updated_at, now))
    };
    lines.extend(rows.iter().take(TASKS).map(line));
    if rows.len() > TASKS {
        lines.push(locale.more(rows.len() - TASKS));
    }
    let link = |row: &TaskRow| Link { label: row.key.clone(), task: row.id, key: row.key.clone(), at: None };
    Reply { text: lines.join("\n"), choices: vec![], links: rows.iter().take(TASKS).map(link).collect() }
}

pub(super) fn headline(key: &str, title: &str, glance: &str) -> String {
    format!("{} *{}* — {glance}", fit(key, NAME_CHARS), fit(title, 60))
}
