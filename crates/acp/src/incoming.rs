//! Reads one line of an agent's output as a JSON-RPC message.
//!
//! Total: any bytes give an [`Incoming`], nothing panics, and what has no better name keeps its text. Nothing
//! here knows what a message means. Bytes that are not UTF-8 are read with replacement characters: an agent
//! that cuts a character in half loses that character and not its line.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::happening::RpcError;
use crate::request_id::{AgentRequestId, RequestId};

/// One line, understood as far as JSON-RPC goes.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// Nothing but white space.
    Blank,
    /// The answer to a request of ours.
    Response {
        /// Which.
        id: RequestId,
        /// The result as the agent wrote it, or its error.
        outcome: Result<Box<RawValue>, RpcError>,
    },
    /// A request of the agent.
    Request {
        /// The agent's id.
        id: AgentRequestId,
        /// What it asks for.
        method: String,
        /// With what.
        params: Box<RawValue>,
    },
    /// A notification of the agent.
    Notification {
        /// What it is about.
        method: String,
        /// With what.
        params: Box<RawValue>,
    },
    /// JSON, and no message that anyone waits for: a batch, an answer to nothing, an impossible id.
    Stray {
        /// The line.
        text: String,
    },
    /// No JSON.
    NotJson {
        /// The line.
        text: String,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absence: several agents answer `"result": null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// Reads one line, with or without its newline.
#[must_use]
pub fn parse(line: &[u8]) -> Incoming {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() {
        return Incoming::Blank;
    }
    match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => classify(&envelope).unwrap_or_else(|| Incoming::Stray { text: text.to_owned() }),
        Err(_) if is_container(text) => Incoming::Stray { text: text.to_owned() },
        Err(_) => Incoming::NotJson { text: text.to_owned() },
    }
}

fn classify(envelope: &Envelope<'_>) -> Option<Incoming> {
    let id = envelope.id.filter(|id| id.get() != "null");
    if let Some(method) = &envelope.method {
        let method = method.clone().into_owned();
        let params = envelope.params.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
        return Some(match id {
            Some(id) => Incoming::Request { id: AgentRequestId::from_raw(id)?, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    let id: Cow<'_, str> = serde_json::from_str(id?.get()).ok()?;
    let id: RequestId = id.parse().ok()?;
    let outcome = match (envelope.error, envelope.result) {
        (Some(error), _) => Err(error_of(error)),
        (None, Some(result)) => Ok(result.to_owned()),
        (None, None) => return None,
    };
    Some(Incoming::Response { id, outcome })
}

/// An error as sent. One that has not the form of an error is kept whole, as its data.
fn error_of(raw: &RawValue) -> RpcError {
    #[derive(Deserialize)]
    struct Sent {
        code: i64,
        message: String,
        #[serde(default)]
        data: Option<Value>,
    }
    match serde_json::from_str::<Sent>(raw.get()) {
        Ok(Sent { code, message, data }) => RpcError { code, message, data },
        Err(_) => RpcError {
            code: 0,
            message: "the agent sent an error without a code".to_owned(),
            data: Some(Value::String(raw.get().to_owned())),
        },
    }
}

/// Whether it is JSON of some depth. A bare number or word on a line is more likely a log than a message.
fn is_container(text: &str) -> bool {
    text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> String {
        match parse(line.as_bytes()) {
            Incoming::Blank => "blank".to_owned(),
            Incoming::Response { id, outcome: Ok(result) } => format!("{id} -> {result}"),
            Incoming::Response { id, outcome: Err(error) } => format!("{id} -> error {}", error.code),
            Incoming::Request { id, method, params } => {
                format!("request {} {method} {params}", id.as_json())
            }
            Incoming::Notification { method, params } => format!("notification {method} {params}"),
            Incoming::Stray { .. } => "stray".to_owned(),
            Incoming::NotJson { .. } => "not json".to_owned(),
        }
    }

    #[test]
    fn lines_are_told_apart() {
        for (line, expected) in [
            ("", "blank"),
            ("  \r\n", "blank"),
            (r#"{"jsonrpc":"2.0","id":"init","result":{"a": 1}}"#, r#"init -> {"a": 1}"#),
            (r#"{"id":"close","result":null}"#, "close -> null"),
            (r#"{"id":"close","error":{"code":-32601,"message":"no"}}"#, "close -> error -32601"),
            (r#"{"id":"close","error":"no"}"#, "close -> error 0"),
            (r#"{"id":"close","error":null,"result":{}}"#, "close -> {}"),
            (r#"{"id":0,"method":"m","params":[1]}"#, "request 0 m [1]"),
            (r#"{"id":"x","method":"m"}"#, "request \"x\" m null"),
            (r#"{"method":"m","params":{"b":1,  "a":2}}"#, r#"notification m {"b":1,  "a":2}"#),
            (r#"{"id":null,"method":"m"}"#, "notification m null"),
            (r#"{"id":7,"result":{}}"#, "stray"),
            (r#"{"id":"mine","result":{}}"#, "stray"),
            (r#"{"id":null,"error":{"code":-32700,"message":"parse"}}"#, "stray"),
            (r#"{"id":{},"method":"m"}"#, "stray"),
            (r#"{"id":"init"}"#, "stray"),
            (r#"[{"id":"init","result":{}}]"#, "stray"),
            (r#"{"method":"m","method":"n"}"#, "stray"),
            (r#"{"method":7}"#, "stray"),
            ("{}", "stray"),
            ("warning: loaded 3 plugins", "not json"),
            ("42", "not json"),
            (r#"{"method":"m""#, "not json"),
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
    }

    #[test]
    fn half_a_character_does_not_cost_the_line() {
        let Incoming::Notification { params, .. } = parse(b"{\"method\":\"m\",\"params\":\"a\xe2\x82\"}") else {
            panic!("a notification");
        };
        assert_eq!(params.get(), "\"a\u{fffd}\"");
    }
}
