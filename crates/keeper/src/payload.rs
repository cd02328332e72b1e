//! One frame on its way to the agent, held in memory while it is small and on disk otherwise.
//!
//! A frame must be here whole before its first byte goes to the agent, since a daemon may die in the
//! middle of sending it. It may be tens of megabytes long (images), the keeper may not.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

const MEMORY_BYTES: usize = 16 << 10;
const CHUNK_BYTES: usize = 16 << 10;
/// In the current directory, which is the keeper's own. It has this name only for a moment.
const FILE: &str = "frame.tmp";

#[derive(Debug, Default)]
pub(crate) struct Payload {
    memory: Vec<u8>,
    file: Option<File>,
    len: u64,
    newlines: u64,
    last: Option<u8>,
}

impl Payload {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES {
            let mut file = nameless_file()?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.len += bytes.len() as u64;
        self.newlines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.last = bytes.last().copied().or(self.last);
        Ok(())
    }

    /// Ends the line if it is not ended.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        match self.last {
            Some(b'\n') => Ok(()),
            _ => self.append(b"\n"),
        }
    }

    /// Exactly one line, not empty, with its newline.
    pub(crate) fn is_one_line(&self) -> bool {
        self.len > 1 && self.newlines == 1 && self.last == Some(b'\n')
    }

    /// Some bytes from an offset that is before the end.
    pub(crate) fn with_chunk<T>(&self, from: u64, write: impl FnOnce(&[u8]) -> io::Result<T>) -> io::Result<T> {
        match &self.file {
            None => write(self.memory.get(from as usize..).unwrap_or_default()),
            Some(file) => {
                let mut chunk = [0; CHUNK_BYTES];
                let count = file.read_at(&mut chunk, from)?;
                write(&chunk[..count])
            }
        }
    }
}

fn nameless_file() -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(FILE)?;
    std::fs::remove_file(FILE)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::Payload;

    #[test]
    fn a_frame_is_one_line_wherever_it_is_held() {
        for len in [1, 16 << 10, 100_000] {
            let mut payload = Payload::default();
            for chunk in vec![b'x'; len].chunks(7_000) {
                payload.append(chunk).unwrap();
            }
            assert!(!payload.is_one_line());
            payload.end_line().unwrap();
            payload.end_line().unwrap();
            assert!(payload.is_one_line());
            assert_eq!(payload.len(), len as u64 + 1);
            let mut read = Vec::new();
            while (read.len() as u64) < payload.len() {
                let from = read.len() as u64;
                payload
                    .with_chunk(from, |chunk| {
                        read.extend_from_slice(chunk);
                        Ok(())
                    })
                    .unwrap();
            }
            assert_eq!(read, [vec![b'x'; len], vec![b'\n']].concat());
        }
        let mut two = Payload::default();
        two.append(b"a\nb\n").unwrap();
        assert!(!two.is_one_line());
        let mut empty = Payload::default();
        empty.end_line().unwrap();
        assert!(!empty.is_one_line());
    }
}
