//! RouteDecision: what was made of an input. Recorded, shown and correctable.
//!
//! What a person states is never overruled: [`route`] goes by it alone. All else is decided by the router
//! (`router`), which [`crate::context`] feeds.

use serde::{Deserialize, Serialize};

use crate::execution::Role;
use crate::ids::{ApprovalId, DecisionId, ExecutionId, ProjectId, TaskId};

pub use crate::router::verdict::Scope;

/// What was made of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteDecision {
    /// Which.
    pub id: DecisionId,
    /// What is to be done.
    pub intent: Intent,
    /// From 0 to 1: how likely it is right.
    pub confidence: f32,
    /// Why, in plain words, strongest first.
    pub evidence: Vec<String>,
    /// What else it could have meant, likeliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Intent>,
    /// The focus that it was made with, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<Focus>,
}

/// The task that an unmarked message continues, and how it came to be that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Focus {
    /// Which.
    pub task: TaskId,
    /// Where it came from.
    pub source: FocusSource,
}

/// Where a focus came from (DESIGN §3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FocusSource {
    /// It is the conversation's own.
    Conversation,
    /// The person addressed it last in this project, in another conversation.
    Elsewhere,
}

/// What an input is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Give it to the task's sticky session.
    Continue {
        /// Which task.
        task: TaskId,
        /// Which execution; the primary one if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// Reply to a question that an agent waits on.
    Answer {
        /// Which task.
        task: TaskId,
        /// Which execution; the one that asked if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// Start a task of its own.
    NewTask {
        /// In which project.
        project: ProjectId,
        /// With which agent; the project's default if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A second agent under the same task.
    AddExecution {
        /// Which task.
        task: TaskId,
        /// Which agent.
        agent: String,
        /// As what.
        role: Role,
    },
    /// The same task goes on with another agent or model.
    SwitchAgent {
        /// Which task.
        task: TaskId,
        /// Which agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Which model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The same task without the provider's context.
    FreshSession {
        /// Which task.
        task: TaskId,
    },
    /// Run the last turn again.
    Retry {
        /// Which task.
        task: TaskId,
        /// Which execution's; that of the one that failed, else the primary one's, if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// Try another way in parallel from the same point.
    Fork {
        /// Which task.
        task: TaskId,
        /// With which agent; the same if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Answer from the record.
    Status {
        /// Which task; all of them if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// Say yes to a pending approval.
    Approve {
        /// Of which task.
        task: TaskId,
        /// Which.
        approval: ApprovalId,
        /// For how long the person wants it. Text gives consent once; a rule is only offered (DESIGN §8).
        #[serde(default)]
        scope: Scope,
    },
    /// Say no to a pending approval.
    Deny {
        /// Of which task.
        task: TaskId,
        /// Which.
        approval: ApprovalId,
    },
    /// Stop what runs.
    Cancel {
        /// Of which task; of all if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The tasks that ran, and so were told to stop.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<TaskId>,
    },
    /// The person is done with the task.
    Close {
        /// Which task.
        task: TaskId,
    },
    /// Turn the conversation to another task.
    Focus {
        /// Which task.
        task: TaskId,
    },
    /// The last message was meant otherwise.
    Correct {
        /// What was made of it.
        decision: DecisionId,
        /// The task that it was for; a new one if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// Ask the person what they meant.
    Clarify {
        /// Tasks that it could be about.
        candidates: Vec<TaskId>,
        /// Approvals that it could be about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        approvals: Vec<ApprovalId>,
    },
    /// A courtesy.
    Ack,
    /// How do I use this.
    Help,
}

impl Intent {
    /// The word for it, in the router's vocabulary.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Intent::Continue { .. } => "continue",
            Intent::Answer { .. } => "answer",
            Intent::NewTask { .. } => "new_task",
            Intent::AddExecution { .. } => "add_execution",
            Intent::SwitchAgent { .. } => "switch_agent",
            Intent::FreshSession { .. } => "fresh_session",
            Intent::Retry { .. } => "retry",
            Intent::Fork { .. } => "fork",
            Intent::Status { .. } => "status",
            Intent::Approve { .. } => "approve",
            Intent::Deny { .. } => "deny",
            Intent::Cancel { .. } => "cancel",
            Intent::Close { .. } => "close",
            Intent::Focus { .. } => "focus",
            Intent::Correct { .. } => "correct",
            Intent::Clarify { .. } => "clarify",
            Intent::Ack => "ack",
            Intent::Help => "help",
        }
    }

    /// The task that it is about, if there is one already.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Intent::Continue { task, .. }
            | Intent::Answer { task, .. }
            | Intent::AddExecution { task, .. }
            | Intent::SwitchAgent { task, .. }
            | Intent::FreshSession { task }
            | Intent::Retry { task, .. }
            | Intent::Fork { task, .. }
            | Intent::Approve { task, .. }
            | Intent::Deny { task, .. }
            | Intent::Close { task }
            | Intent::Focus { task } => Some(*task),
            Intent::Status { task } | Intent::Cancel { task, .. } | Intent::Correct { task, .. } => *task,
            Intent::NewTask { .. } | Intent::Clarify { .. } | Intent::Ack | Intent::Help => None,
        }
    }
}

/// What a person states about where an input goes. A stated fact is never overruled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stated {
    /// This task.
    pub task: Option<TaskId>,
    /// A new task.
    pub new: bool,
    /// This agent.
    pub agent: Option<String>,
    /// In this role.
    pub role: Option<Role>,
    /// To this execution of the task.
    pub execution: Option<ExecutionId>,
    /// A new task in a worktree of its own.
    pub worktree: bool,
}

impl Stated {
    /// Whether anything is stated.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// What stands around an input whose place is stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteContext {
    /// The project that a new task would belong to.
    pub project: ProjectId,
    /// The task that an unmarked message continues.
    pub focus: Option<Focus>,
    /// The task that the message replies to.
    pub reply_to: Option<TaskId>,
    /// The executions of the task that was stated, replied to or is in focus, the primary one first.
    pub executions: Vec<KnownExecution>,
}

/// An execution as the router sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownExecution {
    /// Which.
    pub id: ExecutionId,
    /// Whose.
    pub agent: String,
    /// As what.
    pub role: Role,
    /// Whether a question of its running turn waits: then what is said to it is the answer.
    pub asks: bool,
}

/// Decides what an input is for by what is stated, replied to and in focus, without a look at its words.
#[must_use]
pub fn route(id: DecisionId, context: &RouteContext, stated: &Stated) -> RouteDecision {
    let decided = |intent, why: &str| RouteDecision {
        id,
        intent,
        confidence: 1.0,
        evidence: vec![why.to_owned()],
        alternatives: vec![],
        focus: context.focus,
    };
    let fresh = || Intent::NewTask { project: context.project, agent: stated.agent.clone() };
    if stated.new {
        return decided(fresh(), "a new task was asked for");
    }
    let (task, why) = match (stated.task, context.reply_to, context.focus.map(|focus| focus.task)) {
        (Some(task), _, _) => (task, "the task was named"),
        (None, Some(task), _) => (task, "it replies to this task"),
        (None, None, Some(task)) => (task, "this conversation's focus"),
        (None, None, None) => return decided(fresh(), "this conversation has no task yet"),
    };
    let told = |known: Option<&KnownExecution>, why: &str| {
        let execution = known.map(|known| known.id);
        let asks = match known {
            Some(known) => known.asks,
            None => context.executions.iter().any(|known| known.asks),
        };
        decided(if asks { Intent::Answer { task, execution } } else { Intent::Continue { task, execution } }, why)
    };
    if let Some(known) = context.executions.iter().find(|known| stated.execution == Some(known.id)) {
        return told(Some(known), "the execution was named");
    }
    if stated.agent.is_none() && stated.role.is_none() {
        return told(None, why);
    }
    let fits = |known: &&KnownExecution| {
        stated.agent.as_ref().is_none_or(|agent| *agent == known.agent)
            && stated.role.is_none_or(|role| role == known.role)
    };
    if let Some(known) = context.executions.iter().find(fits) {
        return told(Some(known), "the agent or role was named, and is at work here");
    }
    let (agent, why) = match (&stated.agent, context.executions.first()) {
        (Some(agent), _) => (agent, "an agent was named that is not at work here yet"),
        // What is meant for a reviewer is not given to the editor.
        (None, Some(lead)) => (&lead.agent, "a role was named that nobody here has yet"),
        (None, None) => return told(None, why),
    };
    decided(Intent::AddExecution { task, agent: agent.clone(), role: stated.role.unwrap_or(Role::Editor) }, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Mint;
    use crate::time::Timestamp;

    fn fixture() -> (Mint, RouteContext) {
        let mut mint = Mint::new(Timestamp::from_millis(1), 7);
        let context = RouteContext { project: mint.id(), focus: None, reply_to: None, executions: vec![] };
        (mint, context)
    }

    fn own(task: TaskId) -> Focus {
        Focus { task, source: FocusSource::Conversation }
    }

    #[test]
    fn without_focus_a_message_starts_a_task() {
        let (mut mint, context) = fixture();
        let decision = route(mint.id(), &context, &Stated::default());
        assert_eq!(decision.intent, Intent::NewTask { project: context.project, agent: None });
    }

    #[test]
    fn with_a_focus_a_message_continues_it() {
        let (mut mint, mut context) = fixture();
        let task = mint.id();
        context.focus = Some(own(task));
        let decision = route(mint.id(), &context, &Stated::default());
        assert_eq!(decision.intent, Intent::Continue { task, execution: None });
    }

    #[test]
    fn what_is_stated_beats_reply_and_focus() {
        let (mut mint, mut context) = fixture();
        let (focus, reply, named) = (mint.id(), mint.id(), mint.id());
        context.focus = Some(own(focus));
        context.reply_to = Some(reply);
        let replied = route(mint.id(), &context, &Stated::default());
        assert_eq!(replied.intent, Intent::Continue { task: reply, execution: None });
        let stated = route(mint.id(), &context, &Stated { task: Some(named), ..Stated::default() });
        assert_eq!(stated.intent, Intent::Continue { task: named, execution: None });
        let new = route(mint.id(), &context, &Stated { new: true, task: Some(named), ..Stated::default() });
        assert!(matches!(new.intent, Intent::NewTask { .. }));
    }

    #[test]
    fn what_is_for_a_role_that_nobody_has_is_not_given_to_somebody_else() {
        let (mut mint, mut context) = fixture();
        let task = mint.id();
        context.focus = Some(own(task));
        let lead = KnownExecution { id: mint.id(), agent: "codex".into(), role: Role::Editor, asks: false };
        context.executions.push(lead.clone());
        let to = |role| Stated { role: Some(role), ..Stated::default() };
        let review = route(mint.id(), &context, &to(Role::Reviewer));
        assert_eq!(review.intent, Intent::AddExecution { task, agent: "codex".into(), role: Role::Reviewer });
        let edit = route(mint.id(), &context, &to(Role::Editor));
        assert_eq!(edit.intent, Intent::Continue { task, execution: Some(lead.id) });
    }

    #[test]
    fn a_named_agent_joins_or_is_found_under_the_same_task() {
        let (mut mint, mut context) = fixture();
        let task = mint.id();
        context.focus = Some(own(task));
        let stated = Stated { agent: Some("claude-code".into()), role: Some(Role::Reviewer), ..Stated::default() };
        let added = route(mint.id(), &context, &stated);
        assert_eq!(added.intent, Intent::AddExecution { task, agent: "claude-code".into(), role: Role::Reviewer });
        let known = KnownExecution { id: mint.id(), agent: "claude-code".into(), role: Role::Reviewer, asks: false };
        context.executions.push(known.clone());
        let found = route(mint.id(), &context, &stated);
        assert_eq!(found.intent, Intent::Continue { task, execution: Some(known.id) });
        // Whoever waits for an answer gets one.
        context.executions[0].asks = true;
        let answered = route(mint.id(), &context, &stated);
        assert_eq!(answered.intent, Intent::Answer { task, execution: Some(known.id) });
        let answered = route(mint.id(), &context, &Stated { task: Some(task), ..Stated::default() });
        assert_eq!(answered.intent, Intent::Answer { task, execution: None });
    }
}
