//! Workspace changes and past turns, as clients see them.

use throughline_api::timeline::EntryBody;
use throughline_api::workspace as api;
use throughline_engine::{PastTurn, Restoration};
use throughline_model::checkpoint::{CheckpointSide, CheckpointTree};
use throughline_model::ids::Id as _;
use throughline_model::site::{ChangeKind, ChangeResult};
use throughline_model::task::TaskEvent;

use super::diff::changed;

/// A workspace change in the timeline.
pub(super) fn body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::WorkspaceChangeBegun { change, person, kind } => {
            let (what, point) = match kind {
                ChangeKind::Restore { point, .. } => ("restore", *point),
            };
            EntryBody::WorkspaceChangeBegun {
                change: change.uuid(),
                person: person.uuid(),
                what: what.into(),
                turn: point.map(|point| point.turn.uuid()),
                side: point.map(|point| side(point.side).into()),
            }
        }
        TaskEvent::WorkspaceChangePlanned { change, plan } => EntryBody::WorkspaceChangePlanned {
            change: change.uuid(),
            changed: plan.files.iter().map(changed).collect(),
        },
        TaskEvent::WorkspaceChangeEnded { change, result } => {
            let (kept, failure) = match result {
                ChangeResult::Done { kept } => (kept.clone(), None),
                ChangeResult::Failed { failure } => (vec![], Some(failure.message.clone())),
            };
            EntryBody::WorkspaceChangeEnded { change: change.uuid(), kept, failure }
        }
        // Only workspace changes come here.
        _ => EntryBody::Unknown,
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
    let summary = &turn.summary;
    api::PastTurn {
        id: turn.id.uuid(),
        number: turn.number,
        said: summary.said.clone(),
        answered: summary.answered.clone(),
        outcome: Some(summary.outcome.clone()).filter(|outcome| !outcome.is_empty()),
        before: kept(&turn.before),
        after: kept(&turn.after),
    }
}
