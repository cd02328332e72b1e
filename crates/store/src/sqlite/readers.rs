//! The readers: a few connections that only read, each used by one query at a time on a blocking thread.
//!
//! Invariant: a query never waits for a writer, and never makes one wait; it sees whole transactions only.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::open::{self, OpenOptions};
use crate::port::StoreError;

/// Enough to keep two cores busy, few enough to keep their caches small.
const READERS: usize = 3;

/// The pool.
#[derive(Debug)]
pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let idle = (0..READERS).map(|_| open::reader(options)).collect::<Result<_, _>>()?;
        Ok(Self { idle: Arc::new(Mutex::new(idle)), turns: Arc::new(Semaphore::new(READERS)) })
    }

    /// Runs a query.
    pub(super) async fn run<T, F>(&self, query: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| closed())?;
        let idle = Arc::clone(&self.idle);
        let ran = tokio::task::spawn_blocking(move || {
            let mut borrowed = Borrowed::take(idle).ok_or_else(closed)?;
            let answer = borrowed.connection.as_mut().ok_or_else(closed).and_then(query);
            // In this order, so that whoever has the next turn finds a connection.
            drop(borrowed);
            drop(turn);
            answer
        });
        ran.await.map_err(|error| StoreError::Failed(format!("a query did not end: {error}")))?
    }

    /// Closes what is idle, and lets nobody in any more.
    pub(super) fn close(&self) {
        self.turns.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn closed() -> StoreError {
    StoreError::Failed("the store is closed".into())
}

/// A connection that goes back even if the query panics.
struct Borrowed {
    connection: Option<Connection>,
    home: Arc<Mutex<Vec<Connection>>>,
}

impl Borrowed {
    fn take(home: Arc<Mutex<Vec<Connection>>>) -> Option<Self> {
        let connection = home.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Self { connection: Some(connection), home })
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.home.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
