//! Compare: what two forks of one state have come to, each since then, and against each other.

use std::path::Path;

use throughline_model::ids::TaskId;
use throughline_model::rejection::Rejection;
use throughline_model::task::Task;

use crate::checkpoints::FileDiff;
use crate::engine::Engine;
use crate::error::EngineError;

/// Two tasks side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The one.
    pub left: Side,
    /// The other.
    pub right: Side,
    /// What turns the state of the one into that of the other, with patches.
    pub between: Vec<FileDiff>,
}

/// One of two tasks that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its key.
    pub key: String,
    /// What it changed since the state that it shares with the other, without patches.
    pub changed: Vec<FileDiff>,
}

impl Engine {
    /// Compares two forks of one task, or a fork with its source, as they are now.
    ///
    /// # Errors
    /// If they have no state in common, or one of them cannot be looked at.
    pub async fn compare(&self, left: TaskId, right: TaskId) -> Result<Comparison, EngineError> {
        let left = self.task(left).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let right = self.task(right).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let (left_base, right_base) = bases(&left, &right).ok_or(EngineError::NotRelated)?;
        let (ours, theirs) = (self.present_tree(left.workplace()).await?, self.present_tree(right.workplace()).await?);
        let checkpoints = self.inner.drivers.shared().workspaces.of(&left.site.root);
        let root = Path::new(&left.site.root);
        Ok(Comparison {
            left: Side { key: left.key.clone(), changed: checkpoints.stat(root, left_base, &ours).await? },
            right: Side { key: right.key.clone(), changed: checkpoints.stat(root, right_base, &theirs).await? },
            between: checkpoints.diff(root, &ours, &theirs).await?,
        })
    }
}

/// The state that each began from. Two forks of one task may have begun from different ones.
fn bases<'a>(left: &'a Task, right: &'a Task) -> Option<(&'a str, &'a str)> {
    match (&left.site.fork, &right.site.fork) {
        (Some(ours), Some(theirs)) if ours.source == theirs.source => Some((&ours.base, &theirs.base)),
        (Some(ours), _) if ours.source == right.id => Some((&ours.base, &ours.base)),
        (_, Some(theirs)) if theirs.source == left.id => Some((&theirs.base, &theirs.base)),
        _ => None,
    }
}
