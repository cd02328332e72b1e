//! A value that a stub's requests change and that a test, or another request, waits on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a test waits before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
    news: Notify,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Condvar::new(), news: Notify::new() }
    }

    pub(crate) fn look(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value, and wakes who waits for that.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.look());
        self.changed.notify_all();
        self.news.notify_waiters();
        result
    }

    /// Blocks until `look` sees what it looks for.
    pub(crate) fn wait_for<R>(&self, mut look: impl FnMut(&T) -> Option<R>) -> Option<R> {
        let mut found = None;
        let waited = self.changed.wait_timeout_while(self.look(), PATIENCE, |value| {
            found = look(value);
            found.is_none()
        });
        drop(waited);
        found
    }

    /// Waits until `look` sees what it looks for.
    pub(crate) async fn until<R>(&self, mut look: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            let news = self.news.notified();
            if let Some(found) = look(&self.look()) {
                return found;
            }
            news.await;
        }
    }
}
