//! Site: where a task's agents work, and what is being done to that place outside of turns.
//!
//! A *workspace change* is what a person asks of a workspace itself: prepare one for a fork, bring it back to a
//! checkpoint, take a fork's changes in, remove it. It holds the workspace's lease from beginning to end, so that no
//! turn writes meanwhile, and it is planned before it is carried out: the plan names the state to come and the state
//! before it, so that it can be carried out again after a crash and undone after that.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{ChangedFile, CheckpointSide};
use crate::ids::{ChangeId, ExecutionId, PersonId, TaskId, TurnId};
use crate::runtime_session::Failure;

/// Where a task's agents work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The folder.
    pub root: String,
    /// What is being done to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<WorkspaceChange>,
    /// The state before the last change: restoring it undoes that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// Where it comes from, if the task is a fork: the folder is a worktree of its own then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// What was in it when it was removed. It is made again from that when the task goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removed>,
    /// Where executions of the task work that have a worktree of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<OwnSite>,
}

/// A worktree of the task's folder, for one execution at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSite {
    /// Who works there, last, and who did before they were superseded.
    pub executions: Vec<ExecutionId>,
    /// The place. As with a fork, it says where it comes from: the task itself.
    pub site: Site,
}

/// A worktree for an execution, with what was minted and looked up outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeSeed {
    /// Its folder.
    pub root: String,
    /// The tree of the state that it begins from.
    pub base: String,
    /// The change that prepares it.
    pub change: ChangeId,
    /// Who wants it.
    pub person: PersonId,
}

/// Where a fork comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The task that it was forked from.
    pub source: TaskId,
    /// That task's key.
    pub key: String,
    /// The turn after which it was forked; none for the state at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The tree of the state that both began from.
    pub base: String,
    /// The source's folder.
    pub from: String,
}

/// What was in a workspace that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The tree of its last state.
    pub tree: String,
    /// The commit that it stood at, if it was a git worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Who had it removed.
    pub person: PersonId,
}

/// Something that is being done to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceChange {
    /// Which.
    pub id: ChangeId,
    /// Who wants it.
    pub person: PersonId,
    /// What.
    #[serde(flatten)]
    pub kind: ChangeKind,
    /// What exactly will be done, once it is known. From then on it is carried out, however often it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<ChangePlan>,
}

/// What is done to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is made: a worktree of its own with these files.
    Prepare {
        /// The tree.
        tree: String,
        /// The folder that it is a worktree of.
        from: String,
        /// The commit that it stands at; the one that the other folder stands at if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// Its files become what they were at a checkpoint.
    Restore {
        /// The checkpoint's tree.
        tree: String,
        /// The turn whose checkpoint it is; none for the state before the last change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<TurnPoint>,
    },
    /// A fork's changes come in.
    Take {
        /// Which fork.
        fork: TaskId,
        /// Its key.
        key: String,
        /// Its folder.
        root: String,
        /// The tree of the state that both began from.
        base: String,
        /// The execution whose worktree it is, if it is not a fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// It holds still while its changes are taken elsewhere.
    Yield {
        /// The task that takes them.
        to: TaskId,
        /// That task's key.
        key: String,
    },
    /// It is removed, if everything in it is kept elsewhere.
    Remove {},
}

/// One side of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPoint {
    /// Which turn.
    pub turn: TurnId,
    /// Before or after it.
    pub side: CheckpointSide,
}

/// What exactly will be done to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangePlan {
    /// The tree of the state before.
    pub undo: String,
    /// The tree of the state to come; of a removed workspace that of its last state.
    pub target: String,
    /// The commit that a git worktree stands at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What changes, by name. Bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedFile>,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ChangeResult {
    /// It was carried out.
    Done {
        /// What was left as it is, and why: a line for each path.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
        /// What else is worth knowing, a paragraph each: a setup that failed, with the end of its output.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// It was not, or not all of it.
    Failed {
        /// Why.
        failure: Failure,
    },
}

impl ChangeKind {
    /// What the workspace is busy with, for whoever has to wait.
    #[must_use]
    pub fn doing(&self) -> &'static str {
        match self {
            ChangeKind::Prepare { .. } => "preparing its workspace",
            ChangeKind::Restore { .. } => "restoring its workspace",
            ChangeKind::Take { .. } => "taking a fork's changes",
            ChangeKind::Yield { .. } => "giving its changes away",
            ChangeKind::Remove {} => "removing its workspace",
        }
    }

    /// The trees that have to be kept while the record names it.
    #[must_use]
    pub fn trees(&self) -> Vec<&str> {
        match self {
            ChangeKind::Prepare { tree, .. } | ChangeKind::Restore { tree, .. } => vec![tree],
            ChangeKind::Take { base, .. } => vec![base],
            ChangeKind::Yield { .. } | ChangeKind::Remove {} => vec![],
        }
    }

    /// Whether there is something to do for it, or only to wait.
    #[must_use]
    pub(crate) fn acts(&self) -> bool {
        !matches!(self, ChangeKind::Yield { .. })
    }
}

impl Site {
    /// A folder to which nothing is being done.
    #[must_use]
    pub fn of(root: String) -> Self {
        Site { root, ..Site::default() }
    }

    /// The worktree that an execution has, or had, for itself.
    #[must_use]
    pub fn own(&self, execution: ExecutionId) -> Option<&Site> {
        self.worktrees.iter().find(|own| own.executions.contains(&execution)).map(|own| &own.site)
    }

    /// The place to which this is being done, and whose worktree it is, if it is one.
    #[must_use]
    pub fn holding(&self, change: ChangeId) -> Option<(Option<ExecutionId>, &Site, &WorkspaceChange)> {
        let own = self.worktrees.iter().map(|own| (own.executions.last().copied(), &own.site));
        let mut places = [(None, self)].into_iter().chain(own);
        places.find_map(|(execution, site)| {
            let known = site.change.as_ref().filter(|known| known.id == change)?;
            Some((execution, site, known))
        })
    }

    /// The task's place, or the worktree of an execution.
    pub(crate) fn at_mut(&mut self, execution: Option<ExecutionId>) -> Option<&mut Site> {
        let Some(execution) = execution else { return Some(self) };
        self.worktrees.iter_mut().find(|own| own.executions.contains(&execution)).map(|own| &mut own.site)
    }

    /// Gives an execution its worktree, or one that another execution had.
    pub(crate) fn give(&mut self, execution: ExecutionId, task: TaskId, root: &str, base: &str) {
        match self.worktrees.iter_mut().find(|own| own.site.root == root) {
            Some(own) => own.executions.push(execution),
            None => {
                let (base, from) = (base.to_owned(), self.root.clone());
                let fork = Some(Fork { source: task, key: String::new(), turn: None, base, from });
                let site = Site { fork, ..Site::of(root.to_owned()) };
                self.worktrees.push(OwnSite { executions: vec![execution], site });
            }
        }
    }

    /// Whether agents can work there, or have to wait until it is made.
    #[must_use]
    pub fn ready(&self) -> bool {
        !matches!(self.change, Some(WorkspaceChange { kind: ChangeKind::Prepare { .. }, .. }))
    }

    /// Whether it is about to go.
    pub(crate) fn leaving(&self) -> bool {
        matches!(self.change, Some(WorkspaceChange { kind: ChangeKind::Remove {}, .. }))
    }

    pub(crate) fn begin(&mut self, change: WorkspaceChange) {
        self.change = Some(change);
    }

    pub(crate) fn plan(&mut self, id: ChangeId, plan: &ChangePlan) {
        for own in &mut self.worktrees {
            own.site.plan(id, plan);
        }
        if let Some(change) = self.change.as_mut().filter(|change| change.id == id) {
            change.plan = Some(plan.clone());
        }
    }

    /// The state before is remembered whatever came of it: half a change can be undone too.
    pub(crate) fn end(&mut self, id: ChangeId, result: &ChangeResult) {
        for own in &mut self.worktrees {
            own.site.end(id, result);
        }
        let Some(change) = self.change.take_if(|change| change.id == id) else { return };
        let done = matches!(result, ChangeResult::Done { .. });
        match (change.kind, change.plan) {
            (ChangeKind::Restore { .. } | ChangeKind::Take { .. }, Some(plan)) => self.undo = Some(plan.undo),
            (ChangeKind::Prepare { .. }, _) if done => self.removed = None,
            (ChangeKind::Remove {}, Some(plan)) if done => {
                self.removed = Some(Removed { tree: plan.target, commit: plan.commit, person: change.person });
            }
            (
                ChangeKind::Prepare { .. }
                | ChangeKind::Restore { .. }
                | ChangeKind::Take { .. }
                | ChangeKind::Yield { .. }
                | ChangeKind::Remove {},
                _,
            ) => {}
        }
    }
}
