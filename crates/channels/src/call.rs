//! Calls: how updates come in where the platform brings them by itself, to an address that it was given.
//!
//! **Invariant:** nothing of a call is used before its channel has checked that it is the platform's, and it is
//! answered with success only after the inbox has taken what it brought.

use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use crate::update::{Inbox, NotTaken};

/// A call, as it came.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: String,
    /// When it came, in seconds since 1970.
    pub at_secs: u64,
}

impl Call {
    /// A header; nothing if it is not there, not text, or there more than once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
    }
}

/// Why a call is not answered with success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// This channel is not called: it asks by itself.
    #[error("the channel is not called")]
    Unexpected,
    /// It is not the platform that calls, or not now. Nothing of it was used.
    #[error("the call is not believed: {0}")]
    Disbelieved(String),
    /// It could not be kept; the platform has to bring it again.
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
}

/// The inbox of a channel that is called. It is there for as long as the channel listens.
#[derive(Default)]
pub(crate) struct Ear(Mutex<Option<Arc<dyn Inbox>>>);

/// An ear that is open until this is dropped.
pub(crate) struct Open<'a>(&'a Ear);

impl Ear {
    pub(crate) fn open(&self, inbox: Arc<dyn Inbox>) -> Open<'_> {
        self.put(Some(inbox));
        Open(self)
    }

    pub(crate) fn inbox(&self) -> Result<Arc<dyn Inbox>, NotTaken> {
        let inbox = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        inbox.ok_or_else(|| NotTaken("nobody listens at the moment".into()))
    }

    fn put(&self, inbox: Option<Arc<dyn Inbox>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = inbox;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.put(None);
    }
}
