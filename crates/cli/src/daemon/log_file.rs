//! The background daemon's log file: `daemon.log` in the home, bounded by turning it over at a start.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use throughline_engine::Home;

/// A log longer than this is put aside, in place of the one that was put aside before.
const MAX_BYTES: u64 = 10 << 20;
/// How much of its end is looked at for the last lines.
const TAIL_BYTES: u64 = 16 << 10;
const TAIL_LINES: usize = 12;

/// Where it is.
pub(crate) fn path(home: &Home) -> PathBuf {
    home.path().join("daemon.log")
}

/// Opens it for the next daemon.
pub(crate) fn open(home: &Home) -> io::Result<File> {
    let path = path(home);
    if path.metadata().is_ok_and(|metadata| metadata.len() > MAX_BYTES) {
        std::fs::rename(&path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The last lines that were written from this length on.
pub(crate) fn tail(home: &Home, from: u64) -> Vec<String> {
    read_tail(home, from).unwrap_or_default()
}

fn read_tail(home: &Home, from: u64) -> io::Result<Vec<String>> {
    let mut file = File::open(path(home))?;
    let length = file.metadata()?.len();
    let start = from.min(length).max(length.saturating_sub(TAIL_BYTES));
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let skip = lines.len().saturating_sub(TAIL_LINES);
    Ok(lines.into_iter().skip(skip).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_long_log_is_turned_over_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path()).expect("a home");
        let log = open(&home).expect("opens");
        log.set_len(MAX_BYTES + 1).expect("grows");
        drop(log);
        let mut log = open(&home).expect("opens again");
        writeln!(log, "fresh").expect("writes");
        assert_eq!(tail(&home, 0), ["fresh"]);
        assert!(dir.path().join("daemon.log.1").exists());
    }

    #[test]
    fn the_tail_starts_where_this_daemon_started() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path()).expect("a home");
        let mut log = open(&home).expect("opens");
        writeln!(log, "old").expect("writes");
        let from = log.metadata().expect("there").len();
        writeln!(log, "new").expect("writes");
        assert_eq!(tail(&home, from), ["new"]);
    }
}
