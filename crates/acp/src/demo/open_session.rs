//! A session that is open in this process: its file, what was learnt from it, and the turn that runs.
//!
//! [`Known`] is a fold over the file's records and nothing else, so a session that goes on and one
//! that was read back after a kill cannot differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, SessionId, SessionUpdate, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use tokio::sync::{Mutex as TurnMutex, Notify, OwnedMutexGuard};
use uuid::Uuid;

use super::offer::{Mode, Model};
use super::session_file::{self, Record, Rule, SessionFile, SessionFileError, VERSION};
use super::steps;

/// What the records say.
#[derive(Debug, Default)]
pub struct Known {
    pub cwd: PathBuf,
    pub mode: Mode,
    pub model: Model,
    /// The tool servers and the other folders that it was opened with last.
    pub given: (Vec<String>, Vec<PathBuf>),
    /// Every prompt, on one line each.
    pub prompts: Vec<String>,
    pub rules: BTreeMap<String, Rule>,
    /// The question on which the last turn ended.
    pub question: Option<String>,
    /// Characters read and said, from which usage is estimated.
    pub chars_in: u64,
    pub chars_out: u64,
    unfinished_calls: Vec<ToolCallId>,
}

impl Known {
    fn apply(&mut self, record: &Record) {
        match record {
            Record::Opened { cwd, .. } | Record::Moved { cwd } => self.cwd.clone_from(cwd),
            Record::Given { servers, roots } => self.given = (servers.clone(), roots.clone()),
            Record::ModeSet { mode } => self.mode = *mode,
            Record::ModelSet { model } => self.model = *model,
            Record::Prompted { content } => {
                let prompt = steps::on_one_line(content);
                self.chars_in += prompt.chars().count() as u64;
                self.prompts.push(prompt);
                self.question = None;
            }
            Record::Updated { update } => self.apply_update(update),
            Record::Ruled { command, rule } => {
                self.rules.insert(command.clone(), *rule);
            }
            Record::Asked { question } => self.question = Some(question.clone()),
            Record::Ended { .. } => {}
        }
    }

    fn apply_update(&mut self, update: &SessionUpdate) {
        let (call, status) = match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = &chunk.content {
                    self.chars_out += text.text.chars().count() as u64;
                }
                return;
            }
            SessionUpdate::ToolCall(call) => (&call.tool_call_id, Some(call.status)),
            SessionUpdate::ToolCallUpdate(update) => (&update.tool_call_id, update.fields.status),
            _ => return,
        };
        match status {
            Some(ToolCallStatus::Completed | ToolCallStatus::Failed) => {
                self.unfinished_calls.retain(|open| open != call);
            }
            Some(_) if !self.unfinished_calls.contains(call) => {
                self.unfinished_calls.push(call.clone());
            }
            _ => {}
        }
    }
}

struct State {
    file: SessionFile,
    known: Known,
    /// Told when the turn that was begun last is to stop.
    cancel: Arc<Notify>,
}

/// See the module. Locks are held for a moment each, never over an await.
pub struct OpenSession {
    pub id: SessionId,
    state: Mutex<State>,
    turn: Arc<TurnMutex<()>>,
}

/// The right to run the session's one turn, given back on drop.
pub struct TurnClaim {
    pub cancel: Arc<Notify>,
    _held: OwnedMutexGuard<()>,
}

impl OpenSession {
    /// Starts a session.
    pub fn create(dir: &Path, cwd: PathBuf) -> Result<Self, SessionFileError> {
        Self::create_with(dir, cwd, None, Vec::new())
    }

    /// Starts a session with the history of another one.
    pub fn fork(dir: &Path, cwd: PathBuf, from: &str) -> Result<Self, SessionFileError> {
        let mut history = session_file::read(dir, from)?;
        history.retain(|record| !matches!(record, Record::Opened { .. } | Record::Moved { .. }));
        Self::create_with(dir, cwd, Some(from.to_owned()), history)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the demo agent mints the ids of its own sessions, here and nowhere else"
    )]
    fn create_with(
        dir: &Path,
        cwd: PathBuf,
        forked_from: Option<String>,
        history: Vec<Record>,
    ) -> Result<Self, SessionFileError> {
        let mut records = vec![Record::Opened { version: VERSION, cwd, forked_from }];
        records.extend(history);
        let id = Uuid::now_v7();
        let file = SessionFile::create(dir, id, &records)?;
        Self::with_records(&id.to_string(), file, &records)
    }

    /// Opens a session that exists.
    pub fn open(dir: &Path, id: &str) -> Result<Self, SessionFileError> {
        let (file, records) = SessionFile::open(dir, id)?;
        Self::with_records(id, file, &records)
    }

    /// Tool calls that a kill cut short are recorded as failed: nobody is working on them any more.
    fn with_records(id: &str, file: SessionFile, records: &[Record]) -> Result<Self, SessionFileError> {
        let mut known = Known::default();
        records.iter().for_each(|record| known.apply(record));
        let unfinished = known.unfinished_calls.clone();
        let opened = Self {
            id: SessionId::new(id),
            state: Mutex::new(State { file, known, cancel: Arc::default() }),
            turn: Arc::default(),
        };
        for call in unfinished {
            let update = ToolCallUpdate::new(call, interrupted("interrupted: the agent's process ended"));
            opened.record(&Record::Updated { update: Box::new(SessionUpdate::ToolCallUpdate(update)) })?;
        }
        Ok(opened)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what is known.
    pub fn known<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.state().known)
    }

    /// Appends a record and takes it in.
    pub fn record(&self, record: &Record) -> Result<(), SessionFileError> {
        let mut state = self.state();
        state.file.append(record)?;
        state.known.apply(record);
        Ok(())
    }

    /// Forces the file to the disk.
    pub fn sync(&self) -> Result<(), SessionFileError> {
        self.state().file.sync()
    }

    /// Takes the session's one turn, or `None` if it is taken.
    pub fn claim_turn(&self) -> Option<TurnClaim> {
        let held = Arc::clone(&self.turn).try_lock_owned().ok()?;
        // A new one for each turn: what was said to the last turn is not meant for this one.
        let cancel = Arc::new(Notify::new());
        self.state().cancel = Arc::clone(&cancel);
        Some(TurnClaim { cancel, _held: held })
    }

    /// Tells the turn to stop, if there is one.
    pub fn cancel(&self) {
        self.state().cancel.notify_one();
    }

    /// Tells the turn to stop and waits until it has.
    pub async fn stop(&self) {
        self.cancel();
        drop(self.turn.lock().await);
    }

    /// The calls that are not finished.
    pub fn unfinished_calls(&self) -> Vec<ToolCallId> {
        self.known(|known| known.unfinished_calls.clone())
    }

    /// The whole history as updates: what was asked, and what went out.
    pub fn history(&self) -> Result<Vec<SessionUpdate>, SessionFileError> {
        let records = self.state().file.records()?;
        let mut prompt_number = 0;
        let mut updates = Vec::new();
        for record in records {
            match record {
                Record::Prompted { content } => {
                    prompt_number += 1;
                    updates.extend(content.into_iter().map(|block| {
                        let id = MessageId::new(format!("user-{prompt_number}"));
                        SessionUpdate::UserMessageChunk(ContentChunk::new(block).message_id(id))
                    }));
                }
                Record::Updated { update } => updates.push(*update),
                _ => {}
            }
        }
        Ok(updates)
    }
}

/// The end of a tool call that did not get to its own. What it had shown so far stays.
pub fn interrupted(why: &str) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::Failed).raw_output(serde_json::json!({ "error": why }))
}
