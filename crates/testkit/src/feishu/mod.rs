//! Feishu's open platform on loopback, for tests of the channel and of everything above it.
//!
//! What it is honest about is checked by the platform's own SDK, which has to be content with it: tokens, sending,
//! answering, changing cards, files, the long connection with its frames, pings and acknowledgements, and callbacks
//! with their encryption and signature. Cards are checked by the rules that we could learn; what it does not know it
//! refuses. An event stays until it is acknowledged with 200: no answer within three seconds, another code or a broken
//! connection bring it again.
//!
//! *Invariant:* it listens on loopback only and reads no clock but to bring events again. Its methods block, so that
//! tests without a runtime can use it; a test with one needs more than one thread.

mod callback;
mod frame;
mod messages;
mod server;
mod socket;
mod state;

use std::sync::Arc;

use prost::Message as _;
use serde_json::{Value, json};

pub use callback::Callback;
pub use state::{Call, Message};

use crate::fault::Fault;
use crate::loopback::Loopback;
use crate::post::Answered;
use crate::watched::Watched;
use frame::Frame;
use state::{NOW_MS, Platform, Standing};

/// The app's id.
pub const APP_ID: &str = "cli_a1b2c3d4e5f60718";
/// The app's secret.
pub const APP_SECRET: &str = "stub-app-secret-0123456789abcdef";
/// What plain events carry.
pub const VERIFICATION_TOKEN: &str = "stub-verification-token";
/// What a long connection is let in with.
const TICKET: &str = "stub-ticket";

/// The chat between a person and the app.
fn private_chat(open_id: &str) -> String {
    format!("oc_{}", open_id.trim_start_matches("ou_"))
}

/// The platform, until it is dropped.
pub struct OpenPlatform {
    platform: Arc<Watched<Platform>>,
    loopback: Loopback,
}

impl OpenPlatform {
    /// Listens on a free port of the loopback address.
    ///
    /// # Panics
    /// If the machine has none to give.
    #[must_use]
    pub fn start() -> Self {
        let platform = Arc::new(Watched::new(Platform::new()));
        let loopback = Loopback::serve(server::router(Arc::clone(&platform)));
        platform.change(|known| known.address = loopback.address().to_string());
        Self { platform, loopback }
    }

    /// Where it listens, such as `http://127.0.0.1:41233`.
    #[must_use]
    pub fn url(&self) -> String {
        self.loopback.url()
    }

    // What people do. Each answers with the event's id.

    /// A person writes to the app.
    pub fn says(&self, open_id: &str, text: &str) -> String {
        self.knows(open_id);
        let content = json!({ "text": text }).to_string();
        self.says_in(&private_chat(open_id), open_id, json!({"message_type": "text", "content": content}))
    }

    /// A person writes in a chat. `content` has what else the message has, such as `parent_id` or `mentions`.
    pub fn says_in(&self, chat: &str, open_id: &str, content: Value) -> String {
        self.platform.change(|known| {
            let id = known.name("om");
            let kind = *known.chats.entry(chat.to_owned()).or_insert("group");
            let mut message = json!({"message_id": id, "create_time": NOW_MS.to_string(), "chat_id": chat,
                "chat_type": kind, "update_time": NOW_MS.to_string()});
            if let (Some(message), Value::Object(content)) = (message.as_object_mut(), content) {
                message.extend(content);
            }
            let root = message["root_id"].as_str().map(str::to_owned);
            known.known.insert(id, (chat.to_owned(), root));
            let sender = json!({"sender_id": {"open_id": open_id, "union_id": format!("on_{open_id}")},
                "sender_type": "user", "tenant_key": "stub"});
            known.bring("im.message.receive_v1", json!({"sender": sender, "message": message}))
        })
    }

    /// A person answers one of the app's messages; in its thread, if it is in one.
    pub fn answers(&self, open_id: &str, answered: &Message, text: &str) -> String {
        let content = json!({ "text": text }).to_string();
        let root = answered.root.clone().unwrap_or_else(|| answered.id.clone());
        let mut message =
            json!({"message_type": "text", "content": content, "parent_id": answered.id, "root_id": root});
        if answered.root.is_some() {
            message["thread_id"] = json!(state::thread(&root));
        }
        self.says_in(&answered.chat, open_id, message)
    }

    /// A person presses a button that carries this.
    pub fn presses(&self, open_id: &str, under: &Message, value: Value) -> String {
        self.platform.change(|known| {
            let event = json!({"operator": {"open_id": open_id, "tenant_key": "stub"}, "token": "c-stub",
                "action": {"tag": "button", "value": value}, "host": "im_message",
                "context": {"open_message_id": under.id, "open_chat_id": under.chat}});
            known.bring("card.action.trigger", event)
        })
    }

    /// A person sends a picture.
    pub fn sends_image(&self, open_id: &str, bytes: &[u8]) -> String {
        self.knows(open_id);
        let content = json!({ "image_key": self.keeps("img_v3", bytes) }).to_string();
        self.says_in(&private_chat(open_id), open_id, json!({"message_type": "image", "content": content}))
    }

    fn keeps(&self, kind: &str, bytes: &[u8]) -> String {
        self.platform.change(|known| {
            let key = known.name(kind);
            known.files.insert(key.clone(), bytes.to_vec());
            key
        })
    }

    /// A person sends a file.
    pub fn sends_file(&self, open_id: &str, name: &str, bytes: &[u8]) -> String {
        self.knows(open_id);
        let key = self.keeps("file_v3", bytes);
        let content = json!({"file_key": key, "file_name": name}).to_string();
        self.says_in(&private_chat(open_id), open_id, json!({"message_type": "file", "content": content}))
    }

    /// A person takes the message back that they sent with this event.
    pub fn recalls(&self, event: &str) {
        let payload: Value = serde_json::from_str(&self.payload(event)).unwrap_or_default();
        let id = payload["event"]["message"]["message_id"].as_str().unwrap_or_default().to_owned();
        self.platform.change(|known| known.known.insert(id, (String::new(), None)));
    }

    /// A person has talked to the app before. Answers with their chat.
    pub fn knows(&self, open_id: &str) -> String {
        let chat = private_chat(open_id);
        self.platform.change(|known| known.chats.insert(chat.clone(), "p2p"));
        chat
    }

    /// An event with any payload.
    pub fn brings_raw(&self, payload: &str) {
        self.platform.change(|known| known.queue(payload.to_owned()));
    }

    /// Brings an event once more, though it was acknowledged.
    ///
    /// # Panics
    /// If there is none with this id.
    pub fn brings_again(&self, event: &str) {
        let payload = self.payload(event);
        self.brings_raw(&payload);
    }

    /// An event's payload, as it is brought.
    ///
    /// # Panics
    /// If there is none with this id.
    #[must_use]
    pub fn payload(&self, event: &str) -> String {
        let known = self.platform.look();
        let found = known.events.iter().find(|known| known.payload.contains(event));
        found.map(|event| event.payload.clone()).unwrap_or_else(|| panic!("there is no event {event}"))
    }

    /// Calls an address, as the platform does for who has one, and gives what was answered.
    ///
    /// # Panics
    /// If nobody answers.
    pub fn calls_back(&self, url: &str, callback: &Callback) -> Answered {
        let (url, call) = (url.to_owned(), callback.clone());
        let (answer, answered) = std::sync::mpsc::channel();
        self.loopback.spawn(async move {
            // Whoever asked may have gone.
            let _ = answer.send(call.post_to(&url).await);
        });
        answered.recv_timeout(crate::watched::PATIENCE).expect("an answer in time").expect("an answer")
    }

    /// Calls an address until the call is taken.
    ///
    /// # Panics
    /// If it is not.
    pub fn brings_back(&self, url: &str, callback: &Callback) {
        let (url, call) = (url.to_owned(), callback.clone());
        let (answer, answered) = std::sync::mpsc::channel();
        self.loopback.spawn(async move {
            while !call.post_to(&url).await.is_ok_and(|answer| answer.status == 200) {
                tokio::time::sleep(callback::AGAIN).await;
            }
            let _ = answer.send(());
        });
        answered.recv_timeout(crate::watched::PATIENCE).expect("it is taken in time");
    }

    // What goes wrong.

    /// The next call of this name goes wrong: `token`, `endpoint`, `send`, `reply`, `patch`, `resource`, `upload`.
    pub fn fails(&self, call: &str, fault: Fault) {
        self.platform.change(|known| known.faults.plan(call, fault));
    }

    /// The next call of this name is refused.
    pub fn refuses(&self, call: &str, status: u16, code: i64, why: &str) {
        self.fails(call, Fault::Refuse { status, body: json!({"code": code, "msg": why}), header: None });
    }

    /// The next call of this name is too fast.
    pub fn slows(&self, call: &str, reset_secs: u64) {
        let body = json!({"code": 99_991_400, "msg": "request trigger frequency limit"});
        let header = Some(("x-ogw-ratelimit-reset".into(), reset_secs.to_string()));
        self.fails(call, Fault::Refuse { status: 429, body, header });
    }

    /// No token is good any more.
    pub fn forget_tokens(&self) {
        self.platform.change(|known| known.app.tokens.clear());
    }

    /// New tokens are said to live so long.
    pub fn set_token_life(&self, secs: u64) {
        self.platform.change(|known| known.app.token_life_secs = secs);
    }

    /// The app's secret is no longer good, or is again.
    pub fn revoke(&self, revoked: bool) {
        self.platform.change(|known| known.app.secret_revoked = revoked);
    }

    /// Cuts the long connections that stand.
    pub fn cut(&self) {
        self.platform.change(|known| known.links.cut = known.links.opened);
    }

    /// Answers no pings, or does again; asks for one every so many seconds.
    pub fn set_pings(&self, silent: bool, every_secs: u64) {
        self.platform.change(|known| (known.links.silent, known.links.ping_secs) = (silent, every_secs));
    }

    /// Keeps events back, or lets them go; the newest first, if that is asked for.
    pub fn hold(&self, held: bool, reversed: bool) {
        self.platform.change(|known| (known.links.held, known.links.reversed) = (held, reversed));
    }

    /// Waits so long for acknowledgements, instead of the platform's three seconds.
    pub fn set_ack(&self, secs: u64) {
        self.platform.change(|known| known.links.ack_secs = secs);
    }

    /// Sends events in pieces of so many bytes.
    pub fn set_piece(&self, bytes: usize) {
        self.platform.change(|known| known.links.piece = bytes);
    }

    /// Sends these bytes over the long connection as they are.
    pub fn sends_bytes(&self, bytes: &[u8]) {
        self.platform.change(|known| known.links.raw.push(bytes.to_vec()));
    }

    /// A frame of an event that this stub does not wait for, as bytes to break.
    #[must_use]
    pub fn frame(payload: &str) -> Vec<u8> {
        Frame::event("msg_x", payload.as_bytes(), usize::MAX).iter().flat_map(Frame::encode_to_vec).collect()
    }

    // What was seen.

    /// The app's messages, as people see them now.
    #[must_use]
    pub fn sent(&self) -> Vec<Message> {
        self.platform.look().sent.clone()
    }

    /// Waits for the first of the app's messages that is like this.
    ///
    /// # Panics
    /// If it does not come.
    pub fn wait_for_sent(&self, wanted: impl Fn(&Message) -> bool) -> Message {
        let found = self.platform.wait_for(|known| known.sent.iter().find(|sent| wanted(sent)).cloned());
        found.unwrap_or_else(|| panic!("the message does not come; what came: {:#?}", self.sent()))
    }

    /// A file by its key.
    #[must_use]
    pub fn file(&self, key: &str) -> Option<Vec<u8>> {
        self.platform.look().files.get(key).cloned()
    }

    /// All calls of this name, refused ones included.
    #[must_use]
    pub fn calls(&self, name: &str) -> Vec<Value> {
        self.platform.look().calls.iter().filter(|call| call.name == name).map(|call| call.body.clone()).collect()
    }

    /// Waits for so many calls of this name.
    ///
    /// # Panics
    /// If they do not come.
    pub fn wait_for_calls(&self, name: &str, count: usize) {
        let enough = |known: &Platform| known.calls.iter().filter(|call| call.name == name).count() >= count;
        let found = self.platform.wait_for(|known| enough(known).then_some(()));
        found.unwrap_or_else(|| panic!("{count} calls of {name} do not come"));
    }

    /// Waits until so many long connections have been made since the start, and one stands.
    ///
    /// # Panics
    /// If they are not.
    pub fn wait_for_links(&self, count: u64) {
        let stands = |known: &Platform| known.links.opened >= count && !known.links.standing.is_empty();
        let found = self.platform.wait_for(|known| stands(known).then_some(()));
        found.unwrap_or_else(|| panic!("{count} connections are not made"));
    }

    /// Waits until every event is acknowledged.
    ///
    /// # Panics
    /// If one is not.
    pub fn wait_for_quiet(&self) {
        let quiet = |known: &Platform| known.events.iter().all(|event| event.standing == Standing::Acknowledged);
        let found = self.platform.wait_for(|known| quiet(known).then_some(()));
        found.unwrap_or_else(|| panic!("events stay without an acknowledgement"));
    }

    /// Waits until no more events than these wait, however long that takes while some go.
    ///
    /// # Panics
    /// If none goes for a while.
    pub fn wait_for_backlog(&self, most: usize) {
        let mut last = usize::MAX;
        loop {
            let waits = |event: &&state::Event| event.standing != Standing::Acknowledged;
            let waiting = |known: &Platform| known.events.iter().filter(waits).count();
            let went = self.platform.wait_for(|known| Some(waiting(known)).filter(|now| *now <= most || *now < last));
            last = went.unwrap_or_else(|| panic!("{last} events stay"));
            if last <= most {
                return;
            }
        }
    }

    /// Waits until an event was brought so often.
    ///
    /// # Panics
    /// If it is not.
    pub fn wait_for_tries(&self, event: &str, count: usize) {
        let tried = |known: &state::Event| known.payload.contains(event) && known.tries >= count;
        let found = self.platform.wait_for(|known| known.events.iter().any(tried).then_some(()));
        found.unwrap_or_else(|| panic!("{event} is not brought {count} times"));
    }

    /// What the app answered to this event, each time that it was brought.
    #[must_use]
    pub fn answers_to(&self, event: &str) -> Vec<u64> {
        let known = self.platform.look();
        let of = known.events.iter().filter(|known| known.payload.contains(event));
        of.flat_map(|event| event.answers.clone()).collect()
    }

    /// How many pings came.
    #[must_use]
    pub fn pings(&self) -> u64 {
        self.platform.look().links.pings
    }
}
