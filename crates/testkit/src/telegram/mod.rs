//! A Bot API on loopback that keeps the platform's rules, for tests of the Telegram channel and of everything above it.
//!
//! What it is honest about: updates stay until a higher offset confirms them, and the newest question for them wins;
//! MarkdownV2 is read by the platform's rules ([`markdown_v2`]) and refused in its words; 4,096 UTF-16 units are the
//! most; a bot cannot write to whom never wrote to it, nor change a message into itself, nor answer a press that never
//! was. The faults of [`Fault`] are for one call each; some ([`BotApi::revoke`], [`BotApi::block`]) last.
//!
//! *Invariant:* it listens on loopback only, it reads no clock, and nothing happens that a test or a call did not ask
//! for. Its methods block, so that tests without a runtime can use it; a test with one needs more than one thread.

pub mod markdown_v2;
mod methods;
mod server;
mod state;
mod webhook;

use std::sync::Arc;

use serde_json::{Value, json};

pub use state::{Call, Document, Hook, Key, Sent};

use crate::fault::Fault;
use crate::loopback::Loopback;
use crate::watched::Watched;
use state::{Pending, Platform};

/// The bot's token.
pub const TOKEN: &str = "7000000007:AAF-stub_stub_stub_stub_stub_stub_st";

/// The platform, until it is dropped.
pub struct BotApi {
    platform: Arc<Watched<Platform>>,
    loopback: Loopback,
}

impl BotApi {
    /// Listens on a free port of the loopback address.
    ///
    /// # Panics
    /// If the machine has none to give.
    #[must_use]
    pub fn start() -> Self {
        let platform = Arc::new(Watched::new(Platform::new(TOKEN)));
        let loopback = Loopback::serve(server::router(Arc::clone(&platform)));
        loopback.spawn(webhook::deliver(Arc::clone(&platform)));
        Self { platform, loopback }
    }

    /// Where it listens, such as `http://127.0.0.1:41233`.
    #[must_use]
    pub fn url(&self) -> String {
        self.loopback.url()
    }

    /// The bot's token.
    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    // What people do. Each answers with the number of the update.

    /// A person writes to the bot.
    pub fn says(&self, user: i64, text: &str) -> i64 {
        self.says_in(user, user, json!({ "text": text }))
    }

    /// A person writes in a chat; a negative number is a group's. `content` has what else the message has, such as
    /// `reply_to_message`.
    pub fn says_in(&self, chat: i64, user: i64, content: Value) -> i64 {
        self.platform.change(|known| {
            let message = known.message(chat, user, content);
            known.bring(json!({ "message": message }))
        })
    }

    /// A person answers one of the bot's messages.
    pub fn answers(&self, user: i64, answered: &Sent, text: &str) -> i64 {
        let told = self.platform.look().told(answered);
        let mut content = json!({"text": text, "reply_to_message": told});
        if let Some(topic) = answered.topic {
            content["message_thread_id"] = json!(topic);
            content["is_topic_message"] = json!(true);
        }
        self.says_in(answered.chat, user, content)
    }

    /// A person presses a button. Answers with the press's own name.
    pub fn presses(&self, user: i64, under: &Sent, data: &str) -> String {
        self.platform.change(|known| {
            let id = format!("{}", 4_000_000_000_000_000_000_i64 + i64::try_from(known.presses.len()).unwrap_or(0));
            known.presses.insert(id.clone(), None);
            let from = json!({"id": user, "is_bot": false, "first_name": "Test"});
            let message = known.told(under);
            let press = json!({"id": id, "from": from, "message": message, "chat_instance": "1", "data": data});
            known.bring(json!({ "callback_query": press }));
            id
        })
    }

    /// A person sends a file.
    pub fn sends_file(&self, user: i64, name: &str, mime: &str, bytes: &[u8]) -> i64 {
        let id = self.keeps_file(bytes);
        let document = json!({"file_id": id, "file_unique_id": id, "file_name": name, "mime_type": mime,
            "file_size": bytes.len()});
        self.says_in(user, user, json!({ "document": document }))
    }

    /// A file is on the platform. Answers with its id.
    pub fn keeps_file(&self, bytes: &[u8]) -> String {
        self.platform.change(|known| {
            let id = format!("BQACAgIAAxkBA-{}", known.files.len());
            known.files.insert(id.clone(), bytes.to_vec());
            id
        })
    }

    /// A topic begins in a group. Answers with its number.
    pub fn topic(&self, chat: i64) -> i64 {
        self.platform.change(|known| {
            let number = known.number(chat);
            known.chat(chat).topics.insert(number);
            number
        })
    }

    /// A person has started the bot before, so that it can write to them.
    pub fn knows(&self, chat: i64) {
        self.platform.change(|known| {
            known.chat(chat);
        });
    }

    /// A person blocks the bot.
    pub fn block(&self, chat: i64) {
        self.platform.change(|known| known.chat(chat).blocked = true);
    }

    /// An update of any form; it gets a number unless it is no object.
    pub fn brings(&self, update: Value) -> i64 {
        self.platform.change(|known| known.bring(update))
    }

    /// Something that stands where an update should. Whatever it says of its own number, it has this one.
    pub fn brings_raw(&self, json: &str) -> i64 {
        self.platform.change(|known| {
            known.feed.last += 1;
            let id = known.feed.last;
            known.feed.pending.push(Pending { id, body: json.to_owned() });
            id
        })
    }

    /// The next answer to a question for updates has them in the wrong order.
    pub fn reverse(&self) {
        self.platform.change(|known| known.feed.reversed = true);
    }

    /// What the platform has not seen confirmed comes again, and so does the update with this number and text, though
    /// it was confirmed.
    pub fn brings_again(&self, id: i64, update: Value) {
        let mut update = update;
        update["update_id"] = json!(id);
        let again = Pending { id, body: update.to_string() };
        self.platform.change(|known| known.feed.pending.insert(0, again));
    }

    /// Brings an update once more, confirmed or not.
    ///
    /// # Panics
    /// If there was none with this number.
    pub fn repeats(&self, id: i64) {
        self.platform.change(|known| {
            let found = known.feed.history.get(&id).cloned().unwrap_or_else(|| panic!("there was no update {id}"));
            // By number, as the platform tells them.
            let at = known.feed.pending.partition_point(|pending| pending.id < id);
            known.feed.pending.insert(at, Pending { id, body: found });
        });
    }

    /// What people do happens at this time, in seconds since 1970: the platform's clock need not be ours.
    pub fn set_clock(&self, date: i64) {
        self.platform.change(|known| known.date = date);
    }

    // What goes wrong.

    /// The next call of this method goes wrong.
    pub fn fails(&self, method: &str, fault: Fault) {
        self.platform.change(|known| known.faults.plan(method, fault));
    }

    /// The next call of this method is refused.
    pub fn refuses(&self, method: &str, code: u16, description: &str) {
        let body = json!({"ok": false, "error_code": code, "description": description});
        self.fails(method, Fault::Refuse { status: code, body, header: None });
    }

    /// The next call of this method is too fast.
    pub fn slows(&self, method: &str, retry_after_secs: u64) {
        let description = format!("Too Many Requests: retry after {retry_after_secs}");
        let parameters = json!({ "retry_after": retry_after_secs });
        let body = json!({"ok": false, "error_code": 429, "description": description, "parameters": parameters});
        self.fails(method, Fault::Refuse { status: 429, body, header: None });
    }

    /// Calls of this method are not answered until it is said otherwise; `None` lets all go on.
    pub fn hold(&self, method: Option<&str>) {
        self.platform.change(|known| known.held = method.map(str::to_owned));
    }

    /// The token is no longer good, or is again.
    pub fn revoke(&self, revoked: bool) {
        self.platform.change(|known| known.revoked = revoked);
    }

    /// Calls to the bot's address come out here, on loopback, as through a tunnel that has the certificate.
    pub fn set_tunnel(&self, address: &str) {
        self.platform.change(|known| known.feed.tunnel = Some(address.to_owned()));
    }

    // What was seen.

    /// The bot's messages, as people see them now.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.platform.look().sent.clone()
    }

    /// Waits for the first of the bot's messages that is like this.
    ///
    /// # Panics
    /// If it does not come.
    pub fn wait_for_sent(&self, wanted: impl Fn(&Sent) -> bool) -> Sent {
        let found = self.platform.wait_for(|known| known.sent.iter().find(|sent| wanted(sent)).cloned());
        found.unwrap_or_else(|| panic!("the message does not come; what came: {:#?}", self.sent()))
    }

    /// What a press was answered with, once it is.
    ///
    /// # Panics
    /// If it is not answered.
    pub fn wait_for_answer(&self, press: &str) -> String {
        let found = self.platform.wait_for(|known| known.presses.get(press).cloned().flatten());
        found.unwrap_or_else(|| panic!("the press {press} is not answered"))
    }

    /// All calls of this method, refused ones included.
    #[must_use]
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let known = self.platform.look();
        known.calls.iter().filter(|call| call.method == method).map(|call| call.body.clone()).collect()
    }

    /// Waits for so many calls of this method, and gives the last of them. It has come; it need not be done.
    ///
    /// # Panics
    /// If they do not come.
    pub fn wait_for_calls(&self, method: &str, count: usize) -> Value {
        let found = self.platform.wait_for(|known| {
            known.calls.iter().filter(|call| call.method == method).nth(count - 1).map(|call| call.body.clone())
        });
        found.unwrap_or_else(|| panic!("{count} calls of {method} do not come"))
    }

    /// Updates below this number were confirmed.
    #[must_use]
    pub fn confirmed(&self) -> i64 {
        self.platform.look().feed.confirmed
    }

    /// Waits until every update below this number is confirmed.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_for_confirmed(&self, below: i64) {
        let found = self.platform.wait_for(|known| (known.feed.confirmed >= below).then_some(()));
        found.unwrap_or_else(|| panic!("{below} is not confirmed, only {}", self.confirmed()));
    }

    /// Waits until nothing is left to be confirmed or to be taken by the webhook.
    ///
    /// # Panics
    /// If something stays.
    pub fn wait_for_quiet(&self) {
        let found = self.platform.wait_for(|known| known.feed.pending.is_empty().then_some(()));
        found.unwrap_or_else(|| panic!("updates stay unconfirmed"));
    }

    /// Waits until no more updates than these wait, however long that takes while some go.
    ///
    /// # Panics
    /// If none goes for a while.
    pub fn wait_for_backlog(&self, most: usize) {
        let mut last = usize::MAX;
        loop {
            let waiting = |known: &Platform| known.feed.pending.len();
            let went = self
                .platform
                .wait_for(|known| (waiting(known) <= most || waiting(known) < last).then(|| waiting(known)));
            last = went.unwrap_or_else(|| panic!("{last} updates stay"));
            if last <= most {
                return;
            }
        }
    }

    /// Waits until the bot wants to be called, and says where.
    ///
    /// # Panics
    /// If it does not.
    pub fn wait_for_hook(&self) -> Hook {
        self.platform.wait_for(|known| known.feed.hook.clone()).unwrap_or_else(|| panic!("there is no webhook"))
    }

    /// Where the bot wants to be called.
    #[must_use]
    pub fn hook(&self) -> Option<Hook> {
        self.platform.look().feed.hook.clone()
    }
}
