//! Restore: a workspace as it was before or after a turn, on a person's word. The present is kept first.

use throughline_model::checkpoint::{ChangedFile, CheckpointSide};
use throughline_model::ids::{ExecutionId, PersonId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::site::{ChangeKind, ChangeResult, TurnPoint};
use throughline_model::task::TaskCommand;

use super::{TurnChoice, in_a_line};
use crate::engine::Engine;
use crate::error::EngineError;

/// What to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// One side of a turn; the newest turn that has a checkpoint there if none is named.
    Turn {
        /// Which turn.
        turn: Option<TurnChoice>,
        /// Which side of it.
        side: CheckpointSide,
    },
    /// The state before the last change of the workspace.
    Undo,
}

/// What a restore changes, or would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Restoration {
    /// The turn, its number and the side; none for the state before the last change.
    pub point: Option<(TurnPoint, usize)>,
    /// What changes, by name. Bounded.
    pub files: Vec<ChangedFile>,
    /// What stays as it is, and why: a line for each path.
    pub kept: Vec<String>,
}

/// A restore that is wanted.
struct Wanted {
    /// Whose worktree; none for the task's own workspace.
    execution: Option<ExecutionId>,
    root: String,
    tree: String,
    point: Option<(TurnPoint, usize)>,
}

impl Engine {
    /// Says what a restore would do. It changes nothing.
    ///
    /// # Errors
    /// If there is no such checkpoint, or the present state cannot be looked at.
    pub async fn preview_restore(&self, task: TaskId, to: RestorePoint) -> Result<Restoration, EngineError> {
        let wanted = self.wanted(task, to).await?;
        let (_, files, kept) = self.inner.drivers.shared().difference(&wanted.root, &wanted.tree).await?;
        Ok(Restoration { point: wanted.point, files, kept: kept.iter().map(in_a_line).collect() })
    }

    /// Brings a workspace back. When this answers, it is done, and recorded.
    ///
    /// # Errors
    /// If there is no such checkpoint, somebody writes there, the present state cannot be kept, or writing fails.
    pub async fn restore(&self, task: TaskId, person: PersonId, to: RestorePoint) -> Result<Restoration, EngineError> {
        let wanted = self.wanted(task, to).await?;
        let change = self.inner.core.clock.now().mint().id();
        let kind = ChangeKind::Restore { tree: wanted.tree, point: wanted.point.map(|(point, _)| point) };
        let command = TaskCommand::ChangeWorkspace { change, person, kind, execution: wanted.execution };
        let ended = self.change_workspace(task, change, command).await?;
        match ended.result {
            ChangeResult::Done { kept, .. } => Ok(Restoration { point: wanted.point, files: ended.files, kept }),
            ChangeResult::Failed { failure } => Err(EngineError::Failed(failure)),
        }
    }

    async fn wanted(&self, task: TaskId, to: RestorePoint) -> Result<Wanted, EngineError> {
        let state = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let place = |execution: Option<ExecutionId>| {
            let own = execution.filter(|execution| state.site.own(*execution).is_some());
            (own, own.map_or(&state.site, |execution| state.site_of(execution)))
        };
        match to {
            RestorePoint::Undo => {
                // What was taken came to where the task is, so that is looked at first.
                let tried = [None, state.primary().map(|primary| primary.id)].map(place);
                let undone = tried.into_iter().find_map(|(own, site)| Some((own, site, site.undo.clone()?)));
                let (execution, site, tree) = undone.ok_or(EngineError::NothingToUndo)?;
                Ok(Wanted { execution, root: site.root.clone(), tree, point: None })
            }
            RestorePoint::Turn { turn, side } => {
                let turn = self.chosen_turn(task, turn, side).await?;
                let point = TurnPoint { turn: turn.id, side };
                let (execution, site) = place(Some(turn.execution));
                let (tree, point) = (turn.tree(side)?.to_owned(), Some((point, turn.number)));
                Ok(Wanted { execution, root: site.root.clone(), tree, point })
            }
        }
    }
}
