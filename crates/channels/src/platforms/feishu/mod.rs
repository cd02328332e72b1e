//! Feishu and Lark: the long connection by default, so that no public address is needed; event callbacks as an option.
//!
//! **Invariant:** an event is acknowledged only after the inbox has taken it. One that could not be kept is answered
//! with a failure, and the platform brings it again. So is one that takes longer than the platform waits; it is gone on
//! with meanwhile, and known when it is brought again.

mod api;
mod callback;
mod card;
mod event;
mod frame;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use prost::Message as _;
use reqwest::Method;
use serde_json::{Value, json};
use throughline_model::channel::Platform;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, CallError, Ear};
use crate::channel::{Abilities, Channel, Formatting, MessageRef, Outbound, Place, Receipt, SendError, Unit, Upload};
use crate::setup::Manifest;
use crate::update::{Inbox, NotTaken, RemoteFile};
use api::{Api, ApiError};
use frame::{Frame, Pieces};

pub use callback::{CallbackKeys, Called, Disbelief, Signed};

/// What the rest of the house knows of it.
pub const MANIFEST: Manifest = Manifest::of::<settings::AppSettings>(Platform::named("feishu")).also(&["lark"]);
/// In China.
pub const FEISHU: &str = "https://open.feishu.cn";
/// Elsewhere.
pub const LARK: &str = "https://open.larksuite.com";
/// How long to wait after a failure, at first and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// The largest frame of the long connection.
const MAX_FRAME_BYTES: usize = 4 << 20;
/// How long an event may take: the platform waits three seconds for its answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(2_500);

const ABILITIES: Abilities = Abilities {
    buttons: true,
    edits: true,
    threads: true,
    formatting: Formatting::Rich,
    // A card takes 30 KB of JSON; its letters may each become an entity of six.
    max_length: 4_000,
    unit: Unit::Bytes,
    // The card itself changes, which says more than a word that vanishes.
    toasts: false,
    typing: false,
    // It is an hour there; clocks and calls take their time.
    remembers: Some(Duration::from_secs(50 * 60)),
    max_file_bytes: 20 << 20,
    max_upload_bytes: 30 << 20,
};

/// Our app there.
pub struct Feishu {
    api: Api,
    callback: Option<CallbackKeys>,
    ear: Ear,
}

impl Feishu {
    /// The app with these credentials; with keys for callbacks it waits for them instead of connecting.
    ///
    /// # Errors
    /// If no HTTP client can be made.
    pub fn new(
        domain: &str,
        app_id: &str,
        app_secret: &str,
        callback: Option<CallbackKeys>,
    ) -> Result<Self, reqwest::Error> {
        Ok(Feishu { api: Api::new(domain, app_id, app_secret)?, callback, ear: Ear::default() })
    }

    /// With this patience for an answer, instead of the usual one.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Feishu { api: self.api.with_patience(patience), ..self }
    }

    /// One event, from whom it is the platform's. Public for who tries the parser.
    ///
    /// # Errors
    /// If it could not be kept, or not in time: the platform must hear that, and brings it again.
    pub async fn brought(&self, event: &str, inbox: &Arc<dyn Inbox>) -> Result<(), NotTaken> {
        let Some(update) = event::read(event) else { return Ok(()) };
        let inbox = Arc::clone(inbox);
        let taking = tokio::spawn(async move { inbox.take(update).await });
        match tokio::time::timeout(ANSWER_WITHIN, taking).await {
            Ok(Ok(taken)) => taken,
            Ok(Err(error)) => Err(NotTaken(error.to_string())),
            Err(_) => Err(NotTaken("it takes longer than the platform waits".into())),
        }
    }

    /// Sends a message: as an answer where there is one to answer, and a thread is spoken to by answering its first.
    /// What answers a message that is gone is said all the same.
    async fn post(
        &self,
        place: &Place,
        answers: Option<&MessageRef>,
        key: &str,
        mut body: Value,
    ) -> Result<MessageRef, ApiError> {
        let (chat, root) = address(place);
        body["uuid"] = json!(key);
        let data = match answers.map(|answered| answered.0.as_str()).or(root) {
            Some(answered) => {
                body["reply_in_thread"] = json!(root.is_some());
                let path = format!("/open-apis/im/v1/messages/{answered}/reply");
                match self.api.call(Method::POST, &path, &body).await {
                    Err(error) if error.is_gone() && Some(answered) != root => {
                        return Box::pin(self.post(place, None, key, body)).await;
                    }
                    other => other?,
                }
            }
            None => {
                body["receive_id"] = json!(chat);
                self.api.call(Method::POST, "/open-apis/im/v1/messages?receive_id_type=chat_id", &body).await?
            }
        };
        let id = data.get("message_id").and_then(Value::as_str);
        id.map(|id| MessageRef(id.to_owned())).ok_or_else(|| ApiError::Lost("the message has no id".into()))
    }

    /// One long connection, until it breaks.
    async fn connection(&self, inbox: &Arc<dyn Inbox>) -> Result<(), String> {
        let endpoint = self.api.endpoint().await.map_err(|error| error.to_string())?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = tokio_tungstenite::tungstenite::protocol::WebSocketConfig::default();
        config.max_message_size = Some(MAX_FRAME_BYTES);
        config.max_frame_size = Some(MAX_FRAME_BYTES);
        let connected = tokio_tungstenite::connect_async_with_config(&endpoint.url, Some(config), true).await;
        let (mut socket, _) = connected.map_err(|error| error.to_string())?;
        let service = service(&endpoint.url);
        let mut ping = tokio::time::interval(endpoint.ping);
        let mut pieces = Pieces::default();
        let mut heard = true;
        loop {
            let message = tokio::select! {
                message = socket.next() => message.ok_or("the connection was closed")?,
                _ = ping.tick() => {
                    // Whoever says nothing from one question to the next is not there any more.
                    if !std::mem::take(&mut heard) {
                        return Err("the platform does not answer".into());
                    }
                    let asked = Frame::ping(service).encode_to_vec();
                    socket.send(Message::binary(asked)).await.map_err(|error| error.to_string())?;
                    continue;
                }
            };
            heard = true;
            let Message::Binary(bytes) = message.map_err(|error| error.to_string())? else { continue };
            let Ok(frame) = Frame::decode(bytes) else { continue };
            if !frame.is_event() {
                continue;
            }
            let Some(payload) = pieces.add(&frame) else { continue };
            let taken = self.brought(&String::from_utf8_lossy(&payload), inbox).await;
            let code = if taken.is_ok() { 200 } else { 500 };
            let answer = frame.answer(code).encode_to_vec();
            socket.send(Message::binary(answer)).await.map_err(|error| error.to_string())?;
        }
    }
}

#[async_trait]
impl Channel for Feishu {
    fn manifest(&self) -> &'static Manifest {
        &MANIFEST
    }

    fn abilities(&self) -> &'static Abilities {
        &ABILITIES
    }

    async fn send(&self, message: &Outbound) -> Result<Receipt, SendError> {
        let content = card::card(&message.text, &message.buttons).to_string();
        let sent = match &message.replaces {
            Some(known) => {
                let path = format!("/open-apis/im/v1/messages/{}", known.0);
                match self.api.call(Method::PATCH, &path, &json!({ "content": content })).await {
                    // To change a card again to the same is the same as once.
                    Err(ApiError::Lost(_)) => return Err(SendError::Later { after_secs: 1 }),
                    changed => changed.map(|_| known.clone()),
                }
            }
            None => {
                let body = json!({"msg_type": "interactive", "content": content});
                let key = format!("{}-{}", message.delivery, message.page);
                self.post(&message.place, message.answers.as_ref(), &key, body).await
            }
        };
        Ok(Receipt { message: sent? })
    }

    async fn upload(&self, file: &Upload) -> Result<Receipt, SendError> {
        let file_key = match self.api.upload(&file.name, &file.mime, &file.bytes).await {
            // Nobody sees a file that is in no message.
            Err(ApiError::Lost(_)) => return Err(SendError::Later { after_secs: 1 }),
            other => other?,
        };
        let body = json!({"msg_type": "file", "content": json!({ "file_key": file_key }).to_string()});
        let key = format!("{}-file", file.delivery);
        Ok(Receipt { message: self.post(&file.place, file.answers.as_ref(), &key, body).await? })
    }

    async fn fetch(&self, file: &RemoteFile, max_bytes: u64) -> Result<Vec<u8>, SendError> {
        let parts: Vec<_> = file.handle.split('/').collect();
        let [message, kind, key] = parts[..] else { return Err(SendError::Dead("there is no such file".into())) };
        let path = format!("/open-apis/im/v1/messages/{message}/resources/{key}?type={kind}");
        self.api.download(&path, max_bytes.min(ABILITIES.max_file_bytes)).await
    }

    async fn listen(&self, inbox: Arc<dyn Inbox>, stop: CancellationToken) {
        if self.callback.is_some() {
            let _open = self.ear.open(inbox);
            return stop.cancelled().await;
        }
        let mut pause = BACK_OFF.0;
        loop {
            let began = tokio::time::Instant::now();
            let ended = tokio::select! {
                ended = self.connection(&inbox) => ended,
                () = stop.cancelled() => return,
            };
            let why = ended.err().unwrap_or_default();
            // A connection that stood for a while was fine.
            if began.elapsed() > BACK_OFF.1 {
                pause = BACK_OFF.0;
            }
            tracing::warn!(why, wait_ms = pause.as_millis(), "feishu is not heard for a moment");
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(BACK_OFF.1),
                () = stop.cancelled() => return,
            }
        }
    }

    async fn called(&self, call: &Call) -> Result<Value, CallError> {
        let keys = self.callback.as_ref().ok_or(CallError::Unexpected)?;
        let header = |name: &str| call.header(name).unwrap_or_default();
        let signed = Signed {
            timestamp: header("x-lark-request-timestamp"),
            nonce: header("x-lark-request-nonce"),
            signature: header("x-lark-signature"),
        };
        match keys.read(&call.body, Some(signed), call.at_secs) {
            Ok(Called::Challenge(challenge)) => Ok(json!({ "challenge": challenge })),
            Ok(Called::Event(event)) => {
                self.brought(&event, &self.ear.inbox()?).await?;
                Ok(json!({}))
            }
            Err(disbelief) => Err(CallError::Disbelieved(disbelief.to_string())),
        }
    }
}

/// The service that the connection belongs to, as its address says.
fn service(url: &str) -> i32 {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|pair| pair.strip_prefix("service_id="));
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// The chat, and the first message of the thread in it.
fn address(place: &Place) -> (&str, Option<&str>) {
    place.0.split_once('/').map_or((place.0.as_str(), None), |(chat, root)| (chat, Some(root)))
}
