//! Site: where a task's agents work, and what is being done to that place outside of turns.
//!
//! A *workspace change* is what a person asks of a workspace itself: bring it back to a checkpoint. It holds the
//! workspace's lease from beginning to end, so that no turn writes meanwhile, and it is planned before it is carried
//! out: the plan names the state to come and the state before it, so that it can be carried out again after a crash and
//! undone after that.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{ChangedFile, CheckpointSide};
use crate::ids::{ChangeId, PersonId, TurnId};
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
    /// Its files become what they were at a checkpoint.
    Restore {
        /// The checkpoint's tree.
        tree: String,
        /// The turn whose checkpoint it is; none for the state before the last change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<TurnPoint>,
    },
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
    /// The tree of the state to come.
    pub target: String,
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
            ChangeKind::Restore { .. } => "restoring its workspace",
        }
    }

    /// The trees that have to be kept while the record names it.
    #[must_use]
    pub fn trees(&self) -> Vec<&str> {
        match self {
            ChangeKind::Restore { tree, .. } => vec![tree],
        }
    }
}

impl Site {
    /// A folder to which nothing is being done.
    #[must_use]
    pub fn of(root: String) -> Self {
        Site { root, ..Site::default() }
    }

    pub(crate) fn begin(&mut self, change: WorkspaceChange) {
        self.change = Some(change);
    }

    pub(crate) fn plan(&mut self, id: ChangeId, plan: &ChangePlan) {
        if let Some(change) = self.change.as_mut().filter(|change| change.id == id) {
            change.plan = Some(plan.clone());
        }
    }

    /// The state before is remembered whatever came of it: half a change can be undone too.
    pub(crate) fn end(&mut self, id: ChangeId) {
        let Some(change) = self.change.take_if(|change| change.id == id) else { return };
        match change.kind {
            ChangeKind::Restore { .. } => {
                if let Some(plan) = change.plan {
                    self.undo = Some(plan.undo);
                }
            }
        }
    }
}
