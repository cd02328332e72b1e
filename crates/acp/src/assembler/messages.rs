//! Messages and thoughts: chunks are folded into one open text, which is recorded once, when it is finished.
//!
//! A text that an agent takes up again after it was recorded goes on as another item, because an item of text
//! is never revised.

use agent_client_protocol_schema::v1 as acp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use throughline_model::content::{BlobRef, ContentBlock};
use throughline_model::ids::{ItemId, TurnId};
use throughline_model::item::{Item, ItemBody, NoteKind};

use super::{Assembler, Replay};
use crate::happening::{Happening, Live, LiveKind, Reason};

/// Who speaks in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Agent,
    Thought,
    Person,
}

impl Voice {
    fn word(self) -> &'static str {
        match self {
            Voice::Agent => "message",
            Voice::Thought => "thought",
            Voice::Person => "prompt",
        }
    }

    fn live_kind(self) -> Option<LiveKind> {
        match self {
            Voice::Agent => Some(LiveKind::Message),
            Voice::Thought => Some(LiveKind::Thought),
            Voice::Person => None,
        }
    }
}

/// The text in hand.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub(super) item: ItemId,
    pub(super) turn: Option<TurnId>,
    voice: Voice,
    /// The agent's id of it, where it has one.
    pub(super) name: Option<String>,
    /// Where its first chunk begins in the spool.
    pub(super) start: u64,
    text: String,
    attachments: Vec<Attachment>,
    question: bool,
}

#[derive(Debug)]
struct Attachment {
    block: ContentBlock,
    blob: BlobRef,
    bytes: Vec<u8>,
}

impl OpenMessage {
    pub(super) fn so_far(&self) -> Option<Live> {
        let kind = self.voice.live_kind()?;
        Some(Live { item: self.item, turn: self.turn, kind, at: 0, text: self.text.clone() })
    }

    /// What the agent has said in it, if it is the agent's.
    pub(super) fn said(&self) -> Option<&str> {
        (self.voice == Voice::Agent).then_some(self.text.as_str())
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.attachments.iter().map(|attached| attached.bytes.len()).sum::<usize>()
    }

    /// Takes a block in; says what text it added.
    fn take(&mut self, block: acp::ContentBlock) -> String {
        let added = match block {
            acp::ContentBlock::Text(text) => text.text,
            acp::ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
            acp::ContentBlock::Image(image) => self.attach_base64(image.mime_type, image.uri, &image.data),
            acp::ContentBlock::Audio(audio) => self.attach_base64(audio.mime_type, None, &audio.data),
            acp::ContentBlock::Resource(resource) => self.attach_resource(resource.resource),
            _ => String::new(),
        };
        self.text.push_str(&added);
        added
    }

    fn attach_resource(&mut self, resource: acp::EmbeddedResourceResource) -> String {
        match resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => {
                let mime = text.mime_type.unwrap_or_else(|| "text/plain".to_owned());
                self.attach(mime, Some(text.uri), text.text.into_bytes())
            }
            acp::EmbeddedResourceResource::BlobResourceContents(blob) => {
                let mime = blob.mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                self.attach_base64(mime, Some(blob.uri), &blob.blob)
            }
            _ => String::new(),
        }
    }

    fn attach_base64(&mut self, mime: String, name: Option<String>, base64: &str) -> String {
        match STANDARD.decode(base64) {
            Ok(bytes) => self.attach(mime, name, bytes),
            // Whatever it was, it cannot be shown; that it was there can.
            Err(_) => format!("[{mime} that could not be read]"),
        }
    }

    /// Only a message holds attachments; elsewhere a word stands for them.
    fn attach(&mut self, mime: String, name: Option<String>, bytes: Vec<u8>) -> String {
        if self.voice != Voice::Agent {
            return format!("[{mime}]");
        }
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let blob = BlobRef { sha256, bytes: bytes.len() as u64 };
        let block = if mime.starts_with("image/") {
            ContentBlock::Image { blob: blob.clone(), mime, name }
        } else {
            let name = name.unwrap_or_else(|| "attachment".to_owned());
            ContentBlock::File { blob: blob.clone(), mime, name }
        };
        self.attachments.push(Attachment { block, blob, bytes });
        String::new()
    }
}

impl Assembler {
    pub(super) fn chunk(&mut self, voice: Voice, update: &RawValue, outer: Option<&acp::Meta>) {
        let Ok(chunk) = serde_json::from_str::<acp::ContentChunk>(update.get()) else {
            return self.unknown(update);
        };
        let name = chunk.message_id.as_ref().map(ToString::to_string).filter(|name| !name.is_empty());
        let named = name.as_deref().map(|name| self.id_of(voice.word(), name));
        if self.passes_replay(named) {
            return;
        }
        if voice == Voice::Person && !(self.replay == Replay::Keep && self.is_replay(named)) {
            self.finish_message();
            return self.out.push(Happening::Passed(Reason::Echo));
        }
        let question = [outer, chunk.meta.as_ref()].into_iter().flatten().any(asks) || block_asks(&chunk.content);
        self.open_message(voice, name, named);
        let Some(open) = &mut self.message else {
            return;
        };
        open.question |= question;
        let (item, at) = (open.item, open.text.len());
        let text = open.take(chunk.content);
        match voice.live_kind() {
            Some(kind) => self.live(item, kind, at, text),
            None => self.out.push(Happening::Passed(Reason::Replay)),
        }
    }

    /// Makes sure that the open message is the one that a chunk belongs to.
    fn open_message(&mut self, voice: Voice, name: Option<String>, named: Option<ItemId>) {
        let goes_on = self
            .message
            .as_ref()
            .is_some_and(|open| open.voice == voice && open.name == name && open.bytes() < self.limits.text_bytes);
        if goes_on {
            return;
        }
        self.finish_message();
        let item = match (named, &name) {
            (Some(named), _) if !self.ledger.is_taken(named) => named,
            (_, Some(name)) => self.id_here(&format!("{}:{name}", voice.word())),
            (_, None) => self.id_here(voice.word()),
        };
        self.message = Some(OpenMessage {
            item,
            turn: self.turn(),
            voice,
            name,
            start: self.position.line,
            text: String::new(),
            attachments: Vec::new(),
            question: false,
        });
    }

    pub(super) fn finish_message(&mut self) {
        let Some(open) = self.message.take() else {
            return;
        };
        if open.text.is_empty() && open.attachments.is_empty() {
            return;
        }
        let mut attachments = Vec::with_capacity(open.attachments.len());
        for Attachment { block, blob, bytes } in open.attachments {
            attachments.push(block);
            self.out.push(Happening::Attached { blob, bytes });
        }
        let text = open.text.into();
        let body = match open.voice {
            Voice::Agent => ItemBody::Message { text, attachments, question: open.question },
            Voice::Thought => ItemBody::Thought { text },
            Voice::Person => {
                let text = text.head().to_owned();
                return self.out.push(Happening::Retold { item: open.item, text });
            }
        };
        self.record(Item { id: open.item, turn: open.turn, body });
    }

    /// Keeps an update whose kind or form this version does not know.
    pub(super) fn unknown(&mut self, update: &RawValue) {
        if !self.passes_replay(None) {
            self.note(NoteKind::UnknownUpdate, update.get().to_owned());
        }
    }
}

/// Whether a message is marked as a question that the agent waits on.
fn asks(meta: &acp::Meta) -> bool {
    meta.get("throughline").and_then(|ours| ours.get("question")) == Some(&Value::Bool(true))
}

fn block_asks(block: &acp::ContentBlock) -> bool {
    match block {
        acp::ContentBlock::Text(text) => text.meta.as_ref().is_some_and(asks),
        _ => false,
    }
}
