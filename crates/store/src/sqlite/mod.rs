//! The embedded store: one SQLite database in the home, blobs beside it.
//!
//! One thread writes (`writer`), a few connections read, one thread copies the write-ahead log into the database.
//! Bundled SQLite, write-ahead log, `synchronous=FULL`: what was answered survives a power cut.

mod blobs;
mod checkpoint;
mod encode;
mod error;
mod ledger;
mod open;
mod query;
mod readers;
mod schema;
mod tasks;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use throughline_model::content::BlobRef;
use throughline_model::event::{Recorded, Seq};
use throughline_model::ids::ItemId;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::{InputRow, TaskRow};

use self::blobs::Blobs;
use self::encode::Encoded;
use self::readers::Readers;
use self::writer::Writer;
use crate::port::{
    Answer, Ask, Batch, BlobSweep, CommitError, Committed, Due, Feed, Loaded, Lookup, PageQuery, Store, StoreError,
    Swept, TaskQuery,
};

pub use open::OpenOptions;
pub use schema::{MIGRATIONS, Migration};

/// What is asked often, for the test that none of it scans or sorts.
#[doc(hidden)]
pub const FREQUENT_QUERIES: &[&str] = &[
    query::FEED,
    query::FEED_OF_STREAM,
    query::PAGE,
    query::LATEST_ITEM,
    query::TAIL,
    query::DUE,
    tasks::OF_ALL,
    tasks::OF_PROJECT,
];

/// The store in a home. Dropping it commits what was queued and closes the file.
#[derive(Debug)]
pub struct SqliteStore {
    readers: Readers,
    writer: Writer,
    blobs: Arc<Blobs>,
    incarnation: String,
    // Last, so that the home is given free when nothing of it is open any more.
    _claim: open::Claim,
}

impl SqliteStore {
    /// Opens the store of a home, and makes it if there is none.
    ///
    /// # Errors
    /// If another process has it, if it cannot be written, or if it is not a database of this or an older version.
    pub fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let claim = open::Claim::take(options)?;
        let connection = open::writer(options)?;
        let incarnation = query::incarnation(&connection)?;
        let writer = Writer::start(connection, options)?;
        let readers = Readers::open(options)?;
        let blobs = Arc::new(Blobs::open(&options.dir)?);
        schema::sync_folder(&options.dir)?;
        Ok(Self { readers, writer, blobs, incarnation, _claim: claim })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer's connection must be the last: only one that can write takes the log down with it.
        self.readers.close();
        self.writer.stop();
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let before = self.writer.commit(Encoded::of(&batch)?).await?;
        Ok(Committed { events: recorded(batch, before) })
    }

    async fn load(&self, stream: StreamId) -> Result<Loaded, StoreError> {
        self.readers.run(move |connection| query::load(connection, stream)).await
    }

    async fn read(&self, feed: Feed) -> Result<Vec<Recorded>, StoreError> {
        self.readers.run(move |connection| query::read(connection, feed)).await
    }

    async fn page(&self, query: PageQuery) -> Result<Vec<Recorded>, StoreError> {
        self.readers.run(move |connection| query::page(connection, query)).await
    }

    async fn latest_items(&self, stream: StreamId, items: &[ItemId]) -> Result<Vec<Recorded>, StoreError> {
        let items = items.to_vec();
        self.readers.run(move |connection| query::latest_items(connection, stream, &items)).await
    }

    async fn tasks(&self, query: TaskQuery) -> Result<Vec<TaskRow>, StoreError> {
        self.readers.run(move |connection| tasks::list(connection, &query)).await
    }

    async fn input(&self, lookup: Lookup) -> Result<Option<InputRow>, StoreError> {
        self.readers.run(move |connection| query::input(connection, &lookup)).await
    }

    async fn ask(&self, ask: Ask) -> Result<Answer, StoreError> {
        if ask == Ask::Incarnation {
            return Ok(Answer::Incarnation(self.incarnation.clone()));
        }
        self.readers.run(move |connection| query::answer(connection, ask)).await
    }

    async fn due(&self, at: Timestamp, limit: usize) -> Result<Due, StoreError> {
        self.readers.run(move |connection| query::due(connection, at, limit)).await
    }

    async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobRef, StoreError> {
        let blobs = Arc::clone(&self.blobs);
        blocking(move || blobs.put(&bytes)).await
    }

    async fn blob(&self, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let (blobs, sha256) = (Arc::clone(&self.blobs), sha256.to_owned());
        blocking(move || blobs.get(&sha256)).await
    }

    async fn sweep_blobs(&self, sweep: BlobSweep) -> Result<Swept, StoreError> {
        let blobs = Arc::clone(&self.blobs);
        blocking(move || blobs.sweep(&sweep)).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(format!("a file was not handled: {error}")))?
}

/// The events of a committed batch, with the places that the writer gave them.
fn recorded(batch: Batch, before: u64) -> Vec<Recorded> {
    let at = batch.at;
    let placed = batch.appends.into_iter().flat_map(|append| {
        let (stream, expected) = (append.stream, append.expected);
        append.events.into_iter().zip(expected + 1..).map(move |(event, version)| (stream, version, event))
    });
    placed
        .zip(before + 1..)
        .map(|((stream, version, event), seq)| Recorded { seq: Seq(seq), stream, version, at, event })
        .collect()
}
