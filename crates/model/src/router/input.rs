//! What the router reads: one message and the work around it, as `routing/FORMAT.md` has it.
//!
//! Ids are plain strings, so that labelled cases and the engine's context builder feed the same function.

use serde::Deserialize;

/// One message together with the work that stands around it.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Unique name.
    pub id: String,
    /// BCP-47 tag of the message; never read by the router.
    #[serde(default)]
    pub lang: String,
    /// The text as typed.
    pub message: String,
    /// What stands around it.
    pub context: Context,
    /// What the router must decide.
    #[serde(default)]
    pub expect: serde_json::Value,
    /// What also counts as right.
    #[serde(default)]
    pub accept: Vec<serde_json::Value>,
}

/// What stands around a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Where it was typed.
    pub channel: String,
    /// What it replies to, if the channel says so.
    pub reply_to: Option<ReplyTo>,
    /// The conversation's current task.
    pub focus: Option<String>,
    /// The installed agents.
    pub agents: Vec<Agent>,
    /// The project's default agent.
    pub default_agent: String,
    /// The projects that the person can see.
    pub projects: Vec<Project>,
    /// The conversation's project.
    pub current_project: String,
    /// The tasks that the person can see, most recent first.
    pub tasks: Vec<Task>,
    /// The pending approvals.
    pub approvals: Vec<Approval>,
}

/// What a message replies to.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyTo {
    /// A task's message.
    Task(String),
    /// An execution's message.
    Execution(String),
    /// A request for approval.
    Approval(String),
}

/// An installed agent and what people call it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Its models' names.
    pub models: Vec<String>,
    /// Words that it takes as a command where a message begins with one.
    pub words: Vec<String>,
}

/// A project.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A visible task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The handle that a person may type.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Its project.
    pub project: String,
    /// What it does now.
    pub state: Activity,
    /// Minutes since its last event.
    pub idle_minutes: u64,
    /// Who works on it.
    pub executions: Vec<Execution>,
    /// The last line that the agent said to the person.
    pub last_said: Option<String>,
}

/// One agent at work on a task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Execution {
    /// Its id.
    pub id: String,
    /// Which agent.
    pub agent: String,
    /// As what.
    pub role: Option<Role>,
    /// What it does now.
    pub state: Activity,
    /// Whether an unmarked message goes to it.
    pub primary: bool,
}

/// A pending approval.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Approval {
    /// Its id.
    pub id: String,
    /// Of which task.
    pub task: String,
    /// Of which execution.
    pub execution: String,
    /// The command or edit that was shown.
    pub what: String,
}

/// What a task or an execution does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Waits for its turn.
    Queued,
    /// A turn runs.
    Working,
    /// Waits for a yes or a no.
    WaitingApproval,
    /// Waits for an answer.
    WaitingAnswer,
    /// The last turn ended.
    #[default]
    Resting,
    /// The last turn failed.
    Failed,
    /// Cannot go on for now.
    Blocked,
    /// The person is done with it.
    Closed,
}

impl Activity {
    /// Whether there is a turn to stop.
    #[must_use]
    pub fn runs(self) -> bool {
        matches!(self, Self::Queued | Self::Working)
    }
}

/// In which role an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Changes the code.
    Editor,
    /// Reads and judges.
    Reviewer,
    /// Writes and runs tests.
    Tester,
    /// Finds things out.
    Researcher,
}
