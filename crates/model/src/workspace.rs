//! Workspace: a folder that turns write in, one at a time. It holds the *lease* (DESIGN §3.9).
//!
//! Invariant: at most one turn, or one change of the workspace itself, holds it, and who waits is served in the order
//! of arrival. Turns wait; a change is refused at once.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::effect::Effect;
use crate::ids::{ChangeId, TaskId, TurnId, WorkspaceId};
use crate::rejection::Rejection;
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

/// Who can hold a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// A turn that writes.
    Turn(TurnId),
    /// What is done to the workspace itself.
    Change(ChangeId),
}

/// A wish to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Whose.
    #[serde(flatten)]
    pub holder: Holder,
    /// Of which task.
    pub task: TaskId,
    /// What to call the task when somebody has to wait for it.
    pub label: String,
}

/// What can be asked of a workspace.
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
    /// Have it now or not at all. Only this is ever refused.
    Seize {
        /// Which workspace.
        workspace: WorkspaceId,
        /// Who wants it.
        claim: Claim,
    },
    /// Somebody needs it no longer, whether they held it or waited.
    Release {
        /// Who.
        holder: Holder,
    },
}

/// What happened to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkspaceEvent {
    /// Somebody may write.
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
    /// Somebody is done with it, or no longer wants it.
    LeaseReleased {
        /// Who.
        #[serde(flatten)]
        holder: Holder,
    },
}

pub(crate) fn decide(state: Option<&Workspace>, command: WorkspaceCommand) -> Result<Vec<WorkspaceEvent>, Rejection> {
    let holder = state.and_then(|state| state.holder.as_ref());
    Ok(match (state, command) {
        (_, WorkspaceCommand::Seize { workspace, claim }) => match holder {
            None => vec![WorkspaceEvent::LeaseGranted { workspace, claim }],
            Some(known) if known.holder == claim.holder => vec![],
            Some(known) => return Err(Rejection::WorkspaceBusy { holder: known.label.clone() }),
        },
        (None, WorkspaceCommand::Claim { workspace, claim }) => vec![WorkspaceEvent::LeaseGranted { workspace, claim }],
        (Some(state), WorkspaceCommand::Claim { workspace, claim }) => match holder {
            Some(known) if known.holder == claim.holder => vec![],
            Some(_) if state.waiting.iter().any(|known| known.holder == claim.holder) => vec![],
            Some(known) => vec![WorkspaceEvent::LeaseAwaited { claim, behind: known.label.clone() }],
            None => vec![WorkspaceEvent::LeaseGranted { workspace, claim }],
        },
        (None, WorkspaceCommand::Release { .. }) => vec![],
        (Some(state), WorkspaceCommand::Release { holder }) => release(state, holder),
    })
}

fn release(state: &Workspace, holder: Holder) -> Vec<WorkspaceEvent> {
    let holds = state.holder.as_ref().is_some_and(|known| known.holder == holder);
    let waits = state.waiting.iter().any(|claim| claim.holder == holder);
    if !holds && !waits {
        return vec![];
    }
    let mut events = vec![WorkspaceEvent::LeaseReleased { holder }];
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
            state.waiting.retain(|known| known.holder != claim.holder);
            state.holder = Some(claim.clone());
        }
        (Some(state), WorkspaceEvent::LeaseAwaited { claim, .. }) => state.waiting.push(claim.clone()),
        (Some(state), WorkspaceEvent::LeaseReleased { holder }) => {
            state.waiting.retain(|known| known.holder != *holder);
            state.holder.take_if(|known| known.holder == *holder);
        }
        (None, WorkspaceEvent::LeaseAwaited { .. } | WorkspaceEvent::LeaseReleased { .. }) => {}
    }
}

pub(crate) fn react(_: &Workspace, event: &WorkspaceEvent) -> Vec<Effect> {
    let tell =
        |task, command| vec![Effect::Tell { to: StreamId::Task(task), command: Box::new(Command::Task(command)) }];
    let turn_of = |claim: &Claim| match claim.holder {
        Holder::Turn(turn) => Some(turn),
        // A change has the workspace at once or is refused, so it knows already.
        Holder::Change(_) => None,
    };
    match event {
        WorkspaceEvent::LeaseGranted { claim, .. } => {
            turn_of(claim).map(|turn| tell(claim.task, TaskCommand::BeginTurn { turn })).unwrap_or_default()
        }
        WorkspaceEvent::LeaseAwaited { claim, behind } => {
            let behind = behind.clone();
            turn_of(claim).map(|turn| tell(claim.task, TaskCommand::HoldTurn { turn, behind })).unwrap_or_default()
        }
        WorkspaceEvent::LeaseReleased { .. } => vec![],
    }
}
