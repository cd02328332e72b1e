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
    use throughline_acp::happening::{PermissionRequest, QuestionRequest};
    use throughline_acp::request_id::AgentRequestId;
    use throughline_model::approval::{Ask, Asked};
    use throughline_model::command::Command;
    use throughline_model::content::ContentBlock;
    use throughline_model::execution::Role;
    use throughline_model::ids::{ItemId, Mint, TaskId, TurnId};
    use throughline_model::input::{QueuedInput, Urgency};
    use throughline_model::runtime_session::{Parking, RuntimeDescription};
    use throughline_model::state::State;
    use throughline_model::stream::StreamId;
    use throughline_model::task::{Report, TaskCommand, TaskSeed};
    use throughline_model::time::{Now, Timestamp};

    use super::*;

    /// A task whose agent has its first prompt.
    struct Working {
        state: State,
        process: Process,
        mint: Mint,
        count: u128,
    }

    impl Working {
        fn new() -> Self {
            let at = Timestamp::from_millis(1);
            let mut mint = Mint::new(at, 7);
            let (task, execution): (TaskId, _) = (mint.id(), mint.id());
            let process = Process { task, execution, session: mint.id(), epoch: 1 };
            let (title, goal, root, agent) = ("t".into(), "g".into(), "/shop".into(), "demo".into());
            let seed = TaskSeed { project: mint.id(), title, goal, root, execution, agent, role: Role::Reviewer };
            let (person, conversation) = (mint.id(), mint.id());
            let content = vec![ContentBlock::text("look at it")];
            let queued = QueuedInput { input: mint.id(), person, conversation, content, at };
            let mut working = Self { state: State::Task(None), process, mint, count: 0 };
            working.tell(TaskCommand::Create { seed, person, conversation });
            working.tell(TaskCommand::Enqueue { queued, execution: None, urgency: Urgency::InTurn });
            let session = working.task().execution(execution).and_then(|known| known.session.as_ref());
            working.process.session = session.expect("it is started").id;
            let description = Box::<RuntimeDescription>::default();
            working.report(Report::Opened { native: "n".into(), description, parking: Parking::default() });
            working
        }

        fn task(&self) -> &Task {
            self.state.task().expect("a task")
        }

        fn tell(&mut self, command: TaskCommand) {
            self.count += 1;
            let now = Now { at: Timestamp::from_millis(1), entropy: self.count << 64 };
            let stream = StreamId::Task(self.process.task);
            let events = throughline_model::decide(stream, &self.state, Command::Task(command), now).expect("taken");
            for event in events {
                throughline_model::evolve(&mut self.state, &event, now.at);
            }
        }

        fn report(&mut self, report: Report) {
            self.tell(TaskCommand::Report { session: self.process.session, epoch: 1, report });
        }

        fn turn(&self) -> TurnId {
            let execution = self.task().execution(self.process.execution);
            execution.and_then(|known| known.active.as_ref()).expect("a turn").id
        }

        /// The request that begins there waits under this id.
        fn waits(&mut self, what: Want, id: &str, at: u64) {
            let (process, request) = (self.process, id.to_owned());
            let (call, title, tool) = ("c".into(), "t".into(), "execute".into());
            let ask = Ask { call, title, tool, input: None, cwd: "/shop".into() };
            let approval = approval_id(process, at);
            self.report(match what {
                Want::Decision => {
                    let (options, expires_secs) = (vec![], 60);
                    let asked = Asked { approval, request, item: None, ask, options, expires_secs, ruling: None };
                    Report::Asked(Box::new(asked))
                }
                Want::Answer => {
                    let (id, message, schema) = (question_id(process, at), "?".into(), "{}".into());
                    Report::Questioned(Box::new(Question { id, request, message, schema, settled: false }))
                }
            });
        }
    }

    fn wanted(what: Want, id: &str, at: u64) -> Wanted {
        Wanted { request: AgentRequestId::parse(id).expect("an id"), at, what }
    }

    fn told(what: Want, id: &str, at: u64, turn: Option<TurnId>) -> Happening {
        let request = wanted(what, id, at).request;
        match what {
            Want::Decision => Happening::PermissionRequested(PermissionRequest {
                request,
                at,
                item: ItemId::derive(uuid::Uuid::nil(), "c"),
                is_news: false,
                turn,
                call: "c".into(),
                title: "t".into(),
                tool: "execute".into(),
                input: None,
                options: vec![],
            }),
            Want::Answer => {
                let (message, schema) = ("?".into(), "{}".into());
                Happening::QuestionAsked(QuestionRequest { request, at, turn, message, schema })
            }
        }
    }

    #[test]
    fn what_is_said_again_while_it_waits_is_not_answered_for_itself() {
        use Want::{Answer, Decision};
        let mut working = Working::new();
        working.waits(Decision, "2", 5);
        working.waits(Answer, "3", 6);
        let turn = Some(working.turn());
        let happenings = [
            told(Decision, "1", 10, turn),
            told(Decision, "1", 20, turn),
            told(Decision, "2", 30, turn),
            told(Answer, "1", 40, turn),
            told(Answer, "2", 50, turn),
            told(Answer, "3", 60, turn),
            told(Decision, "3", 70, turn),
            told(Decision, "8", 80, None),
            Happening::AskedBefore(wanted(Decision, "9", 90)),
        ];
        let places = |process| -> Vec<u64> {
            said_once(working.task(), process, &happenings).iter().map(|wanted| wanted.at).collect()
        };
        assert_eq!(places(working.process), [10, 40, 50, 70, 90]);
        let later = Process { epoch: 2, ..working.process };
        assert_eq!(places(later), [10, 30, 40, 50, 70, 90], "what an earlier process waited for is another matter");
    }

    #[test]
    fn what_a_person_is_asked_is_known_by_its_place() {
        use Want::{Answer, Decision};
        let mut working = Working::new();
        working.waits(Decision, "2", 5);
        working.waits(Answer, "3", 6);
        let (task, process) = (working.task(), working.process);
        let is_taken = |what, at| taken(task, process, &wanted(what, "2", at));
        assert!(is_taken(Decision, 5) && is_taken(Answer, 6));
        assert!(!is_taken(Decision, 6) && !is_taken(Answer, 5) && !is_taken(Decision, 7));
        let ids = [
            approval_id(process, 5),
            approval_id(process, 51),
            approval_id(Process { epoch: 15, ..process }, 5),
            approval_id(Process { session: working.mint.id(), ..process }, 5),
        ];
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }

    #[test]
    fn the_answer_to_what_nobody_is_asked_has_the_name_that_a_persons_would_have() {
        let process = Working::new().process;
        let decision = nothing_chosen(process, &wanted(Want::Decision, "7", 5));
        let yes = PermissionAnswer::Selected("yes".into());
        let request = wanted(Want::Decision, "7", 5).request;
        assert_eq!(decision.id, outgoing::answer_permission(approval_id(process, 5), &request, yes).id);
        assert!(String::from_utf8_lossy(&decision.bytes).contains("cancelled"));
        let answer = nothing_chosen(process, &wanted(Want::Answer, "7", 5));
        assert!(String::from_utf8_lossy(&answer.bytes).contains(r#""action":"cancel""#));
    }

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
