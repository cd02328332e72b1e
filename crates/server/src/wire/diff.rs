//! What a turn changed, as clients see it.

use throughline_api::diff as api;
use throughline_api::timeline::EntryBody;
use throughline_engine::checkpoints::{Change, FileDiff};
use throughline_engine::{Changes, TurnDiff};
use throughline_model::checkpoint::{ChangedFile, Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::ids::Id as _;

/// A turn's diff.
pub(crate) fn turn(diff: TurnDiff) -> api::TurnDiff {
    api::TurnDiff {
        turn: diff.turn.uuid(),
        files: diff.files.into_iter().map(file).collect(),
        left_out: diff.left_out,
        edited_before: diff.edited_before,
    }
}

/// The diff of many turns.
pub(crate) fn changes(diff: Changes) -> api::Changes {
    api::Changes {
        files: diff.files.into_iter().map(file).collect(),
        left_out: diff.left_out,
        edited_between: diff.edited_between,
    }
}

pub(super) fn file(diff: FileDiff) -> api::FileDiff {
    let (change, from) = match diff.change {
        Change::Added => ("added", None),
        Change::Modified => ("modified", None),
        Change::Deleted => ("deleted", None),
        Change::Renamed { from } => ("renamed", Some(from)),
        Change::TypeChanged => ("type_changed", None),
    };
    let file = api::ChangedFile { path: diff.path, change: change.into(), added: diff.added, removed: diff.removed };
    api::FileDiff { file, from, binary: diff.binary, patch: diff.patch }
}

/// A checkpoint in the timeline.
pub(super) fn checkpoint(checkpoint: &Checkpoint) -> EntryBody {
    let side = match checkpoint.side {
        CheckpointSide::Before => "before",
        CheckpointSide::After => "after",
    };
    let left_out = match &checkpoint.tree {
        CheckpointTree::Taken { .. } => None,
        CheckpointTree::LeftOut { why } => Some(why.clone()),
    };
    EntryBody::CheckpointTaken {
        checkpoint: checkpoint.id.uuid(),
        turn: checkpoint.turn.uuid(),
        side: side.into(),
        left_out,
        changed: checkpoint.changed.iter().map(changed).collect(),
    }
}

pub(super) fn changed(file: &ChangedFile) -> api::ChangedFile {
    api::ChangedFile { path: file.path.clone(), change: file.change.clone(), added: file.added, removed: file.removed }
}
