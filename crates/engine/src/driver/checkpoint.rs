//! Checkpoints around a turn: before the agent gets the prompt, and after it has answered, while the lease is held.

use throughline_model::checkpoint::{Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::command::Command;
use throughline_model::effect::Process;
use throughline_model::ids::{CheckpointId, Id as _, TurnId};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;

use super::Shared;
use crate::core::Request;

impl Shared {
    /// Keeps the state before a turn, once: a prompt that is handed on again after a crash may have been heard already.
    pub(super) async fn checkpoint_before(&self, process: Process, turn: TurnId) {
        let Some((root, None)) = self.around(process, turn).await else { return };
        let tree = self.workspaces.take(&root).await;
        let checkpoint =
            Checkpoint { id: id_of(turn, "before"), turn, side: CheckpointSide::Before, tree, changed: vec![] };
        let (to, command) = keep(process, checkpoint);
        if let Err(error) = self.core.execute(Request::of(to, command)).await {
            tracing::warn!(%error, %turn, "a checkpoint cannot be kept");
        }
    }

    /// The state after a turn, as a command to be committed with its end.
    pub(super) async fn checkpoint_after(&self, process: Process, turn: TurnId) -> Option<(StreamId, Command)> {
        let (root, before) = self.around(process, turn).await?;
        let before = before?;
        let tree = self.workspaces.take(&root).await;
        let changed = self.workspaces.changed(&root, &before, &tree).await;
        Some(keep(process, Checkpoint { id: id_of(turn, "after"), turn, side: CheckpointSide::After, tree, changed }))
    }

    /// Where a turn writes, and the state before it; none for a turn that does not write, or is not the active one.
    async fn around(&self, process: Process, turn: TurnId) -> Option<(String, Option<CheckpointTree>)> {
        let state = self.core.task(process.task).await.ok()?;
        let task = state.task()?;
        let execution = task.execution_in(turn).filter(|execution| execution.role.writes())?;
        let before = execution.active.as_ref().and_then(|active| active.before.clone());
        Some((task.site_of(execution.id).root.clone(), before))
    }
}

fn id_of(turn: TurnId, side: &str) -> CheckpointId {
    CheckpointId::derive(turn.uuid(), side)
}

fn keep(process: Process, checkpoint: Checkpoint) -> (StreamId, Command) {
    (StreamId::Task(process.task), Command::Task(TaskCommand::KeepCheckpoint { checkpoint }))
}
