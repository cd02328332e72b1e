//! Task: what the person thinks they are doing. The unit of identity, and the aggregate that owns executions,
//! their runtime sessions and turns, approvals and the plan.
//!
//! Invariants:
//! - an execution has at most one active turn; what else was said to it waits in its queue;
//! - a prompt is handed on only in [`TurnStage::Running`](crate::turn::TurnStage), which a turn enters once;
//! - a runtime session is replaced for one of four reasons and for no other (see `runtime`);
//! - who speaks for a process must name the current epoch.

mod approvals;
mod budget;
mod command;
mod decide;
mod dismiss;
mod event;
mod evolve;
mod import;
mod lifecycle;
mod moves;
mod questions;
mod react;
mod runtime;
mod site;
mod turns;

use serde::{Deserialize, Serialize};

use crate::approval::Approval;
use crate::budget::{Budget, Spent};
use crate::execution::{Activity, Execution};
use crate::ids::{ApprovalId, ConversationId, ExecutionId, ProjectId, RuntimeSessionId, TaskId, TurnId};
use crate::plan::Plan;
use crate::runtime_session::Unasked;
use crate::site::Site;
use crate::time::Timestamp;
use crate::turn::ActiveTurn;

pub use command::{ForkSeed, ImportedTurn, NativeFate, Report, TaskCommand, TaskSeed, TurnAnswer};
pub(crate) use decide::decide;
pub use event::TaskEvent;
pub(crate) use evolve::evolve;
pub use lifecycle::MAX_NOTES;
pub(crate) use react::react;
pub use turns::Prompt;

/// A task's state. Items are not in it, so it stays small however long the task lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Which.
    pub id: TaskId,
    /// The handle that a person types; empty until the project has numbered it.
    pub key: String,
    /// Of which project.
    pub project: ProjectId,
    /// What it is called.
    pub title: String,
    /// What the person wanted.
    pub goal: String,
    /// Where its agents work.
    #[serde(flatten)]
    pub site: Site,
    /// The person's axis of its state.
    pub lifecycle: Lifecycle,
    /// Conversations that take part, and so are told.
    pub conversations: Vec<ConversationId>,
    /// Attempts, oldest first.
    pub executions: Vec<Execution>,
    /// The plan as it stands.
    pub plan: Plan,
    /// What was pinned.
    pub notes: Vec<String>,
    /// Requests that nobody has decided.
    pub approvals: ApprovalDesk,
    /// How much it may use before a person is asked.
    #[serde(default)]
    pub budget: Budget,
}

/// The requests of a task: the pending ones, and the newest settled ones, so that reading an agent's output again
/// after a crash does not ask anything twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDesk {
    /// Nobody has decided them.
    pub pending: Vec<PendingApproval>,
    /// Somebody did, newest last.
    pub settled: Vec<ApprovalId>,
}

impl ApprovalDesk {
    /// How many settled ones are remembered while a turn runs: more than a turn may ask for.
    const REMEMBERED: usize = 4_096;
    /// How many when none runs.
    const REMEMBERED_AT_REST: usize = 64;

    /// Whether this request was made before.
    #[must_use]
    pub fn knows(&self, id: ApprovalId) -> bool {
        self.pending(id).is_some() || self.settled.contains(&id)
    }

    /// The request that waits in this process under the agent's own id of it. Ids are used again once they were answered,
    /// so of those that wait one at most has it.
    #[must_use]
    pub fn waiting(&self, session: RuntimeSessionId, epoch: u64, request: &str) -> Option<&PendingApproval> {
        let same = |known: &Approval| known.session == session && known.epoch == epoch && known.request == request;
        self.pending.iter().find(|known| same(&known.approval))
    }

    /// A pending request.
    #[must_use]
    pub fn pending(&self, id: ApprovalId) -> Option<&PendingApproval> {
        self.pending.iter().find(|known| known.approval.id == id)
    }

    pub(super) fn settle(&mut self, id: ApprovalId) {
        self.pending.retain(|known| known.approval.id != id);
        self.settled.push(id);
        self.keep(Self::REMEMBERED);
    }

    /// No turn runs, so no agent's output is read again that asked for them.
    pub(super) fn rest(&mut self) {
        self.keep(Self::REMEMBERED_AT_REST);
    }

    fn keep(&mut self, newest: usize) {
        self.settled.drain(..self.settled.len().saturating_sub(newest));
    }
}

/// The person's axis of a task's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It goes on.
    Open,
    /// The person is done with it; any follow-up reopens it.
    Closed,
    /// It was put away.
    Archived,
}

/// A request that nobody has decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The request.
    pub approval: Approval,
    /// When it was made.
    pub asked_at: Timestamp,
}

impl Task {
    /// The execution that unmarked messages go to.
    #[must_use]
    pub fn primary(&self) -> Option<&Execution> {
        let live = || self.executions.iter().filter(|execution| execution.ended.is_none());
        live().find(|execution| execution.primary).or_else(|| live().next()).or(self.executions.last())
    }

    /// An execution by its id.
    #[must_use]
    pub fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.id == id)
    }

    pub(crate) fn execution_mut(&mut self, id: ExecutionId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.id == id)
    }

    /// The execution whose current runtime session this is.
    #[must_use]
    pub fn execution_of(&self, session: RuntimeSessionId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.session.as_ref().is_some_and(|known| known.id == session))
    }

    pub(crate) fn execution_of_mut(&mut self, session: RuntimeSessionId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.session.as_ref().is_some_and(|known| known.id == session))
    }

    /// The execution in which this turn is active.
    #[must_use]
    pub fn execution_in(&self, turn: TurnId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.active.as_ref().is_some_and(|active| active.id == turn))
    }

    pub(crate) fn execution_in_mut(&mut self, turn: TurnId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.active.as_ref().is_some_and(|active| active.id == turn))
    }

    /// Whether a turn of this execution has to wait for the workspace: because it writes, or because the workspace
    /// is not made yet.
    pub(crate) fn needs_lease(&self, execution: ExecutionId) -> bool {
        let writes = self.execution(execution).is_some_and(|execution| execution.role.writes());
        writes || !self.site_of(execution).ready()
    }

    /// Where an execution works: in a worktree of its own, or where the task is.
    #[must_use]
    pub fn site_of(&self, execution: ExecutionId) -> &Site {
        self.site.own(execution).unwrap_or(&self.site)
    }

    /// Where the execution works that unmarked messages go to.
    #[must_use]
    pub fn workplace(&self) -> &Site {
        self.primary().map_or(&self.site, |primary| self.site_of(primary.id))
    }

    /// Whether two executions work in the same place.
    #[must_use]
    pub fn together(&self, one: ExecutionId, other: ExecutionId) -> bool {
        self.site_of(one).root == self.site_of(other).root
    }

    /// The turns of others whose findings this execution has not got.
    #[must_use]
    pub fn findings_for(&self, to: ExecutionId) -> Vec<TurnId> {
        let others = self.executions.iter().filter(|execution| execution.id != to);
        let findings = others.flat_map(|execution| &execution.past.findings);
        findings.filter(|finding| finding.is_due(to)).map(|finding| finding.turn).collect()
    }

    /// A turn that has not ended.
    #[must_use]
    pub fn active_turn(&self, turn: TurnId) -> Option<&ActiveTurn> {
        self.execution_in(turn).and_then(|execution| execution.active.as_ref())
    }

    /// The mode of one of its agents that asks for nothing at all, if one is in such a mode.
    #[must_use]
    pub fn unasked_mode(&self) -> Option<String> {
        let live = self.executions.iter().filter(|execution| execution.ended.is_none());
        let unasked = |execution: &Execution| match execution.session.as_ref()?.description.unasked()? {
            Unasked::Everything(mode) => Some(mode),
            Unasked::Some(_) => None,
        };
        live.filter_map(unasked).next()
    }

    /// The cap that was reached, if a person is to say whether it goes on.
    #[must_use]
    pub fn spent(&self) -> Option<Spent> {
        let reached = self.budget.reached.filter(|_| self.lifecycle == Lifecycle::Open);
        reached.map(|cap| self.budget.spent(cap))
    }

    /// The execution that the derived state is of: whose request waits longest, else the most urgent one, of equals
    /// the primary one.
    #[must_use]
    pub fn foremost(&self) -> Option<&Execution> {
        if let Some(pending) = self.approvals.pending.first() {
            return self.execution(pending.approval.execution);
        }
        if self.spent().is_some() {
            return self.primary();
        }
        let live = self.executions.iter().filter(|execution| execution.ended.is_none());
        live.min_by_key(|execution| (execution.activity().rank(), !execution.primary))
    }

    /// The execution whose last turn did not work out, the primary one first.
    fn failed(&self) -> Option<&Execution> {
        let failed =
            |known: &&Execution| matches!(known.activity(), Activity::Failed { .. } | Activity::Blocked { .. });
        let live = self.executions.iter().filter(|execution| execution.ended.is_none());
        live.filter(failed).min_by_key(|execution| !execution.primary)
    }

    /// The last words of whoever waits for an answer, else of the primary execution.
    #[must_use]
    pub fn last_said(&self) -> &str {
        let asks = self.foremost().filter(|execution| execution.activity() == Activity::WaitingAnswer);
        asks.or_else(|| self.primary()).map_or("", |execution| execution.past.last_said.as_str())
    }

    /// The derived axis of its state: the most urgent of its executions'.
    #[must_use]
    pub fn activity(&self) -> Activity {
        if !self.approvals.pending.is_empty() {
            return Activity::WaitingApproval;
        }
        if self.spent().is_some() {
            return Activity::WaitingAnswer;
        }
        let most_urgent = self.foremost().map_or(Activity::Resting, Execution::activity);
        // A closed task needs nobody, whatever its last turn came to.
        match self.lifecycle {
            Lifecycle::Closed | Lifecycle::Archived if most_urgent.needs_person() => Activity::Resting,
            Lifecycle::Open | Lifecycle::Closed | Lifecycle::Archived => most_urgent,
        }
    }
}
