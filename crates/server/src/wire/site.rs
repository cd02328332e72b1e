//! Workspace changes, forks and past turns, as clients see them.

use throughline_api::task::TaskRef;
use throughline_api::timeline::EntryBody;
use throughline_api::workspace as api;
use throughline_engine::{Comparison, PastTurn, Restoration, Side};
use throughline_model::checkpoint::{CheckpointSide, CheckpointTree};
use throughline_model::ids::{Id as _, TaskId};
use throughline_model::site::{ChangeKind, ChangeResult, Fork};
use throughline_model::task::TaskEvent;

use super::diff::{changed, file};

/// A workspace change in the timeline.
pub(super) fn body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::WorkspaceChangeBegun { change, person, kind, .. } => {
            let other = |task: &TaskId, key: &str| Some(TaskRef { id: task.uuid(), key: key.to_owned() });
            let (what, point, other) = match kind {
                ChangeKind::Prepare { .. } => ("prepare", None, None),
                ChangeKind::Restore { point, .. } => ("restore", *point, None),
                ChangeKind::Take { fork, key, .. } => ("take", None, other(fork, key)),
                ChangeKind::Yield { to, key } => ("yield", None, other(to, key)),
                ChangeKind::Remove {} => ("remove", None, None),
            };
            EntryBody::WorkspaceChangeBegun {
                change: change.uuid(),
                person: person.uuid(),
                what: what.into(),
                other,
                turn: point.map(|point| point.turn.uuid()),
                side: point.map(|point| side(point.side).into()),
            }
        }
        TaskEvent::WorkspaceChangePlanned { change, plan } => EntryBody::WorkspaceChangePlanned {
            change: change.uuid(),
            changed: plan.files.iter().map(changed).collect(),
        },
        TaskEvent::WorkspaceChangeEnded { change, result } => {
            let (kept, notes, failure) = match result {
                ChangeResult::Done { kept, notes } => (kept.clone(), notes.clone(), None),
                ChangeResult::Failed { failure } => (vec![], vec![], Some(failure.message.clone())),
            };
            EntryBody::WorkspaceChangeEnded { change: change.uuid(), kept, notes, failure }
        }
        TaskEvent::WorktreeGiven { execution, root, .. } => {
            EntryBody::WorktreeGiven { execution: execution.uuid(), root: root.clone() }
        }
        TaskEvent::TaskForked { fork, native } => {
            EntryBody::TaskForked { from: forked_from(fork), native: native.is_some() }
        }
        TaskEvent::ForkMade { fork, key, turn } => EntryBody::ForkMade {
            fork: TaskRef { id: fork.uuid(), key: key.clone() },
            turn: turn.map(|turn| turn.uuid()),
        },
        TaskEvent::NativeForkRefused { execution, cause } => {
            EntryBody::NativeForkRefused { execution: execution.uuid(), cause: cause.clone() }
        }
        // Only workspace changes and forks come here.
        _ => EntryBody::Unknown,
    }
}

/// Where a fork comes from.
pub(super) fn forked_from(fork: &Fork) -> api::ForkedFrom {
    let task = TaskRef { id: fork.source.uuid(), key: fork.key.clone() };
    api::ForkedFrom { task, turn: fork.turn.map(|turn| turn.uuid()) }
}

/// Two tasks side by side.
pub(crate) fn comparison(comparison: Comparison) -> api::Comparison {
    let side = |side: Side| api::ComparedTask {
        key: side.key,
        changed: side.changed.into_iter().map(|diff| file(diff).file).collect(),
    };
    api::Comparison {
        left: side(comparison.left),
        right: side(comparison.right),
        between: comparison.between.into_iter().map(file).collect(),
    }
}

fn side(side: CheckpointSide) -> &'static str {
    match side {
        CheckpointSide::Before => "before",
        CheckpointSide::After => "after",
    }
}

/// What a restore did, or would do.
pub(crate) fn restored(restoration: &Restoration, done: bool) -> api::Restored {
    let point = restoration.point.as_ref();
    api::Restored {
        turn: point.map(|(point, _)| point.turn.uuid()),
        number: point.map(|(_, number)| *number),
        side: point.map(|(point, _)| side(point.side).into()),
        files: restoration.files.iter().map(changed).collect(),
        kept: restoration.kept.clone(),
        done,
    }
}

/// A turn as the record has it.
pub(crate) fn past_turn(turn: &PastTurn) -> api::PastTurn {
    let kept = |tree: &Option<CheckpointTree>| matches!(tree, Some(CheckpointTree::Taken { .. }));
    api::PastTurn {
        id: turn.id.uuid(),
        number: turn.number,
        said: turn.said.clone(),
        answered: turn.answered.clone(),
        outcome: Some(turn.outcome.clone()).filter(|outcome| !outcome.is_empty()),
        before: kept(&turn.before),
        after: kept(&turn.after),
    }
}
