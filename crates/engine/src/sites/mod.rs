//! Workspace changes carried out: planned, then done, each as often as a crash makes necessary.
//!
//! The task's record says what is wanted and how far it is; the workspace's lease is held all the while, so nothing
//! here asks whether a turn runs. What a change does to files is one thing only: make a folder equal to a tree.
//!
//! **Invariant:** a plan is committed before the first file is touched, and the state before is in it.

mod restore;
mod turns;

use std::path::Path;
use std::sync::Arc;

use throughline_model::checkpoint::{ChangedFile, CheckpointTree};
use throughline_model::command::Command;
use throughline_model::event::Event;
use throughline_model::ids::{ChangeId, TaskId};
use throughline_model::runtime_session::Failure;
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult, WorkspaceChange};
use throughline_model::stream::StreamId;
use throughline_model::task::{TaskCommand, TaskEvent};
use throughline_store::port::PageQuery;
use tokio::sync::broadcast::error::RecvError;

use crate::checkpoints::{CheckpointError, PassedOver};
use crate::core::{ExecuteError, Request};
use crate::driver::Shared;
use crate::driver::launch::whole;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hub::Published;

pub use restore::{Restoration, RestorePoint};
pub use turns::{PastTurn, TurnChoice};

/// How many events are searched for the end of a change by whoever could not listen fast enough.
const SEARCHED: usize = 1_000;

impl Shared {
    /// Carries a change out, from wherever it was left.
    pub(crate) async fn change_workspace(&self, key: &str, task: TaskId, id: ChangeId) -> Result<(), ExecuteError> {
        let state = self.core.task(task).await?;
        let wanted = state.task().and_then(|task| Some((&task.site.root, task.site.change.as_ref()?)));
        let Some((root, change)) = wanted.filter(|(_, change)| change.id == id) else {
            return self.core.execute(Request::settle(key)).await.map(drop);
        };
        let result = match self.planned(task, root, change).await? {
            Ok(plan) => self.carry_out(root, &plan).await,
            Err(failure) => ChangeResult::Failed { failure },
        };
        if let ChangeResult::Failed { failure } = &result {
            tracing::warn!(%task, code = failure.code, message = failure.message, "a workspace change failed");
        }
        let command = Command::Task(TaskCommand::EndChange { change: id, result });
        let request = Request { settled: vec![key.to_owned()], ..Request::of(StreamId::Task(task), command) };
        self.core.execute(request).await.map(drop)
    }

    /// The plan that was made, or a new one, committed.
    async fn planned(
        &self,
        task: TaskId,
        root: &str,
        change: &WorkspaceChange,
    ) -> Result<Result<ChangePlan, Failure>, ExecuteError> {
        if let Some(plan) = &change.plan {
            return Ok(Ok(plan.clone()));
        }
        let plan = match self.plan(root, &change.kind).await {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(failure(&error))),
        };
        let command = Command::Task(TaskCommand::PlanChange { change: change.id, plan: plan.clone() });
        self.core.execute(Request::of(StreamId::Task(task), command)).await?;
        Ok(Ok(plan))
    }

    async fn plan(&self, root: &str, kind: &ChangeKind) -> Result<ChangePlan, CheckpointError> {
        match kind {
            ChangeKind::Restore { tree, .. } => {
                let (undo, files, _) = self.difference(root, tree).await?;
                Ok(ChangePlan { undo, target: tree.clone(), files })
            }
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

    async fn carry_out(&self, root: &str, plan: &ChangePlan) -> ChangeResult {
        match self.workspaces.of(root).restore(Path::new(root), &plan.target).await {
            Ok(restored) => ChangeResult::Done { kept: restored.kept.iter().map(in_a_line).collect() },
            Err(error) => ChangeResult::Failed { failure: failure(&error) },
        }
    }
}

fn in_a_line(kept: &PassedOver) -> String {
    format!("{}: {}", kept.path, kept.why)
}

fn failure(error: &CheckpointError) -> Failure {
    Failure { code: error.code().into(), message: whole(error), hint: error.hint().map(ToOwned::to_owned) }
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
}
