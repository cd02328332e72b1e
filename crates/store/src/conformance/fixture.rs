//! Things to store: small, valid and different from each other.

use throughline_model::approval::{Approval, Ask as Asked};
use throughline_model::delivery::PushReason;
use throughline_model::effect::{Effect, Process};
use throughline_model::event::Event;
use throughline_model::execution::Activity;
use throughline_model::ids::{
    DeliveryId, ExecutionId, Id, InputId, ItemId, Mint, ProjectId, RuntimeSessionId, TaskId, TurnId,
};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::person::PersonEvent;
use throughline_model::route::{Intent, RouteDecision};
use throughline_model::stream::StreamId;
use throughline_model::task::{Lifecycle, TaskEvent};
use throughline_model::time::Timestamp;
use throughline_model::view::{ApprovalRow, DeliveryRow, InputRow, ProjectRow, TaskRow};

use crate::port::{Append, Batch};

/// A maker of things to store. The same seed makes the same things.
#[derive(Clone, Debug)]
pub struct Fixture {
    mint: Mint,
}

/// A moment of the fixtures' day.
#[must_use]
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

impl Fixture {
    /// Things that nobody else makes who has another seed.
    #[must_use]
    pub fn new(seed: u128) -> Self {
        Self::made_at(at(0), seed)
    }

    /// Things made at a time of their own, so that their ids sort by it as real ones do.
    #[must_use]
    pub fn made_at(at: Timestamp, seed: u128) -> Self {
        Self { mint: Mint::new(at, seed) }
    }

    /// A fresh id.
    pub fn id<T: Id>(&mut self) -> T {
        self.mint.id()
    }

    /// A task's stream.
    pub fn stream(&mut self) -> StreamId {
        StreamId::Task(self.id())
    }

    /// An event that says something.
    pub fn note(&mut self, text: &str) -> Event {
        Event::Task(TaskEvent::NotePinned { person: self.id(), text: text.to_owned() })
    }

    /// An agent's finished message.
    pub fn message(&mut self, text: &str) -> Event {
        let body = ItemBody::Message { text: text.into(), attachments: vec![], question: false };
        let item = Item { id: self.id(), turn: Some(self.id()), body };
        Event::Task(TaskEvent::ItemRecorded { execution: self.id(), item })
    }

    /// A tool call, which may be recorded again.
    pub fn tool_call(&mut self, item: ItemId, status: ToolStatus) -> Event {
        let call = ToolCall {
            call: "call-1".into(),
            title: "cargo test".into(),
            tool: "execute".into(),
            status,
            input: None,
            output: None,
            exit_code: None,
            changes: vec![],
            locations: vec![],
            unasked: false,
        };
        let item = Item { id: item, turn: Some(self.id()), body: ItemBody::ToolCall(call) };
        Event::Task(TaskEvent::ItemRecorded { execution: self.id(), item })
    }

    /// An event of a person.
    pub fn enrolled(&mut self, name: &str) -> Event {
        Event::Person(PersonEvent::PersonEnrolled { person: self.id(), name: name.into(), locale: "en".into() })
    }

    /// A task in a list.
    pub fn task(&mut self, project: ProjectId, activity: Activity, updated_at: Timestamp) -> TaskRow {
        let id: TaskId = self.id();
        TaskRow {
            id,
            key: format!("shop-{}", &id.to_string()[24..]),
            project,
            title: "Fix routing".into(),
            lifecycle: Lifecycle::Open,
            activity,
            agent: "demo".into(),
            last_said: "Done: the button is green.".into(),
            waiting_for: None,
            plan: None,
            executions: vec![],
            unasked_mode: None,
            updated_at,
        }
    }

    /// A project in a list.
    pub fn project(&mut self, name: &str) -> ProjectRow {
        ProjectRow { id: self.id(), name: name.into(), root: format!("/code/{name}"), agent: "demo".into() }
    }

    /// An input that continues a task.
    pub fn input(&mut self, task: TaskId) -> InputRow {
        let decision = RouteDecision {
            id: self.id(),
            intent: Intent::Continue { task, execution: None },
            confidence: 1.0,
            evidence: vec!["this conversation's focus".into()],
            alternatives: vec![],
            focus: None,
        };
        let (id, conversation, person): (InputId, _, _) = (self.id(), self.id(), self.id());
        InputRow { id, conversation, person, decision, task: Some(task), turn: None, reply: None, at: at(0) }
    }

    /// A request that waits.
    pub fn approval(&mut self, asked_at: Timestamp) -> ApprovalRow {
        let ask = Asked {
            call: "call-1".into(),
            title: "cargo test".into(),
            tool: "execute".into(),
            input: None,
            cwd: "/code".into(),
        };
        let approval = Approval {
            id: self.id(),
            execution: self.id(),
            session: self.id(),
            epoch: 1,
            turn: self.id(),
            request: "7".into(),
            ask,
            options: vec![],
            expires_at: at(60_000),
            ruled: false,
        };
        ApprovalRow { id: approval.id, task: self.id(), approval, state: "pending".into(), asked_at, settled: None }
    }

    /// A message on its way out.
    pub fn delivery(&mut self, at: Timestamp) -> DeliveryRow {
        let id: DeliveryId = self.id();
        DeliveryRow {
            approval: None,
            input: None,
            id,
            conversation: self.id(),
            task: Some(self.id()),
            text: "done".into(),
            push: Some(PushReason::Completed),
            state: "pending".into(),
            tries: 0,
            cause: None,
            message: None,
            at,
        }
    }

    /// Work for a process.
    pub fn prompt(&mut self) -> Effect {
        let (session, execution, turn): (RuntimeSessionId, ExecutionId, TurnId) = (self.id(), self.id(), self.id());
        Effect::PromptAgent { process: Process { task: self.id(), execution, session, epoch: 1 }, turn }
    }

    /// Work for later.
    pub fn timer(&mut self, name: &str, due: Timestamp) -> Effect {
        let (to, turn) = (self.stream(), self.id());
        let command = throughline_model::task::TaskCommand::CancelOverdue { turn };
        let command = Box::new(throughline_model::command::Command::Task(command));
        Effect::Later { timer: name.into(), at: due, to, command }
    }
}

/// A batch that appends these events to one stream.
#[must_use]
pub fn appending(stream: StreamId, expected: u64, events: Vec<Event>) -> Batch {
    let append = Append { stream, expected, events, snapshot: None };
    Batch { at: at(0), appends: vec![append], ..Batch::default() }
}
