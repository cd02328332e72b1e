//! Workspace: a folder that turns write in, one at a time. It holds the *lease* (DESIGN §3.9).
//!
//! Invariant: at most one turn holds it, and who waits is served in the order of arrival.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::effect::Effect;
use crate::ids::{TaskId, TurnId, WorkspaceId};
use crate::stream::StreamId;
use crate::task::TaskCommand;

/// A workspace's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Which.
    pub id: WorkspaceId,
    /// Who writes.
    pub holder: Option<Claim>,
    /// Who waits, first in line first.
    pub waiting: Vec<Claim>,
}

/// A turn's wish to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Which turn.
    pub turn: TurnId,
    /// Of which task.
    pub task: TaskId,
    /// What to call the task when somebody has to wait for it.
    pub label: String,
}

/// What can be asked of a workspace. Nothing of it is ever refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkspaceCommand {
    /// Let a turn write, now or later.
    Claim {
        /// Which workspace.
        workspace: WorkspaceId,
        /// Who wants it.
        claim: Claim,
    },
    /// A turn needs it no longer, whether it held it or waited.
    Release {
        /// Which turn.
        turn: TurnId,
    },
}

/// What happened to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkspaceEvent {
    /// A turn may write.
    LeaseGranted {
        /// Which workspace.
        workspace: WorkspaceId,
        /// Who.
        claim: Claim,
    },
    /// A turn has to wait.
    LeaseAwaited {
        /// Who.
        claim: Claim,
        /// Whom it waits for.
        behind: String,
    },
    /// A turn is done with it, or no longer wants it.
    LeaseReleased {
        /// Which turn.
        turn: TurnId,
    },
}

pub(crate) fn decide(state: Option<&Workspace>, command: WorkspaceCommand) -> Vec<WorkspaceEvent> {
    match (state, command) {
        (None, WorkspaceCommand::Claim { workspace, claim }) => vec![WorkspaceEvent::LeaseGranted { workspace, claim }],
        (Some(state), WorkspaceCommand::Claim { workspace, claim }) => match &state.holder {
            Some(holder) if holder.turn == claim.turn => vec![],
            Some(_) if state.waiting.iter().any(|known| known.turn == claim.turn) => vec![],
            Some(holder) => vec![WorkspaceEvent::LeaseAwaited { claim, behind: holder.label.clone() }],
            None => vec![WorkspaceEvent::LeaseGranted { workspace, claim }],
        },
        (None, WorkspaceCommand::Release { .. }) => vec![],
        (Some(state), WorkspaceCommand::Release { turn }) => release(state, turn),
    }
}

fn release(state: &Workspace, turn: TurnId) -> Vec<WorkspaceEvent> {
    let holds = state.holder.as_ref().is_some_and(|holder| holder.turn == turn);
    let waits = state.waiting.iter().any(|claim| claim.turn == turn);
    if !holds && !waits {
        return vec![];
    }
    let mut events = vec![WorkspaceEvent::LeaseReleased { turn }];
    if holds && let Some(next) = state.waiting.first() {
        events.push(WorkspaceEvent::LeaseGranted { workspace: state.id, claim: next.clone() });
    }
    events
}

pub(crate) fn evolve(state: &mut Option<Workspace>, event: &WorkspaceEvent) {
    match (state.as_mut(), event) {
        (None, WorkspaceEvent::LeaseGranted { workspace, claim }) => {
            *state = Some(Workspace { id: *workspace, holder: Some(claim.clone()), waiting: vec![] });
        }
        (Some(state), WorkspaceEvent::LeaseGranted { claim, .. }) => {
            state.waiting.retain(|known| known.turn != claim.turn);
            state.holder = Some(claim.clone());
        }
        (Some(state), WorkspaceEvent::LeaseAwaited { claim, .. }) => state.waiting.push(claim.clone()),
        (Some(state), WorkspaceEvent::LeaseReleased { turn }) => {
            state.waiting.retain(|known| known.turn != *turn);
            state.holder.take_if(|holder| holder.turn == *turn);
        }
        (None, WorkspaceEvent::LeaseAwaited { .. } | WorkspaceEvent::LeaseReleased { .. }) => {}
    }
}

pub(crate) fn react(_: &Workspace, event: &WorkspaceEvent) -> Vec<Effect> {
    let tell =
        |task, command| vec![Effect::Tell { to: StreamId::Task(task), command: Box::new(Command::Task(command)) }];
    match event {
        WorkspaceEvent::LeaseGranted { claim, .. } => tell(claim.task, TaskCommand::BeginTurn { turn: claim.turn }),
        WorkspaceEvent::LeaseAwaited { claim, behind } => {
            tell(claim.task, TaskCommand::HoldTurn { turn: claim.turn, behind: behind.clone() })
        }
        WorkspaceEvent::LeaseReleased { .. } => vec![],
    }
}
