//! Requests of an agent: what each is known by, and the answers to those that no person is asked about.
//!
//! A request is known by where it begins in its process's output. An agent may use a JSON-RPC id again once it was answered,
//! so the id alone does not tell requests apart; its place does, and is the same when the output is read again.
//!
//! **Invariant:** every request is answered. What the task has taken is answered by its effect. The rest is *owed* until the
//! keeper has the answer, and the mark does not pass what is owed: whoever comes after a crash reads it again.
//!
//! **Invariant:** what is owed is bounded, because nothing more is heard of an agent that does not take its answers.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use throughline_acp::happening::{Happening, Want, Wanted};
use throughline_acp::outgoing::{self, OutgoingFrame, PermissionAnswer};
use throughline_model::effect::Process;
use throughline_model::ids::{ApprovalId, Id as _, QuestionId};
use throughline_model::question::{FormAnswer, Question};
use throughline_model::task::Task;
use tokio::sync::Notify;

use super::{Driver, RETRY};

/// How many answers may be on their way before an agent is heard again.
const MOST_OWED: usize = 1_024;

/// The approval of the request that begins there.
pub(super) fn approval_id(process: Process, at: u64) -> ApprovalId {
    ApprovalId::derive(process.session.uuid(), &format!("approval:{}@{at}", process.epoch))
}

/// A request of the agent is one thing or the other, so both have the same id.
pub(super) fn question_id(process: Process, at: u64) -> QuestionId {
    QuestionId::from_uuid(approval_id(process, at).uuid())
}

/// The answer to a request that nobody is asked about.
pub(super) fn nothing_chosen(process: Process, wanted: &Wanted) -> OutgoingFrame {
    let Wanted { request, at, what } = wanted;
    match what {
        Want::Decision => outgoing::answer_permission(approval_id(process, *at), request, PermissionAnswer::Cancelled),
        Want::Answer => outgoing::answer_question(question_id(process, *at), request, &FormAnswer::Cancel),
    }
}

/// The requests of a turn that are not said again while they wait: the answer to the first is the answer to all.
fn said_once(task: &Task, process: Process, happenings: &[Happening]) -> Vec<Wanted> {
    let mut seen = HashSet::new();
    let in_turn = happenings.iter().filter(|happening| happening.without_turn().is_none());
    let asked = in_turn.filter_map(Happening::wanted);
    asked.filter(|wanted| seen.insert((wanted.what, wanted.request.clone())) && !waits(task, process, wanted)).collect()
}

/// Whether the agent waits under this id for an answer of a person.
fn waits(task: &Task, process: Process, wanted: &Wanted) -> bool {
    let request = wanted.request.as_json();
    match wanted.what {
        Want::Decision => task.approvals.waiting(process.session, process.epoch, request).is_some(),
        Want::Answer => questions(task, process).iter().any(|known| known.waits_as(request)),
    }
}

fn questions(task: &Task, process: Process) -> &[Question] {
    let active = task.execution_of(process.session).and_then(|execution| execution.active.as_ref());
    active.map(|active| active.questions.as_slice()).unwrap_or_default()
}

/// Whether a person is asked, or was.
fn taken(task: &Task, process: Process, wanted: &Wanted) -> bool {
    let question = || question_id(process, wanted.at);
    match wanted.what {
        Want::Decision => task.approvals.knows(approval_id(process, wanted.at)),
        Want::Answer => questions(task, process).iter().any(|known| known.id == question()),
    }
}

impl Driver {
    /// The requests that are to be answered here if the task does not take them.
    pub(super) async fn asked(&self, process: Process, happenings: &[Happening]) -> Vec<Wanted> {
        if !happenings.iter().any(|happening| happening.wanted().is_some()) {
            return vec![];
        }
        let state = loop {
            match self.shared.core.task(process.task).await {
                Ok(state) => break state,
                Err(error) => tracing::error!(%error, "a task cannot be read and is read again"),
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = self.shared.run.stop.cancelled() => return vec![],
            }
        };
        state.task().map(|task| said_once(task, process, happenings)).unwrap_or_default()
    }

    /// Answers requests that the task did not take: an agent that waits for an answer must get one.
    pub(super) async fn turn_away(&mut self, process: Process, asked: Vec<Wanted>) {
        if asked.is_empty() {
            return;
        }
        let Ok(state) = self.shared.core.task(process.task).await else { return };
        let (Some(task), Some(link)) = (state.task(), self.link_to(process)) else { return };
        for wanted in asked {
            match taken(task, process, &wanted) {
                true => link.owed.settle(wanted.at),
                false => link.reply(wanted.at, nothing_chosen(process, &wanted)),
            }
        }
    }
}

/// Answers that an agent is owed and that the keeper does not have yet, by where their requests begin.
#[derive(Clone, Default)]
pub(super) struct Owed(Arc<Book>);

#[derive(Default)]
struct Book {
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Default)]
struct Open {
    places: BTreeSet<u64>,
    /// The connection is lost: what is owed stays so, and whoever waits hears of the loss.
    lost: bool,
}

impl Owed {
    pub(super) fn add(&self, at: u64) {
        self.open().places.insert(at);
    }

    pub(super) fn settle(&self, at: u64) {
        self.open().places.remove(&at);
        self.0.changed.notify_waiters();
    }

    /// A turn is over: nobody waits for what was asked in it.
    pub(super) fn forget(&self) {
        self.open().places.clear();
        self.0.changed.notify_waiters();
    }

    pub(super) fn lose(&self) {
        self.open().lost = true;
        self.0.changed.notify_waiters();
    }

    /// The place from which on everything has to be read again after a crash.
    pub(super) fn hold(&self, safe: u64) -> u64 {
        self.open().places.first().map_or(safe, |first| safe.min(*first))
    }

    /// Waits until the agent has taken enough of its answers.
    pub(super) async fn room(&self) {
        loop {
            let changed = self.0.changed.notified();
            let has_room = {
                let open = self.open();
                open.lost || open.places.len() < MOST_OWED
            };
            if has_room {
                return;
            }
            changed.await;
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Whole between any two statements, so a panic elsewhere cannot spoil it.
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stays_at_what_is_owed() {
        let owed = Owed::default();
        assert_eq!(owed.hold(100), 100);
        for at in [40, 70, 10] {
            owed.add(at);
        }
        assert_eq!(owed.hold(100), 10);
        assert_eq!(owed.hold(5), 5);
        owed.settle(10);
        owed.settle(10);
        assert_eq!(owed.hold(100), 40);
        owed.forget();
        assert_eq!(owed.hold(100), 100);
    }

    #[tokio::test]
    async fn an_agent_that_does_not_take_its_answers_is_not_heard_until_it_does() {
        let owed = Owed::default();
        owed.room().await;
        for at in 0..MOST_OWED as u64 {
            owed.add(at);
        }
        let waits = |owed: &Owed| {
            let owed = owed.clone();
            tokio::spawn(async move { owed.room().await })
        };
        let waiting = waits(&owed);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        owed.settle(7);
        waiting.await.expect("there is room");
        owed.add(7);
        let waiting = waits(&owed);
        owed.lose();
        waiting.await.expect("it hears of the loss");
        assert_eq!(owed.hold(100), 0, "what is lost is still owed");
    }
}
