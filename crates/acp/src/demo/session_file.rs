//! A session on disk: one JSON Lines file per session, only ever appended to.
//!
//! The file is the session: whatever the agent knows of one it can read back from here, also after it
//! was killed in the middle of a turn. A record is in the file before what it records goes out.
//!
//! *Invariants.* One process at a time has a session open (an exclusive lock that dies with it). A torn
//! last line is dropped on opening; any other damage, and a version from the future, is refused and
//! left as it is. Ids that are not UUIDs never reach the file system.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agent_client_protocol::v1::schema::{ContentBlock, SessionUpdate};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::offer::{Mode, Model};

/// The version that [`Record::Opened`] carries.
pub const VERSION: u32 = 1;

/// One line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// Always the first line.
    Opened {
        version: u32,
        cwd: PathBuf,
        #[serde(skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
    },
    /// Loaded or resumed in another directory.
    Moved { cwd: PathBuf },
    /// Opened with these tool servers and folders.
    Given { servers: Vec<String>, roots: Vec<PathBuf> },
    /// The mode was set.
    ModeSet { mode: Mode },
    /// The model was set.
    ModelSet { model: Model },
    /// A prompt came in; written before anything is done about it.
    Prompted { content: Vec<ContentBlock> },
    /// An update went out.
    Updated { update: Box<SessionUpdate> },
    /// The client said "always" about a command.
    Ruled { command: String, rule: Rule },
    /// The turn ended on a question, and the next prompt may be its answer.
    Asked { question: String },
    /// The turn's answer: a stop reason, or the error's message.
    Ended { outcome: String },
}

/// A standing answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    Allow,
    Reject,
}

/// Why a session could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionFileError {
    /// There is no such session.
    #[error("there is no session {0}")]
    Unknown(String),
    /// Another process has it open.
    #[error("session {0} is open in another process")]
    Busy(String),
    /// A line is not a record.
    #[error("session {id} is damaged at line {line}: {source}")]
    Damaged { id: String, line: usize, source: serde_json::Error },
    /// The first line does not open a session of a version that is known here.
    #[error("session {0} was not written by this version")]
    Version(String),
    /// The disk said no.
    #[error("session storage: {0}")]
    Io(#[from] io::Error),
}

/// An open session file, locked against other processes.
#[derive(Debug)]
pub struct SessionFile {
    id: String,
    file: File,
}

/// What a listing tells of a session.
pub struct Listed {
    pub id: String,
    pub cwd: PathBuf,
    pub first_prompt: Option<Vec<ContentBlock>>,
    pub updated: SystemTime,
}

impl SessionFile {
    /// Creates a session with these records; the first one must be [`Record::Opened`].
    pub fn create(dir: &Path, id: Uuid, records: &[Record]) -> Result<Self, SessionFileError> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let id = id.to_string();
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path(dir, &id))?;
        let mut created = Self { id, file };
        created.lock()?;
        for record in records {
            created.append(record)?;
        }
        created.sync()?;
        Ok(created)
    }

    /// Opens a session that exists and returns what is in it.
    pub fn open(dir: &Path, id: &str) -> Result<(Self, Vec<Record>), SessionFileError> {
        let path = known_path(dir, id)?;
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let mut opened = Self { id: id.to_owned(), file: file.map_err(|error| not_found_is_unknown(error, id))? };
        opened.lock()?;
        let records = opened.records()?;
        Ok((opened, records))
    }

    fn lock(&self) -> Result<(), SessionFileError> {
        self.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => SessionFileError::Busy(self.id.clone()),
            TryLockError::Error(error) => error.into(),
        })
    }

    /// Everything in the file, after dropping a last line that was cut short by a kill.
    pub fn records(&mut self) -> Result<Vec<Record>, SessionFileError> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        let whole = whole_lines(&bytes);
        if whole.len() < bytes.len() {
            self.file.set_len(whole.len() as u64)?;
        }
        decode(&self.id, whole)
    }

    /// Appends a record. It survives this process once this returns, and the machine after
    /// [`Self::sync`].
    pub fn append(&mut self, record: &Record) -> Result<(), SessionFileError> {
        let mut line = serde_json::to_vec(record).map_err(io::Error::from)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        Ok(())
    }

    /// Forces everything appended so far to the disk.
    pub fn sync(&self) -> Result<(), SessionFileError> {
        Ok(self.file.sync_data()?)
    }
}

/// What is in a session, without opening it: a fork may be taken while another process has it open.
pub fn read(dir: &Path, id: &str) -> Result<Vec<Record>, SessionFileError> {
    let bytes = fs::read(known_path(dir, id)?).map_err(|error| not_found_is_unknown(error, id))?;
    decode(id, whole_lines(&bytes))
}

/// All sessions, the last one touched first. A file that cannot be read is left out.
pub fn list(dir: &Path) -> Result<Vec<Listed>, SessionFileError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut listed: Vec<Listed> = entries.filter_map(|entry| listed(&entry.ok()?.path())).collect();
    listed.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
    Ok(listed)
}

/// Reads only as far as the first prompt.
fn listed(path: &Path) -> Option<Listed> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let file = File::open(path).ok()?;
    let updated = file.metadata().ok()?.modified().ok()?;
    let mut records = BufReader::new(file).lines().map_while(|line| serde_json::from_str(&line.ok()?).ok());
    let Some(Record::Opened { mut cwd, .. }) = records.next() else {
        return None;
    };
    let mut first_prompt = None;
    for record in records {
        match record {
            Record::Moved { cwd: moved } => cwd = moved,
            Record::Prompted { content } => {
                first_prompt = Some(content);
                break;
            }
            _ => {}
        }
    }
    Some(Listed { id, cwd, first_prompt, updated })
}

fn path(dir: &Path, id: &str) -> PathBuf {
    dir.join(id).with_extension("jsonl")
}

fn known_path(dir: &Path, id: &str) -> Result<PathBuf, SessionFileError> {
    let uuid = Uuid::parse_str(id).map_err(|_| SessionFileError::Unknown(id.to_owned()))?;
    Ok(path(dir, &uuid.to_string()))
}

fn not_found_is_unknown(error: io::Error, id: &str) -> SessionFileError {
    if error.kind() == io::ErrorKind::NotFound { SessionFileError::Unknown(id.to_owned()) } else { error.into() }
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..end.map_or(0, |newline| newline + 1)]
}

fn decode(id: &str, bytes: &[u8]) -> Result<Vec<Record>, SessionFileError> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let records = lines.filter(|(_, line)| !line.is_empty()).map(|(index, line)| {
        serde_json::from_slice(line).map_err(|source| SessionFileError::Damaged {
            id: id.to_owned(),
            line: index + 1,
            source,
        })
    });
    // The version is checked first: a future file is not damaged, only not ours to read.
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    #[derive(Deserialize)]
    struct Header {
        version: u32,
    }
    match serde_json::from_slice(first) {
        Ok(Header { version: VERSION }) => records.collect(),
        _ => Err(SessionFileError::Version(id.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Record {
        Record::Opened { version: VERSION, cwd: "/work".into(), forked_from: None }
    }

    fn asked() -> Record {
        Record::Asked { question: "why?".into() }
    }

    fn create(dir: &Path) -> (SessionFile, String) {
        let id = Uuid::from_u128(7);
        let file = SessionFile::create(dir, id, &[opened(), asked()]).unwrap();
        (file, id.to_string())
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_appending_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, id) = create(dir.path());
        file.file.write_all(br#"{"record":"asked","ques"#).unwrap();
        drop(file);

        let (mut file, records) = SessionFile::open(dir.path(), &id).unwrap();
        assert_eq!(records.len(), 2);
        file.append(&asked()).unwrap();
        assert_eq!(read(dir.path(), &id).unwrap().len(), 3);
    }

    #[test]
    fn damage_and_the_future_are_refused_and_left_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, id) = create(dir.path());
        file.file.write_all(b"nonsense\n").unwrap();
        drop(file);
        let damaged = SessionFile::open(dir.path(), &id).unwrap_err();
        assert!(matches!(damaged, SessionFileError::Damaged { line: 3, .. }));

        let future = r#"{"record":"opened","version":99,"cwd":"/","dreams":1}"#.to_owned() + "\n";
        fs::write(path(dir.path(), &id), &future).unwrap();
        let refused = SessionFile::open(dir.path(), &id).unwrap_err();
        assert!(matches!(refused, SessionFileError::Version(_)));
        assert_eq!(fs::read_to_string(path(dir.path(), &id)).unwrap(), future);
    }

    #[test]
    fn a_session_is_open_once_and_strange_ids_are_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let (file, id) = create(dir.path());
        let second = SessionFile::open(dir.path(), &id).unwrap_err();
        assert!(matches!(second, SessionFileError::Busy(_)));
        drop(file);
        assert!(SessionFile::open(dir.path(), &id).is_ok());
        for id in ["../../etc/passwd", "", "0192b1a0-0000-7000-8000-000000000000"] {
            let unknown = SessionFile::open(dir.path(), id).unwrap_err();
            assert!(matches!(unknown, SessionFileError::Unknown(_)), "{id}");
        }
    }
}
