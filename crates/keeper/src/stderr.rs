//! The agent's stderr, bounded: its beginning (why it did not start) and its end (why it died).
//!
//! The first [`HEAD_BYTES`] stay for ever. What follows goes through two files that take turns, so
//! that at least the last [`TAIL_BYTES`] are there. Read from the directory, with or without keeper.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "stderr.head";
const TAIL: &str = "stderr.tail";
const OLDER_TAIL: &str = "stderr.tail.older";

const HEAD_BYTES: usize = 64 << 10;
const TAIL_BYTES: usize = 192 << 10;

/// What is left of an agent's stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stderr {
    pub head: Vec<u8>,
    /// The last of what came after `head`; between the two something may be missing.
    pub tail: Vec<u8>,
}

impl Stderr {
    pub(crate) fn load(dir: &Path) -> io::Result<Self> {
        let head = read(&dir.join(HEAD))?;
        let mut tail = read(&dir.join(OLDER_TAIL))?;
        tail.extend(read(&dir.join(TAIL))?);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
        Ok(Self { head, tail })
    }

    /// The last `bytes` of it as text, for a timeline or a diagnosis.
    pub fn last_text(&self, bytes: usize) -> String {
        let mut text = [self.head.as_slice(), &self.tail].concat();
        text.drain(..text.len().saturating_sub(bytes));
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

/// The writing end, in the keeper.
pub(crate) struct StderrLog {
    dir: PathBuf,
    file: File,
    room: usize,
}

impl StderrLog {
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: dir.to_owned(), file: create(&dir.join(HEAD))?, room: HEAD_BYTES })
    }

    /// What cannot be written is dropped: a full disk must not stop the agent over its chatter.
    pub(crate) fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.room == 0 && self.turn().is_err() {
                return;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.room));
            if self.file.write_all(now).is_err() {
                return;
            }
            self.room -= now.len();
            bytes = later;
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let tail = self.dir.join(TAIL);
        match fs::rename(&tail, self.dir.join(OLDER_TAIL)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = create(&tail)?;
        self.room = TAIL_BYTES;
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, Stderr, StderrLog, TAIL_BYTES};

    #[test]
    fn keeps_both_ends_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = StderrLog::create(dir.path()).unwrap();
        log.append(b"first words\n");
        for _ in 0..200 {
            log.append(&[b'.'; 10_000]);
        }
        log.append(b"last words\n");
        let kept = Stderr::load(dir.path()).unwrap();
        assert!(kept.head.starts_with(b"first words\n"));
        assert_eq!(kept.head.len(), HEAD_BYTES);
        assert_eq!(kept.tail.len(), TAIL_BYTES);
        assert!(kept.last_text(20).ends_with("last words\n"));
    }
}
