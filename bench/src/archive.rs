//! A home with a long past: many tasks, a task with a thousand events and one with a million.
//!
//! Written once per run, in a temporary folder, through the store itself in large batches. The person and the project are
//! made by a daemon, so that they are whatever a daemon makes.

use std::path::PathBuf;

use anyhow::Result;
use tempfile::TempDir;
use throughline_model::ids::{Id as _, Mint, PersonId, ProjectId};
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_store::port::{Append, Batch, Store as _};
use throughline_store::{OpenOptions, SqliteStore};

use crate::Size;
use crate::daemon::Daemon;
use crate::history::{History, Setting};

/// Events per transaction, roughly.
const TOGETHER: usize = 4000;
/// A turn of the long tasks.
const TURN_EVENTS: u64 = 50;

/// See the file's header.
pub(crate) struct Archive {
    folder: TempDir,
    pub(crate) tasks: u64,
    pub(crate) short: LongTask,
    pub(crate) long: LongTask,
}

/// A task with many events.
pub(crate) struct LongTask {
    pub(crate) key: &'static str,
    pub(crate) events: u64,
}

impl Archive {
    pub(crate) async fn write(size: Size) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let archive = Archive {
            tasks: size.pick(2_000, 100_000),
            short: LongTask { key: "past-short", events: 1_000 },
            long: LongTask { key: "past-long", events: size.pick(10_000, 1_000_000) },
            folder,
        };
        std::fs::create_dir_all(archive.home())?;
        let daemon = Daemon::start(&archive.home())?;
        let project = daemon.add_project(&archive.folder.path().join("project"), "demo").await?;
        daemon.stop()?;
        let mut mint = Mint::new(Timestamp::from_millis(0), 3);
        let person = PersonId::of_os_user(rustix::process::getuid().as_raw());
        let setting = Setting { project: ProjectId::from_uuid(project.id), person, conversation: mint.id() };
        eprintln!("bench: writing {} tasks and a task of {} events …", archive.tasks, archive.long.events);
        let store = SqliteStore::open(&OpenOptions::new(archive.home()))?;
        for task in [&archive.short, &archive.long] {
            write_long(&store, setting, task).await?;
        }
        write_many(&store, setting, archive.tasks).await?;
        Ok(archive)
    }

    /// The home that it is in.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The key of one of the many tasks.
    pub(crate) fn key(&self, number: u64) -> String {
        key(number % self.tasks)
    }
}

fn key(number: u64) -> String {
    format!("past-{number}")
}

/// Turns of messages and tool calls, until there are enough events.
async fn write_long(store: &SqliteStore, setting: Setting, task: &LongTask) -> Result<()> {
    let mut history = History::begin(setting, task.events, task.key);
    while history.version() < task.events {
        history.use_tool();
        history.speak();
        if history.version() % TURN_EVENTS < 3 {
            history.rest();
            let _ = history.ask();
        }
        if history.pending() >= TOGETHER {
            store.commit(history.batch()).await?;
        }
    }
    history.rest();
    store.commit(history.batch()).await?;
    Ok(())
}

/// Tasks of one turn each.
async fn write_many(store: &SqliteStore, setting: Setting, tasks: u64) -> Result<()> {
    let mut together = Batch::default();
    for number in 0..tasks {
        // Far from the seeds of the long tasks.
        let mut history = History::begin(setting, (1 << 40) + number * 60_000, &key(number));
        history.use_tool();
        history.speak();
        history.rest();
        join(&mut together, history.batch());
        if events(&together) >= TOGETHER || number + 1 == tasks {
            store.commit(std::mem::take(&mut together)).await?;
        }
    }
    Ok(())
}

fn join(together: &mut Batch, one: Batch) {
    together.at = one.at;
    together
        .appends
        .extend(one.appends.into_iter().filter(|append: &Append| matches!(append.stream, StreamId::Task(_))));
    together.rows.extend(one.rows);
}

fn events(batch: &Batch) -> usize {
    batch.appends.iter().map(|append| append.events.len()).sum()
}
