//! What the server was asked and which responses are held open: shared by its requests and by the test, which
//! waits here for what it needs to see.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::asked::Asked;

/// What is known so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) asked: Vec<Asked>,
    /// Names at which a response waits, or has waited.
    pub(super) reached: BTreeSet<String>,
    /// Names that no response waits at any more.
    pub(super) released: BTreeSet<String>,
    /// Names at which the agent hung up.
    pub(super) abandoned: BTreeSet<String>,
}

/// The shared record.
#[derive(Default)]
pub(super) struct Ledger {
    known: Mutex<Known>,
    changed: Condvar,
    released: Notify,
}

impl Ledger {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, and wakes who waits for that.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let result = change(&mut self.known());
        self.changed.notify_all();
        self.released.notify_waiters();
        result
    }

    /// Blocks until `look` sees what it looks for.
    pub(super) fn wait_for<T>(&self, patience: Duration, mut look: impl FnMut(&Known) -> Option<T>) -> Option<T> {
        let mut found = None;
        let waited = self.changed.wait_timeout_while(self.known(), patience, |known| {
            found = look(known);
            found.is_none()
        });
        drop(waited);
        found
    }

    /// Waits until a name is released.
    pub(super) async fn release_of(&self, name: &str) {
        loop {
            let next = self.released.notified();
            if self.known().released.contains(name) {
                return;
            }
            next.await;
        }
    }
}
