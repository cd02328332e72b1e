//! What one agent does differently, as data. The code has no branch that names an agent.
//!
//! A profile fills in [`Quirks`]; [`Quirks::default`] holds the words that several agents share and that do
//! no harm to the others.

use serde::Deserialize;
use serde_json::Value;
use throughline_model::time::Timestamp;

use crate::happening::FailureKind;

/// How a message reads with which an agent ends a failed turn as if it had worked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedMessage {
    /// Where the failure's words begin. What stands before is of the same message and no part of them.
    pub begins: String,
    /// How they end, where that is always the same.
    #[serde(default)]
    pub ends: String,
}

/// How an agent departs from the protocol's plain reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Quirks {
    /// What the agent wants to see in `clientCapabilities._meta` of `initialize`.
    pub client_meta: Option<Value>,
    /// JSON pointers into a prompt's answer, at which a failure stands that the stop reason hides. At the same
    /// place of a `session_info_update` stand warnings, which are kept as notes.
    pub failure_pointers: Vec<String>,
    /// Messages that are failures, if they are the last of a turn.
    pub failed_messages: Vec<FailedMessage>,
    /// JSON pointers into an error's `data` or a hidden failure, at which a word for the kind stands.
    pub kind_pointers: Vec<String>,
    /// What those words mean.
    pub kinds: Vec<(String, FailureKind)>,
    /// Parts of a failure's words, in lower case, that speak of a limit where nothing else says the kind.
    pub limit_words: Vec<String>,
    /// JSON pointers into an error's `data` or a hidden failure, at which the moment stands from which on a
    /// limit is lifted, in seconds or milliseconds since the Unix epoch.
    pub retry_pointers: Vec<String>,
    /// Parts of the message, in lower case, that say that a native session is not there (any more).
    pub unknown_session: Vec<String>,
    /// Parts of the message, in lower case, that say that someone else has the native session open.
    pub session_in_use: Vec<String>,
}

impl Default for Quirks {
    fn default() -> Self {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let kinds = [
            ("limit", FailureKind::Limited),
            ("rate_limit", FailureKind::Limited),
            ("billing_error", FailureKind::Limited),
            ("access", FailureKind::Auth),
            ("authentication_failed", FailureKind::Auth),
            ("oauth_org_not_allowed", FailureKind::Auth),
        ];
        Self {
            // With the first two, several agents tell what a command prints as it does; with the last,
            // codex-acp answers a failed turn with a typed failure rather than with a message.
            client_meta: Some(serde_json::json!({
                "terminal_output": true,
                "terminal_output_delta": true,
                "jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}
            })),
            failure_pointers: words(&["/_meta/jetbrains/air/sessionFailure"]),
            failed_messages: vec![],
            kind_pointers: words(&["/errorKind", "/category", "/kind"]),
            kinds: kinds.into_iter().map(|(word, kind)| (word.to_owned(), kind)).collect(),
            limit_words: words(&["rate limit", "rate_limit", "usage limit", "too many requests", "resource_exhausted"]),
            retry_pointers: words(&["/resetsAt", "/retryAt", "/resets_at"]),
            unknown_session: words(&[
                "not found",
                "no such",
                "unknown session",
                "no conversation found",
                "does not exist",
                "no rollout",
                "no previous sessions",
            ]),
            session_in_use: words(&["thread_active_writer", "already open", "in use", "active writer"]),
        }
    }
}

impl Quirks {
    /// The failure that an answer hides, if it does. A mere warning is none.
    pub(crate) fn hidden_failure<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        self.trouble(answer).find(|trouble| trouble.get("severity").and_then(Value::as_str) != Some("warning"))
    }

    /// The failure's words in a turn's last message, if it is one.
    pub(crate) fn failed_message<'a>(&self, message: &'a str) -> Option<&'a str> {
        self.failed_messages.iter().find_map(|shape| {
            let words = message[message.rfind(&shape.begins)?..].trim_end();
            words.ends_with(&shape.ends).then_some(words)
        })
    }

    /// What kind of failure its words speak of.
    pub(crate) fn kind_of_words(&self, words: &str) -> FailureKind {
        if contains_any(words, &self.limit_words) { FailureKind::Limited } else { FailureKind::Failed }
    }

    /// Failures and warnings in the meta data of an answer or an update.
    pub(crate) fn trouble<'a>(&self, message: &'a Value) -> impl Iterator<Item = &'a Value> {
        self.failure_pointers.iter().filter_map(|pointer| message.pointer(pointer)).filter(|trouble| !trouble.is_null())
    }

    /// What kind of failure the details speak of.
    pub(crate) fn kind_of(&self, details: &Value) -> Option<FailureKind> {
        let words = self.kind_pointers.iter().filter_map(|pointer| details.pointer(pointer)?.as_str());
        words.filter_map(|word| self.kinds.iter().find(|(known, _)| known == word)).map(|(_, kind)| *kind).next()
    }

    /// When a limit will be lifted, if the details say so.
    pub(crate) fn retry_at(&self, details: &Value) -> Option<Timestamp> {
        // A count above this is milliseconds: as seconds it would lie thousands of years ahead.
        const SECONDS_END: i64 = 100_000_000_000;
        let count = self.retry_pointers.iter().find_map(|pointer| details.pointer(pointer)?.as_i64())?;
        (count > 0).then(|| Timestamp::from_millis(if count < SECONDS_END { count * 1000 } else { count }))
    }

    pub(crate) fn says_unknown_session(&self, message: &str) -> bool {
        contains_any(message, &self.unknown_session)
    }

    pub(crate) fn says_session_in_use(&self, message: &str) -> bool {
        contains_any(message, &self.session_in_use)
    }
}

fn contains_any(message: &str, parts: &[String]) -> bool {
    let message = message.to_lowercase();
    parts.iter().any(|part| message.contains(part.as_str()))
}
