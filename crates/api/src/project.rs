//! Projects and conversations as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A body of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// Which.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub root: String,
    /// The agent that a new task gets.
    pub agent: String,
}

/// All projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectList {
    /// By name.
    pub projects: Vec<Project>,
}

/// A project to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddProject {
    /// Its folder, absolute.
    pub root: String,
    /// What to call it; the folder's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its default agent; the configured one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// What is pinned to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PinnedNotes {
    /// Which project.
    pub project: ProjectRef,
    /// Oldest first.
    pub notes: Vec<String>,
}

/// A short pointer to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectRef {
    /// Which.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
}

/// Where a conversation takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The web page.
    Web,
    /// A terminal.
    Cli,
    /// An IDE's thread.
    Ide,
    /// The HTTP API.
    Api,
}

/// A conversation to open. Opening one that is there changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenConversation {
    /// Where it takes place.
    pub channel: Channel,
    /// The project that a new task would belong to: its id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Of a terminal: its folder's project root. The conversation is then the person's one for that root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// A long-lived place to talk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    /// Which.
    pub id: Uuid,
}
