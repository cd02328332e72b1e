//! Telegram: long polling by default, a webhook as an option.
//!
//! **Invariant:** an update is acknowledged (by asking for the next one) only after the inbox has taken it, and the
//! ones after it wait meanwhile: nothing is lost and nothing overtakes.

mod api;
mod markdown;
mod pace;
mod settings;
mod update;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use throughline_model::channel::Platform;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, CallError, Ear};
use crate::channel::{
    Abilities, Button, Channel, Formatting, MessageRef, Outbound, Place, Receipt, SendError, Unit, Upload,
};
use crate::setup::Manifest;
use crate::update::{Inbox, NotTaken, Press, RemoteFile};
use api::{Api, ApiError};
use pace::Pace;
use update::{Me, Numbered, Raw};

/// What the rest of the house knows of it.
pub const MANIFEST: Manifest = Manifest::of::<settings::BotSettings>(Platform::named("telegram"));
/// Where the real one is.
pub const ADDRESS: &str = "https://api.telegram.org";
/// How long the platform holds a question for news.
const HOLD: Duration = Duration::from_secs(50);
/// How long to wait after a failure, at first and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What is wanted of what happens there.
const UPDATES: [&str; 3] = ["message", "edited_message", "callback_query"];

const ABILITIES: Abilities = Abilities {
    buttons: true,
    edits: true,
    threads: true,
    formatting: Formatting::Rich,
    max_length: 4096,
    unit: Unit::Utf16,
    toasts: true,
    typing: true,
    remembers: None,
    max_file_bytes: 20 << 20,
    max_upload_bytes: 50 << 20,
};

/// Our account there.
pub struct Telegram {
    api: Api,
    bot: String,
    /// What people call us with, once the platform has said it.
    name: OnceLock<String>,
    pace: Pace,
    webhook: Option<Webhook>,
    ear: Ear,
}

/// Where the platform may call us, instead of being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The public address.
    pub url: String,
    /// What the platform sends along, so that nobody else can call.
    pub secret: String,
}

impl Webhook {
    /// A webhook at this address, for the bot with this token. The secret follows from the token, so that it is the
    /// same after a restart and has to be kept nowhere; who sees it learns nothing of the token.
    #[must_use]
    pub fn at(url: String, token: &str) -> Self {
        let digest = Sha256::digest(format!("throughline webhook {token}").as_bytes());
        Self { url, secret: digest.iter().map(|byte| format!("{byte:02x}")).collect() }
    }

    /// Whether this is the secret that was agreed; how much of it is right does not show in the time it takes.
    fn lets_in(&self, secret: &str) -> bool {
        crate::same(secret.as_bytes(), self.secret.as_bytes())
    }
}

/// Why a channel cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The token is not one.
    #[error("the bot's token must look like 123456:ABC…")]
    Token,
    /// The client cannot be made.
    #[error("no HTTP client: {0}")]
    Http(#[from] reqwest::Error),
}

#[derive(Deserialize)]
struct About {
    username: Option<String>,
}

#[derive(Deserialize)]
struct Sent {
    message_id: i64,
}

impl Telegram {
    /// The account that this token is for.
    ///
    /// # Errors
    /// If the token cannot be one.
    pub fn new(address: &str, token: &str, webhook: Option<Webhook>) -> Result<Self, SetupError> {
        let (bot, secret) = token.split_once(':').ok_or(SetupError::Token)?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if bot.is_empty() || secret.is_empty() || !plain(bot) || !plain(secret) {
            return Err(SetupError::Token);
        }
        Ok(Telegram {
            api: Api::new(address, token)?,
            bot: bot.to_owned(),
            name: OnceLock::new(),
            pace: Pace::default(),
            webhook,
            ear: Ear::default(),
        })
    }

    /// With this patience for an answer, instead of the usual one.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Telegram { api: self.api.with_patience(patience), ..self }
    }

    /// One update, from whom it is the platform's. Public for who tries the parser.
    ///
    /// # Errors
    /// If it could not be kept: the platform must hear that, and brings it again.
    pub async fn brought(&self, body: &str, inbox: &dyn Inbox) -> Result<(), NotTaken> {
        let me = Me { bot: &self.bot, name: self.name.get().map(String::as_str) };
        match serde_json::from_str::<Raw>(body).ok().and_then(|raw| raw.read(me, body)) {
            Some(update) => inbox.take(update).await,
            None => Ok(()),
        }
    }

    async fn poll(&self, offset: Option<i64>) -> Result<Vec<Box<RawValue>>, ApiError> {
        let question = json!({"offset": offset, "timeout": HOLD.as_secs(), "allowed_updates": UPDATES});
        self.api.call_within(HOLD + Duration::from_secs(10), "getUpdates", &question).await
    }

    /// One question for updates, and what comes of it. With a webhook there is none: the platform brings them.
    async fn round(&self, heard: &mut Heard, inbox: &dyn Inbox) -> Result<(), Setback> {
        if !heard.registered {
            self.register().await?;
            heard.registered = true;
        }
        if self.webhook.is_some() {
            std::future::pending::<()>().await;
        }
        let updates = self.poll(heard.offset).await?;
        // By number, whatever order they came in: an acknowledgement covers all below it.
        let numbered = |raw: Box<RawValue>| {
            let Numbered { update_id } = serde_json::from_str(raw.get()).ok()?;
            Some((update_id, raw))
        };
        let mut updates: Vec<_> = updates.into_iter().filter_map(numbered).collect();
        updates.sort_by_key(|(update_id, _)| *update_id);
        for (update_id, raw) in updates {
            self.brought(raw.get(), inbox).await?;
            heard.offset = heard.offset.max(Some(update_id.saturating_add(1)));
        }
        Ok(())
    }

    /// Learns who we are, and says which way we listen.
    async fn register(&self) -> Result<(), ApiError> {
        let About { username } = self.api.call("getMe", &json!({})).await?;
        if let Some(name) = username {
            // It is the same as before: a bot's name does not change while it has its token.
            let _ = self.name.set(name);
        }
        match &self.webhook {
            Some(webhook) => {
                // One at a time, so that nothing overtakes.
                let order = json!({"url": webhook.url, "secret_token": webhook.secret, "max_connections": 1,
                    "allowed_updates": UPDATES});
                self.api.tell("setWebhook", &order).await
            }
            None => self.api.tell("deleteWebhook", &json!({})).await,
        }
    }

    async fn write(&self, message: &Outbound, text: &str, markup: Option<&str>) -> Result<Receipt, ApiError> {
        let mut order = json!({"text": text, "parse_mode": markup, "link_preview_options": {"is_disabled": true}});
        order["reply_markup"] = json!({"inline_keyboard": keyboard(&message.buttons)});
        let (chat, topic) = address(&message.place);
        order["chat_id"] = json!(chat);
        if let Some(known) = &message.replaces {
            order["message_id"] = json!(number(known));
            let changed = self.api.tell("editMessageText", &order).await;
            return match changed {
                Err(error) if !error.is_unchanged() => Err(error),
                Ok(()) | Err(_) => Ok(Receipt { message: known.clone() }),
            };
        }
        order["message_thread_id"] = json!(topic);
        order["disable_notification"] = json!(message.quiet);
        if let Some(answered) = &message.answers {
            let answered = json!({"message_id": number(answered), "allow_sending_without_reply": true});
            order["reply_parameters"] = answered;
        }
        let sent: Sent = self.api.call("sendMessage", &order).await?;
        Ok(Receipt { message: MessageRef(format!("{chat}:{}", sent.message_id)) })
    }
}

#[async_trait]
impl Channel for Telegram {
    fn manifest(&self) -> &'static Manifest {
        &MANIFEST
    }

    fn abilities(&self) -> &'static Abilities {
        &ABILITIES
    }

    async fn send(&self, message: &Outbound) -> Result<Receipt, SendError> {
        self.pace.wait(address(&message.place).0).await;
        let rendered = markdown::render(&message.text);
        let written = match self.write(message, &rendered, Some("MarkdownV2")).await {
            // Better without its shape than not at all.
            Err(error) if error.is_unreadable() => self.write(message, &message.text.letters(), None).await,
            other => other,
        };
        if written.as_ref().is_err_and(ApiError::is_too_fast) {
            self.pace.slow_down(address(&message.place).0);
        }
        match written {
            // To change a message twice is the same as once, so there is nothing to be unsure of.
            Err(ApiError::Lost(_)) if message.replaces.is_some() => Err(SendError::Later { after_secs: 1 }),
            other => Ok(other?),
        }
    }

    async fn upload(&self, file: &Upload) -> Result<Receipt, SendError> {
        let (chat, topic) = address(&file.place);
        self.pace.wait(chat).await;
        let part = Part::bytes(file.bytes.clone()).file_name(file.name.clone());
        let part = part.mime_str(&file.mime).map_err(|error| SendError::Dead(error.without_url().to_string()))?;
        let mut form = Form::new().text("chat_id", chat.to_string()).part("document", part);
        if let Some(topic) = topic {
            form = form.text("message_thread_id", topic.to_string());
        }
        if let Some(answered) = &file.answers {
            let answered = json!({"message_id": number(answered), "allow_sending_without_reply": true});
            form = form.text("reply_parameters", answered.to_string());
        }
        let sent: Result<Sent, _> = self.api.call_with_file("sendDocument", form).await;
        if sent.as_ref().is_err_and(ApiError::is_too_fast) {
            self.pace.slow_down(chat);
        }
        let sent = sent?;
        Ok(Receipt { message: MessageRef(format!("{chat}:{}", sent.message_id)) })
    }

    async fn acknowledge(&self, press: &Press, words: &str) -> Result<(), SendError> {
        let words: String = words.chars().take(190).collect();
        let order = json!({"callback_query_id": press.id, "text": words});
        Ok(self.api.tell("answerCallbackQuery", &order).await?)
    }

    async fn typing(&self, place: &Place) {
        let (chat, topic) = address(place);
        let order = json!({"chat_id": chat, "message_thread_id": topic, "action": "typing"});
        // Nothing depends on it.
        let _ = self.api.tell("sendChatAction", &order).await;
    }

    async fn invitation(&self, code: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Me {
            username: String,
        }
        let me: Me = self.api.call("getMe", &json!({})).await.ok()?;
        Some(format!("https://t.me/{}?start={code}", me.username))
    }

    async fn fetch(&self, file: &RemoteFile, max_bytes: u64) -> Result<Vec<u8>, SendError> {
        #[derive(Deserialize)]
        struct Found {
            file_path: String,
        }
        let found: Found = self.api.call("getFile", &json!({"file_id": file.handle})).await?;
        self.api.download(&found.file_path, max_bytes.min(ABILITIES.max_file_bytes)).await
    }

    async fn listen(&self, inbox: Arc<dyn Inbox>, stop: CancellationToken) {
        let _open = self.ear.open(Arc::clone(&inbox));
        let mut heard = Heard::default();
        let mut pause = BACK_OFF.0;
        loop {
            let (began, before) = (Instant::now(), heard.offset);
            let ended = tokio::select! {
                ended = self.round(&mut heard, inbox.as_ref()) => ended,
                () = stop.cancelled() => return,
            };
            let wait = match ended {
                Ok(()) => {
                    pause = BACK_OFF.0;
                    // A server that does not hold the question, or an update without a number: do not ask in a loop.
                    let idle = heard.offset == before && began.elapsed() < BACK_OFF.0;
                    if idle { BACK_OFF.0 } else { continue }
                }
                Err(setback) => {
                    let wait = pause.max(setback.at_least());
                    tracing::warn!(why = %setback, wait_ms = wait.as_millis(), "telegram is not heard for a moment");
                    heard.registered = false;
                    pause = (pause * 2).min(BACK_OFF.1);
                    wait
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn called(&self, call: &Call) -> Result<Value, CallError> {
        let webhook = self.webhook.as_ref().ok_or(CallError::Unexpected)?;
        if !webhook.lets_in(call.header("x-telegram-bot-api-secret-token").unwrap_or_default()) {
            return Err(CallError::Disbelieved("the secret token is not the one that was agreed".into()));
        }
        self.brought(&call.body, self.ear.inbox()?.as_ref()).await?;
        Ok(json!({}))
    }
}

/// How far listening has come.
#[derive(Default)]
struct Heard {
    /// The platform knows which way we listen.
    registered: bool,
    /// The next update.
    offset: Option<i64>,
}

/// Why listening stops for a moment.
#[derive(Debug, thiserror::Error)]
enum Setback {
    #[error("{0}")]
    Api(#[from] ApiError),
    #[error("{0}")]
    NotTaken(#[from] NotTaken),
}

impl Setback {
    /// How long the platform wants to be left alone.
    fn at_least(&self) -> Duration {
        match self {
            Setback::Api(ApiError::Refused { retry_after_secs: Some(secs), .. }) => Duration::from_secs(*secs),
            Setback::Api(_) | Setback::NotTaken(_) => Duration::ZERO,
        }
    }
}

/// The chat, and the topic in it.
fn address(place: &Place) -> (i64, Option<i64>) {
    let (chat, topic) = place.0.split_once('/').map_or((place.0.as_str(), None), |(chat, topic)| (chat, Some(topic)));
    (chat.parse().unwrap_or_default(), topic.and_then(|topic| topic.parse().ok()))
}

/// The message's number in its chat.
fn number(message: &MessageRef) -> i64 {
    message.0.rsplit(':').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn keyboard(rows: &[Vec<Button>]) -> Value {
    let button = |button: &Button| json!({"text": button.label, "callback_data": button.token});
    rows.iter().map(|row| row.iter().map(button).collect::<Value>()).collect()
}
