//! Project: a body of code, with its roots, its default agent, its members and its policy.

use serde::{Deserialize, Serialize};

use crate::approval::Source;
use crate::command::Command;
use crate::effect::Effect;
use crate::execution::Role;
use crate::ids::{ApprovalId, PersonId, ProjectId, TaskId};
use crate::policy::{Allowance, Allowed, Made, Policy, Rule, RuleDraft, Ruling, Standing};
use crate::rejection::Rejection;
use crate::stream::StreamId;
use crate::task::TaskCommand;
use crate::time::Timestamp;

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
    /// What is allowed without asking, and what is forbidden.
    #[serde(default)]
    pub policy: Policy,
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
    /// Let a role do something without asking, or ask again.
    Allow {
        /// Which role.
        role: Role,
        /// What.
        what: Allowed,
        /// Whether it is allowed.
        answer: Asking,
        /// Who says so.
        by: PersonId,
        /// From where.
        source: Source,
    },
    /// Make a rule.
    AddRule {
        /// What it says.
        draft: RuleDraft,
        /// Who makes it.
        by: PersonId,
        /// From where.
        source: Source,
    },
    /// Take a rule back.
    RevokeRule {
        /// Which.
        number: u64,
        /// Who takes it back.
        by: PersonId,
        /// From where.
        source: Source,
    },
    /// A request was decided by a standing. Refused if the policy is no longer the one that it was found in.
    ApplyStanding {
        /// What decided, in which version.
        ruling: Ruling,
        /// Of which task.
        task: TaskId,
        /// Which request.
        approval: ApprovalId,
    },
}

/// Whether a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// Each time.
    Ask,
    /// Never: it is allowed.
    Allow,
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
    /// A role may do something without asking, or is asked about again.
    AllowanceSet {
        /// Which role.
        role: Role,
        /// What.
        what: Allowed,
        /// Whether it is allowed.
        answer: Asking,
        /// Who said so.
        made: Made,
    },
    /// A rule was made.
    RuleAdded {
        /// Which.
        number: u64,
        /// What it says.
        draft: RuleDraft,
        /// Who made it.
        made: Made,
    },
    /// A rule was taken back.
    RuleRevoked {
        /// Which.
        number: u64,
        /// Who took it back.
        made: Made,
    },
    /// A request was decided without asking.
    StandingApplied {
        /// By what.
        standing: Standing,
        /// Of which task.
        task: TaskId,
        /// Which request.
        approval: ApprovalId,
    },
}

pub(crate) fn decide(
    state: Option<&Project>,
    command: ProjectCommand,
    at: Timestamp,
) -> Result<Vec<ProjectEvent>, Rejection> {
    let Some(project) = state else {
        return match command {
            ProjectCommand::Add { project, name, root, agent, member } => {
                Ok(vec![ProjectEvent::ProjectAdded { project, name, root, agent, member }])
            }
            ProjectCommand::SetDefaultAgent { .. }
            | ProjectCommand::PinNote { .. }
            | ProjectCommand::NumberTask { .. }
            | ProjectCommand::Allow { .. }
            | ProjectCommand::AddRule { .. }
            | ProjectCommand::RevokeRule { .. }
            | ProjectCommand::ApplyStanding { .. } => Err(Rejection::NotFound { what: "project" }),
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
        ProjectCommand::Allow { role, what, answer, by, source } => {
            let known = project.policy.allowances.iter().any(|known| known.role == role && known.what == what);
            let changes = known != (answer == Asking::Allow);
            let made = Made { by, source, at };
            Ok(changes.then_some(ProjectEvent::AllowanceSet { role, what, answer, made }).into_iter().collect())
        }
        ProjectCommand::AddRule { draft, by, source } => {
            // The same rule again is the same rule.
            if project.policy.rules.iter().any(|rule| rule.draft.same(&draft)) {
                return Ok(vec![]);
            }
            project.policy.check(&draft)?;
            let made = Made { by, source, at };
            Ok(vec![ProjectEvent::RuleAdded { number: project.policy.made + 1, draft, made }])
        }
        ProjectCommand::RevokeRule { number, by, source } => {
            if project.policy.rules.iter().all(|rule| rule.number != number) {
                return Err(Rejection::NotFound { what: "rule" });
            }
            Ok(vec![ProjectEvent::RuleRevoked { number, made: Made { by, source, at } }])
        }
        ProjectCommand::ApplyStanding { ruling, task, approval } => {
            if ruling.version != project.policy.version {
                return Err(Rejection::PolicyChanged);
            }
            Ok(vec![ProjectEvent::StandingApplied { standing: ruling.standing, task, approval }])
        }
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
                policy: Policy::default(),
            });
        }
        (Some(project), ProjectEvent::DefaultAgentSet { agent }) => project.default_agent.clone_from(agent),
        (Some(project), ProjectEvent::ProjectNotePinned { text, .. }) => project.notes.push(text.clone()),
        (Some(project), ProjectEvent::TaskNumbered { number, .. }) => project.tasks = *number,
        (Some(project), ProjectEvent::AllowanceSet { role, what, answer, made }) => {
            let policy = &mut project.policy;
            policy.version += 1;
            policy.allowances.retain(|known| known.role != *role || known.what != *what);
            if *answer == Asking::Allow {
                policy.allowances.push(Allowance { role: *role, what: *what, made: made.clone() });
            }
        }
        (Some(project), ProjectEvent::RuleAdded { number, draft, made }) => {
            let policy = &mut project.policy;
            policy.version += 1;
            policy.made = *number;
            policy.rules.push(Rule { number: *number, draft: draft.clone(), made: made.clone(), uses: 0 });
        }
        (Some(project), ProjectEvent::RuleRevoked { number, .. }) => {
            project.policy.version += 1;
            project.policy.rules.retain(|rule| rule.number != *number);
        }
        (Some(project), ProjectEvent::StandingApplied { standing: Standing::Rule { number, .. }, .. }) => {
            let used = project.policy.rules.iter_mut().filter(|rule| rule.number == *number);
            used.for_each(|rule| rule.uses += 1);
        }
        (Some(_), ProjectEvent::StandingApplied { standing: Standing::Allowance { .. }, .. }) => {}
        (
            None,
            ProjectEvent::DefaultAgentSet { .. }
            | ProjectEvent::ProjectNotePinned { .. }
            | ProjectEvent::TaskNumbered { .. }
            | ProjectEvent::AllowanceSet { .. }
            | ProjectEvent::RuleAdded { .. }
            | ProjectEvent::RuleRevoked { .. }
            | ProjectEvent::StandingApplied { .. },
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
        | ProjectEvent::ProjectNotePinned { .. }
        | ProjectEvent::AllowanceSet { .. }
        | ProjectEvent::RuleAdded { .. }
        | ProjectEvent::RuleRevoked { .. }
        | ProjectEvent::StandingApplied { .. } => vec![],
    }
}
