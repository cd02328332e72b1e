//! Turn: one prompt and all that follows until the agent stops. The only thing that ends on success or failure.

use serde::{Deserialize, Serialize};

use crate::budget::Cap;
use crate::checkpoint::CheckpointTree;
use crate::ids::{InputId, TurnId};
use crate::input::QueuedInput;
use crate::question::Question;
use crate::runtime_session::Failure;
use crate::time::Timestamp;

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveTurn {
    /// Which.
    pub id: TurnId,
    /// What the person said.
    pub input: QueuedInput,
    /// How far it is.
    pub stage: TurnStage,
    /// When the input left the queue.
    pub requested_at: Timestamp,
    /// When the prompt was handed on.
    pub started_at: Option<Timestamp>,
    /// The person asked for it to stop.
    pub stopping: Option<StopWish>,
    /// The agent's last words in it, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Nothing was heard of it for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_secs: Option<u64>,
    /// How many requests were taken in it, and whether more were refused.
    #[serde(default)]
    pub asked: AskedSoFar,
    /// What the agent asked the person in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The turns of other executions whose findings go along with the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<TurnId>,
    /// The workspace as it was before the agent got the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CheckpointTree>,
}

/// What a turn has asked for so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSoFar {
    /// How many requests were taken.
    pub count: u32,
    /// Whether one was refused because there were too many.
    pub refusing: bool,
    /// The agent's ids of the calls that somebody was asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// How far a turn is. The prompt is handed on in [`TurnStage::Running`] and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum TurnStage {
    /// Another turn writes in the same workspace root.
    AwaitingLease {
        /// Why it waits, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<String>,
    },
    /// The runtime session's process is being started.
    AwaitingSession,
    /// The agent has the prompt.
    Running,
}

/// Why a turn is stopped in the name of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopWish {
    /// They do not want it.
    Cancel,
    /// They are done with the execution: it ends with its turn.
    Dismiss,
    /// They want something else first.
    Interrupt,
    /// They gave it a budget, and it is used up.
    Budget {
        /// Which cap was reached.
        cap: Cap,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent stopped by itself.
    Completed {
        /// Why it stopped.
        stop_reason: StopReason,
    },
    /// It did not work.
    Failed {
        /// What went wrong.
        failure: Failure,
    },
    /// The person stopped it.
    Cancelled,
    /// Something else came first: a person's interruption, or the death of the agent's process.
    Interrupted {
        /// What it was, in words.
        cause: String,
    },
    /// It cannot be known whether the agent got the prompt. It is never sent again by itself.
    Unknown {
        /// What is known, in words.
        cause: String,
    },
}

impl TurnOutcome {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            TurnOutcome::Completed { .. } => "completed",
            TurnOutcome::Failed { .. } => "failed",
            TurnOutcome::Cancelled => "cancelled",
            TurnOutcome::Interrupted { .. } => "interrupted",
            TurnOutcome::Unknown { .. } => "unknown",
        }
    }
}

/// Why an agent stopped, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It ran out of tokens.
    MaxTokens,
    /// It made too many requests in one turn.
    MaxTurnRequests,
    /// It refused.
    Refusal,
    /// It was told to stop.
    Cancelled,
    /// Something that this version has no word for.
    Other,
}

/// What a turn used, as far as the agent says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Tokens in all.
    pub total_tokens: Option<u64>,
    /// Tokens that the context holds now.
    pub context_tokens: Option<u64>,
    /// Tokens that fit in the context.
    pub context_limit: Option<u64>,
    /// Cost, with its currency, such as `0.12 USD`.
    pub cost: Option<String>,
}

/// A turn that ended, as the task remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedTurn {
    /// Which.
    pub id: TurnId,
    /// The input it came from, so that it can be retried.
    pub input: QueuedInput,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// When.
    pub at: Timestamp,
}

impl EndedTurn {
    /// The input it came from.
    #[must_use]
    pub fn input_id(&self) -> InputId {
        self.input.input
    }
}
