//! The writing end: append, bound, trim. Only the keeper has one.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{HEADER_BYTES, Header, MAX_RECORD_BYTES, segment_path};
use crate::spec::Bounds;

/// Small enough that trimming keeps up, large enough that there are few files.
const SEGMENT_BYTES: u64 = 4 << 20;

pub(crate) struct Spool {
    dir: PathBuf,
    file: File,
    /// Bytes of whole records in `file`; anything after is half-written and gets cut.
    file_len: u64,
    /// Where each segment begins; the last one is being written.
    starts: VecDeque<u64>,
    segment_bytes: u64,
    end: u64,
    /// Where the line that is not finished yet begins.
    line_start: u64,
    acked: u64,
    max_frame_bytes: u64,
    max_unacked_bytes: u64,
    record: Vec<u8>,
}

/// How much of a chunk may be appended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    All,
    /// After so many bytes a line begins, or goes on, that passes the bound.
    UntilTooLong(usize),
}

impl Spool {
    /// A directory's spool is made once; an existing one belongs to an earlier launch.
    pub(crate) fn create(dir: &Path, bounds: &Bounds) -> io::Result<Self> {
        let dir = dir.join(super::DIR);
        DirBuilder::new().mode(0o700).create(&dir)?;
        // At the bound there must be a whole frame to acknowledge, or nothing would ever move again.
        let floor = bounds.max_frame_bytes + MAX_RECORD_BYTES as u64;
        let max_unacked_bytes = bounds.max_spool_bytes.max(floor);
        Ok(Self {
            file: new_segment(&dir, 0)?,
            dir,
            file_len: 0,
            starts: VecDeque::from([0]),
            segment_bytes: SEGMENT_BYTES.min(max_unacked_bytes / 4),
            end: 0,
            line_start: 0,
            acked: 0,
            max_frame_bytes: bounds.max_frame_bytes,
            max_unacked_bytes,
            record: Vec::new(),
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn first(&self) -> u64 {
        self.starts.front().copied().unwrap_or(self.end)
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The end of the last whole frame.
    pub(crate) fn frames_end(&self) -> u64 {
        self.line_start
    }

    /// Whether the agent has to wait until the daemon acknowledges.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.acked + MAX_RECORD_BYTES as u64 > self.max_unacked_bytes
    }

    /// Looks for a line over the bound, before anything of it is kept.
    pub(crate) fn admit(&self, chunk: &[u8]) -> Admitted {
        let mut line_len = self.end - self.line_start;
        let mut kept = 0;
        for line in chunk.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            if line_len + text.len() as u64 > self.max_frame_bytes {
                return Admitted::UntilTooLong(kept);
            }
            kept += line.len();
            line_len = 0;
        }
        Admitted::All
    }

    /// Appends one record. After an error nothing of it is there, and it may be tried again.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(bytes.len() <= MAX_RECORD_BYTES);
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file_len >= self.segment_bytes {
            self.file = new_segment(&self.dir, self.end)?;
            self.file_len = 0;
            self.starts.push_back(self.end);
        }
        self.record.clear();
        self.record.extend_from_slice(&Header::of(self.end, bytes).encode());
        self.record.extend_from_slice(bytes);
        if let Err(error) = self.file.write_all(&self.record) {
            self.file.set_len(self.file_len)?;
            return Err(error);
        }
        self.file_len += (HEADER_BYTES + bytes.len()) as u64;
        if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.line_start = self.end + newline as u64 + 1;
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// A last line without a newline is a frame all the same.
    pub(crate) fn finish_line(&mut self) -> io::Result<()> {
        if self.line_start < self.end {
            self.append(b"\n")?;
        }
        Ok(())
    }

    /// Forgets what was acknowledged, in whole segments. An offset never goes back.
    pub(crate) fn ack(&mut self, offset: u64) -> io::Result<()> {
        self.acked = self.acked.max(offset.min(self.end));
        while self.starts.len() > 1 && self.starts[1] <= self.acked {
            if let Some(start) = self.starts.pop_front() {
                std::fs::remove_file(segment_path(&self.dir, start))?;
            }
        }
        Ok(())
    }
}

fn new_segment(dir: &Path, start: u64) -> io::Result<File> {
    // Append mode: after a cut the next record goes to the new end of the file.
    OpenOptions::new().append(true).create(true).mode(0o600).open(segment_path(dir, start))
}
