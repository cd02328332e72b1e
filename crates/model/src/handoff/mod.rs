//! Handoff: the agent-neutral brief that carries a task to another session, agent or fork.
//!
//! [`Material`] is gathered from the record up to a cut, and [`compose`] writes the brief of it: deterministic, within a
//! [`Budget`], and with nothing in it that the record does not hold. The task only remembers *that* a brief is due
//! ([`Handoff`]); it is written when the prompt that carries it is handed on, and kept in the record then.

mod compose;
mod gather;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use compose::compose;
pub use gather::Span;

use crate::content::Text;
use crate::execution::Role;
use crate::ids::{ExecutionId, HandoffId, PersonId, TaskId, TurnId};
use crate::plan::Plan;

/// A brief that is due with the first prompt of a new runtime session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// Which.
    pub id: HandoffId,
    /// Who gets it.
    pub to: ExecutionId,
    /// The task whose work it tells; its own if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TaskId>,
    /// The last turn that it tells of; all that happened if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<TurnId>,
    /// The brief itself, of a record that was made when it was still written in advance.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// How long a brief may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// In bytes.
    pub max_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_bytes: 24 * 1024 }
    }
}

/// What a brief is made of. [`Material::gather`] finds everything but the names of
/// people, the notes of the project, the patches, and what commands printed where that is long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Material {
    /// What the task is called, and what the person wanted.
    pub goal: Goal,
    /// The plan as it stood.
    pub plan: Plan,
    /// What was pinned.
    pub notes: Notes,
    /// What people decided, oldest first.
    pub decisions: Vec<Decision>,
    /// What was done, oldest first.
    pub turns: Vec<TurnTold>,
    /// The record goes further back than what was read of it.
    pub more_before: bool,
    /// Files that the turns changed, the newest change first.
    pub files: Vec<FileTold>,
    /// The workspace before the first of those changes and after the last.
    pub span: Option<Span>,
    /// Commands whose last run failed, oldest first.
    pub failing: Vec<FailingCommand>,
    /// What waits for a person, oldest first.
    pub open: Vec<OpenQuestion>,
    /// What to call those who decided.
    pub people: BTreeMap<PersonId, String>,
}

/// What the person wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// The task's title.
    pub title: String,
    /// In their words.
    pub words: String,
}

/// What was pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// To the task.
    pub task: Vec<String>,
    /// To its project.
    pub project: Vec<String>,
}

/// A person's word on something that an agent asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Who said it.
    pub by: PersonId,
    /// `approved` or `denied`.
    pub verdict: &'static str,
    /// What it was about.
    pub what: String,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// A turn as a brief tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnTold {
    /// Which.
    pub turn: TurnId,
    /// Whose.
    pub who: Who,
    /// What the person said.
    pub said: String,
    /// The agent's last words.
    pub answered: String,
    /// How it ended.
    pub outcome: String,
}

/// An agent in a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Its profile's name.
    pub agent: String,
    /// As what it works.
    pub role: Role,
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.agent, self.role.word())
    }
}

/// A file that the work changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTold {
    /// Its path below the root.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `type_changed`.
    pub change: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// What can be shown of it.
    pub patch: Patch,
}

/// What can be shown of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch {
    /// It is not known.
    #[default]
    Unknown,
    /// A unified diff.
    Text(String),
    /// Its content is not text.
    Binary,
    /// It is too long for reading.
    Huge,
}

/// A command whose last run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingCommand {
    /// As it was run.
    pub command: String,
    /// Its exit code, where the agent said.
    pub exit_code: Option<i32>,
    /// What it printed. A brief shows the end of it, as far as it stands in the text itself.
    pub output: Text,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Who asks.
    pub who: Who,
    /// What.
    pub text: String,
}

/// The end of a text, cut at a character: a reader wants a failure's last lines.
pub(crate) fn tail(text: &str, max_bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The beginning of a text, cut at a character.
pub(crate) fn head(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
