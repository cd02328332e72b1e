//! Commands: requests, in the imperative. Each is addressed to one stream.

use serde::{Deserialize, Serialize};

use crate::conversation::ConversationCommand;
use crate::person::PersonCommand;
use crate::project::ProjectCommand;
use crate::task::TaskCommand;
use crate::workspace::WorkspaceCommand;

/// A request to one aggregate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", content = "command", rename_all = "snake_case")]
pub enum Command {
    /// To a person's record.
    Person(PersonCommand),
    /// To a project.
    Project(ProjectCommand),
    /// To a conversation.
    Conversation(ConversationCommand),
    /// To a task.
    Task(TaskCommand),
    /// To a workspace.
    Workspace(WorkspaceCommand),
}
