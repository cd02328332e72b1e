//! Workspaces: the checkpoints of each root, taken around turns, and what a turn changed.
//!
//! A turn must not wait for a checkpoint of what has not changed: what the files looked like after the last one is
//! remembered, and while they still look so it stands for the next one.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;
use throughline_model::checkpoint::{ChangedFile, Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::event::{Event, Recorded};
use throughline_model::ids::{ExecutionId, TaskId, TurnId, WorkspaceId};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskEvent};
use throughline_store::port::PageQuery;

use crate::checkpoints::{Checkpoints, FileDiff, Taken};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::sites::Worktree;

/// A root with more files than this is looked at by git alone.
const MAX_FILES: usize = 20_000;
/// How many changed files a checkpoint names.
const MAX_NAMED: usize = 100;
/// How many events are read at once when a turn's checkpoints are looked for.
const PAGE: usize = 500;

/// The checkpoints of all roots.
pub(crate) struct Workspaces {
    home: PathBuf,
    stores: Mutex<HashMap<WorkspaceId, Arc<Checkpoints>>>,
    /// How the files of a root looked when its last checkpoint was taken.
    last: Mutex<HashMap<PathBuf, (u64, String)>>,
}

impl Workspaces {
    pub(crate) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), stores: Mutex::default(), last: Mutex::default() }
    }

    /// The checkpoints of one root. A fork shares those of the workspace that it comes from.
    pub(crate) fn of(&self, root: &str) -> Arc<Checkpoints> {
        self.with(Worktree::of(&self.home, root).map_or_else(|| WorkspaceId::of_root(root), |fork| fork.origin))
    }

    fn with(&self, id: WorkspaceId) -> Arc<Checkpoints> {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let dir = self.home.join("checkpoints").join(id.to_string());
            Arc::new(Checkpoints::new(dir).sparing(self.home.clone()))
        };
        Arc::clone(stores.entry(id).or_insert_with(made))
    }

    /// The checkpoints of every root that has any, whether it is in use or not.
    pub(crate) fn all(&self) -> Vec<Arc<Checkpoints>> {
        let entries = std::fs::read_dir(self.home.join("checkpoints")).into_iter().flatten().filter_map(Result::ok);
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<WorkspaceId>().ok());
        ids.map(|id| self.with(id)).collect()
    }

    /// The workspace as it is.
    pub(crate) async fn take(&self, root: &str) -> CheckpointTree {
        let looks = look(root).await;
        if let Some(oid) = self.unchanged(root, looks) {
            return CheckpointTree::Taken { oid };
        }
        match self.of(root).take(Path::new(root)).await {
            Taken::Tree { oid, .. } => {
                // Remembered only if nobody wrote meanwhile.
                if looks.is_some() && look(root).await == looks {
                    self.remember(root, looks, &oid);
                }
                CheckpointTree::Taken { oid }
            }
            Taken::LeftOut { why } => CheckpointTree::LeftOut { why },
        }
    }

    /// What differs between two checkpoints, by name.
    pub(crate) async fn changed(
        &self,
        root: &str,
        before: &CheckpointTree,
        after: &CheckpointTree,
    ) -> Vec<ChangedFile> {
        let (CheckpointTree::Taken { oid: from }, CheckpointTree::Taken { oid: to }) = (before, after) else {
            return vec![];
        };
        if from == to {
            return vec![];
        }
        match self.of(root).stat(Path::new(root), from, to).await {
            Ok(files) => files.iter().take(MAX_NAMED).map(named).collect(),
            Err(error) => {
                tracing::warn!(%error, "what a turn changed cannot be told");
                vec![]
            }
        }
    }

    fn unchanged(&self, root: &str, looks: Option<u64>) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, oid) = last.get(Path::new(root))?;
        (looks == Some(*known)).then(|| oid.clone())
    }

    fn remember(&self, root: &str, looks: Option<u64>, oid: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(looks) = looks {
            last.insert(PathBuf::from(root), (looks, oid.to_owned()));
        }
    }
}

/// How the files of a root look from outside: names, sizes, times. None if there are too many to look at.
async fn look(root: &str) -> Option<u64> {
    let root = root.to_owned();
    tokio::task::spawn_blocking(move || look_now(&root)).await.ok().flatten()
}

fn look_now(root: &str) -> Option<u64> {
    let mut hash = DefaultHasher::new();
    let files = WalkBuilder::new(root)
        .hidden(false)
        .git_global(false)
        .ignore(false)
        .parents(false)
        .require_git(false)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for (count, entry) in files.enumerate() {
        let entry = entry.ok().filter(|_| count < MAX_FILES)?;
        let meta = entry.path().symlink_metadata().ok()?;
        entry.path().hash(&mut hash);
        // A folder's own time says nothing that its entries do not.
        if !meta.is_dir() {
            (meta.ino(), meta.size(), meta.mode(), meta.mtime(), meta.mtime_nsec()).hash(&mut hash);
            (meta.ctime(), meta.ctime_nsec()).hash(&mut hash);
        }
    }
    Some(hash.finish())
}

fn named(file: &FileDiff) -> ChangedFile {
    let change = crate::driver::brief::word(&file.change).into();
    ChangedFile { path: file.path.clone(), change, added: file.added, removed: file.removed }
}

/// What a turn changed.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnDiff {
    /// Which turn.
    pub turn: TurnId,
    /// The files, with their patches.
    pub files: Vec<FileDiff>,
    /// Why there is no diff, in words, if there is none.
    pub left_out: Option<String>,
    /// Somebody changed the workspace between the turn before and this one.
    pub edited_before: bool,
}

/// What a task, or one execution of it, changed from its first turn to its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The files, with their patches.
    pub files: Vec<FileDiff>,
    /// Why there is no diff, in words, if there is none.
    pub left_out: Option<String>,
    /// Somebody else changed the workspace between two of the turns; that is in the diff too.
    pub edited_between: bool,
}

/// The checkpoints of a turn, as far as the record has them.
#[derive(Default)]
struct Sides {
    before: Option<CheckpointTree>,
    after: Option<CheckpointTree>,
    /// The state after the turn before.
    last_after: Option<CheckpointTree>,
}

/// The tree of a checkpoint; or why there is none.
fn oid(side: Option<CheckpointTree>, missing: &str) -> Result<String, String> {
    match side {
        Some(CheckpointTree::Taken { oid }) => Ok(oid),
        Some(CheckpointTree::LeftOut { why }) => Err(why),
        None => Err(missing.to_owned()),
    }
}

impl Engine {
    /// What a turn of a task changed in its workspace.
    ///
    /// # Errors
    /// If there is no such turn, or the store fails.
    pub async fn turn_diff(&self, task: TaskId, turn: TurnId) -> Result<TurnDiff, EngineError> {
        let state = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let sides = self.sides(&state, turn).await?.ok_or(Rejection::NotFound { what: "turn" })?;
        let edited_before = match (&sides.last_after, &sides.before) {
            (Some(last), Some(before)) => last != before,
            _ => false,
        };
        let trees = oid(sides.before, "there was no checkpoint before the turn").and_then(|from| {
            Ok((from, oid(sides.after, "the turn has not ended, or there was no checkpoint after it")?))
        });
        let (files, left_out) = self.between(&state.site.root, trees).await;
        Ok(TurnDiff { turn, files, left_out, edited_before })
    }

    /// What a task, or one execution of it, changed from its first turn to its last.
    ///
    /// # Errors
    /// If there is no such task, or the store fails.
    pub async fn changes(&self, task: TaskId, execution: Option<ExecutionId>) -> Result<Changes, EngineError> {
        let state = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let taken = self.checkpoints(&state, execution).await?;
        let sides = |wanted| taken.iter().filter(move |checkpoint: &&Checkpoint| checkpoint.side == wanted);
        let first = sides(CheckpointSide::Before).next().map(|checkpoint| checkpoint.tree.clone());
        let last = sides(CheckpointSide::After).next_back().map(|checkpoint| checkpoint.tree.clone());
        let edited_between = taken.windows(2).any(|pair| {
            let apart = pair[0].side == CheckpointSide::After && pair[1].side == CheckpointSide::Before;
            apart && pair[0].tree != pair[1].tree
        });
        let none = "no turn has ended that could change the workspace";
        let trees = oid(first, none).and_then(|from| Ok((from, oid(last, none)?)));
        let (files, left_out) = self.between(&state.site.root, trees).await;
        Ok(Changes { files, left_out, edited_between })
    }

    /// What differs between two checkpoints; or why that cannot be told.
    async fn between(&self, root: &str, trees: Result<(String, String), String>) -> (Vec<FileDiff>, Option<String>) {
        let (from, to) = match trees {
            Ok(trees) => trees,
            Err(why) => return (vec![], Some(why)),
        };
        let workspaces = &self.inner.drivers.shared().workspaces;
        match workspaces.of(root).diff(Path::new(root), &from, &to).await {
            Ok(files) => (files, None),
            Err(error) => (vec![], Some(error.to_string())),
        }
    }

    /// The checkpoints of one execution's turns, or of all that were taken where the task is worked on, oldest first.
    async fn checkpoints(&self, task: &Task, execution: Option<ExecutionId>) -> Result<Vec<Checkpoint>, EngineError> {
        let here = |of: ExecutionId| execution.map_or(task.site_of(of).root == task.workplace().root, |one| one == of);
        let (mut taken, mut turns) = (vec![], HashSet::new());
        let mut before = None;
        loop {
            let query = PageQuery { stream: StreamId::Task(task.id), before, limit: PAGE };
            let page = self.store().page(query).await?;
            for Recorded { event, .. } in &page {
                match event {
                    Event::Task(TaskEvent::CheckpointTaken { checkpoint }) => taken.push(checkpoint.clone()),
                    Event::Task(TaskEvent::TurnRequested { execution: of, turn, .. }) if here(*of) => {
                        turns.insert(*turn);
                    }
                    _ => {}
                }
            }
            match page.last() {
                Some(oldest) if page.len() == PAGE => before = Some(oldest.seq),
                _ => break,
            }
        }
        taken.retain(|checkpoint| turns.contains(&checkpoint.turn));
        taken.reverse();
        Ok(taken)
    }

    /// The newest turn of a task that ended.
    ///
    /// # Errors
    /// If there is none, or the store fails.
    pub async fn last_turn(&self, task: TaskId) -> Result<TurnId, EngineError> {
        let state = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let last =
            state.executions.iter().filter_map(|execution| execution.past.last.as_ref()).max_by_key(|turn| turn.at);
        Ok(last.map(|turn| turn.id).ok_or(Rejection::NoTurn { verb: "show the changes of" })?)
    }

    async fn sides(&self, task: &Task, turn: TurnId) -> Result<Option<Sides>, EngineError> {
        let (mut sides, mut found) = (Sides::default(), None);
        let mut earlier: HashMap<TurnId, CheckpointTree> = HashMap::new();
        let mut before = None;
        loop {
            let query = PageQuery { stream: StreamId::Task(task.id), before, limit: PAGE };
            let page = self.store().page(query).await?;
            for Recorded { event, .. } in &page {
                let Event::Task(event) = event else { continue };
                match event {
                    TaskEvent::TurnRequested { turn: requested, execution, .. } => match found {
                        _ if *requested == turn => found = Some(*execution),
                        // The newest of those before that worked in the same place.
                        Some(of) if task.together(of, *execution) && earlier.contains_key(requested) => {
                            sides.last_after = earlier.remove(requested);
                            return Ok(Some(sides));
                        }
                        Some(_) | None => {}
                    },
                    TaskEvent::CheckpointTaken { checkpoint } if checkpoint.turn == turn => match checkpoint.side {
                        CheckpointSide::Before => sides.before = Some(checkpoint.tree.clone()),
                        CheckpointSide::After => sides.after = Some(checkpoint.tree.clone()),
                    },
                    TaskEvent::CheckpointTaken { checkpoint } if checkpoint.side == CheckpointSide::After => {
                        earlier.insert(checkpoint.turn, checkpoint.tree.clone());
                    }
                    _ => {}
                }
            }
            match page.last() {
                Some(oldest) if page.len() == PAGE => before = Some(oldest.seq),
                _ => return Ok(found.map(|_| sides)),
            }
        }
    }
}
