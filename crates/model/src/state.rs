//! The state of one aggregate: what `decide` looks at, what `evolve` changes, what a snapshot holds.

use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::person::Person;
use crate::project::Project;
use crate::stream::StreamKind;
use crate::task::Task;
use crate::workspace::Workspace;

/// One aggregate, or the empty place where it will be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", content = "state", rename_all = "snake_case")]
pub enum State {
    /// A person.
    Person(Option<Person>),
    /// A project.
    Project(Option<Project>),
    /// A conversation.
    Conversation(Option<Box<Conversation>>),
    /// A task.
    Task(Option<Box<Task>>),
    /// A workspace.
    Workspace(Option<Workspace>),
}

impl State {
    /// The snapshot format that this version writes. A newer one is refused, an older one is replayed over.
    pub const FORMAT: u32 = 1;

    /// The empty place for an aggregate of this kind.
    #[must_use]
    pub fn empty(kind: StreamKind) -> Self {
        match kind {
            StreamKind::Person => State::Person(None),
            StreamKind::Project => State::Project(None),
            StreamKind::Conversation => State::Conversation(None),
            StreamKind::Task => State::Task(None),
            StreamKind::Workspace => State::Workspace(None),
        }
    }

    /// The person, if it is one.
    #[must_use]
    pub fn person(&self) -> Option<&Person> {
        match self {
            State::Person(person) => person.as_ref(),
            State::Project(_) | State::Task(_) | State::Conversation(_) | State::Workspace(_) => None,
        }
    }

    /// The task, if it is one.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        match self {
            State::Task(task) => task.as_deref(),
            State::Person(_) | State::Project(_) | State::Conversation(_) | State::Workspace(_) => None,
        }
    }

    /// The project, if it is one.
    #[must_use]
    pub fn project(&self) -> Option<&Project> {
        match self {
            State::Project(project) => project.as_ref(),
            State::Person(_) | State::Task(_) | State::Conversation(_) | State::Workspace(_) => None,
        }
    }

    /// The conversation, if it is one.
    #[must_use]
    pub fn conversation(&self) -> Option<&Conversation> {
        match self {
            State::Conversation(conversation) => conversation.as_deref(),
            State::Person(_) | State::Task(_) | State::Project(_) | State::Workspace(_) => None,
        }
    }
}
