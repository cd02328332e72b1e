//! Lines of JSON in a file that another program writes: read within bounds, unreadable ones passed over.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde_json::Value;
use throughline_model::time::Timestamp;

/// A longer line is passed over.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// How much of a file is read for its head.
const HEAD_BYTES: u64 = 1 << 20;

/// Lines of a file, from a place on.
pub(super) struct Lines {
    file: BufReader<std::io::Take<File>>,
}

/// The first lines of a file.
pub(super) fn head(path: &Path) -> Option<Lines> {
    let file = File::open(path).ok()?;
    Some(Lines { file: BufReader::new(file.take(HEAD_BYTES)) })
}

/// The last so many bytes of a file, from the next whole line on; and how many bytes were left out.
pub(super) fn tail(path: &Path, most: u64) -> std::io::Result<(Lines, u64)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(most);
    file.seek(SeekFrom::Start(skipped))?;
    let mut lines = Lines { file: BufReader::new(file.take(most)) };
    if skipped > 0 {
        lines.skip_line()?;
    }
    Ok((lines, skipped))
}

/// When a file was written to last.
pub(super) fn modified(path: &Path) -> Option<Timestamp> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
}

impl Lines {
    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.file.fill_buf()?;
            let (used, found) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            };
            self.file.consume(used);
            if found || used == 0 {
                return Ok(());
            }
        }
    }
}

impl Iterator for Lines {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = vec![];
            let read = (&mut self.file).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).ok()?;
            if read == 0 {
                return None;
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE_BYTES {
                self.skip_line().ok()?;
                continue;
            }
            if let Ok(value) = serde_json::from_slice(&line) {
                return Some(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_is_passed_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, "{\"a\":1}\nnot json\n\n[2]\n{\"torn\":").expect("written");
        let read: Vec<Value> = head(&path).expect("there").collect();
        assert_eq!(read, [serde_json::json!({"a": 1}), serde_json::json!([2])]);
        let (read, skipped) = tail(&path, 20).expect("there");
        assert_eq!(skipped, 10);
        assert_eq!(read.collect::<Vec<_>>(), [serde_json::json!([2])]);
    }
}
