//! The embedded store, held to the suite of the port.

use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use throughline_store::conformance::{self, Site};
use throughline_store::{OpenOptions, SqliteStore, Store};

struct Home(TempDir);

#[async_trait]
impl Site for Home {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&OpenOptions::new(self.0.path())).expect("the store opens"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_embedded_store_conforms() {
    conformance::suite(|| Home(TempDir::new().expect("a home"))).await;
}
