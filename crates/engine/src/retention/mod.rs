//! Retention: what nothing needs any more goes, and what is freed is said.
//!
//! Three kinds go: folders of keepers that ended, checkpoints, blobs. Which of them the record still needs is found in
//! one pass over it (`survey`). Events are never removed.
//!
//! *Invariants:* nothing that an open task names goes; looking removes nothing and says what removing would; what was
//! made after the pass stays.

mod survey;

use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use throughline_keeper::client;
use throughline_model::time::Timestamp;
use throughline_store::port::{BlobSweep, SweepMode, Swept};
use tokio_util::sync::CancellationToken;

use crate::config::days;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use survey::Survey;

/// The daemon begins with it some time after its start, and does it once a day.
const FIRST: Duration = Duration::from_secs(10 * 60);
const DAILY: Duration = Duration::from_secs(24 * 60 * 60);

/// What was freed, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Of what.
    pub kind: FreedKind,
    /// How many.
    pub count: u64,
    /// How large together.
    pub bytes: u64,
}

/// What retention frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreedKind {
    /// Folders of keepers that ended: spools and last words.
    Keepers,
    /// Checkpoints of closed and archived tasks.
    Checkpoints,
    /// Attachments and long texts that no task needs.
    Blobs,
}

/// Once a day, until the daemon stops.
pub(crate) async fn daily(engine: Weak<Inner>, stop: CancellationToken) {
    let mut wait = FIRST;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return,
        }
        wait = DAILY;
        let Some(inner) = engine.upgrade() else { return };
        match (Engine { inner }).gc(SweepMode::Remove).await {
            Ok(freed) => tracing::info!(?freed, "retention was applied"),
            Err(error) => tracing::error!(%error, "retention cannot be applied"),
        }
    }
}

impl Engine {
    /// Applies retention, or only looks.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn gc(&self, mode: SweepMode) -> Result<Vec<Freed>, EngineError> {
        let shared = self.inner.drivers.shared();
        let (retention, at) = (shared.config.retention, self.inner.core.clock.at());
        // Listed before the pass: a folder that is made later is not looked at.
        let ended = ended_keepers(&shared.home.keepers(), at.before(days(retention.keeper_days)));
        let mut survey = Survey::new(self.store().as_ref(), retention, at).await?;
        let keepers = remove_keepers(ended, &survey, mode);
        let checkpoints = self.sweep_checkpoints(&mut survey, mode).await?;
        // Nobody names a blob from here on, so the last look at the record is the last word.
        let _unnamed = self.inner.blobs.write().await;
        survey.read_on(self.store().as_ref()).await?;
        let keep = std::mem::take(&mut survey.blobs);
        let before = at.before(days(retention.blob_days));
        let blobs = self.store().sweep_blobs(BlobSweep { keep, before, mode }).await?;
        let freed = |kind, swept: Swept| Freed { kind, count: swept.count, bytes: swept.bytes };
        Ok(vec![
            freed(FreedKind::Keepers, keepers),
            freed(FreedKind::Checkpoints, checkpoints),
            freed(FreedKind::Blobs, blobs),
        ])
    }

    async fn sweep_checkpoints(&self, survey: &mut Survey, mode: SweepMode) -> Result<Swept, EngineError> {
        let mut swept = Swept::default();
        for checkpoints in self.inner.drivers.shared().workspaces.all() {
            survey.read_on(self.store().as_ref()).await?;
            let keep: Vec<String> = survey.trees.iter().cloned().collect();
            let known: Vec<String> = survey.known_trees.iter().cloned().collect();
            let spare = match checkpoints.spare(&keep, &known).await {
                Ok(spare) if spare.trees > 0 => spare,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "checkpoints cannot be looked through");
                    continue;
                }
            };
            if mode == SweepMode::Remove
                && let Err(error) = checkpoints.prune(&keep).await
            {
                tracing::warn!(%error, "checkpoints cannot be pruned");
                continue;
            }
            swept.count += spare.trees;
            swept.bytes += spare.bytes;
        }
        Ok(swept)
    }
}

/// Folders of keepers that are gone, and were not written to since then.
fn ended_keepers(root: &Path, then: Timestamp) -> Vec<PathBuf> {
    let kept = client::list(root).unwrap_or_else(|error| {
        tracing::warn!(%error, "keepers cannot be listed");
        vec![]
    });
    let ended = kept.into_iter().filter(|kept| kept.keeper_pid.is_none()).map(|kept| kept.dir);
    ended.filter(|dir| written_at(dir).is_some_and(|since| since <= then)).collect()
}

fn remove_keepers(ended: Vec<PathBuf>, survey: &Survey, mode: SweepMode) -> Swept {
    let mut swept = Swept::default();
    for dir in ended {
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // What is gone by now was cleared away by whoever ended it.
        if survey.needs_keeper(&name) || !dir.exists() {
            continue;
        }
        let bytes = size_of(&dir);
        if mode == SweepMode::Remove
            && let Err(error) = client::remove(&dir)
        {
            tracing::warn!(%error, dir = %dir.display(), "what a keeper left cannot be removed");
            continue;
        }
        swept.count += 1;
        swept.bytes += bytes;
    }
    swept
}

fn written_at(path: &Path) -> Option<Timestamp> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
}

/// The files of a keeper's folder; it has no folders in it.
fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).map(|about| about.len()).sum()
}
