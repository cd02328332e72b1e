//! The frames log: which frames were sent to the agent's stdin.
//!
//! One line per step: `r ID` before the first byte goes to the agent, `w ID` after the last, `f ID`
//! if the pipe broke before the frame was whole in it. It survives the keeper's death; it need not
//! survive the machine's, since that ends the agent too. Ids are kept in memory only as hashes, with
//! where the last step of each is; that is read in the file, so the answer is exact and costs the same
//! however long the file is.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const FILE: &str = "frames";

/// What is known about one frame id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// Never recorded, so no byte of it reached the agent.
    Absent,
    /// Recorded, and no word whether it was written. If the keeper is dead, delivery is ambiguous.
    Recorded,
    /// The whole frame was put into the agent's stdin.
    Written,
    /// The agent's stdin broke before the frame was whole: the agent never got it.
    Failed,
}

/// The frames log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the frames log cannot be read")]
pub struct FramesError(#[from] io::Error);

/// The state of one frame, from the directory alone.
pub fn frame_state(dir: &Path, id: &str) -> Result<FrameState, FramesError> {
    let mut state = FrameState::Absent;
    scan(&dir.join(FILE), |step, seen| {
        if seen == id {
            state = step;
        }
    })?;
    Ok(state)
}

/// Every frame in the order in which it was recorded, from the directory alone.
pub fn frame_states(dir: &Path) -> Result<Vec<(String, FrameState)>, FramesError> {
    let mut states: Vec<(String, FrameState)> = Vec::new();
    scan(&dir.join(FILE), |step, id| match states.iter_mut().rfind(|(known, _)| known == id) {
        Some((_, state)) => *state = step,
        None => states.push((id.to_owned(), step)),
    })?;
    Ok(states)
}

fn scan(path: &Path, mut each: impl FnMut(FrameState, &str)) -> io::Result<()> {
    let mut lines = match File::open(path) {
        Ok(file) => BufReader::with_capacity(4 << 10, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        // A line without its end was being written when the keeper died: that step did not happen.
        if let Some((step, id)) = line.strip_suffix('\n').and_then(read_step) {
            each(step, id);
        }
        line.clear();
    }
    Ok(())
}

fn read_step(line: &str) -> Option<(FrameState, &str)> {
    let (step, id) = line.split_once(' ')?;
    let state = match step {
        "r" => FrameState::Recorded,
        "w" => FrameState::Written,
        "f" => FrameState::Failed,
        _ => return None,
    };
    Some((state, id))
}

/// The writing end, in the keeper.
pub(crate) struct FrameLog {
    path: PathBuf,
    file: File,
    /// By the hash of an id: where the last step of an id with that hash begins.
    last: HashMap<u64, u64>,
}

impl FrameLog {
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        let path = dir.join(FILE);
        let file = OpenOptions::new().append(true).read(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file, last: HashMap::new() })
    }

    pub(crate) fn state(&self, id: &str) -> io::Result<FrameState> {
        let Some(at) = self.last.get(&hash(id)) else { return Ok(FrameState::Absent) };
        if let Some(state) = self.step_of(id, *at)? {
            return Ok(state);
        }
        // Another id has the same hash.
        let mut state = FrameState::Absent;
        scan(&self.path, |step, seen| {
            if seen == id {
                state = step;
            }
        })?;
        Ok(state)
    }

    /// What the line there says of this id, if it is one of this id.
    fn step_of(&self, id: &str, at: u64) -> io::Result<Option<FrameState>> {
        let mut line = vec![0; id.len() + "r \n".len()];
        match self.file.read_exact_at(&mut line, at) {
            Ok(()) => {}
            // A shorter line at the end of the file.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let whole = std::str::from_utf8(&line).ok().and_then(|line| line.strip_suffix('\n'));
        Ok(whole.and_then(read_step).filter(|(_, seen)| *seen == id).map(|(state, _)| state))
    }

    /// After an error the frame must not be sent.
    pub(crate) fn record(&mut self, id: &str) -> io::Result<()> {
        self.step('r', id)
    }

    pub(crate) fn written(&mut self, id: &str) -> io::Result<()> {
        self.step('w', id)
    }

    pub(crate) fn failed(&mut self, id: &str) -> io::Result<()> {
        self.step('f', id)
    }

    fn step(&mut self, step: char, id: &str) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        let outcome = self.file.write_all(format!("{step} {id}\n").as_bytes());
        match outcome {
            Ok(()) => drop(self.last.insert(hash(id), before)),
            // A step that did not fit must not swallow the next one.
            Err(_) => self.file.set_len(before)?,
        }
        outcome
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{FrameLog, FrameState, frame_state, frame_states, hash};
    use std::io::Write as _;

    #[test]
    fn the_last_whole_step_counts() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = FrameLog::create(dir.path()).unwrap();
        for id in ["init", "turn:1", "turn:2"] {
            log.record(id).unwrap();
        }
        log.written("init").unwrap();
        log.failed("turn:2").unwrap();
        assert_eq!(log.state("turn:1").unwrap(), FrameState::Recorded);
        assert_eq!(log.state("turn:2").unwrap(), FrameState::Failed);
        log.file.write_all(b"w turn:1").unwrap();
        let of = |id: &str| frame_state(dir.path(), id).unwrap();
        assert_eq!(of("init"), FrameState::Written);
        assert_eq!(of("turn:1"), FrameState::Recorded);
        assert_eq!(of("turn:2"), FrameState::Failed);
        assert_eq!(of("turn:3"), FrameState::Absent);
        assert_eq!(log.state("init").unwrap(), FrameState::Written);
        assert_eq!(frame_states(dir.path()).unwrap().len(), 3);
    }

    #[test]
    fn ids_that_share_a_hash_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = FrameLog::create(dir.path()).unwrap();
        log.record("a").unwrap();
        log.written("a").unwrap();
        log.record("bb").unwrap();
        // As if both had the same hash, and a third that was never seen as well.
        let (a, bb) = (log.last[&hash("a")], log.last[&hash("bb")]);
        log.last.insert(hash("a"), bb);
        log.last.insert(hash("bb"), a);
        log.last.insert(hash("never"), bb);
        assert_eq!(log.state("a").unwrap(), FrameState::Written);
        assert_eq!(log.state("bb").unwrap(), FrameState::Recorded);
        assert_eq!(log.state("never").unwrap(), FrameState::Absent);
    }
}
