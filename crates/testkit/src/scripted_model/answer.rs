//! An answer on its way out: events to send and waits between them.

use serde_json::Value;

use super::script::Piece;
use super::shell_tool::ToolCall;

/// What the model answers to one request.
pub(super) struct Answer {
    /// Makes the ids of this answer differ from all others.
    pub(super) number: usize,
    /// The model that was asked for.
    pub(super) model: String,
    /// What it says.
    pub(super) pieces: Vec<Piece>,
    /// What it wants to be done then.
    pub(super) call: Option<ToolCall>,
}

impl Answer {
    /// An id of this answer.
    pub(super) fn id(&self, kind: &str) -> String {
        format!("{kind}_{:06}", self.number)
    }

    /// All that it says.
    pub(super) fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hold(_) | Piece::Pause(_) => String::new(),
        };
        self.pieces.iter().map(text).collect()
    }

    /// The pieces as steps, each text turned into an event.
    pub(super) fn deltas(&self, mut event: impl FnMut(&str) -> String) -> Vec<Step> {
        let step = |piece: &Piece| match piece {
            Piece::Text(text) => Step::Send(event(text)),
            Piece::Hold(name) => Step::Hold(name.clone()),
            Piece::Pause(ms) => Step::Pause(*ms),
        };
        self.pieces.iter().map(step).collect()
    }

    /// The waits alone, for an answer in one piece.
    pub(super) fn waits(&self) -> Vec<Step> {
        let all = self.deltas(|_| String::new());
        all.into_iter().filter(|step| !matches!(step, Step::Send(_))).collect()
    }
}

/// One step of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Sends this.
    Send(String),
    /// Waits until the test releases the name.
    Hold(String),
    /// Waits so many milliseconds.
    Pause(u64),
}

/// A server-sent event.
pub(super) fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A server-sent event without a name.
pub(super) fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}
