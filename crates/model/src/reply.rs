//! Reply: what Throughline itself says to a message, and what the person can choose next.
//!
//! It is stored with the input that it answers, so that the same message again gets the same answer.

use serde::{Deserialize, Serialize};

use crate::approval::Verdict;
use crate::event::Seq;
use crate::ids::{ApprovalId, DecisionId, TaskId};

/// What Throughline says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// In plain words, with line breaks.
    pub text: String,
    /// What can be chosen: buttons where there are some, numbered lines elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// What the words rest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// A place in the record that a statement rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What is there.
    pub label: String,
    /// In which task.
    pub task: TaskId,
    /// The task's handle.
    pub key: String,
    /// Where in its timeline; the task itself if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Seq>,
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What the button says.
    pub label: String,
    /// What it does.
    pub action: Action,
}

/// What a choice does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// The message was meant otherwise: `POST /decisions/{decision}/correct`.
    Correct {
        /// Which decision is put right.
        decision: DecisionId,
        /// The task that was meant; a new one if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Whether a turn that runs is stopped for it.
        #[serde(default)]
        interrupt: bool,
    },
    /// Say yes or no: `POST /approvals/{approval}/decision`.
    Decide {
        /// To which request.
        approval: ApprovalId,
        /// Yes or no.
        verdict: Verdict,
        /// The digest of what was shown.
        digest: String,
    },
    /// Make the rule that allows from now on what was approved: `POST /approvals/{approval}/rule`.
    MakeRule {
        /// What was approved.
        approval: ApprovalId,
    },
    /// Answer the agent's question.
    Answer {
        /// Of which task.
        task: TaskId,
    },
    /// Look at the task.
    Open {
        /// Which.
        task: TaskId,
    },
    /// Stop what runs.
    Stop {
        /// Of which task.
        task: TaskId,
    },
    /// Run the last turn again.
    Retry {
        /// Of which task.
        task: TaskId,
    },
    /// Be done with it.
    Close {
        /// Which task.
        task: TaskId,
    },
    /// Go on with it.
    Reopen {
        /// Which task.
        task: TaskId,
    },
}

impl Reply {
    /// Words without a choice.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Reply { text: text.into(), choices: vec![], links: vec![] }
    }

    /// With something to choose.
    #[must_use]
    pub fn or(mut self, label: impl Into<String>, action: Action) -> Self {
        self.choices.push(Choice { label: label.into(), action });
        self
    }
}
