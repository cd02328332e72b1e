//! Prompts, cancels and answers become frames. A frame's id is that of its effect's meaning, so the keeper writes it once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use throughline_acp::outgoing::{self, ConfigValue, OutgoingFrame, PromptBlock, ResourceContents};
use throughline_acp::request_id::AgentRequestId;
use throughline_keeper::Activity;
use throughline_model::content::{BlobRef, ContentBlock, Text};
use throughline_model::effect::Process;
use throughline_model::ids::TurnId;
use throughline_model::runtime_session::{Capabilities, RuntimeDescription, RuntimeSession};
use throughline_model::time::Timestamp;
use throughline_model::turn::TurnStage;
use tokio::time::Instant;

use super::Driver;
use super::link::Parcel;
use crate::error::EngineError;

/// What is said to an agent, with the session it is said in.
struct Spoken {
    native: String,
    blocks: Vec<PromptBlock>,
}

impl Driver {
    /// Hands a turn's prompt on, once.
    pub(super) async fn prompt(&mut self, key: String, process: Process, turn: TurnId) {
        let spoken = match self.spoken(process, turn).await {
            Ok(Some(spoken)) => spoken,
            // The turn ended before it was handed on, or long after.
            Ok(None) => return self.shared.settle(vec![key]).await,
            Err(error) => {
                tracing::error!(%error, %turn, "a prompt cannot be read");
                return self.shared.in_hand.release(&key);
            }
        };
        self.shared.checkpoint_before(process, turn).await;
        let stalls_at = Instant::now() + self.shared.config.stall_after;
        let Some(link) = self.link_to(process) else {
            // Its process is being attached, or has just died; either way the effect is performed again or settled.
            return self.shared.in_hand.release(&key);
        };
        let open = link.assembler.begin_turn(turn);
        link.stalls_at = Some(stalls_at);
        link.send(Parcel::Activity(Activity::Busy));
        let frame = outgoing::prompt(turn, &spoken.native, &spoken.blocks);
        link.send(Parcel::Frame { frame, key: Some(key), turn: Some(turn) });
        self.take(open).await;
    }

    async fn spoken(&self, process: Process, turn: TurnId) -> Result<Option<Spoken>, EngineError> {
        let state = self.shared.core.task(process.task).await?;
        let execution = state.task().and_then(|task| task.execution_in(turn));
        let running = execution.and_then(|execution| {
            let running = execution.active.as_ref().is_some_and(|active| active.stage == TurnStage::Running);
            execution.prompt().filter(|_| running).zip(execution.session.as_ref())
        });
        let Some((prompt, session)) = running else { return Ok(None) };
        let Some(native) = native_of(session, process) else { return Ok(None) };
        let offers = &session.description.capabilities;
        let shows = execution
            .and_then(|known| self.shared.config.agent(&known.agent))
            .is_none_or(|agent| agent.quirks.shows_documents);
        let as_document = offers.embedded_context && shows;
        let mut blocks = vec![];
        if let Some(role) = prompt.role {
            let preamble = self.shared.config.briefing.roles.of(role).preamble.trim();
            let told = (!preamble.is_empty()).then(|| document("role.md", preamble.to_owned(), as_document));
            blocks.extend(told);
        }
        if let Some(handoff) = prompt.handoff {
            blocks.push(document("handoff.md", self.shared.brief(process, turn, handoff).await?, as_document));
        }
        if !prompt.findings.is_empty() {
            let findings = self.shared.findings(process.task, prompt.findings).await?;
            blocks.push(document("findings.md", findings, as_document));
        }
        for block in &prompt.input.content {
            blocks.push(self.block(block, offers).await?);
        }
        Ok(Some(Spoken { native, blocks }))
    }

    async fn block(&self, block: &ContentBlock, offers: &Capabilities) -> Result<PromptBlock, EngineError> {
        Ok(match block {
            ContentBlock::Text { text: Text::Inline(text) } => PromptBlock::Text(text.clone()),
            ContentBlock::Text { text: Text::Blob { blob, .. } } => {
                PromptBlock::Text(String::from_utf8_lossy(&self.bytes(blob).await?).into_owned())
            }
            ContentBlock::Image { blob, mime, .. } if offers.images => {
                PromptBlock::Image { mime: mime.clone(), base64: STANDARD.encode(self.bytes(blob).await?) }
            }
            ContentBlock::Image { blob, mime, name } => {
                let name = name.clone().unwrap_or_else(|| "image".into());
                left_out(&name, mime, blob)
            }
            ContentBlock::File { blob, mime, name } => {
                let bytes = self.bytes(blob).await?;
                match (offers.embedded_context, String::from_utf8(bytes)) {
                    (true, Ok(text)) => resource(name, mime, ResourceContents::Text(text)),
                    (true, Err(other)) => {
                        resource(name, mime, ResourceContents::Base64(STANDARD.encode(other.as_bytes())))
                    }
                    (false, Ok(text)) => PromptBlock::Text(format!("File {name}:\n{text}")),
                    (false, Err(_)) => left_out(name, mime, blob),
                }
            }
        })
    }

    async fn bytes(&self, blob: &BlobRef) -> Result<Vec<u8>, EngineError> {
        let bytes = self.shared.core.store.blob(&blob.sha256).await?;
        bytes.ok_or_else(|| EngineError::NoBlob { sha256: blob.sha256.clone() })
    }

    pub(super) async fn cancel(&mut self, key: String, process: Process, turn: TurnId) {
        let native = self.native(process).await;
        match (self.link_to(process), native) {
            (Some(link), Some(native)) => {
                link.send(Parcel::Frame { frame: outgoing::cancel(turn, &native), key: Some(key), turn: None });
            }
            _ => self.shared.settle(vec![key]).await,
        }
    }

    /// Answers a request of the agent.
    pub(super) async fn answer(
        &mut self,
        key: String,
        process: Process,
        request: &str,
        frame: impl FnOnce(&AgentRequestId) -> OutgoingFrame,
    ) {
        match (self.link_to(process), AgentRequestId::parse(request)) {
            (Some(link), Some(request)) => {
                link.send(Parcel::Frame { frame: frame(&request), key: Some(key), turn: None });
            }
            // Nobody waits for it any more.
            _ => self.shared.settle(vec![key]).await,
        }
    }

    pub(super) async fn set_model(&mut self, key: String, process: Process, model: &str, at: Timestamp) {
        let frame = self.described(process).await.map(|(native, about)| match about.model_option {
            Some(option) => chosen(at, &native, &option, model),
            None => outgoing::set_model(count(at), &native, model),
        });
        self.choose(key, process, frame).await;
    }

    pub(super) async fn set_mode(&mut self, key: String, process: Process, mode: &str, at: Timestamp) {
        let frame = self.described(process).await.map(|(native, about)| match about.terms.option {
            Some(option) => chosen(at, &native, &option, mode),
            None => outgoing::set_mode(count(at), &native, mode),
        });
        self.choose(key, process, frame).await;
    }

    async fn choose(&mut self, key: String, process: Process, frame: Option<OutgoingFrame>) {
        match (self.link_to(process), frame) {
            (Some(link), Some(frame)) => link.send(Parcel::Frame { frame, key: Some(key), turn: None }),
            _ => self.shared.settle(vec![key]).await,
        }
    }

    async fn described(&self, process: Process) -> Option<(String, RuntimeDescription)> {
        let state = self.shared.core.task(process.task).await.ok()?;
        let session = state.task()?.execution_of(process.session)?.session.as_ref()?;
        Some((native_of(session, process)?, session.description.clone()))
    }

    async fn native(&self, process: Process) -> Option<String> {
        let state = self.shared.core.task(process.task).await.ok()?;
        native_of(state.task()?.execution_of(process.session)?.session.as_ref()?, process)
    }
}

/// Each choice is a request of its own: its moment tells it from the others of the process.
fn count(at: Timestamp) -> u64 {
    u64::try_from(at.millis()).unwrap_or_default()
}

fn chosen(at: Timestamp, native: &str, option: &str, value: &str) -> OutgoingFrame {
    outgoing::set_config_option(count(at), native, option, ConfigValue::Choice(value.to_owned()))
}

fn native_of(session: &RuntimeSession, process: Process) -> Option<String> {
    let current = session.id == process.session && session.epoch == process.epoch;
    session.native.clone().filter(|_| current)
}

/// What comes along goes as a document where the agent shows one to its model: it is material, not words of the person.
fn document(name: &str, text: String, as_document: bool) -> PromptBlock {
    match as_document {
        true => resource(name, "text/markdown", ResourceContents::Text(text)),
        false => PromptBlock::Text(text),
    }
}

fn resource(name: &str, mime: &str, contents: ResourceContents) -> PromptBlock {
    PromptBlock::Resource { uri: format!("attachment:///{name}"), mime: mime.to_owned(), contents }
}

/// What an agent cannot take is named, so that it does not seem to have been said.
fn left_out(name: &str, mime: &str, blob: &BlobRef) -> PromptBlock {
    PromptBlock::Text(format!(
        "[attachment {name} ({mime}, {} bytes) was left out: this agent does not take it]",
        blob.bytes
    ))
}
