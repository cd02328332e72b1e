//! A past that was never lived: events of the model, taken in by the model, as the batches that the engine would commit.
//!
//! States and rows come from `evolve` and `rows` themselves, so that what is written is what the product writes. The same
//! seed gives the same past.

use std::sync::Arc;

use throughline_model::channel::Channel;
use throughline_model::content::ContentBlock;
use throughline_model::conversation::{ConversationEvent, Received};
use throughline_model::effect::{Effect, Process};
use throughline_model::event::Event;
use throughline_model::evolve;
use throughline_model::execution::Role;
use throughline_model::ids::{
    ConversationId, ExecutionId, InputId, ItemId, Mint, PersonId, ProjectId, RuntimeSessionId, TaskId, TurnId,
};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::route::{Intent, RouteDecision};
use throughline_model::runtime_session::StartReason;
use throughline_model::state::State;
use throughline_model::stream::{StreamId, StreamKind};
use throughline_model::task::TaskEvent;
use throughline_model::time::Timestamp;
use throughline_model::turn::{StopReason, TurnOutcome, Usage};
use throughline_model::view::{Row, rows};
use throughline_store::port::{Append, Batch, InboxEntry, Mark};

/// As the engine does.
const SNAPSHOT_EVERY: u64 = 64;
/// As long as a paragraph.
const MESSAGE: &str = "The button is green now. I changed the theme's accent colour in one place, removed the three \
    overrides that were left from the old palette, and ran the whole suite: 214 tests pass, none were skipped. What is \
    left is the hover state on touch devices, which needs a decision about contrast before I go on with it.";
/// Before this moment nothing happened.
const EPOCH_MILLIS: i64 = 1_700_000_000_000;

/// Where a past takes place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) project: ProjectId,
    pub(crate) person: PersonId,
    pub(crate) conversation: ConversationId,
}

/// One aggregate and what has happened to it since the last batch.
struct Line {
    stream: StreamId,
    state: State,
    version: u64,
    snapshot: u64,
    events: Vec<Event>,
}

impl Line {
    fn new(stream: StreamId, kind: StreamKind) -> Self {
        Line { stream, state: State::empty(kind), version: 0, snapshot: 0, events: vec![] }
    }

    fn take(&mut self, event: Event, at: Timestamp, out: &mut Vec<Row>) {
        let before = self.state.clone();
        evolve(&mut self.state, &event, at);
        for row in rows(self.stream, &before, &self.state, &event, at) {
            // Of several rows of the same task only the newest is written.
            out.retain(|known| !matches!((known, &row), (Row::Task(_), Row::Task(_))));
            out.push(row);
        }
        self.version += 1;
        self.events.push(event);
    }

    fn append(&mut self) -> Option<Append> {
        if self.events.is_empty() {
            return None;
        }
        let events = std::mem::take(&mut self.events);
        let items_only = events.iter().all(|event| matches!(event, Event::Task(TaskEvent::ItemRecorded { .. })));
        let due = !items_only || self.version - self.snapshot >= SNAPSHOT_EVERY;
        if due {
            self.snapshot = self.version;
        }
        let expected = self.version - events.len() as u64;
        Some(Append { stream: self.stream, expected, events, snapshot: due.then(|| Arc::new(self.state.clone())) })
    }
}

/// A task's past in the making, and its conversation's.
pub(crate) struct History {
    setting: Setting,
    mint: Mint,
    at: i64,
    task: TaskId,
    process: Process,
    turn: TurnId,
    story: Line,
    talk: Line,
    rows: Vec<Row>,
    effects: Vec<Effect>,
    settled: Vec<String>,
}

impl History {
    /// A task that was just made, with an open turn.
    pub(crate) fn begin(setting: Setting, seed: u64, key: &str) -> Self {
        let at = EPOCH_MILLIS + i64::try_from(seed % 1_000_000_000).unwrap_or_default();
        let mut mint = Mint::new(Timestamp::from_millis(at), u128::from(seed) + 1);
        let (task, execution, session): (TaskId, ExecutionId, RuntimeSessionId) = (mint.id(), mint.id(), mint.id());
        let mut history = History {
            setting,
            at,
            task,
            process: Process { task, execution, session, epoch: 1 },
            turn: mint.id(),
            story: Line::new(StreamId::Task(task), StreamKind::Task),
            talk: Line::new(StreamId::Conversation(setting.conversation), StreamKind::Conversation),
            rows: vec![],
            effects: vec![],
            settled: vec![],
            mint,
        };
        let Setting { project, person, conversation } = setting;
        let (title, goal, root) = ("Make the button green".to_owned(), MESSAGE.to_owned(), "/code/shop".to_owned());
        history.happen(TaskEvent::TaskCreated { task, project, person, conversation, title, goal, root });
        history.happen(TaskEvent::TaskKeyed { key: key.to_owned() });
        let agent = "demo".to_owned();
        history.happen(TaskEvent::ExecutionAdded { execution, agent, role: Role::Editor, primary: true });
        let reason = StartReason::FirstUse;
        history.happen(TaskEvent::RuntimeSessionStarted { execution, session, epoch: 1, reason });
        let _ = history.ask();
        history
    }

    /// How many events the task has.
    pub(crate) fn version(&self) -> u64 {
        self.story.version
    }

    /// How many of them the next batch has.
    pub(crate) fn pending(&self) -> usize {
        self.story.events.len()
    }

    fn happen(&mut self, event: TaskEvent) {
        self.story.take(Event::Task(event), Timestamp::from_millis(self.at), &mut self.rows);
    }

    /// A message becomes a turn that runs.
    pub(crate) fn ask(&mut self) -> InputId {
        self.at += 1000;
        let (input, turn): (InputId, TurnId) = (self.mint.id(), self.mint.id());
        self.turn = turn;
        let Process { execution, session, epoch, .. } = self.process;
        let Setting { person, conversation, .. } = self.setting;
        let content = vec![ContentBlock::text("and now the hover state, please")];
        let queued = QueuedInput { input, person, conversation, content, at: Timestamp::from_millis(self.at) };
        self.happen(TaskEvent::InputQueued { execution, queued, urgency: Urgency::InTurn });
        self.happen(TaskEvent::TurnRequested { execution, turn, input, retry_of: None });
        self.happen(TaskEvent::TurnStarted { turn, session, epoch });
        input
    }

    /// The turn that runs ends.
    pub(crate) fn rest(&mut self) {
        self.at += 1000;
        let (turn, outcome) = (self.turn, TurnOutcome::Completed { stop_reason: StopReason::EndTurn });
        self.happen(TaskEvent::TurnEnded { turn, outcome, usage: Usage::default(), duration_ms: 1000 });
    }

    /// The agent says something.
    pub(crate) fn speak(&mut self) {
        self.at += 10;
        let body = ItemBody::Message { text: MESSAGE.into(), attachments: vec![], question: false };
        let item = Item { id: self.mint.id(), turn: Some(self.turn), body };
        self.happen(TaskEvent::ItemRecorded { execution: self.process.execution, item });
    }

    /// The agent uses a tool: it is announced, and recorded again when it is done.
    pub(crate) fn use_tool(&mut self) {
        let id: ItemId = self.mint.id();
        for (status, output) in [(ToolStatus::InProgress, None), (ToolStatus::Completed, Some(MESSAGE.into()))] {
            self.at += 10;
            let call = ToolCall {
                call: id.to_string(),
                title: "cargo nextest run".into(),
                tool: "execute".into(),
                status,
                input: Some(r#"{"command":["cargo","nextest","run"]}"#.into()),
                output,
                exit_code: None,
                changes: vec![],
                locations: vec!["/code/shop/src/theme.rs".into()],
                unasked: false,
            };
            let item = Item { id, turn: Some(self.turn), body: ItemBody::ToolCall(call) };
            self.happen(TaskEvent::ItemRecorded { execution: self.process.execution, item });
        }
    }

    /// A person's message ends one turn and starts the next: both aggregates, an input, an inbox entry and an effect.
    pub(crate) fn converse(&mut self) -> InboxEntry {
        if self.talk.version == 0 {
            let Setting { project, person, conversation } = self.setting;
            let opened = ConversationEvent::ConversationOpened {
                conversation,
                channel: Channel::Web,
                person,
                project: Some(project),
                address: None,
            };
            self.talk.take(Event::Conversation(opened), Timestamp::from_millis(self.at), &mut self.rows);
        }
        self.rest();
        let prompted = Effect::PromptAgent { process: self.process, turn: self.turn };
        self.settled.push(prompted.key());
        let input = self.ask();
        let decision = RouteDecision {
            id: self.mint.id(),
            intent: Intent::Continue { task: self.task, execution: None },
            confidence: 1.0,
            evidence: vec!["this conversation's focus".into()],
            alternatives: vec![],
            focus: None,
        };
        let content = vec![ContentBlock::text("and now the hover state, please")];
        let person = self.setting.person;
        let received = Received {
            input,
            person,
            content,
            decision,
            birth: None,
            urgency: Urgency::InTurn,
            reply: None,
            message: None,
        };
        let received = Event::Conversation(ConversationEvent::InputReceived(Box::new(received)));
        self.talk.take(received, Timestamp::from_millis(self.at), &mut self.rows);
        self.effects.push(Effect::PromptAgent { process: self.process, turn: self.turn });
        InboxEntry { key: format!("web:{input}"), digest: "0".repeat(64), input, raw: None }
    }

    /// How far the agent's output was consumed.
    pub(crate) fn mark(&self) -> Mark {
        let at = self.story.version * 500;
        Mark { session: self.process.session, epoch: 1, safe: at, seen: at, not_json: 0 }
    }

    /// Everything since the last batch.
    pub(crate) fn batch(&mut self) -> Batch {
        Batch {
            at: Timestamp::from_millis(self.at),
            appends: [self.talk.append(), self.story.append()].into_iter().flatten().collect(),
            rows: std::mem::take(&mut self.rows),
            effects: std::mem::take(&mut self.effects),
            settled: std::mem::take(&mut self.settled),
            inbox: None,
            mark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_store::port::Store as _;
    use throughline_store::{OpenOptions, SqliteStore};

    #[tokio::test]
    async fn a_store_takes_such_a_past() {
        let home = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&OpenOptions::new(home.path())).unwrap();
        let mut mint = Mint::new(Timestamp::from_millis(0), 1);
        let setting = Setting { project: mint.id(), person: mint.id(), conversation: mint.id() };
        let mut history = History::begin(setting, 1, "past-1");
        store.commit(history.batch()).await.unwrap();
        for _ in 0..3 {
            let inbox = Some(history.converse());
            history.use_tool();
            history.speak();
            store.commit(Batch { inbox, mark: Some(history.mark()), ..history.batch() }).await.unwrap();
        }
        let loaded = store.load(StreamId::Task(history.task)).await.unwrap();
        assert_eq!(loaded.version + loaded.tail.len() as u64, history.version());
    }
}
