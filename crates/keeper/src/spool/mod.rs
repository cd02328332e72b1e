//! The agent's stdout on disk: an append-only stream of newline-terminated lines.
//!
//! The stream is cut into records (`length u32 LE · crc u32 LE · bytes`), one per read from the
//! agent, and records into segment files that are named by the offset at which they begin. Offsets
//! are of the stream, never of a file. The checksum covers the record's offset too, so that a stale
//! or misplaced record is not taken for a good one.
//!
//! *Invariant:* a segment is deleted only when all of it was acknowledged. *Invariant:* what a
//! killed keeper left half-written is cut at the last whole record; damage anywhere before that is
//! an error, never skipped.

mod read;
mod write;

use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) use read::{Cursor, Lines};
pub use read::{Frame, SpoolFrames};
pub(crate) use write::{Admitted, Spool};

use crate::crc::crc32;

pub(crate) const DIR: &str = "spool";
/// Half of what one reply carries, so that a reply can gather many small records.
pub(crate) const MAX_RECORD_BYTES: usize = crate::protocol::MAX_DATA_BYTES / 2;

const HEADER_BYTES: usize = 8;

/// The spool cannot give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("the spool begins at {first}; what was before is trimmed")]
    Trimmed { first: u64 },
    #[error("the spool is damaged at offset {offset}")]
    Corrupt { offset: u64 },
    #[error("the spool cannot be read")]
    Io(#[from] io::Error),
}

#[derive(Clone, Copy)]
struct Header {
    len: usize,
    crc: u32,
}

impl Header {
    fn of(offset: u64, bytes: &[u8]) -> Self {
        Self { len: bytes.len(), crc: crc32(&[&offset.to_le_bytes(), bytes]) }
    }

    /// `None` for what no writer writes, such as the zeroes of a file that lost its tail.
    fn decode(raw: [u8; HEADER_BYTES]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = raw;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let crc = u32::from_le_bytes([e, f, g, h]);
        (1..=MAX_RECORD_BYTES).contains(&len).then_some(Self { len, crc })
    }

    fn encode(self) -> [u8; HEADER_BYTES] {
        let mut raw = [0; HEADER_BYTES];
        // A record is at most MAX_RECORD_BYTES long.
        raw[..4].copy_from_slice(&(self.len as u32).to_le_bytes());
        raw[4..].copy_from_slice(&self.crc.to_le_bytes());
        raw
    }

    fn fits(self, offset: u64, bytes: &[u8]) -> bool {
        Self::of(offset, bytes).crc == self.crc
    }
}

fn segment_path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:020}"))
}

/// Where the segments begin, in order.
fn segments(dir: &Path) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Some(start) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
            starts.push(start);
        }
    }
    starts.sort_unstable();
    Ok(starts)
}

#[cfg(test)]
mod tests;
