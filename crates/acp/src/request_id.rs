//! Names of JSON-RPC requests. An answer finds its meaning in the id alone, so that it can arrive after the
//! daemon that asked has died.
//!
//! Invariant: no request of Throughline has an id that [`RequestId`] cannot read back, and nothing here or in
//! the assembler keeps a table of pending requests.

use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;
use throughline_model::ids::TurnId;

/// The id of a request that Throughline makes of an agent. Also the frame id that the keeper sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// `initialize`, once per process: `init`.
    Init,
    /// `authenticate`, by attempt: `auth:1`.
    Auth(u64),
    /// Opens the native session, each way at most once per process: `open:resume`.
    Open(Opening),
    /// Opens it once more, after a login: `reopen:new`.
    Reopen(Opening),
    /// `session/prompt`: `turn:<uuid>`.
    Turn(TurnId),
    /// `session/close`: `close`.
    Close,
    /// `session/set_mode`: `set-mode:1`.
    SetMode(u64),
    /// `session/set_model`: `set-model:1`.
    SetModel(u64),
    /// `session/set_config_option`: `configure:1`.
    Configure(u64),
    /// `session/list`, by page: `list:1`.
    List(u64),
}

/// The ways in which a native session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    /// `session/new`.
    New,
    /// `session/load`: the agent replays the history.
    Load,
    /// `session/resume`: the agent should not replay, and some do.
    Resume,
    /// `session/fork`: a new native session that begins where another one stands.
    Fork,
}

impl Opening {
    /// Whether the native session has a past that the agent may tell again.
    #[must_use]
    pub fn has_history(self) -> bool {
        !matches!(self, Opening::New)
    }

    fn word(self) -> &'static str {
        match self {
            Opening::New => "new",
            Opening::Load => "load",
            Opening::Resume => "resume",
            Opening::Fork => "fork",
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Init => f.write_str("init"),
            RequestId::Auth(attempt) => write!(f, "auth:{attempt}"),
            RequestId::Open(opening) => write!(f, "open:{}", opening.word()),
            RequestId::Reopen(opening) => write!(f, "reopen:{}", opening.word()),
            RequestId::Turn(turn) => write!(f, "turn:{turn}"),
            RequestId::Close => f.write_str("close"),
            RequestId::SetMode(count) => write!(f, "set-mode:{count}"),
            RequestId::SetModel(count) => write!(f, "set-model:{count}"),
            RequestId::Configure(count) => write!(f, "configure:{count}"),
            RequestId::List(page) => write!(f, "list:{page}"),
        }
    }
}

/// A text that is the id of no request of Throughline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no request of Throughline has the id {0:?}")]
pub struct NotOurs(pub String);

impl FromStr for RequestId {
    type Err = NotOurs;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let foreign = || NotOurs(text.to_owned());
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let count = || rest.parse::<u64>().map_err(|_| foreign());
        let id = match word {
            "init" => RequestId::Init,
            "close" => RequestId::Close,
            "auth" => RequestId::Auth(count()?),
            "set-mode" => RequestId::SetMode(count()?),
            "set-model" => RequestId::SetModel(count()?),
            "configure" => RequestId::Configure(count()?),
            "list" => RequestId::List(count()?),
            "turn" => RequestId::Turn(rest.parse().map_err(|_| foreign())?),
            "open" => RequestId::Open(opening(rest).ok_or_else(foreign)?),
            "reopen" => RequestId::Reopen(opening(rest).ok_or_else(foreign)?),
            _ => return Err(foreign()),
        };
        // One id, one spelling: `auth:01` or `init:x` were never written by us.
        if id.to_string() == text { Ok(id) } else { Err(foreign()) }
    }
}

fn opening(word: &str) -> Option<Opening> {
    [Opening::New, Opening::Load, Opening::Resume, Opening::Fork].into_iter().find(|opening| opening.word() == word)
}

/// The id of a request that an agent makes of us: a JSON number or string, kept as the agent wrote it. An agent may use it
/// again once it was answered, so it tells a request only from others that wait; see [`Wanted`](crate::happening::Wanted).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentRequestId(String);

impl AgentRequestId {
    /// Reads it from JSON text, such as `7` or `"a-b"`. Anything else is not an id.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        Self::from_raw(raw)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Option<Self> {
        let json = raw.get();
        let opens = *json.as_bytes().first()?;
        let ours = opens == b'"' || opens == b'-' || opens.is_ascii_digit();
        (ours && !json.contains(['\n', '\r'])).then(|| Self(json.to_owned()))
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back() {
        let turn = "0199d6a0-0000-7000-8000-000000000001";
        for text in [
            "init",
            "auth:1",
            "open:new",
            "open:load",
            "open:resume",
            "open:fork",
            "reopen:new",
            "close",
            "set-mode:3",
            "set-model:4",
            "configure:5",
            "list:1",
            &format!("turn:{turn}"),
        ] {
            let id: RequestId = text.parse().expect(text);
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn foreign_ids_are_refused() {
        for text in ["", "1", "init:", "init:x", "open", "open:gone", "auth:", "auth:01", "turn:7", "TURN:", "cancel:1"]
        {
            assert!(text.parse::<RequestId>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_agents_id_is_a_number_or_a_string_as_written() {
        for json in ["0", "-3", "1.50", "\"a\\u0062\"", "\"\""] {
            assert_eq!(AgentRequestId::parse(json).expect(json).as_json(), json);
        }
        for json in ["", "null", "true", "[1]", "{}", "1 2", "nope"] {
            assert_eq!(AgentRequestId::parse(json), None, "{json}");
        }
    }
}
