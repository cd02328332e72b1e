//! What a person says and what was made of it, as it travels.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::content::ContentBlock;
use crate::task::{Role, TaskRef};

/// Something to say in a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// What is said. Files go through `POST /blobs` first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentBlock>,
    /// A shorthand for one block of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What it replies to: the key or id of a task, or the id of a request for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Where it goes, as the person states it. What is stated is never overruled.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub stated: Option<Override>,
    /// First in line, and the running turn is stopped for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
}

/// Where a message goes, as the person states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// To this task: its key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// To a new task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// To this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// To whoever has this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// To this execution of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Uuid>,
    /// In this project: its id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A new task works in a worktree of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
}

/// What a message was meant for: a task, or a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    /// For this task: its key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// For a new task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// For what it would have meant next: the likeliest other reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Stop the turn that works on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
}

/// A message to think about, without saying it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// The words.
    pub text: String,
    /// Where it would be said: a UUID, or a name of your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The project of a new task: its id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What it would reply to: the key or id of a task, or the id of a request for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// What would be made of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explained {
    /// What would be done, and why.
    pub decision: Decision,
    /// The task that it would be about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// What that task is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What Throughline itself would say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// What became of a message. It is durable when this arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SentMessage {
    /// The message as received.
    pub input: Input,
    /// What was made of it.
    pub decision: Decision,
    /// The task that it went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// The turn that it became; none while it waits in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Uuid>,
    /// What Throughline itself says to it, with what can be chosen next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// It was received before, and this is the answer that it got then. Travels as the header
    /// `idempotency-replayed`, so that both answers have the same body.
    #[serde(skip)]
    pub repeated: bool,
    /// Follow the event stream from here to see what comes of it. Travels as the header `throughline-cursor`.
    #[serde(skip)]
    pub cursor: Option<String>,
}

/// What Throughline itself says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reply {
    /// In plain words, with line breaks.
    pub text: String,
    /// What can be chosen: buttons where there are some, numbered lines elsewhere.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// What the words rest on.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// A place in the record that a statement rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// What is there.
    pub label: String,
    /// In which task.
    pub task: TaskRef,
    /// Where in its timeline: the entry with this cursor. The task itself if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Choice {
    /// What the button says.
    pub label: String,
    /// What it does.
    pub action: Action,
}

/// What a choice does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// The message was meant otherwise: `POST /decisions/{decision}/correct`.
    Correct {
        /// Which decision is put right.
        decision: Uuid,
        /// The task that was meant; a new one if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Uuid>,
        /// Whether a turn that runs is stopped for it.
        #[serde(default)]
        interrupt: bool,
    },
    /// Say yes or no: `POST /approvals/{approval}/decision`.
    Decide {
        /// To which request.
        approval: Uuid,
        /// `allow` or `deny`.
        option: String,
        /// The digest of what was shown.
        digest: String,
    },
    /// Make the rule that allows from now on what was approved: `POST /approvals/{approval}/rule`.
    MakeRule {
        /// What was approved.
        approval: Uuid,
    },
    /// Answer the agent's question: a message that replies to the task.
    Answer {
        /// Which task.
        task: Uuid,
    },
    /// Look at the task: `GET /tasks/{task}`.
    Open {
        /// Which.
        task: Uuid,
    },
    /// Stop what runs: `POST /tasks/{task}/cancel`.
    Stop {
        /// Of which task.
        task: Uuid,
    },
    /// Run the last turn again: `POST /tasks/{task}/retry`.
    Retry {
        /// Of which task.
        task: Uuid,
    },
    /// Be done with it: `POST /tasks/{task}/close`.
    Close {
        /// Which task.
        task: Uuid,
    },
    /// Go on with it: `POST /tasks/{task}/reopen`.
    Reopen {
        /// Which task.
        task: Uuid,
    },
    /// Something that a newer server offers.
    #[serde(other)]
    Unknown,
}

/// A person's message as received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Input {
    /// Which.
    pub id: Uuid,
    /// Where it was said.
    pub conversation: Uuid,
    /// Who said it.
    pub person: Uuid,
    /// When, RFC 3339.
    pub at: String,
}

/// What the router made of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// Which.
    pub id: Uuid,
    /// What is to be done, and to what.
    #[serde(flatten)]
    pub aim: Aim,
    /// From 0 to 1: how likely it is right.
    pub confidence: f32,
    /// Why, in plain words, strongest first.
    pub evidence: Vec<String>,
    /// What else it could have meant, likeliest first.
    #[serde(default)]
    pub alternatives: Vec<Aim>,
    /// The focus that it was made with, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<Focus>,
}

/// The task that an unmarked message continues, and how it came to be that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Focus {
    /// Which.
    pub task: Uuid,
    /// Where it came from.
    pub source: FocusSource,
}

/// Where a focus came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FocusSource {
    /// It is the conversation's own.
    Conversation,
    /// The person addressed it last in this project, in another conversation.
    Elsewhere,
}

/// How long a yes is meant to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For the pending request.
    Once,
    /// For the same command from now on: approved once, and the rule is offered.
    Always,
}

/// An intent and its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Aim {
    /// `continue`, `new_task`, `add_execution`, … in the router's vocabulary.
    pub intent: String,
    /// What it is about.
    pub target: Target,
}

/// What an intent is about. Only what matters to the intent is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Target {
    /// Which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Uuid>,
    /// Which execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Uuid>,
    /// Which project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Uuid>,
    /// Which approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Uuid>,
    /// Which agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// How long a yes is meant to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The tasks or approvals that the person is asked to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Uuid>,
}
