//! Project: a body of code, with its roots, its default agent and its members.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::effect::Effect;
use crate::ids::{PersonId, ProjectId, TaskId};
use crate::rejection::Rejection;
use crate::stream::StreamId;
use crate::task::TaskCommand;

/// The most notes that a project keeps.
const MAX_NOTES: usize = 50;

/// A project's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Which.
    pub id: ProjectId,
    /// What people call it; also the first half of its tasks' keys.
    pub name: String,
    /// Its folders; the first one is where agents start.
    pub roots: Vec<String>,
    /// The agent that a new task gets.
    pub default_agent: String,
    /// Who may see and do things here.
    pub members: Vec<PersonId>,
    /// What was pinned: a part of every handoff of its tasks.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How many tasks were numbered.
    pub tasks: u64,
    /// Whether it was put away.
    pub archived: bool,
}

/// What can be asked of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProjectCommand {
    /// Make it.
    Add {
        /// Which.
        project: ProjectId,
        /// What to call it.
        name: String,
        /// Where it is.
        root: String,
        /// Its default agent.
        agent: String,
        /// Its first member.
        member: PersonId,
    },
    /// Give new tasks another agent.
    SetDefaultAgent {
        /// Which.
        agent: String,
    },
    /// Pin a note.
    PinNote {
        /// Who.
        person: PersonId,
        /// The words.
        text: String,
    },
    /// Give a task its number.
    NumberTask {
        /// Which task.
        task: TaskId,
    },
}

/// What happened to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProjectEvent {
    /// It was made.
    ProjectAdded {
        /// Which.
        project: ProjectId,
        /// What to call it.
        name: String,
        /// Where it is.
        root: String,
        /// Its default agent.
        agent: String,
        /// Its first member.
        member: PersonId,
    },
    /// New tasks get another agent.
    DefaultAgentSet {
        /// Which.
        agent: String,
    },
    /// A note was pinned.
    ProjectNotePinned {
        /// Who.
        person: PersonId,
        /// The words.
        text: String,
    },
    /// A task got its number.
    TaskNumbered {
        /// Which task.
        task: TaskId,
        /// Counts from one.
        number: u64,
    },
}

pub(crate) fn decide(state: Option<&Project>, command: ProjectCommand) -> Result<Vec<ProjectEvent>, Rejection> {
    let Some(project) = state else {
        return match command {
            ProjectCommand::Add { project, name, root, agent, member } => {
                Ok(vec![ProjectEvent::ProjectAdded { project, name, root, agent, member }])
            }
            ProjectCommand::SetDefaultAgent { .. }
            | ProjectCommand::PinNote { .. }
            | ProjectCommand::NumberTask { .. } => Err(Rejection::NotFound { what: "project" }),
        };
    };
    match command {
        ProjectCommand::Add { .. } => Err(Rejection::Exists { what: "the project" }),
        ProjectCommand::SetDefaultAgent { agent } if agent == project.default_agent => Ok(vec![]),
        ProjectCommand::SetDefaultAgent { agent } => Ok(vec![ProjectEvent::DefaultAgentSet { agent }]),
        ProjectCommand::PinNote { text, .. } if text.trim().is_empty() => Err(Rejection::Empty),
        ProjectCommand::PinNote { .. } if project.notes.len() >= MAX_NOTES => {
            Err(Rejection::QueueFull { waiting: project.notes.len() })
        }
        ProjectCommand::PinNote { person, text } => Ok(vec![ProjectEvent::ProjectNotePinned { person, text }]),
        ProjectCommand::NumberTask { task } => Ok(vec![ProjectEvent::TaskNumbered { task, number: project.tasks + 1 }]),
    }
}

pub(crate) fn evolve(state: &mut Option<Project>, event: &ProjectEvent) {
    match (state.as_mut(), event) {
        (_, ProjectEvent::ProjectAdded { project, name, root, agent, member }) => {
            *state = Some(Project {
                id: *project,
                name: name.clone(),
                roots: vec![root.clone()],
                default_agent: agent.clone(),
                members: vec![*member],
                notes: vec![],
                tasks: 0,
                archived: false,
            });
        }
        (Some(project), ProjectEvent::DefaultAgentSet { agent }) => project.default_agent.clone_from(agent),
        (Some(project), ProjectEvent::ProjectNotePinned { text, .. }) => project.notes.push(text.clone()),
        (Some(project), ProjectEvent::TaskNumbered { number, .. }) => project.tasks = *number,
        (
            None,
            ProjectEvent::DefaultAgentSet { .. }
            | ProjectEvent::ProjectNotePinned { .. }
            | ProjectEvent::TaskNumbered { .. },
        ) => {}
    }
}

pub(crate) fn react(project: &Project, event: &ProjectEvent) -> Vec<Effect> {
    match event {
        ProjectEvent::TaskNumbered { task, number } => {
            let key = format!("{}-{number}", project.name);
            vec![Effect::Tell {
                to: StreamId::Task(*task),
                command: Box::new(Command::Task(TaskCommand::AssignKey { key })),
            }]
        }
        ProjectEvent::ProjectAdded { .. }
        | ProjectEvent::DefaultAgentSet { .. }
        | ProjectEvent::ProjectNotePinned { .. } => vec![],
    }
}
