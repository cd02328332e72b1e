//! Take and discard: the changes of a fork or of a worktree come home, or its folder goes. Neither loses anything.

use std::path::Path;
use std::time::Duration;

use throughline_model::ids::{ExecutionId, PersonId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::Failure;
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult, Site};
use throughline_model::task::{Task, TaskCommand};

use super::{Restoration, Worktree, failure, unusable, worktree};
use crate::driver::Shared;
use crate::engine::Engine;
use crate::error::EngineError;

/// How long the agents of a fork may take to end before its folder is looked at.
const PATIENCE: Duration = Duration::from_secs(20);

impl Shared {
    /// Keeps all that is in the folder, ignored files too, and makes sure that its commits are elsewhere.
    pub(super) async fn plan_removal(&self, task: &Task, site: &Site) -> Result<ChangePlan, Failure> {
        let root = Path::new(&site.root);
        let Some(worktree) = Worktree::of(self.home.path(), &site.root) else {
            let message = format!("its folder stays at {}: it is not one that was made for a fork", root.display());
            return Err(Failure { code: "worktree_kept".into(), message, hint: None, until: None });
        };
        let here = task.executions.iter().filter(|execution| task.site_of(execution.id).root == site.root);
        self.processes_gone(&here.map(|execution| execution.id).collect::<Vec<_>>(), PATIENCE).await;
        if let Some(stays) = worktree::only_here(&worktree.top).await {
            return Err(stays);
        }
        let checkpoints = self.workspaces.of(&site.root);
        let last = checkpoints.take_patiently(root).await.map_err(failure)?;
        let all = checkpoints.take_everything(root).await;
        let all = all.map_err(|error| stays(root, &failure(error).message))?;
        let commit = worktree::commit_at(&worktree.top).await;
        Ok(ChangePlan { undo: last, target: all, commit, files: vec![] })
    }

    /// The plan keeps what was there; what came since keeps the folder.
    pub(super) async fn remove(&self, site: &Site, plan: &ChangePlan) -> Result<ChangeResult, Failure> {
        let (root, home) = (Path::new(&site.root), self.home.path());
        let (Some(worktree), Some(fork)) = (Worktree::of(home, &site.root), &site.fork) else {
            return Err(stays(root, "it is not one that was made for a fork"));
        };
        let mut name = worktree.top.file_name().unwrap_or_default().to_owned();
        name.push(".removed");
        let going = worktree.top.with_file_name(name);
        if root.is_dir() {
            let now = self.workspaces.of(&site.root).take_everything(root).await;
            let now = now.map_err(|error| stays(root, &failure(error).message))?;
            if now != plan.target {
                return Err(stays(root, "something in it changed meanwhile"));
            }
            // In one step, so that half a folder is never mistaken for the work in it.
            std::fs::rename(&worktree.top, &going).map_err(|error| unusable(&worktree.top, &error))?;
        }
        worktree::clear(&going, Path::new(&fork.from)).await.map_err(|error| unusable(&going, &error))?;
        worktree::clear(&worktree.top, Path::new(&fork.from)).await.map_err(|error| unusable(&worktree.top, &error))?;
        Ok(ChangeResult::Done { kept: vec![], notes: vec![] })
    }
}

fn stays(root: &Path, why: &str) -> Failure {
    Failure {
        code: "worktree_kept".into(),
        message: format!("its folder stays at {}: {why}", root.display()),
        hint: Some("look at what is in it, then remove it by hand or `tl discard KEY` again".into()),
        until: None,
    }
}

impl Engine {
    /// Brings the changes of a fork, or of an execution's worktree, into the workspace that it comes from, and is done
    /// with the folder. Gives also the task that has them now.
    ///
    /// # Errors
    /// If there is nothing of its own to take, somebody writes in one of the two, or both changed the same in different
    /// ways.
    pub async fn take(
        &self,
        task: TaskId,
        person: PersonId,
        whose: Option<ExecutionId>,
    ) -> Result<(TaskId, Restoration), EngineError> {
        let state = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let execution = state.worktree_meant(whose)?;
        let site = execution.map_or(&state.site, |execution| state.site_of(execution));
        let known = site.fork.as_ref().ok_or(Rejection::NotAFork)?;
        let change = self.inner.core.clock.now().mint().id();
        let (key, root, base) = (state.key.clone(), site.root.clone(), known.base.clone());
        let kind = ChangeKind::Take { fork: task, key, root, base, execution };
        // A fork of a task whose agent works apart goes back to where that one works.
        let source = self.task(known.source).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let into = source.site.worktrees.iter().find(|own| own.site.root == known.from);
        let into = into.and_then(|own| own.executions.last().copied());
        let command = TaskCommand::ChangeWorkspace { change, person, kind, execution: into };
        let ended = self.change_workspace(known.source, change, command).await?;
        match ended.result {
            ChangeResult::Done { kept, .. } => {
                Ok((known.source, Restoration { point: None, files: ended.files, kept }))
            }
            ChangeResult::Failed { failure } => Err(EngineError::Failed(failure)),
        }
    }

    /// Removes the folder of a fork, or of an execution's worktree, if nothing is lost by that, and closes what worked
    /// there. Gives why it stays, if it does.
    ///
    /// # Errors
    /// If there is no such folder, or a turn runs there.
    pub async fn discard(
        &self,
        task: TaskId,
        person: PersonId,
        execution: Option<ExecutionId>,
    ) -> Result<Option<Failure>, EngineError> {
        let change = self.inner.core.clock.now().mint().id();
        let ended = self.change_workspace(task, change, TaskCommand::Discard { change, person, execution }).await?;
        Ok(match ended.result {
            ChangeResult::Done { .. } => None,
            ChangeResult::Failed { failure } => Some(failure),
        })
    }
}
