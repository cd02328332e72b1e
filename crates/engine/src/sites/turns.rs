//! The turns of a task as the record has them: what was said, what came of it, and which checkpoints stand.

use std::collections::HashMap;
use std::str::FromStr;

use throughline_model::checkpoint::{CheckpointSide, CheckpointTree};
use throughline_model::content::{one_line, plain_text};
use throughline_model::event::{Event, Seq};
use throughline_model::ids::{ExecutionId, InputId, TaskId, TurnId};
use throughline_model::item::ItemBody;
use throughline_model::plan::Plan;
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_store::port::Feed;

use crate::engine::Engine;
use crate::error::EngineError;

/// How many events are read at once.
const PAGE: usize = 500;
/// How much of what was said is kept of each turn.
const SAID_CHARS: usize = 500;

/// A turn that ended or runs, as the record has it.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTurn {
    /// Which.
    pub id: TurnId,
    /// Whose.
    pub execution: ExecutionId,
    /// Counts the task's turns from one.
    pub number: usize,
    /// What the person said, in one line.
    pub said: String,
    /// The agent's last words, in one line.
    pub answered: String,
    /// How it ended; empty while it runs.
    pub outcome: String,
    /// The workspace before it.
    pub before: Option<CheckpointTree>,
    /// The workspace after it.
    pub after: Option<CheckpointTree>,
}

impl PastTurn {
    /// The tree of one side of it.
    ///
    /// # Errors
    /// If there is no checkpoint, with the reason.
    pub(crate) fn tree(&self, side: CheckpointSide) -> Result<&str, EngineError> {
        let (tree, word) = match side {
            CheckpointSide::Before => (&self.before, "before"),
            CheckpointSide::After => (&self.after, "after"),
        };
        let why = match tree {
            Some(CheckpointTree::Taken { oid }) => return Ok(oid),
            Some(CheckpointTree::LeftOut { why }) => why.clone(),
            None if self.outcome.is_empty() => "it has not ended".into(),
            None => "it did not write, or did not come so far".into(),
        };
        Err(EngineError::NoCheckpoint { turn: self.number, side: word, why })
    }
}

/// How a person names a turn: by its id, or by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnChoice {
    /// By its id.
    Id(TurnId),
    /// By its number, from one.
    Number(usize),
}

impl FromStr for TurnChoice {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let number = text.parse().map(TurnChoice::Number);
        let id = || text.parse().map(TurnChoice::Id);
        number.or_else(|_| id()).map_err(|_| Rejection::NotFound { what: "turn" }.into())
    }
}

/// A task as it stood after a turn.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Its turns, oldest first.
    pub(super) turns: Vec<PastTurn>,
    /// Its plan.
    pub(super) plan: Plan,
    /// What was pinned.
    pub(super) notes: Vec<String>,
}

/// A task, while its events are read.
#[derive(Default)]
struct Reading {
    said: HashMap<InputId, String>,
    record: Record,
}

impl Engine {
    /// All turns of a task, oldest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn turns(&self, task: TaskId) -> Result<Vec<PastTurn>, EngineError> {
        Ok(self.record(task, None).await?.turns)
    }

    /// A task as it stood after a turn, or as it stands.
    pub(super) async fn record(&self, task: TaskId, until: Option<TurnId>) -> Result<Record, EngineError> {
        let mut reading = Reading::default();
        let mut after = Seq::default();
        loop {
            let feed = Feed { stream: Some(StreamId::Task(task)), after, limit: PAGE };
            let page = self.store().read(feed).await?;
            for recorded in &page {
                if let Event::Task(event) = &recorded.event {
                    reading.take(event);
                    if matches!(event, TaskEvent::TurnEnded { turn, .. } if Some(*turn) == until) {
                        return Ok(reading.record);
                    }
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.seq,
                _ => return Ok(reading.record),
            }
        }
    }

    /// The turn that a person means; the newest with a checkpoint on this side if they name none.
    pub(crate) async fn chosen_turn(
        &self,
        task: TaskId,
        choice: Option<TurnChoice>,
        side: CheckpointSide,
    ) -> Result<PastTurn, EngineError> {
        let turns = self.turns(task).await?;
        let found = match choice {
            Some(TurnChoice::Id(id)) => turns.into_iter().find(|turn| turn.id == id),
            Some(TurnChoice::Number(number)) => turns.into_iter().find(|turn| turn.number == number),
            None => turns.into_iter().rev().find(|turn| turn.tree(side).is_ok()),
        };
        let missing = match choice {
            Some(_) => Rejection::NotFound { what: "turn" },
            None => Rejection::NoTurn { verb: "go back to: none has a checkpoint" },
        };
        Ok(found.ok_or(missing)?)
    }
}

impl Reading {
    fn take(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::InputQueued { queued, .. } => {
                self.said.insert(queued.input, one_line(&plain_text(&queued.content), SAID_CHARS));
            }
            TaskEvent::TurnRequested { execution, turn, input, .. } => self.record.turns.push(PastTurn {
                id: *turn,
                execution: *execution,
                number: self.record.turns.len() + 1,
                said: self.said.remove(input).unwrap_or_default(),
                answered: String::new(),
                outcome: String::new(),
                before: None,
                after: None,
            }),
            TaskEvent::ItemRecorded { item, .. } => {
                if let (ItemBody::Message { text, .. }, Some(turn)) = (&item.body, item.turn)
                    && let Some(turn) = self.turn(turn)
                {
                    turn.answered = one_line(text.head(), SAID_CHARS);
                }
            }
            TaskEvent::CheckpointTaken { checkpoint } => {
                if let Some(turn) = self.turn(checkpoint.turn) {
                    match checkpoint.side {
                        CheckpointSide::Before => turn.before = Some(checkpoint.tree.clone()),
                        CheckpointSide::After => turn.after = Some(checkpoint.tree.clone()),
                    }
                }
            }
            TaskEvent::TurnEnded { turn, outcome, .. } => {
                if let Some(turn) = self.turn(*turn) {
                    outcome.word().clone_into(&mut turn.outcome);
                }
            }
            TaskEvent::PlanRevised { plan } => self.record.plan = plan.clone(),
            TaskEvent::NotePinned { text, .. } => self.record.notes.push(text.clone()),
            _ => {}
        }
    }

    fn turn(&mut self, id: TurnId) -> Option<&mut PastTurn> {
        self.record.turns.iter_mut().rev().find(|turn| turn.id == id)
    }
}
