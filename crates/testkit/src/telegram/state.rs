//! What the platform knows: chats, what was said in them, files, presses of buttons, and updates that nobody has
//! confirmed yet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::markdown_v2::Shown;
use crate::fault::Faults;

/// When everything happens, unless the test says otherwise: seconds since 1970.
const DATE: i64 = 1_790_000_000;

/// A message that the bot wrote, as people see it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// In which chat.
    pub chat: i64,
    /// In which topic of it.
    pub topic: Option<i64>,
    /// Its number there.
    pub id: i64,
    /// Its letters and what is special about them; under a file, the caption.
    pub shown: Shown,
    /// The buttons under it, by row.
    pub buttons: Vec<Vec<Key>>,
    /// The message that it answers.
    pub answers: Option<i64>,
    /// Whether it came without a sound.
    pub silent: bool,
    /// How often it was changed.
    pub edits: usize,
    /// The file that it is.
    pub document: Option<Document>,
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What is on it.
    pub text: String,
    /// What it brings back.
    pub data: String,
}

/// A file that the bot sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub mime: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where the bot wants to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The address.
    pub url: String,
    /// What comes along.
    pub secret: Option<String>,
}

/// A call as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which method.
    pub method: String,
    /// With what.
    pub body: Value,
}

#[derive(Default)]
pub(super) struct Chat {
    pub(super) kind: &'static str,
    pub(super) topics: BTreeSet<i64>,
    /// The person does not want to hear from the bot any more.
    pub(super) blocked: bool,
    /// The numbers of all messages in it.
    pub(super) messages: BTreeSet<i64>,
}

/// An update that nobody has confirmed.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) id: i64,
    pub(super) body: String,
}

/// How updates reach the bot.
#[derive(Default)]
pub(super) struct Feed {
    pub(super) pending: Vec<Pending>,
    /// All that there ever were.
    pub(super) history: BTreeMap<i64, String>,
    pub(super) last: i64,
    pub(super) hook: Option<Hook>,
    /// The loopback address that calls to anywhere else come out at.
    pub(super) tunnel: Option<String>,
    /// Updates below were confirmed.
    pub(super) confirmed: i64,
    /// How many questions for updates there were: only the newest is answered.
    pub(super) polls: u64,
    /// The next answer is in the wrong order.
    pub(super) reversed: bool,
}

/// Everything.
pub(super) struct Platform {
    pub(super) token: String,
    pub(super) revoked: bool,
    pub(super) date: i64,
    pub(super) last_message: i64,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) sent: Vec<Sent>,
    /// Presses of buttons, and what was answered.
    pub(super) presses: BTreeMap<String, Option<String>>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) feed: Feed,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Faults,
    /// Calls of this method wait.
    pub(super) held: Option<String>,
}

impl Platform {
    pub(super) fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            revoked: false,
            date: DATE,
            last_message: 0,
            chats: BTreeMap::new(),
            sent: vec![],
            presses: BTreeMap::new(),
            files: BTreeMap::new(),
            feed: Feed::default(),
            calls: vec![],
            faults: Faults::default(),
            held: None,
        }
    }

    /// The chat, made if it is new. A negative number is a group's.
    pub(super) fn chat(&mut self, id: i64) -> &mut Chat {
        let kind = if id > 0 { "private" } else { "supergroup" };
        self.chats.entry(id).or_insert_with(|| Chat { kind, ..Chat::default() })
    }

    /// A number for a message in this chat.
    pub(super) fn number(&mut self, chat: i64) -> i64 {
        self.last_message += 1;
        let number = self.last_message;
        self.chat(chat).messages.insert(number);
        number
    }

    /// Puts an update into the queue.
    pub(super) fn bring(&mut self, mut update: Value) -> i64 {
        self.feed.last += 1;
        let id = self.feed.last;
        update["update_id"] = json!(id);
        self.feed.history.insert(id, update.to_string());
        self.feed.pending.push(Pending { id, body: update.to_string() });
        id
    }

    /// A message by a person, as the platform tells of it.
    pub(super) fn message(&mut self, chat: i64, user: i64, content: Value) -> Value {
        let number = self.number(chat);
        let kind = self.chat(chat).kind;
        let mut message = json!({"message_id": number, "date": self.date, "chat": {"id": chat, "type": kind},
            "from": {"id": user, "is_bot": false, "first_name": "Test", "language_code": "en"}});
        if let (Some(message), Value::Object(content)) = (message.as_object_mut(), content) {
            message.extend(content);
        }
        message
    }

    /// The bot's message, as the platform tells of it.
    pub(super) fn told(&self, sent: &Sent) -> Value {
        let kind = self.chats.get(&sent.chat).map_or("private", |chat| chat.kind);
        let bot = self.token.split(':').next().and_then(|id| id.parse::<i64>().ok());
        let mut message = json!({"message_id": sent.id, "date": self.date, "chat": {"id": sent.chat, "type": kind},
            "from": {"id": bot, "is_bot": true, "first_name": "Stub"}, "text": sent.shown.text});
        if let Some(topic) = sent.topic {
            message["message_thread_id"] = json!(topic);
            message["is_topic_message"] = json!(true);
        }
        let entity = |entity: &super::markdown_v2::Entity| json!({"type": entity.kind.name(), "offset": entity.offset, "length": entity.length});
        message["entities"] = sent.shown.entities.iter().map(entity).collect();
        message
    }
}
