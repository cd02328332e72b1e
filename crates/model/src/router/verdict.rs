//! What the router says, in the vocabulary of `routing/FORMAT.md`.

use serde::{Deserialize, Serialize};

use super::input::Role;

/// What was made of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// What is to be done.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// From 0 to 1: how likely it is right.
    pub confidence: f32,
    /// Why, in plain words, strongest first.
    pub evidence: Vec<String>,
    /// What else it could have meant, likeliest first.
    pub alternatives: Vec<Verdict>,
}

/// One reading of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Verdict {
    /// Give it to the task's sticky session.
    Continue {
        /// Which task.
        task: String,
        /// Which execution; the primary one if none is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution: Option<String>,
    },
    /// Reply to a question that an agent waits on.
    Answer {
        /// Which task.
        task: String,
        /// Which execution.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution: Option<String>,
    },
    /// Start a task of its own.
    NewTask {
        /// In which project.
        project: String,
        /// With which agent; the project's default if none is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A second agent under the same task.
    AddExecution {
        /// Which task.
        task: String,
        /// Which agent.
        agent: String,
        /// As what.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
    },
    /// The same task goes on with another agent or model.
    SwitchAgent {
        /// Which task.
        task: String,
        /// Which agent.
        agent: String,
        /// Which model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The same task without the provider's context.
    FreshSession {
        /// Which task.
        task: String,
    },
    /// Run the last turn again.
    Retry {
        /// Which task.
        task: String,
        /// Which execution.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution: Option<String>,
    },
    /// Try another way in parallel from the same point.
    Fork {
        /// Which task.
        task: String,
        /// With which agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Answer from the record.
    Status {
        /// A task's id, or `all`.
        task: String,
    },
    /// Say yes to a pending approval.
    Approve {
        /// Which.
        approval: String,
        /// For how long.
        scope: Scope,
    },
    /// Say no to a pending approval.
    Deny {
        /// Which.
        approval: String,
    },
    /// Stop the running turn.
    Cancel {
        /// A task's id, or `all`.
        task: String,
    },
    /// The person is done with the task.
    Close {
        /// Which task.
        task: String,
    },
    /// Turn the conversation to another task.
    Focus {
        /// Which task.
        task: String,
    },
    /// Ask the person what they meant.
    Clarify {
        /// Tasks or approvals that it could be about.
        candidates: Vec<String>,
    },
    /// A courtesy.
    Ack,
    /// How do I use this.
    Help,
}

/// How long a yes holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For the pending request.
    #[default]
    Once,
    /// For the same command from now on.
    Always,
}

/// Stands for every task in [`Verdict::Status`] and [`Verdict::Cancel`].
pub const ALL: &str = "all";
