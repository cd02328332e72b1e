//! The reading end: for the keeper that serves it, and for whoever comes after the keeper's death.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};

use super::{HEADER_BYTES, Header, MAX_RECORD_BYTES, SpoolError, segment_path, segments};

/// One line that the agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub offset_start: u64,
    /// Where the next frame begins: acknowledge this once the frame is durable elsewhere.
    pub offset_end: u64,
    /// Without the newline.
    pub bytes: Bytes,
}

/// A position in the stream.
pub(crate) struct Cursor {
    dir: PathBuf,
    file: File,
    file_at: u64,
    at: u64,
    /// Bytes at the start of the next record that are before the position asked for.
    skip: usize,
}

impl Cursor {
    /// Stands at `from`, or at the end if the spool ends before.
    pub(crate) fn open(dir: &Path, from: u64) -> Result<Self, SpoolError> {
        let starts = segments(dir)?;
        let first = starts.first().copied().unwrap_or(0);
        let Some(start) = starts.into_iter().rfind(|start| *start <= from) else {
            return Err(SpoolError::Trimmed { first });
        };
        let mut cursor =
            Self { dir: dir.to_owned(), file: File::open(segment_path(dir, start))?, file_at: 0, at: start, skip: 0 };
        while let Some(header) = cursor.header()? {
            let record_end = cursor.at + header.len as u64;
            if record_end > from {
                cursor.skip = (from - cursor.at) as usize;
                break;
            }
            cursor.file_at += (HEADER_BYTES + header.len) as u64;
            cursor.at = record_end;
        }
        Ok(cursor)
    }

    /// The offset of the next byte that [`Self::read`] gives.
    pub(crate) fn position(&self) -> u64 {
        self.at + self.skip as u64
    }

    /// Appends the next record to `out`. `false` if there is no whole one (yet).
    pub(crate) fn read(&mut self, out: &mut BytesMut) -> Result<bool, SpoolError> {
        let header = match self.header()? {
            Some(header) => header,
            None if !self.enter_next_segment()? => return Ok(false),
            None => match self.header()? {
                Some(header) => header,
                None => return self.no_record(),
            },
        };
        let before = out.len();
        out.resize(before + header.len, 0);
        let body = self.file_at + HEADER_BYTES as u64;
        let whole = match self.file.read_exact_at(&mut out[before..], body) {
            Ok(()) => header.fits(self.at, &out[before..]),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error.into()),
        };
        if !whole {
            out.truncate(before);
            return self.no_record();
        }
        if self.skip > 0 {
            out.copy_within(before + self.skip.., before);
            out.truncate(before + header.len - self.skip);
            self.skip = 0;
        }
        self.file_at = body + header.len as u64;
        self.at += header.len as u64;
        Ok(true)
    }

    fn header(&self) -> Result<Option<Header>, SpoolError> {
        let mut raw = [0; HEADER_BYTES];
        match self.file.read_exact_at(&mut raw, self.file_at) {
            Ok(()) => Ok(Header::decode(raw)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn enter_next_segment(&mut self) -> Result<bool, SpoolError> {
        if self.file_at == 0 {
            return Ok(false);
        }
        match File::open(segment_path(&self.dir, self.at)) {
            Ok(file) => {
                self.file = file;
                self.file_at = 0;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.no_record(),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing whole here: the end if this is the last segment, damage if more comes after it.
    fn no_record(&self) -> Result<bool, SpoolError> {
        let more = segments(&self.dir)?.last().is_some_and(|last| *last > self.at);
        if more {
            return Err(SpoolError::Corrupt { offset: self.at });
        }
        Ok(false)
    }
}

/// Cuts a stream of chunks into lines.
pub(crate) struct Lines {
    at: u64,
    partial: BytesMut,
    /// How much of `partial` is known to hold no newline, so that a long line is searched once.
    searched: usize,
    ready: VecDeque<Frame>,
}

impl Lines {
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self { at: offset, partial: BytesMut::new(), searched: 0, ready: VecDeque::new() }
    }

    /// Where the next chunk must begin.
    pub(crate) fn position(&self) -> u64 {
        self.at + self.partial.len() as u64
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.partial.extend_from_slice(chunk);
        while let Some(newline) = self.partial[self.searched..].iter().position(|b| *b == b'\n') {
            let mut line = self.partial.split_to(self.searched + newline + 1);
            self.searched = 0;
            let offset_start = self.at;
            self.at += line.len() as u64;
            line.truncate(line.len() - 1);
            self.ready.push_back(Frame { offset_start, offset_end: self.at, bytes: line.freeze() });
        }
        self.searched = self.partial.len();
    }

    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }
}

/// The whole frames that a dead keeper left, in order. A torn tail is cut.
pub struct SpoolFrames {
    cursor: Cursor,
    lines: Lines,
    chunk: BytesMut,
    failed: bool,
}

impl SpoolFrames {
    pub(crate) fn open(dir: &Path, from: u64) -> Result<Self, SpoolError> {
        Ok(Self {
            cursor: Cursor::open(&dir.join(super::DIR), from)?,
            lines: Lines::starting_at(from),
            chunk: BytesMut::with_capacity(MAX_RECORD_BYTES),
            failed: false,
        })
    }
}

impl Iterator for SpoolFrames {
    type Item = Result<Frame, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(frame) = self.lines.pop() {
                return Some(Ok(frame));
            }
            // A mark beyond the end (the machine lost what was not synced): nothing is left to say.
            if self.failed || self.cursor.position() < self.lines.position() {
                return None;
            }
            self.chunk.clear();
            match self.cursor.read(&mut self.chunk) {
                Ok(true) => self.lines.push(&self.chunk),
                Ok(false) => return None,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
