//! A transcript as turns and items, built line by line. The agents' files say what a line means; this says what becomes
//! of it.
//!
//! *Invariant:* the same file gives the same ids, so reading it again records nothing twice.

use std::collections::HashMap;
use std::path::PathBuf;

use throughline_model::content::Text;
use throughline_model::ids::{Id as _, ItemId, RuntimeSessionId, TurnId};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::task::ImportedTurn;
use throughline_model::time::Timestamp;
use tokio::sync::mpsc;

use super::{Source, lines};

/// How many turns are recorded together.
const BATCH: usize = 16;
/// How much of a file is read: the end of a longer one.
const MOST_BYTES: u64 = 512 << 20;
/// How much of one text is kept.
const TEXT_BYTES: usize = 1 << 20;
/// How many items a turn may have; what is more goes on as another one.
const MOST_ITEMS: usize = 2_000;

/// What reading a transcript yields.
pub(super) enum Progress {
    /// The next turns.
    Turns(Vec<ImportedTurn>),
    /// Something is missing, and why.
    LeftOut(String),
}

/// Reads a file in the background, no faster than it is recorded.
pub(super) fn read(source: &'static Source, path: PathBuf, session: RuntimeSessionId) -> mpsc::Receiver<Progress> {
    let (send, receive) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let (lines, skipped) = match lines::tail(&path, MOST_BYTES) {
            Ok(found) => found,
            Err(error) => return drop(send.blocking_send(Progress::LeftOut(error.to_string()))),
        };
        let mut transcript = Transcript::new(session);
        for line in lines {
            (source.read)(&mut transcript, &line);
            if transcript.turns.len() >= BATCH
                && send.blocking_send(Progress::Turns(std::mem::take(&mut transcript.turns))).is_err()
            {
                return;
            }
        }
        transcript.finish();
        let _ = send.blocking_send(Progress::Turns(transcript.turns));
        if skipped > 0 {
            let why = format!("the first {} MB are left out", skipped >> 20);
            let _ = send.blocking_send(Progress::LeftOut(why));
        }
    });
    receive
}

/// What was read so far.
pub(super) struct Transcript {
    session: RuntimeSessionId,
    turns: Vec<ImportedTurn>,
    current: Option<ImportedTurn>,
    /// Where the calls of the current turn stand among its items.
    calls: HashMap<String, usize>,
    count: u64,
}

/// A tool call as an agent's file has it.
pub(super) struct CallLine<'a> {
    pub(super) call: &'a str,
    pub(super) name: &'a str,
    pub(super) title: String,
    pub(super) input: Option<String>,
}

impl Transcript {
    pub(super) fn new(session: RuntimeSessionId) -> Self {
        Self { session, turns: vec![], current: None, calls: HashMap::new(), count: 0 }
    }

    /// The person said something: a turn begins.
    pub(super) fn prompt(&mut self, text: &str, at: Timestamp) {
        // Some versions write the same prompt in two forms, one after the other.
        let again = self.current.as_ref().is_some_and(|turn| turn.items.is_empty() && turn.said.head() == text);
        if text.trim().is_empty() || again {
            return;
        }
        self.finish();
        self.begin(text, at);
    }

    pub(super) fn message(&mut self, name: &str, text: &str) {
        if !text.trim().is_empty() {
            let body = ItemBody::Message { text: bounded(text), attachments: vec![], question: false };
            self.push(&format!("message:{name}"), body);
        }
    }

    pub(super) fn thought(&mut self, name: &str, text: &str) {
        if !text.trim().is_empty() {
            self.push(&format!("thought:{name}"), ItemBody::Thought { text: bounded(text) });
        }
    }

    pub(super) fn call(&mut self, line: CallLine<'_>) {
        let body = ItemBody::ToolCall(ToolCall {
            call: line.call.to_owned(),
            title: throughline_model::content::one_line(&line.title, 200),
            tool: kind_of(line.name).to_owned(),
            // Nothing more will come of one whose end is not in the file.
            status: ToolStatus::Failed,
            input: line.input.as_deref().map(bounded),
            output: None,
            exit_code: None,
            changes: vec![],
            locations: vec![],
            unasked: false,
        });
        let at = self.push(&format!("call:{}", line.call), body);
        self.calls.insert(line.call.to_owned(), at);
    }

    /// What came of a call.
    pub(super) fn output(&mut self, call: &str, text: &str, status: ToolStatus) {
        let Some(at) = self.calls.get(call) else { return };
        let item = self.current.as_mut().and_then(|turn| turn.items.get_mut(*at));
        if let Some(Item { body: ItemBody::ToolCall(known), .. }) = item {
            known.status = status;
            known.output = Some(bounded(text));
        }
    }

    fn push(&mut self, name: &str, body: ItemBody) -> usize {
        if self.current.as_ref().is_some_and(|turn| turn.items.len() >= MOST_ITEMS) {
            self.finish();
        }
        if self.current.is_none() {
            self.begin("", Timestamp::from_millis(0));
        }
        let id = ItemId::derive(self.session.uuid(), name);
        let Some(turn) = self.current.as_mut() else { return 0 };
        turn.items.push(Item { id, turn: Some(turn.turn), body });
        turn.items.len() - 1
    }

    fn begin(&mut self, text: &str, said_at: Timestamp) {
        let turn = TurnId::derive(self.session.uuid(), &format!("imported:{}", self.count));
        self.count += 1;
        self.current = Some(ImportedTurn { turn, said: bounded(text), said_at, items: vec![] });
    }

    fn finish(&mut self) {
        self.calls.clear();
        self.turns.extend(self.current.take());
    }
}

/// What sort of tool a name stands for, in the protocol's words.
fn kind_of(name: &str) -> &'static str {
    match name {
        "Bash" | "exec_command" | "shell" | "local_shell" | "shell_command" | "write_stdin" => "execute",
        "Read" | "NotebookRead" | "view_image" => "read",
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "apply_patch" => "edit",
        "Grep" | "Glob" | "LS" => "search",
        "WebFetch" | "WebSearch" | "web_search" => "fetch",
        _ => "other",
    }
}

fn bounded(text: &str) -> Text {
    let mut end = TEXT_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Text::Inline(text[..end].to_owned())
}

/// A moment as both agents write it.
pub(super) fn moment(line: &serde_json::Value) -> Timestamp {
    let parsed = line["timestamp"].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Timestamp::from_millis(parsed.map_or(0, jiff::Timestamp::as_millisecond))
}

#[cfg(test)]
pub(super) fn all(source: &'static Source, text: &str) -> Vec<ImportedTurn> {
    let mut mint = throughline_model::ids::Mint::new(Timestamp::from_millis(0), 1);
    let mut transcript = Transcript::new(mint.id());
    for line in text.lines() {
        (source.read)(&mut transcript, &serde_json::from_str(line).expect("a line of a fixture"));
    }
    transcript.finish();
    transcript.turns
}
