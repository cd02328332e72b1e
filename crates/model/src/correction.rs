//! Correction: a message was meant otherwise than it was taken. It moves, and both tasks' records say so.
//!
//! Invariants: the input and its decision keep their ids, so that the same correction again changes nothing; what an
//! agent is working on is stopped for it only with the person's consent.

use serde::{Deserialize, Serialize};

use crate::content::ContentBlock;
use crate::conversation::Birth;
use crate::ids::{InputId, PersonId, TaskId};
use crate::route::{Intent, RouteDecision};
use crate::time::Timestamp;

/// What an input was meant for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// Which input.
    pub input: InputId,
    /// Who said it, and says now what it was for.
    pub person: PersonId,
    /// What they said.
    pub content: Vec<ContentBlock>,
    /// When they said it.
    pub said_at: Timestamp,
    /// What is made of it now, under the same id.
    pub decision: RouteDecision,
    /// What a new task starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// The task that had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TaskId>,
    /// Whether that task was started by it, and so has no other purpose.
    #[serde(default)]
    pub started: bool,
    /// Whether a turn that runs may be stopped for it.
    #[serde(default)]
    pub interrupt: bool,
}

impl Correction {
    /// The task that gets it.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        match &self.birth {
            Some(Birth::Task { task, .. } | Birth::Fork { task, .. }) => Some(*task),
            Some(Birth::Execution { .. }) | None => self.decision.intent.task(),
        }
    }
}

impl Intent {
    /// Whether it gives the message to an agent.
    #[must_use]
    pub fn queues(&self) -> bool {
        match self {
            Intent::Continue { .. } | Intent::Answer { .. } | Intent::NewTask { .. } | Intent::AddExecution { .. } => {
                true
            }
            Intent::SwitchAgent { agent, .. } => agent.is_some(),
            Intent::FreshSession { .. }
            | Intent::Retry { .. }
            | Intent::Fork { .. }
            | Intent::Status { .. }
            | Intent::Approve { .. }
            | Intent::Deny { .. }
            | Intent::Cancel { .. }
            | Intent::Close { .. }
            | Intent::Focus { .. }
            | Intent::Correct { .. }
            | Intent::Clarify { .. }
            | Intent::Ack
            | Intent::Help => false,
        }
    }
}
