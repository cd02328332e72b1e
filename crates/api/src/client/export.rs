//! Reads a transcript as it comes: it may be longer than memory.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::{Call, Client, ClientError, broken, escaped};
use crate::export::ExportFormat;

/// A transcript, open.
#[derive(Debug)]
pub struct Transcript {
    body: Incoming,
}

impl Client {
    /// Opens the transcript of a task.
    pub async fn export(&self, key: &str, format: ExportFormat) -> Result<Transcript, ClientError> {
        let path = format!("/api/v1/tasks/{}/export?format={}", escaped(key), format.word());
        match tokio::time::timeout(self.patience, self.open(Call::get(&path))).await {
            Ok(response) => Ok(Transcript { body: response?.into_body() }),
            Err(_) => Err(ClientError::Timeout(self.patience)),
        }
    }
}

impl Transcript {
    /// The next bytes, cut anywhere; none at the end. A transcript that breaks off ends with an error.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(broken(error)),
                None => return Ok(None),
            }
        }
    }
}
