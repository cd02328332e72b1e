//! The context builder: what stands around a message, made of rows that the engine has read (DESIGN §3.8).
//!
//! Pure, like the router that it feeds. The router speaks of ids as text; here they get their types back.

use crate::channel::Channel;
use crate::execution::{self, Activity};
use crate::ids::{ApprovalId, DecisionId, ExecutionId, ProjectId, TaskId};
use crate::route::{Focus, FocusSource, Intent, RouteDecision};
use crate::router::input::{self, Context};
use crate::router::verdict::{ALL, Decision, Verdict};
use crate::router::{self, Amended};
use crate::task::Lifecycle;
use crate::time::Timestamp;
use crate::view::{Addressed, ApprovalRow, ExecutionRow, ProjectRow, TaskRow};

/// After this long a task that was addressed elsewhere is no focus any more.
pub const FOCUS_MILLIS: u64 = 12 * 60 * 60 * 1_000;
/// Two tasks that were addressed within this time leave it open which one is meant.
pub const TOUCHED_MILLIS: u64 = 30 * 60 * 1_000;

/// What a message replies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyTo {
    /// A task's message.
    Task(TaskId),
    /// An execution's message.
    Execution(ExecutionId),
    /// A request for approval.
    Approval(ApprovalId),
}

/// What stands around a message, as it was read.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// When it came.
    pub now: Timestamp,
    /// Where it was typed.
    pub channel: Channel,
    /// The project that a new task would belong to.
    pub project: Option<ProjectId>,
    /// The focus of the conversation itself, for this person.
    pub own_focus: Option<TaskId>,
    /// The tasks that this person addressed lately, newest first, each once.
    pub addressed: Vec<Addressed>,
    /// What it replies to.
    pub reply_to: Option<ReplyTo>,
    /// The tasks that the person can see.
    pub tasks: Vec<TaskRow>,
    /// The pending approvals of those tasks.
    pub approvals: Vec<ApprovalRow>,
    /// The agents that are installed.
    pub agents: Vec<input::Agent>,
    /// The projects that the person can see.
    pub projects: Vec<ProjectRow>,
}

impl Surroundings {
    /// The conversation's own focus; else the task that the person addressed last in this project within
    /// [`FOCUS_MILLIS`], unless two were touched within [`TOUCHED_MILLIS`].
    #[must_use]
    pub fn focus(&self) -> Option<Focus> {
        if let Some(task) = self.own_focus {
            return Some(Focus { task, source: FocusSource::Conversation });
        }
        let here = |known: &&Addressed| self.task(known.task).is_some_and(|task| Some(task.project) == self.project);
        let since = |known: &Addressed, millis: u64| self.now.millis_since(known.at) <= millis;
        let last = self.addressed.iter().find(here).filter(|known| since(known, FOCUS_MILLIS))?;
        let touched = self.addressed.iter().filter(here).filter(|known| since(known, TOUCHED_MILLIS)).count();
        (touched < 2).then_some(Focus { task: last.task, source: FocusSource::Elsewhere })
    }

    /// A visible task.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<&TaskRow> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// A pending approval.
    #[must_use]
    pub fn approval(&self, id: ApprovalId) -> Option<&ApprovalRow> {
        self.approvals.iter().find(|known| known.id == id)
    }

    /// What the message replies to, as a task.
    #[must_use]
    pub fn replied(&self) -> Option<TaskId> {
        match self.reply_to? {
            ReplyTo::Task(task) => Some(task),
            ReplyTo::Approval(approval) => self.approval(approval).map(|known| known.task),
            ReplyTo::Execution(id) => {
                let has = |task: &&TaskRow| task.executions.iter().any(|execution| execution.id == id);
                self.tasks.iter().find(has).map(|task| task.id)
            }
        }
    }

    /// What the router looks at.
    #[must_use]
    pub fn context(&self) -> Context {
        let mut tasks: Vec<&TaskRow> = self.tasks.iter().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.updated_at));
        let current = self.projects.iter().find(|project| Some(project.id) == self.project);
        Context {
            channel: self.channel.word().to_owned(),
            reply_to: self.reply_to.map(|reply| match reply {
                ReplyTo::Task(task) => input::ReplyTo::Task(task.to_string()),
                ReplyTo::Execution(execution) => input::ReplyTo::Execution(execution.to_string()),
                ReplyTo::Approval(approval) => input::ReplyTo::Approval(approval.to_string()),
            }),
            focus: self.focus().map(|focus| focus.task.to_string()),
            agents: self.agents.clone(),
            default_agent: current.map(|project| project.agent.clone()).unwrap_or_default(),
            projects: self
                .projects
                .iter()
                .map(|project| input::Project { id: project.id.to_string(), name: project.name.clone() })
                .collect(),
            current_project: self.project.map(|project| project.to_string()).unwrap_or_default(),
            tasks: tasks.into_iter().map(|task| known_task(task, self.now)).collect(),
            approvals: self.approvals.iter().map(known_approval).collect(),
        }
    }

    /// What the router makes of a message here.
    #[must_use]
    pub fn route(&self, id: DecisionId, message: &str) -> RouteDecision {
        self.decided(id, router::decide(message, &self.context()))
    }

    /// What the message before was meant for, if this one says so.
    #[must_use]
    pub fn amended(&self, message: &str) -> Option<Option<TaskId>> {
        match router::amend(message, &self.context())? {
            Amended::New => Some(None),
            Amended::Task(task) => Some(Some(task.parse().ok()?)),
        }
    }

    /// The router's decision with its ids as ids.
    #[must_use]
    pub fn decided(&self, id: DecisionId, decision: Decision) -> RouteDecision {
        let ask = Intent::Clarify { candidates: vec![], approvals: vec![] };
        RouteDecision {
            id,
            intent: self.intent(&decision.verdict).unwrap_or(ask),
            confidence: decision.confidence,
            evidence: decision.evidence,
            alternatives: decision.alternatives.iter().filter_map(|verdict| self.intent(verdict)).collect(),
            focus: self.focus(),
        }
    }

    /// A verdict as an intent. There is none for a verdict about something that is not here.
    #[must_use]
    pub fn intent(&self, verdict: &Verdict) -> Option<Intent> {
        let task = |id: &str| id.parse::<TaskId>().ok();
        let execution = |id: &Option<String>| id.as_ref().and_then(|id| id.parse::<ExecutionId>().ok());
        Some(match verdict {
            Verdict::Continue { task: at, execution: by } => {
                Intent::Continue { task: task(at)?, execution: execution(by) }
            }
            Verdict::Answer { task: at, execution: by } => Intent::Answer { task: task(at)?, execution: execution(by) },
            Verdict::NewTask { project, agent } => {
                Intent::NewTask { project: project.parse().ok().or(self.project)?, agent: agent.clone() }
            }
            Verdict::AddExecution { task: at, agent, role } => Intent::AddExecution {
                task: task(at)?,
                agent: agent.clone(),
                role: role.map(role_of).unwrap_or_default(),
            },
            Verdict::SwitchAgent { task: at, agent, model } => self.switch(task(at)?, agent, model.as_deref()),
            Verdict::FreshSession { task: at } => Intent::FreshSession { task: task(at)? },
            Verdict::Retry { task: at, execution: by } => Intent::Retry { task: task(at)?, execution: execution(by) },
            Verdict::Fork { task: at, agent } => Intent::Fork { task: task(at)?, agent: agent.clone() },
            Verdict::Status { task: at } => Intent::Status { task: if at == ALL { None } else { Some(task(at)?) } },
            Verdict::Approve { approval, scope } => {
                let known = self.approval(approval.parse().ok()?)?;
                Intent::Approve { task: known.task, approval: known.id, scope: *scope }
            }
            Verdict::Deny { approval } => {
                let known = self.approval(approval.parse().ok()?)?;
                Intent::Deny { task: known.task, approval: known.id }
            }
            Verdict::Cancel { task: at } if at == ALL => Intent::Cancel { task: None, running: self.running(None) },
            Verdict::Cancel { task: at } => {
                let at = task(at)?;
                Intent::Cancel { task: Some(at), running: self.running(Some(at)) }
            }
            Verdict::Close { task: at } => Intent::Close { task: task(at)? },
            Verdict::Focus { task: at } => Intent::Focus { task: task(at)? },
            Verdict::Clarify { candidates } => Intent::Clarify {
                candidates: candidates.iter().filter_map(|id| task(id).filter(|id| self.task(*id).is_some())).collect(),
                approvals: candidates
                    .iter()
                    .filter_map(|id| id.parse().ok().filter(|id| self.approval(*id).is_some()))
                    .collect(),
            },
            Verdict::Ack => Intent::Ack,
            Verdict::Help => Intent::Help,
        })
    }

    /// Naming the agent that leads already changes nothing but the model.
    fn switch(&self, task: TaskId, agent: &str, model: Option<&str>) -> Intent {
        let leads = self.task(task).is_some_and(|known| known.agent == agent);
        Intent::SwitchAgent {
            task,
            agent: (!leads || model.is_none()).then(|| agent.to_owned()),
            model: model.map(str::to_owned),
        }
    }

    /// The tasks with a turn that can be stopped.
    fn running(&self, only: Option<TaskId>) -> Vec<TaskId> {
        let runs = |task: &&TaskRow| {
            let busy = |known: &ExecutionRow| {
                matches!(known.activity, Activity::Working | Activity::Queued { .. } | Activity::WaitingApproval)
            };
            only.is_none_or(|only| only == task.id) && task.executions.iter().any(busy)
        };
        self.tasks.iter().filter(runs).map(|task| task.id).collect()
    }
}

fn known_task(task: &TaskRow, now: Timestamp) -> input::Task {
    let closed = !matches!(task.lifecycle, Lifecycle::Open);
    input::Task {
        id: task.id.to_string(),
        key: task.key.clone(),
        title: task.title.clone(),
        project: task.project.to_string(),
        state: if closed && task.activity == Activity::Resting {
            input::Activity::Closed
        } else {
            state_of(&task.activity)
        },
        idle_minutes: now.millis_since(task.updated_at) / 60_000,
        executions: task.executions.iter().map(known_execution).collect(),
        last_said: Some(task.last_said.clone()).filter(|said| !said.is_empty()),
    }
}

fn known_execution(known: &ExecutionRow) -> input::Execution {
    let role = match known.role {
        execution::Role::Editor => input::Role::Editor,
        execution::Role::Reviewer => input::Role::Reviewer,
        execution::Role::Tester => input::Role::Tester,
        execution::Role::Researcher => input::Role::Researcher,
    };
    input::Execution {
        id: known.id.to_string(),
        agent: known.agent.clone(),
        role: Some(role),
        state: state_of(&known.activity),
        primary: known.primary,
    }
}

fn known_approval(known: &ApprovalRow) -> input::Approval {
    input::Approval {
        id: known.id.to_string(),
        task: known.task.to_string(),
        execution: known.approval.execution.to_string(),
        what: known.approval.ask.title.clone(),
    }
}

fn state_of(activity: &Activity) -> input::Activity {
    match activity {
        Activity::WaitingApproval => input::Activity::WaitingApproval,
        Activity::WaitingAnswer => input::Activity::WaitingAnswer,
        Activity::Blocked { .. } => input::Activity::Blocked,
        Activity::Failed { .. } => input::Activity::Failed,
        Activity::Working => input::Activity::Working,
        Activity::Queued { .. } => input::Activity::Queued,
        Activity::Resting => input::Activity::Resting,
    }
}

fn role_of(role: input::Role) -> execution::Role {
    match role {
        input::Role::Editor => execution::Role::Editor,
        input::Role::Reviewer => execution::Role::Reviewer,
        input::Role::Tester => execution::Role::Tester,
        input::Role::Researcher => execution::Role::Researcher,
    }
}
