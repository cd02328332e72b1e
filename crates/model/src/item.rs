//! Item: one entry of a turn. Items are upserts by id: a later record of the same item replaces the earlier one.
//!
//! Messages and thoughts are recorded once, when they are finished; tool calls when they appear and whenever
//! their status changes. Text in between is live and never persisted.

use serde::{Deserialize, Serialize};

use crate::content::{ContentBlock, Text};
use crate::ids::{ItemId, TurnId};

/// One entry of a turn, as last recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Stable across replays of the agent's output.
    pub id: ItemId,
    /// The turn it belongs to; none for what an agent sends between turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

impl Item {
    /// Whether a later record may replace this one. Only such items are indexed by the store.
    #[must_use]
    pub fn revisable(&self) -> bool {
        matches!(self.body, ItemBody::ToolCall(_))
    }

    /// Whether this is the last that is said of it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.body {
            ItemBody::ToolCall(call) => call.status.ended(),
            ItemBody::Message { .. } | ItemBody::Thought { .. } | ItemBody::Note(_) => true,
        }
    }
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// The agent spoke.
    Message {
        /// Its words.
        text: Text,
        /// Pictures and files that came along.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<ContentBlock>,
        /// The agent marked it as a question that it waits on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        question: bool,
    },
    /// The agent thought aloud.
    Thought {
        /// Its words.
        text: Text,
    },
    /// The agent used a tool.
    ToolCall(ToolCall),
    /// Something worth keeping that is none of the above.
    Note(Note),
}

/// A tool call and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The agent's own id of the call.
    pub call: String,
    /// The agent's description.
    pub title: String,
    /// What sort of tool: `execute`, `edit`, `read`, … as the agent says.
    pub tool: String,
    /// Where it stands.
    pub status: ToolStatus,
    /// What the agent sent as the tool's input, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Text>,
    /// What came out, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Text>,
    /// The exit code of a command, where the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Files that it touched, as the agent says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<String>,
    /// It did something, and nobody was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
}

impl ToolCall {
    /// The sorts of tools that do something to the world.
    const DOING: [&'static str; 4] = ["execute", "edit", "delete", "move"];

    /// Whether it did something, as far as the agent says.
    #[must_use]
    pub fn did_something(&self) -> bool {
        self.status.ended() && Self::DOING.contains(&self.tool.as_str())
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced, not running yet.
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Did not work.
    Failed,
}

impl ToolStatus {
    /// Nothing more will come of it.
    #[must_use]
    pub fn ended(self) -> bool {
        matches!(self, ToolStatus::Completed | ToolStatus::Failed)
    }
}

/// One file, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path as the agent gave it.
    pub path: String,
    /// The text before; none for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Text>,
    /// The text after.
    pub after: Text,
}

/// Something worth keeping that has no shape of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// What sort.
    pub about: NoteKind,
    /// In words.
    pub text: Text,
}

/// The sorts of notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A line of the agent's output that is not JSON.
    NotJson,
    /// An update of a kind that this version does not know.
    UnknownUpdate,
    /// What the agent wrote to its standard error before it died.
    Stderr,
    /// A request from the agent that was refused.
    Refused,
}
