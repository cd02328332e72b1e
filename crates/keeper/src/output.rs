//! What the agent says: from its pipes to disk, and from disk to the daemon.
//!
//! *Invariant:* a chunk is dropped from memory only once it is in the spool. When the spool or the
//! disk is full, the agent's stdout is left unread, so the agent waits.

use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use crate::conn::is_passing;
use crate::protocol::{MAX_DATA_BYTES, Refusal};
use crate::spec::Bounds;
use crate::spool::{Admitted, Cursor, MAX_RECORD_BYTES, Spool, SpoolError};
use crate::stderr::StderrLog;

const DISK_FULL_RETRY: Duration = Duration::from_millis(500);

pub(crate) struct Output {
    pub(crate) spool: Spool,
    stderr: StderrLog,
    cursor: Option<Cursor>,
    data: BytesMut,
    chunk: Box<[u8]>,
    /// Bytes of `chunk` that are not in the spool yet.
    held: usize,
    retry_at: Option<Instant>,
    /// Set when the agent's stdout was given up on in the middle of a line.
    gave_up: bool,
}

/// What came of listening to the agent once.
#[derive(Debug)]
pub(crate) enum Heard {
    Something,
    /// Nothing for now.
    Nothing,
    Closed,
    TooLong,
    Failed(String),
}

impl Output {
    pub(crate) fn create(dir: &Path, bounds: &Bounds) -> io::Result<Self> {
        Ok(Self {
            spool: Spool::create(dir, bounds)?,
            stderr: StderrLog::create(dir)?,
            cursor: None,
            data: BytesMut::new(),
            chunk: vec![0; MAX_RECORD_BYTES].into_boxed_slice(),
            held: 0,
            retry_at: None,
            gave_up: false,
        })
    }

    pub(crate) fn wants_stdout(&self) -> bool {
        self.held == 0 && !self.spool.is_full()
    }

    pub(crate) fn is_holding(&self) -> bool {
        self.held > 0
    }

    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// One read from the agent into one record.
    pub(crate) fn hear(&mut self, stdout: &mut impl Read, now: Instant) -> Heard {
        if self.held == 0 {
            match stdout.read(&mut self.chunk) {
                Ok(0) => return Heard::Closed,
                Ok(count) => self.held = count,
                Err(error) if is_passing(&error) => return Heard::Nothing,
                Err(_) => return Heard::Closed,
            }
        }
        self.retry_at = None;
        let admitted = self.spool.admit(&self.chunk[..self.held]);
        let keep = match admitted {
            Admitted::All => self.held,
            Admitted::UntilTooLong(kept) => kept,
        };
        match self.spool.append(&self.chunk[..keep]) {
            Ok(()) => self.held = 0,
            Err(error) if is_disk_full(&error) => {
                self.retry_at = Some(now + DISK_FULL_RETRY);
                return Heard::Nothing;
            }
            Err(error) => {
                self.gave_up = true;
                return Heard::Failed(error.to_string());
            }
        }
        match admitted {
            Admitted::All => Heard::Something,
            Admitted::UntilTooLong(_) => {
                self.gave_up = true;
                Heard::TooLong
            }
        }
    }

    /// The agent said its last word. A line that it did not finish is a frame all the same, but one
    /// that was given up on is not.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.held > 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match self.gave_up {
            true => Ok(()),
            false => self.spool.finish_line(),
        }
    }

    /// One read of the agent's stderr.
    pub(crate) fn hear_stderr(&mut self, stderr: &mut impl Read) -> Heard {
        let mut chunk = [0; 4096];
        match stderr.read(&mut chunk) {
            Ok(0) => Heard::Closed,
            Ok(count) => {
                self.stderr.append(&chunk[..count]);
                Heard::Something
            }
            Err(error) if is_passing(&error) => Heard::Nothing,
            Err(_) => Heard::Closed,
        }
    }

    /// The stream from an offset, as much as one reply holds. `None` if there is nothing there yet.
    pub(crate) fn read(&mut self, from: u64) -> Result<Option<&[u8]>, Refusal> {
        let end = self.spool.end();
        if from >= end {
            return match from == end {
                true => Ok(None),
                false => Err(Refusal::BeyondEnd { end }),
            };
        }
        if from < self.spool.first() {
            let first = self.spool.first();
            return Err(Refusal::Trimmed { first });
        }
        self.read_records(from).map_err(|error| Refusal::SpoolUnreadable { message: error.to_string() })?;
        Ok(Some(&self.data))
    }

    fn read_records(&mut self, from: u64) -> Result<(), SpoolError> {
        self.data.clear();
        let mut cursor = match self.cursor.take() {
            Some(cursor) if cursor.position() == from => cursor,
            _ => Cursor::open(self.spool.dir(), from)?,
        };
        // Whole records only, and only while the largest one would still fit.
        const ROOM: usize = MAX_DATA_BYTES - MAX_RECORD_BYTES;
        while cursor.position() < self.spool.end() && self.data.len() <= ROOM {
            if !cursor.read(&mut self.data)? {
                let offset = cursor.position();
                return Err(SpoolError::Corrupt { offset });
            }
        }
        self.cursor = Some(cursor);
        Ok(())
    }
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
