//! The real store, with commits that meet the fate a test has in mind for them. Everything else goes straight through.

use async_trait::async_trait;
use throughline_model::content::BlobRef;
use throughline_model::event::Recorded;
use throughline_model::ids::ItemId;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::{InputRow, TaskRow};
use throughline_store::SqliteStore;
use throughline_store::port::{
    Answer, Ask, Batch, BlobSweep, CommitError, Committed, Due, Feed, Loaded, Lookup, PageQuery, Store, StoreError,
    Swept, TaskQuery,
};

/// What becomes of a commit.
#[async_trait]
pub(crate) trait Fate: Send + Sync + 'static {
    /// Commits it, or does not, and answers when it likes.
    async fn commit(&self, store: &SqliteStore, batch: Batch) -> Result<Committed, CommitError>;
}

/// A store under a fate.
pub(crate) struct FatedStore<F> {
    pub(crate) store: SqliteStore,
    pub(crate) fate: F,
}

#[async_trait]
impl<F: Fate> Store for FatedStore<F> {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        self.fate.commit(&self.store, batch).await
    }
    async fn load(&self, stream: StreamId) -> Result<Loaded, StoreError> {
        self.store.load(stream).await
    }
    async fn read(&self, feed: Feed) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(feed).await
    }
    async fn page(&self, query: PageQuery) -> Result<Vec<Recorded>, StoreError> {
        self.store.page(query).await
    }
    async fn latest_items(&self, stream: StreamId, items: &[ItemId]) -> Result<Vec<Recorded>, StoreError> {
        self.store.latest_items(stream, items).await
    }
    async fn tasks(&self, query: TaskQuery) -> Result<Vec<TaskRow>, StoreError> {
        self.store.tasks(query).await
    }
    async fn input(&self, lookup: Lookup) -> Result<Option<InputRow>, StoreError> {
        self.store.input(lookup).await
    }
    async fn ask(&self, ask: Ask) -> Result<Answer, StoreError> {
        self.store.ask(ask).await
    }
    async fn due(&self, at: Timestamp, limit: usize) -> Result<Due, StoreError> {
        self.store.due(at, limit).await
    }
    async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobRef, StoreError> {
        self.store.put_blob(bytes).await
    }
    async fn blob(&self, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.blob(sha256).await
    }
    async fn sweep_blobs(&self, sweep: BlobSweep) -> Result<Swept, StoreError> {
        self.store.sweep_blobs(sweep).await
    }
}
