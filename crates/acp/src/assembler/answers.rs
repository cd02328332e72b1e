//! Answers to our requests. What an answer means stands in its id; an answer that nobody can use is a failure
//! of the request, never of the stream.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize as _;
use serde_json::Value;
use serde_json::value::RawValue;
use throughline_model::ids::TurnId;
use throughline_model::runtime_session::{AgentDescription, Capabilities};
use throughline_model::turn::{StopReason, Usage};

use super::messages::OpenMessage;
use super::{Assembler, Phase, settings};
use crate::happening::{
    AuthMethod, FailureKind, Happening, Initialized, NativeSession, OpenFailure, RpcError, TurnEnd, TurnFailure,
};
use crate::request_id::{Opening, RequestId};

const AUTH_REQUIRED: i64 = -32000;
const RESOURCE_NOT_FOUND: i64 = -32002;
const REQUEST_CANCELLED: i64 = -32800;

type Outcome = Result<Box<RawValue>, RpcError>;

impl Assembler {
    pub(super) fn answered(&mut self, id: RequestId, outcome: Outcome) {
        match id {
            RequestId::Init => {
                let happening = outcome.and_then(|answer| initialized(&answer));
                self.out.push(happening.map_or_else(Happening::InitializeFailed, Happening::Initialized));
            }
            RequestId::Open(opening) | RequestId::Reopen(opening) => self.opened(opening, outcome),
            RequestId::Turn(turn) => self.turn_answered(turn, outcome),
            RequestId::List(page) => self.listed(page, outcome),
            RequestId::Configure(_) => {
                let options = outcome.as_ref().map(|answer| settings::options_of(&value(answer)));
                if let Some(options) = options.ok().filter(|options| !options.is_empty()) {
                    self.out.push(Happening::SettingsChanged(settings::from_options(options)));
                }
                self.done(id, outcome);
            }
            RequestId::Auth(_) | RequestId::Close | RequestId::SetMode(_) | RequestId::SetModel(_) => {
                self.done(id, outcome);
            }
        }
    }

    fn done(&mut self, id: RequestId, outcome: Outcome) {
        self.out.push(match outcome {
            Ok(_) => Happening::Done(id),
            Err(error) => Happening::RequestFailed { id, error },
        });
    }

    fn opened(&mut self, opening: Opening, outcome: Outcome) {
        self.finish_all();
        let failed = |kind, error| Happening::OpenFailed { opening, kind, error };
        let answer = match outcome {
            Ok(answer) => value(&answer),
            Err(error) => {
                return self.out.push(failed(self.open_failure(opening, &error), error));
            }
        };
        let native = answer.get("sessionId").and_then(Value::as_str).map(ToOwned::to_owned);
        let names_it = matches!(opening, Opening::New | Opening::Fork);
        if names_it && native.is_none() {
            let error = RpcError::new(0, "the agent opened a session and did not say which");
            return self.out.push(failed(OpenFailure::Other, error));
        }
        let native = native.filter(|_| names_it);
        if native.is_some() {
            self.native.clone_from(&native);
        }
        if matches!(self.phase, Phase::Opening(_)) {
            self.phase = Phase::Opened(opening);
        }
        self.out.push(Happening::Opened { opening, native, settings: settings::from_answer(&answer) });
    }

    fn open_failure(&self, opening: Opening, error: &RpcError) -> OpenFailure {
        let words = error.in_words();
        if self.failure_kind(error) == FailureKind::Auth {
            OpenFailure::Auth
        } else if self.quirks.says_session_in_use(&words) {
            OpenFailure::InUse
        } else if opening.has_history()
            && (error.code == RESOURCE_NOT_FOUND || self.quirks.says_unknown_session(&words))
        {
            OpenFailure::UnknownSession
        } else {
            OpenFailure::Other
        }
    }

    fn turn_answered(&mut self, turn: TurnId, outcome: Outcome) {
        // The answer to an older prompt says nothing about the turn that runs.
        let mut last = None;
        if self.phase == Phase::Turn(turn) {
            last = self.message.as_ref().and_then(OpenMessage::said).map(ToOwned::to_owned);
            self.finish_all();
            self.phase = Phase::Idle;
        }
        let outcome = match outcome {
            Ok(answer) => self.turn_end(&value(&answer), last.as_deref()),
            Err(error) if error.code == REQUEST_CANCELLED => {
                Ok(TurnEnd { stop_reason: StopReason::Cancelled, usage: None })
            }
            Err(error) => Err(TurnFailure {
                kind: self.failure_kind(&error),
                code: error.code,
                message: error.in_words(),
                retry_at: error.data.as_ref().and_then(|data| self.quirks.retry_at(data)),
            }),
        };
        self.out.push(Happening::TurnAnswered { turn, outcome });
    }

    /// How the turn ended, by the answer and by the last message before it.
    fn turn_end(&self, answer: &Value, last: Option<&str>) -> Result<TurnEnd, TurnFailure> {
        if let Some(failure) = self.quirks.hidden_failure(answer) {
            let message = words_of(failure);
            return Err(TurnFailure {
                kind: self.quirks.kind_of(failure).unwrap_or_else(|| self.quirks.kind_of_words(&message)),
                code: 0,
                message,
                retry_at: self.quirks.retry_at(failure),
            });
        }
        let stop_reason = match answer.get("stopReason").and_then(Value::as_str) {
            Some("end_turn") => {
                if let Some(words) = last.and_then(|last| self.quirks.failed_message(last)) {
                    let kind = self.quirks.kind_of_words(words);
                    return Err(TurnFailure { kind, code: 0, message: words.to_owned(), retry_at: None });
                }
                StopReason::EndTurn
            }
            Some("max_tokens") => StopReason::MaxTokens,
            Some("max_turn_requests") => StopReason::MaxTurnRequests,
            Some("refusal") => StopReason::Refusal,
            Some("cancelled") => StopReason::Cancelled,
            _ => StopReason::Other,
        };
        let usage = answer.get("usage").and_then(|usage| acp::Usage::deserialize(usage).ok()).map(turn_usage);
        Ok(TurnEnd { stop_reason, usage })
    }

    fn failure_kind(&self, error: &RpcError) -> FailureKind {
        if error.code == AUTH_REQUIRED {
            return FailureKind::Auth;
        }
        let kind = error.data.as_ref().and_then(|data| self.quirks.kind_of(data));
        kind.unwrap_or_else(|| self.quirks.kind_of_words(&error.in_words()))
    }

    fn listed(&mut self, page: u64, outcome: Outcome) {
        let id = RequestId::List(page);
        let listed = outcome.and_then(|answer| {
            serde_json::from_str::<acp::ListSessionsResponse>(answer.get()).map_err(|error| unreadable(&error))
        });
        self.out.push(match listed {
            Ok(listed) => Happening::Listed {
                page,
                sessions: listed.sessions.into_iter().map(native_session).collect(),
                next: listed.next_cursor,
            },
            Err(error) => Happening::RequestFailed { id, error },
        });
    }
}

/// What a failure or a warning says to a person.
pub(super) fn words_of(trouble: &Value) -> String {
    let words = ["title", "message", "details"].iter().find_map(|name| trouble.get(name)?.as_str());
    words.map_or_else(|| trouble.to_string(), ToOwned::to_owned)
}

/// An answer as a tree. Depth beyond what can be held reads as null, and so as an answer that says nothing.
fn value(answer: &RawValue) -> Value {
    serde_json::from_str(answer.get()).unwrap_or_default()
}

fn unreadable(error: &serde_json::Error) -> RpcError {
    RpcError::new(0, format!("the agent's answer could not be read: {error}"))
}

fn initialized(answer: &RawValue) -> Result<Initialized, RpcError> {
    let answer: acp::InitializeResponse = serde_json::from_str(answer.get()).map_err(|error| unreadable(&error))?;
    if answer.protocol_version != ProtocolVersion::V1 {
        let version = answer.protocol_version;
        return Err(RpcError::new(0, format!("the agent speaks ACP {version}, and we speak 1")));
    }
    let offers = answer.agent_capabilities;
    let session = offers.session_capabilities;
    let agent = answer.agent_info.map(|info| AgentDescription { name: info.name, version: info.version });
    Ok(Initialized {
        agent: agent.unwrap_or_default(),
        capabilities: Capabilities {
            load: offers.load_session,
            resume: session.resume.is_some(),
            fork: session.fork.is_some(),
            list: session.list.is_some(),
            close: session.close.is_some(),
            images: offers.prompt_capabilities.image,
            embedded_context: offers.prompt_capabilities.embedded_context,
            additional_directories: session.additional_directories.is_some(),
            mcp_http: offers.mcp_capabilities.http,
        },
        auth_methods: answer.auth_methods.iter().map(auth_method).collect(),
    })
}

fn auth_method(method: &acp::AuthMethod) -> AuthMethod {
    AuthMethod {
        id: method.id().to_string(),
        name: method.name().to_owned(),
        description: method.description().map(ToOwned::to_owned),
    }
}

fn native_session(info: acp::SessionInfo) -> NativeSession {
    NativeSession {
        native: info.session_id.to_string(),
        cwd: info.cwd.to_string_lossy().into_owned(),
        title: info.title,
        updated_at: info.updated_at,
    }
}

fn turn_usage(usage: acp::Usage) -> Usage {
    Usage {
        input_tokens: Some(usage.input_tokens),
        output_tokens: Some(usage.output_tokens),
        total_tokens: Some(usage.total_tokens),
        ..Usage::default()
    }
}
