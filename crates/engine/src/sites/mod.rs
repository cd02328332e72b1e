//! Workspace changes carried out: planned, then done, each as often as a crash makes necessary.
//!
//! The task's record says what is wanted and how far it is; the workspace's lease is held all the while, so nothing
//! here asks whether a turn runs. What a change does to files is one thing only: make a folder equal to a tree.
//!
//! **Invariant:** a plan is committed before the first file is touched, and the state before is in it.

mod compare;
mod fork;
mod remove;
mod restore;
mod turns;
mod worktree;

use std::path::Path;
use std::sync::Arc;

use throughline_model::checkpoint::{ChangedFile, CheckpointTree};
use throughline_model::command::Command;
use throughline_model::event::Event;
use throughline_model::ids::{ChangeId, ProjectId, TaskId};
use throughline_model::runtime_session::Failure;
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult, Site, WorkspaceChange};
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskCommand, TaskEvent};
use throughline_store::port::PageQuery;
use tokio::sync::broadcast::error::RecvError;

use crate::checkpoints::{CheckpointError, Merged, PassedOver};
use crate::config::ProjectSettings;
use crate::core::{ExecuteError, Request};
use crate::driver::Shared;
use crate::driver::launch::whole;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hub::Published;

pub use compare::{Comparison, Side};
pub use fork::ForkWish;
pub use restore::{Restoration, RestorePoint};
pub use turns::{PastTurn, TurnChoice};
pub(crate) use worktree::Worktree;

/// How many events are searched for the end of a change by whoever could not listen fast enough.
const SEARCHED: usize = 1_000;

impl Shared {
    /// Carries a change out, from wherever it was left.
    pub(crate) async fn change_workspace(&self, key: &str, task: TaskId, id: ChangeId) -> Result<(), ExecuteError> {
        let state = self.core.task(task).await?;
        let wanted = state.task().and_then(|task| Some((task, task.site.holding(id)?)));
        let Some((known, (_, site, change))) = wanted else {
            return self.core.execute(Request::settle(key)).await.map(drop);
        };
        let result = match self.planned(known, site, change).await? {
            Ok(plan) => self.carry_out(known, site, change, &plan).await,
            Err(failure) => Err(failure),
        };
        let result = result.unwrap_or_else(|failure| {
            tracing::warn!(%task, code = failure.code, message = failure.message, "a workspace change failed");
            ChangeResult::Failed { failure }
        });
        let command = Command::Task(TaskCommand::EndChange { change: id, result });
        let request = Request { settled: vec![key.to_owned()], ..Request::of(StreamId::Task(task), command) };
        self.core.execute(request).await.map(drop)
    }

    /// The plan that was made, or a new one, committed.
    async fn planned(
        &self,
        task: &Task,
        site: &Site,
        change: &WorkspaceChange,
    ) -> Result<Result<ChangePlan, Failure>, ExecuteError> {
        if let Some(plan) = &change.plan {
            return Ok(Ok(plan.clone()));
        }
        let plan = match self.plan(task, site, &change.kind).await {
            Ok(plan) => plan,
            Err(failure) => return Ok(Err(failure)),
        };
        let command = Command::Task(TaskCommand::PlanChange { change: change.id, plan: plan.clone() });
        self.core.execute(Request::of(StreamId::Task(task.id), command)).await?;
        Ok(Ok(plan))
    }

    async fn plan(&self, task: &Task, site: &Site, kind: &ChangeKind) -> Result<ChangePlan, Failure> {
        let root = &site.root;
        match kind {
            ChangeKind::Prepare { tree, from, commit } => {
                let commit = match commit {
                    Some(commit) => Some(commit.clone()),
                    None => worktree::commit_at(Path::new(from)).await,
                };
                Ok(ChangePlan { undo: tree.clone(), target: tree.clone(), commit, files: vec![] })
            }
            ChangeKind::Restore { tree, .. } => {
                let (undo, files, _) = self.difference(root, tree).await.map_err(failure)?;
                Ok(ChangePlan { undo, target: tree.clone(), commit: None, files })
            }
            ChangeKind::Take { base, root: theirs, .. } => {
                let checkpoints = self.workspaces.of(root);
                let theirs = checkpoints.take_patiently(Path::new(theirs)).await.map_err(failure)?;
                let ours = checkpoints.take_patiently(Path::new(root)).await.map_err(failure)?;
                let target = match checkpoints.merge(base, &ours, &theirs).await.map_err(failure)? {
                    Merged::Tree { oid } => oid,
                    Merged::Conflicts { paths } => return Err(conflicts(&paths)),
                };
                let (undo, files, _) = self.difference(root, &target).await.map_err(failure)?;
                Ok(ChangePlan { undo, target, commit: None, files })
            }
            ChangeKind::Remove {} => self.plan_removal(task, site).await,
            // Nothing is asked of anybody.
            ChangeKind::Yield { .. } => Err(Failure {
                code: "internal".into(),
                message: "a fork that holds still has nothing to do".into(),
                hint: None,
                until: None,
            }),
        }
    }

    /// What is there now, and what making it equal to a tree would change and would leave as it is.
    async fn difference(
        &self,
        root: &str,
        target: &str,
    ) -> Result<(String, Vec<ChangedFile>, Vec<PassedOver>), CheckpointError> {
        let plan = self.workspaces.of(root).plan_restore(Path::new(root), target).await?;
        let taken = |oid: &str| CheckpointTree::Taken { oid: oid.to_owned() };
        let mut files = self.workspaces.changed(root, &taken(&plan.present), &taken(target)).await;
        files.retain(|file| plan.kept.iter().all(|kept| kept.path != file.path));
        Ok((plan.present, files, plan.kept))
    }

    async fn carry_out(
        &self,
        task: &Task,
        site: &Site,
        change: &WorkspaceChange,
        plan: &ChangePlan,
    ) -> Result<ChangeResult, Failure> {
        match &change.kind {
            ChangeKind::Remove {} => self.remove(site, plan).await,
            ChangeKind::Prepare { from, .. } => self.prepare((task.project, site), change.id, from, plan).await,
            ChangeKind::Restore { .. } | ChangeKind::Take { .. } | ChangeKind::Yield { .. } => {
                let kept = self.become_tree(&site.root, &plan.target).await?;
                Ok(ChangeResult::Done { kept, notes: vec![] })
            }
        }
    }

    /// Makes a folder equal to a tree. Gives what was left as it is.
    async fn become_tree(&self, root: &str, tree: &str) -> Result<Vec<String>, Failure> {
        let restored = self.workspaces.of(root).restore(Path::new(root), tree).await.map_err(failure)?;
        Ok(restored.kept.iter().map(in_a_line).collect())
    }

    /// Makes a fork's workspace, from the beginning however often it takes.
    async fn prepare(
        &self,
        (project, site): (ProjectId, &Site),
        change: ChangeId,
        from: &str,
        plan: &ChangePlan,
    ) -> Result<ChangeResult, Failure> {
        let (root, from) = (Path::new(&site.root), Path::new(from));
        let Some(worktree) = Worktree::of(self.home.path(), &site.root) else {
            let message = format!("{} is not a folder for forks", root.display());
            return Err(Failure { code: "bad_path".into(), message, hint: None, until: None });
        };
        let made = worktree::make(&worktree, root, from, plan.commit.as_deref()).await;
        let mut notes: Vec<String> = made.map_err(|error| unusable(&worktree.top, &error))?.into_iter().collect();
        let kept = self.become_tree(&site.root, &plan.target).await?;
        // Its files are known from now on, so that the first turn does not have to read them all again.
        match self.workspaces.of(&site.root).take_patiently(root).await {
            // One that is made again has its ignored files back too, which a checkpoint leaves out.
            Ok(tree) if tree == plan.target || site.removed.is_some() => {}
            Ok(_) => notes.push("its files are not all as they were at the checkpoint".into()),
            Err(error) => notes.push(whole(&error)),
        }
        let settings = self.project_settings(project).await;
        notes.extend(worktree::copy(&settings.copy, from, root));
        if let Some(command) = &settings.setup {
            notes.extend(self.set_up(command, root, change).await);
        }
        Ok(ChangeResult::Done { kept, notes })
    }

    async fn project_settings(&self, project: ProjectId) -> ProjectSettings {
        let state = self.core.state(StreamId::Project(project)).await.ok();
        let name = state.as_ref().and_then(|state| state.project()).map(|project| project.name.clone());
        name.map(|name| self.config.project(&name)).unwrap_or_default()
    }
}

fn in_a_line(kept: &PassedOver) -> String {
    format!("{}: {}", kept.path, kept.why)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn failure(error: CheckpointError) -> Failure {
    Failure {
        code: error.code().into(),
        message: whole(&error),
        hint: error.hint().map(ToOwned::to_owned),
        until: None,
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure { code: "checkpoint_io".into(), message: format!("{}: {error}", path.display()), hint: None, until: None }
}

fn conflicts(paths: &[String]) -> Failure {
    Failure {
        code: "take_conflict".into(),
        message: format!("both changed, each in its own way: {}", paths.join(", ")),
        hint: Some("nothing was changed; make the files alike in one of them, or take them over by hand".into()),
        until: None,
    }
}

/// A change that is over.
struct Ended {
    files: Vec<ChangedFile>,
    result: ChangeResult,
}

impl Engine {
    /// Asks for a change and waits for its end. It goes on, and is recorded, whether or not anybody waits.
    async fn change_workspace(
        &self,
        task: TaskId,
        change: ChangeId,
        command: TaskCommand,
    ) -> Result<Ended, EngineError> {
        let mut news = self.hub().subscribe();
        self.send(StreamId::Task(task), Command::Task(command)).await?;
        let mut files = vec![];
        loop {
            let heard = match news.recv().await {
                Ok(Published::Event(recorded)) => vec![recorded],
                Ok(Published::Live(_)) => continue,
                Err(RecvError::Lagged(_)) => {
                    let query = PageQuery { stream: StreamId::Task(task), before: None, limit: SEARCHED };
                    self.store().page(query).await?.into_iter().rev().map(Arc::new).collect()
                }
                Err(RecvError::Closed) => return Err(EngineError::Stopping),
            };
            for recorded in heard {
                match &recorded.event {
                    Event::Task(TaskEvent::WorkspaceChangePlanned { change: planned, plan }) if *planned == change => {
                        files.clone_from(&plan.files);
                    }
                    Event::Task(TaskEvent::WorkspaceChangeEnded { change: ended, result }) if *ended == change => {
                        return Ok(Ended { files, result: result.clone() });
                    }
                    _ => {}
                }
            }
        }
    }

    /// The state of a workspace now; its last one if it was removed.
    async fn present_tree(&self, site: &Site) -> Result<String, EngineError> {
        if let Some(removed) = &site.removed {
            return Ok(removed.tree.clone());
        }
        if !site.ready() {
            return Err(EngineError::NotReady);
        }
        let checkpoints = self.inner.drivers.shared().workspaces.of(&site.root);
        Ok(checkpoints.take_patiently(Path::new(&site.root)).await?)
    }
}
