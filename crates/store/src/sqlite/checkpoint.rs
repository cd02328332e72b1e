//! Keeping the write-ahead log short without holding up commits.
//!
//! A thread of its own copies the log into the database while commits go on. Under steady load it never sees
//! the end of the log, so the writer then copies the few pages that came meanwhile, and the log starts over.
//!
//! Invariant: a failure here costs room on disk, never an acknowledged commit; the log is the truth until copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::error::at_path;
use super::open::{self, OpenOptions, PAGE_BYTES};
use crate::port::StoreError;

/// A log of this many pages is copied. The longer it may get, the more often a page changes before it is copied
/// once; the shorter it is kept, the sooner a store is open again after a crash.
const PAGES: i32 = (16 << 20) / PAGE_BYTES.cast_signed();
/// A log of this many pages is copied even if readers have to be waited for.
const PAGES_MAX: i32 = 8 * PAGES;

/// The writer's handle to the thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    shared: Arc<Shared>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The log's length at the last commit.
    pages: AtomicI32,
    /// Whose turn it is to copy: one of the three below.
    turn: AtomicU8,
}

/// The log is short, or nobody has noticed yet that it is not.
const IDLE: u8 = 0;
/// The thread copies.
const COPYING: u8 = 1;
/// The thread has copied all but the pages that came meanwhile. Those are the writer's, since none come while it
/// copies; only then does the log start over.
const NEARLY_DONE: u8 = 2;

impl Checkpointer {
    /// Starts the thread, and has the writer's connection count the log's pages.
    pub(super) fn start(writer: &mut Connection, options: &OpenOptions) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        let counted = Arc::clone(&shared);
        // Takes the place of SQLite's own checkpoints, which make the commit wait that happens to be next.
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            counted.pages.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let connection = open::checkpointer(options)?;
        let (wake, woken) = sync_channel(1);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".into())
            .spawn(move || copy_when_woken(&connection, &woken, &theirs))
            .map_err(at_path(&options.dir))?;
        Ok(Self { shared, wake: Some(wake), thread: Some(thread) })
    }

    /// Looks after the log. Called by the writer between transactions.
    pub(super) fn tend(&self, writer: &Connection) {
        let pages = self.shared.pages.load(Ordering::Relaxed);
        if pages < PAGES {
            return;
        }
        match self.shared.turn.load(Ordering::Acquire) {
            IDLE => {
                self.shared.turn.store(COPYING, Ordering::Release);
                let _ = self.wake.as_ref().map(|wake| wake.send(()));
            }
            NEARLY_DONE => {
                copy(writer, if pages < PAGES_MAX { "PASSIVE" } else { "RESTART" });
                self.shared.turn.store(IDLE, Ordering::Release);
            }
            _ => {}
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's checkpointer panicked");
        }
    }
}

fn copy_when_woken(connection: &Connection, woken: &Receiver<()>, shared: &Shared) {
    while woken.recv().is_ok() {
        copy(connection, "PASSIVE");
        shared.turn.store(NEARLY_DONE, Ordering::Release);
    }
}

fn copy(connection: &Connection, mode: &str) {
    if let Err(error) = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())) {
        tracing::warn!(%error, "the write-ahead log could not be copied; it is tried again");
    }
}
