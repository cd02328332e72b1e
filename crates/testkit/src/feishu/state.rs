//! What the platform knows: the app, its tokens, chats and messages, and events that the app has not acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::fault::Faults;

/// When everything happens: milliseconds since 1970.
pub(super) const NOW_MS: u64 = 1_790_000_000_000;

/// A message that the app sent, as people see it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `om_…`
    pub id: String,
    /// `oc_…`
    pub chat: String,
    /// The first message of the thread that it is in.
    pub root: Option<String>,
    /// The message that it answers.
    pub parent: Option<String>,
    /// `interactive`, `text`, `file`, …
    pub kind: String,
    /// Its content, as JSON.
    pub content: String,
    /// How often it was changed.
    pub edits: usize,
}

/// A call as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `token`, `endpoint`, `send`, `reply`, `patch`, `resource` or `upload`.
    pub name: String,
    /// With what.
    pub body: Value,
}

/// How an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Waiting,
    /// On the way, over this connection.
    Sent(u64),
    Acknowledged,
}

pub(super) struct Event {
    /// The transport's name for it, which is not the event's.
    pub(super) name: String,
    pub(super) payload: String,
    pub(super) standing: Standing,
    /// How often it was brought.
    pub(super) tries: usize,
    /// What the app answered, each time.
    pub(super) answers: Vec<u64>,
}

/// The long connections.
pub(super) struct Links {
    /// How many there ever were.
    pub(super) opened: u64,
    /// Those that stand.
    pub(super) standing: BTreeSet<u64>,
    /// Those below are to be cut.
    pub(super) cut: u64,
    pub(super) pings: u64,
    /// Pings are not answered.
    pub(super) silent: bool,
    /// Events stay here for now.
    pub(super) held: bool,
    /// The newest event goes first.
    pub(super) reversed: bool,
    /// How many bytes of an event go into a frame.
    pub(super) piece: usize,
    pub(super) ping_secs: u64,
    /// How long an app has to acknowledge an event.
    pub(super) ack_secs: u64,
    /// Frames of any form that go out next.
    pub(super) raw: Vec<Vec<u8>>,
}

pub(super) struct App {
    pub(super) secret_revoked: bool,
    /// The tokens that are good.
    pub(super) tokens: BTreeSet<String>,
    pub(super) token_life_secs: u64,
}

/// Everything.
pub(super) struct Platform {
    pub(super) address: String,
    pub(super) app: App,
    /// Chats, and whether each is between one person and the app.
    pub(super) chats: BTreeMap<String, &'static str>,
    /// All messages' chats and roots, by people too; empty for what was taken back.
    pub(super) known: BTreeMap<String, (String, Option<String>)>,
    pub(super) sent: Vec<Message>,
    /// Which message each idempotency key made.
    pub(super) uuids: BTreeMap<String, String>,
    /// Files by key.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) events: Vec<Event>,
    pub(super) links: Links,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Faults,
    pub(super) last: u64,
}

impl Platform {
    pub(super) fn new() -> Self {
        let links = Links {
            opened: 0,
            standing: BTreeSet::new(),
            cut: 0,
            pings: 0,
            silent: false,
            held: false,
            reversed: false,
            piece: 64 << 10,
            ping_secs: 120,
            ack_secs: 3,
            raw: vec![],
        };
        Self {
            address: String::new(),
            app: App { secret_revoked: false, tokens: BTreeSet::new(), token_life_secs: 7200 },
            chats: BTreeMap::new(),
            known: BTreeMap::new(),
            sent: vec![],
            uuids: BTreeMap::new(),
            files: BTreeMap::new(),
            events: vec![],
            links,
            calls: vec![],
            faults: Faults::default(),
            last: 0,
        }
    }

    /// A name that is not taken, such as `om_17`.
    pub(super) fn name(&mut self, kind: &str) -> String {
        self.last += 1;
        format!("{kind}_{:032x}", self.last)
    }

    /// How clients of the long connection are to behave.
    pub(super) fn client_config(&self) -> Value {
        json!({"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": self.links.ping_secs})
    }

    /// Puts an event into the queue. Answers with its id.
    pub(super) fn bring(&mut self, kind: &str, event: Value) -> String {
        let id = self.name("ev");
        let payload = json!({"schema": "2.0", "header": {"event_id": id, "token": super::VERIFICATION_TOKEN,
            "create_time": NOW_MS.to_string(), "event_type": kind, "tenant_key": "stub", "app_id": super::APP_ID},
            "event": event});
        self.queue(payload.to_string());
        id
    }

    pub(super) fn queue(&mut self, payload: String) {
        let name = self.name("msg");
        self.events.push(Event { name, payload, standing: Standing::Waiting, tries: 0, answers: vec![] });
    }

    /// What is special about where a message is: in a thread it has a root and a thread.
    pub(super) fn told(&self, message: &Message) -> Value {
        let mut told = json!({"message_id": message.id, "msg_type": message.kind, "create_time": NOW_MS.to_string(),
            "update_time": NOW_MS.to_string(), "deleted": false, "updated": message.edits > 0, "chat_id": message.chat,
            "sender": {"id": super::APP_ID, "id_type": "app_id", "sender_type": "app", "tenant_key": "stub"},
            "body": {"content": message.content}});
        if let Some(root) = &message.root {
            told["root_id"] = json!(root);
            told["thread_id"] = json!(thread(root));
        }
        if let Some(parent) = &message.parent {
            told["parent_id"] = json!(parent);
        }
        told
    }
}

/// The thread that begins with this message.
pub(super) fn thread(root: &str) -> String {
    root.replacen("om_", "omt_", 1)
}

impl Message {
    /// The words that people see, markup left out.
    #[must_use]
    pub fn words(&self) -> String {
        let content: Value = serde_json::from_str(&self.content).unwrap_or_default();
        let mut words = vec![];
        collect(&content, &mut |value| match value["tag"].as_str() {
            Some("markdown") => words.push(unescaped(value["content"].as_str().unwrap_or_default())),
            _ => words.extend(value["text"].as_str().map(str::to_owned)),
        });
        words.join("\n")
    }

    /// The buttons under it: what is on each and what it brings back.
    #[must_use]
    pub fn buttons(&self) -> Vec<(String, Value)> {
        let content: Value = serde_json::from_str(&self.content).unwrap_or_default();
        let mut buttons = vec![];
        collect(&content, &mut |value| {
            if value["tag"] == "button" {
                let label = value["text"]["content"].as_str().unwrap_or_default();
                buttons.push((label.to_owned(), value["behaviors"][0]["value"].clone()));
            }
        });
        buttons
    }
}

fn collect(value: &Value, see: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(fields) => {
            see(value);
            fields.values().for_each(|field| collect(field, see));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, see)),
        _ => {}
    }
}

/// Markdown in which `&#42;` stands for a star.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("&#");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = piece.split_once(';').and_then(|(code, rest)| Some((char::from_u32(code.parse().ok()?)?, rest)));
        match known {
            Some((char, rest)) => {
                out.push(char);
                out.push_str(rest);
            }
            None => {
                out.push_str("&#");
                out.push_str(piece);
            }
        }
    }
    out
}
