//! Telegram: long polling by default, a webhook as an option.
//!
//! **Invariant:** an update is acknowledged (by asking for the next one) only after the inbox has taken it, and the
//! ones after it wait meanwhile: nothing is lost and nothing overtakes.

mod api;
mod markdown;
mod pace;
mod update;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use throughline_model::conversation::Channel as Kind;
use tokio_util::sync::CancellationToken;

use crate::channel::{Abilities, Button, Channel, Formatting, MessageRef, Outbound, Place, Receipt, SendError, Unit};
use crate::update::{Inbox, NotTaken, Press, RemoteFile};
use api::{Api, ApiError};
use pace::Pace;
use update::{Numbered, Raw};

/// Where the real one is.
pub const ADDRESS: &str = "https://api.telegram.org";
/// How long the platform holds a question for news.
const HOLD: Duration = Duration::from_secs(50);
/// How long to wait after a failure, at first and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

const ABILITIES: Abilities = Abilities {
    buttons: true,
    edits: true,
    threads: true,
    formatting: Formatting::Rich,
    max_length: 4096,
    unit: Unit::Utf16,
    knows_deliveries: false,
    max_file_bytes: 20 << 20,
};

/// Our account there.
pub struct Telegram {
    api: Api,
    bot: String,
    pace: Pace,
    webhook: Option<Webhook>,
}

/// Where the platform may call us, instead of being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The public address.
    pub url: String,
    /// What the platform sends along, so that nobody else can call.
    pub secret: String,
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
        Ok(Telegram { api: Api::new(address, token)?, bot: bot.to_owned(), pace: Pace::default(), webhook })
    }

    /// One update that the platform brought by itself. Whoever calls has checked the secret.
    ///
    /// # Errors
    /// If it could not be kept: the platform must hear that, and brings it again.
    pub async fn brought(&self, body: &str, inbox: &dyn Inbox) -> Result<(), NotTaken> {
        match serde_json::from_str::<Raw>(body).ok().and_then(|raw| raw.read(&self.bot, body)) {
            Some(update) => inbox.take(update).await,
            None => Ok(()),
        }
    }

    async fn poll(&self, offset: Option<i64>) -> Result<Vec<Box<RawValue>>, ApiError> {
        let question =
            json!({"offset": offset, "timeout": HOLD.as_secs(), "allowed_updates": ["message", "callback_query"]});
        self.api.call_within(HOLD + Duration::from_secs(10), "getUpdates", &question).await
    }

    /// Hands updates on, in order, up to the first that is not taken. The answer is where to go on.
    async fn hand_on(
        &self,
        updates: &[Box<RawValue>],
        inbox: &dyn Inbox,
        mut offset: Option<i64>,
    ) -> (Option<i64>, Result<(), NotTaken>) {
        for raw in updates {
            let Ok(Numbered { update_id }) = serde_json::from_str(raw.get()) else { continue };
            let read = serde_json::from_str::<Raw>(raw.get()).ok().and_then(|known| known.read(&self.bot, raw.get()));
            if let Some(update) = read
                && let Err(error) = inbox.take(update).await
            {
                return (offset, Err(error));
            }
            offset = offset.max(Some(update_id + 1));
        }
        (offset, Ok(()))
    }

    async fn register(&self) -> Result<(), ApiError> {
        let _: Value = match &self.webhook {
            Some(webhook) => {
                let order = json!({"url": webhook.url, "secret_token": webhook.secret,
                    "allowed_updates": ["message", "callback_query"]});
                self.api.call("setWebhook", &order).await?
            }
            None => self.api.call("deleteWebhook", &json!({})).await?,
        };
        Ok(())
    }

    async fn write(&self, message: &Outbound, text: &str, markup: Option<&str>) -> Result<Receipt, ApiError> {
        let mut order = json!({"text": text, "parse_mode": markup, "link_preview_options": {"is_disabled": true}});
        order["reply_markup"] = json!({"inline_keyboard": keyboard(&message.buttons)});
        let (chat, topic) = address(&message.place);
        order["chat_id"] = json!(chat);
        if let Some(known) = &message.replaces {
            order["message_id"] = json!(number(known));
            let changed: Result<Value, _> = self.api.call("editMessageText", &order).await;
            return match changed {
                Err(error) if !error.is_unchanged() => Err(error),
                Ok(_) | Err(_) => Ok(Receipt { message: known.clone() }),
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
    fn kind(&self) -> Kind {
        Kind::Telegram
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
        match written {
            // To change a message twice is the same as once, so there is nothing to be unsure of.
            Err(ApiError::Lost(_)) if message.replaces.is_some() => Err(SendError::Later { after_secs: 1 }),
            other => Ok(other?),
        }
    }

    async fn acknowledge(&self, press: &Press, words: &str) -> Result<(), SendError> {
        let words: String = words.chars().take(190).collect();
        let order = json!({"callback_query_id": press.id, "text": words});
        let _: Value = self.api.call("answerCallbackQuery", &order).await?;
        Ok(())
    }

    async fn typing(&self, place: &Place) {
        let (chat, topic) = address(place);
        let order = json!({"chat_id": chat, "message_thread_id": topic, "action": "typing"});
        let _: Result<Value, _> = self.api.call("sendChatAction", &order).await;
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
        let mut offset = None;
        let mut pause = BACK_OFF.0;
        let mut registered = false;
        loop {
            let round = async {
                if !registered {
                    self.register().await.map_err(|error| error.to_string())?;
                }
                if self.webhook.is_some() {
                    std::future::pending::<()>().await;
                }
                let updates = self.poll(offset).await.map_err(|error| error.to_string())?;
                let (next, taken) = self.hand_on(&updates, inbox.as_ref(), offset).await;
                offset = next;
                taken.map_err(|error| error.to_string())
            };
            let ended = tokio::select! {
                ended = round => ended,
                () = stop.cancelled() => return,
            };
            match ended {
                Ok(()) => (registered, pause) = (true, BACK_OFF.0),
                Err(why) => {
                    tracing::warn!(why, wait_ms = pause.as_millis(), "telegram is not heard for a moment");
                    tokio::select! {
                        () = tokio::time::sleep(pause) => pause = (pause * 2).min(BACK_OFF.1),
                        () = stop.cancelled() => return,
                    }
                }
            }
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
