//! The readers: a few threads, each with a connection that only reads, which take one query at a time from one queue.
//!
//! Invariant: a query never waits for a writer, and never makes one wait; it sees whole transactions only. The threads are
//! the readers' own: on the runtime's many blocking threads each query would leave its memory to another one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open::{self, OpenOptions};
use crate::port::StoreError;

/// Enough to keep two cores busy, few enough to keep their caches small.
const READERS: usize = 3;

type Query = Box<dyn FnOnce(&mut Connection) + Send>;

/// The pool.
#[derive(Debug)]
pub(super) struct Readers {
    queue: Option<Sender<Query>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let (queue, queries) = mpsc::channel();
        let queries = Arc::new(Mutex::new(queries));
        let mut readers = Self { queue: Some(queue), threads: Vec::with_capacity(READERS) };
        for _ in 0..READERS {
            let (connection, queries) = (open::reader(options)?, Arc::clone(&queries));
            let thread = std::thread::Builder::new()
                .name("store-reader".into())
                .spawn(move || answer_until_closed(connection, &queries))
                .map_err(|error| StoreError::Failed(format!("a reader cannot be started: {error}")))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a query. If nobody waits for it any more when its turn comes, it is left out.
    pub(super) async fn run<T, F>(&self, query: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let asked: Query = Box::new(move |connection| {
            if !answer.is_closed() {
                let _ = answer.send(query(connection));
            }
        });
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        queue.send(asked).map_err(|_| closed())?;
        answered.await.map_err(|_| StoreError::Failed("a query did not end".into()))?
    }

    /// Answers what was asked, then closes the connections.
    pub(super) fn close(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A query that panics does not end its thread, so this one has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn answer_until_closed(mut connection: Connection, queries: &Mutex<Receiver<Query>>) {
    while let Ok(query) = next(queries) {
        // Whoever asked hears that there is no answer, and the connection is as it was: queries only read.
        let _ = catch_unwind(AssertUnwindSafe(|| query(&mut connection)));
    }
}

fn next(queries: &Mutex<Receiver<Query>>) -> Result<Query, mpsc::RecvError> {
    queries.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

fn closed() -> StoreError {
    StoreError::Failed("the store is closed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_that_panics_costs_its_own_answer_only() {
        let home = tempfile::tempdir().unwrap();
        let options = OpenOptions::new(home.path());
        let _writer = open::writer(&options).unwrap();
        let mut readers = Readers::open(&options).unwrap();
        for _ in 0..=READERS {
            readers.run(|_| -> Result<(), StoreError> { panic!("on purpose") }).await.unwrap_err();
        }
        let one = readers.run(|connection| Ok(connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?)).await;
        assert_eq!(one.unwrap(), 1);
        readers.close();
        assert!(readers.run(|_| Ok(())).await.is_err(), "it is closed");
    }
}
