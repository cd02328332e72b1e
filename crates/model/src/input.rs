//! Input: a person's message as received. It waits in its execution's queue until it is dispatched as a turn,
//! and can be withdrawn until then.

use serde::{Deserialize, Serialize};

use crate::content::ContentBlock;
use crate::ids::{ConversationId, InputId, PersonId};
use crate::time::Timestamp;

/// An input on its way to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedInput {
    /// Which.
    pub input: InputId,
    /// Who said it.
    pub person: PersonId,
    /// Where.
    pub conversation: ConversationId,
    /// What.
    pub content: Vec<ContentBlock>,
    /// When it was received.
    pub at: Timestamp,
}

impl QueuedInput {
    /// Whether it is one of the agent's own slash commands, which reach it verbatim and with nothing before them.
    #[must_use]
    pub fn is_command(&self) -> bool {
        let Some(ContentBlock::Text { text }) = self.content.first() else { return false };
        let word = text.head().split_whitespace().next().unwrap_or_default();
        let named = |name: &str| {
            name.starts_with(char::is_alphabetic)
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))
        };
        word.strip_prefix('/').is_some_and(named)
    }
}

/// Where an input goes in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Behind what waits already.
    #[default]
    InTurn,
    /// First in line; the running turn goes on.
    Next,
    /// First in line, and the running turn is stopped for it.
    Interrupt,
}

/// Where an input stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputState {
    /// It waits for its execution.
    Queued,
    /// It became a turn.
    Dispatched,
    /// It needed no agent.
    Handled,
    /// The person took it back.
    Withdrawn,
}
