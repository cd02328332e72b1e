//! What the agent answers to each request of the protocol.
//!
//! Everything here runs inside the connection's dispatch loop and is short, except a load, whose replay
//! goes out before its answer. A turn is the one thing that is spawned, so that the loop stays free
//! for its cancellation and its permissions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    self, CancelNotification, ClientRequest, CloseSessionRequest, CloseSessionResponse, ForkSessionRequest,
    ForkSessionResponse, InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse, PromptRequest,
    PromptResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue, SessionId, SessionInfo,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::offer::{self, MODEL_OPTION, Mode, Model};
use super::open_session::OpenSession;
use super::session_file::{self, Record, SessionFileError};
use super::steps;
use super::turn::{Answers, Ending, Turn, TurnError, clip, question_meta};
use super::wire::{Ledger, Wire};

/// The agent: where its sessions are kept, and which are open.
pub struct DemoAgent {
    sessions_dir: PathBuf,
    open_sessions: Mutex<HashMap<SessionId, Arc<OpenSession>>>,
    initialized: AtomicBool,
    client_shows_forms: AtomicBool,
    ledger: Arc<Ledger>,
}

impl DemoAgent {
    pub fn new(state_dir: &Path, ledger: Arc<Ledger>) -> Self {
        Self {
            sessions_dir: state_dir.join("sessions"),
            open_sessions: Mutex::default(),
            initialized: AtomicBool::new(false),
            client_shows_forms: AtomicBool::new(false),
            ledger,
        }
    }

    /// Answers one request.
    pub async fn answer(
        &self,
        request: ClientRequest,
        responder: Responder,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let initialized = self.initialized.load(Ordering::Relaxed);
        if !initialized && !matches!(request, ClientRequest::InitializeRequest(_)) {
            return responder.respond_with_error(not_initialized());
        }
        let answer = match request {
            ClientRequest::PromptRequest(it) => {
                return self.prompt(it, responder.cast(), connection);
            }
            ClientRequest::InitializeRequest(it) => to_json(Ok(self.initialize(&it))),
            ClientRequest::ListSessionsRequest(it) => to_json(self.list(&it)),
            ClientRequest::CloseSessionRequest(it) => to_json(self.close(&it).await),
            ClientRequest::SetSessionModeRequest(it) => to_json(self.set_mode(&it)),
            ClientRequest::SetSessionConfigOptionRequest(it) => to_json(self.set_config_option(&it)),
            opening => return self.open(opening, responder, connection).await,
        };
        responder.respond_with_result(answer)
    }

    /// Answers a request that opens a session, and offers the commands once the client knows it.
    async fn open(
        &self,
        request: ClientRequest,
        responder: Responder,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let (id, answer) = match request {
            ClientRequest::NewSessionRequest(it) => {
                let created = self.create(it);
                let id = created.as_ref().ok().map(|it| it.session_id.clone());
                (id, to_json(created))
            }
            ClientRequest::ForkSessionRequest(it) => {
                let forked = self.fork(it);
                let id = forked.as_ref().ok().map(|it| it.session_id.clone());
                (id, to_json(forked))
            }
            ClientRequest::LoadSessionRequest(it) => {
                let id = it.session_id.clone();
                (Some(id), to_json(self.load(it, connection).await))
            }
            ClientRequest::ResumeSessionRequest(it) => {
                let id = it.session_id.clone();
                (Some(id), to_json(self.resume(it)))
            }
            _ => (None, Err(Error::method_not_found())),
        };
        let opened = id.filter(|_| answer.is_ok());
        responder.respond_with_result(answer)?;
        match opened {
            Some(id) => self.offer_commands(&id, connection),
            None => Ok(()),
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let elicitation = request.client_capabilities.elicitation.as_ref();
        let forms = elicitation.is_some_and(schema::ElicitationCapabilities::supports_form);
        self.client_shows_forms.store(forms, Ordering::Relaxed);
        self.initialized.store(true, Ordering::Relaxed);
        offer::initialize_response()
    }

    fn create(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let cwd = existing_dir(request.cwd)?;
        let created = OpenSession::create(&self.sessions_dir, cwd).map_err(refusal)?;
        let session = self.keep(Arc::new(created));
        given(&session, &request.mcp_servers, request.additional_directories)?;
        let (modes, options) = settings(&session);
        Ok(NewSessionResponse::new(session.id.clone()).modes(modes).config_options(options))
    }

    /// Replays the whole history, then answers.
    async fn load(
        &self,
        request: LoadSessionRequest,
        connection: &ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse, Error> {
        let session = self.reopen(&request.session_id, request.cwd)?;
        given(&session, &request.mcp_servers, request.additional_directories)?;
        let _quiet = session.claim_turn().ok_or_else(turn_running)?;
        let wire = self.wire(&session.id, connection);
        for update in session.history().map_err(refusal)? {
            wire.send(update).await?;
        }
        let (modes, options) = settings(&session);
        Ok(LoadSessionResponse::new().modes(modes).config_options(options))
    }

    fn resume(&self, request: ResumeSessionRequest) -> Result<ResumeSessionResponse, Error> {
        let session = self.reopen(&request.session_id, request.cwd)?;
        given(&session, &request.mcp_servers, request.additional_directories)?;
        let (modes, options) = settings(&session);
        Ok(ResumeSessionResponse::new().modes(modes).config_options(options))
    }

    fn fork(&self, request: ForkSessionRequest) -> Result<ForkSessionResponse, Error> {
        let cwd = existing_dir(request.cwd)?;
        let forked = OpenSession::fork(&self.sessions_dir, cwd, &request.session_id.0);
        let session = self.keep(Arc::new(forked.map_err(refusal)?));
        given(&session, &request.mcp_servers, request.additional_directories)?;
        let (modes, options) = settings(&session);
        Ok(ForkSessionResponse::new(session.id.clone()).modes(modes).config_options(options))
    }

    fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let listed = session_file::list(&self.sessions_dir).map_err(refusal)?;
        let wanted = listed.into_iter().filter(|listed| request.cwd.as_ref().is_none_or(|cwd| *cwd == listed.cwd));
        let infos = wanted.map(|listed| {
            let title = listed.first_prompt.map(|prompt| clip(&steps::on_one_line(&prompt), 80));
            let updated = Timestamp::try_from(listed.updated).ok();
            SessionInfo::new(listed.id, listed.cwd).title(title).updated_at(updated.map(|updated| updated.to_string()))
        });
        Ok(ListSessionsResponse::new(infos.collect()))
    }

    /// Stops the session's turn and lets go of it; its file stays.
    async fn close(&self, request: &CloseSessionRequest) -> Result<CloseSessionResponse, Error> {
        let session = self.find(&request.session_id)?;
        session.stop().await;
        self.held().remove(&request.session_id);
        Ok(CloseSessionResponse::new())
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = self.find(&request.session_id)?;
        let mode = Mode::of_id(&request.mode_id.0)
            .ok_or_else(|| Error::invalid_params().data("the modes are ask and auto"))?;
        session.record(&Record::ModeSet { mode }).map_err(refusal)?;
        Ok(SetSessionModeResponse::new())
    }

    fn set_config_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = self.find(&request.session_id)?;
        let model = match &request.value {
            SessionConfigOptionValue::ValueId { value } if &*request.config_id.0 == MODEL_OPTION => {
                Model::of_id(&value.0)
            }
            _ => None,
        };
        let hint = "the one option is model: demo-small or demo-large";
        let model = model.ok_or_else(|| Error::invalid_params().data(hint))?;
        session.record(&Record::ModelSet { model }).map_err(refusal)?;
        Ok(SetSessionConfigOptionResponse::new(model.config_options()))
    }

    pub fn cancel(&self, notification: &CancelNotification) {
        if let Ok(session) = self.find(&notification.session_id) {
            session.cancel();
        }
    }

    /// Records the prompt, then works on it in a task of its own.
    fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let begun = self.find(&request.session_id).and_then(|session| {
            let claim = session.claim_turn().ok_or_else(turn_running)?;
            Ok((session, claim))
        });
        let (session, claim) = match begun {
            Ok(begun) => begun,
            Err(error) => return responder.respond_with_error(error),
        };
        let answers = match self.client_shows_forms.load(Ordering::Relaxed) {
            true => Answers::ByForm,
            false => Answers::ByPrompt,
        };
        let wire = self.wire(&session.id, connection);
        let request_cancelled = responder.cancellation();
        connection.spawn(async move {
            let cancelled = async {
                tokio::select! {
                    () = claim.cancel.notified() => {}
                    () = request_cancelled.cancelled() => {}
                }
            };
            let answer = answer_prompt(&session, wire, answers, request, cancelled).await;
            drop(claim);
            responder.respond_with_result(answer)
        })
    }

    /// Tells the client which slash commands there are, once it knows the session.
    fn offer_commands(&self, session: &SessionId, connection: &ConnectionTo<Client>) -> Result<(), Error> {
        let wire = self.wire(session, connection);
        connection.spawn(async move {
            let commands = SessionUpdate::AvailableCommandsUpdate(offer::commands());
            wire.send(commands).await
        })
    }

    fn wire(&self, session: &SessionId, connection: &ConnectionTo<Client>) -> Wire {
        Wire { connection: connection.clone(), ledger: Arc::clone(&self.ledger), session: session.clone() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenSession>>> {
        self.open_sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, session: Arc<OpenSession>) -> Arc<OpenSession> {
        self.held().insert(session.id.clone(), Arc::clone(&session));
        session
    }

    fn find(&self, id: &SessionId) -> Result<Arc<OpenSession>, Error> {
        let found = self.held().get(id).cloned();
        found.ok_or_else(|| refusal(SessionFileError::Unknown(id.0.to_string())))
    }

    /// The session, opened if it is not open yet, in the directory that the client names.
    fn reopen(&self, id: &SessionId, cwd: PathBuf) -> Result<Arc<OpenSession>, Error> {
        let session = match self.find(id) {
            Ok(session) => session,
            Err(_) => Arc::new(OpenSession::open(&self.sessions_dir, &id.0).map_err(refusal)?),
        };
        let cwd = existing_dir(cwd)?;
        if session.known(|known| known.cwd != cwd) {
            session.record(&Record::Moved { cwd }).map_err(refusal)?;
        }
        Ok(self.keep(session))
    }
}

/// Runs one turn and says how it ended.
async fn answer_prompt(
    session: &Arc<OpenSession>,
    wire: Wire,
    answers: Answers,
    request: PromptRequest,
    cancelled: impl Future<Output = ()>,
) -> Result<PromptResponse, Error> {
    let before = session.known(|known| (known.chars_in, known.chars_out));
    let answering = session.known(|known| known.question.clone());
    let steps = steps::of(&request.prompt);
    let prompted = Record::Prompted { content: request.prompt };
    session.record(&prompted).map_err(refusal)?;
    session.sync().map_err(refusal)?;

    let mut turn = Turn::new(Arc::clone(session), wire, answers);
    let outcome = tokio::select! {
        biased;
        () = cancelled => Err(TurnError::Cancelled),
        outcome = turn.perform(steps, answering) => outcome,
    };
    let response = conclude(&turn, outcome, before).await;
    let outcome = match &response {
        Ok(response) => format!("{:?}", response.stop_reason),
        Err(error) => error.to_string(),
    };
    session.record(&Record::Ended { outcome }).and_then(|()| session.sync()).map_err(refusal)?;
    response
}

async fn conclude(
    turn: &Turn,
    outcome: Result<Ending, TurnError>,
    before: (u64, u64),
) -> Result<PromptResponse, Error> {
    let answer = match outcome {
        Ok(Ending::Done) => PromptResponse::new(StopReason::EndTurn),
        Ok(Ending::Asked) => PromptResponse::new(StopReason::EndTurn).meta(question_meta()),
        Err(TurnError::Cancelled) => {
            turn.close_open_calls("cancelled").await.map_err(failure)?;
            PromptResponse::new(StopReason::Cancelled)
        }
        Err(error) => return Err(failure(error)),
    };
    let usage = turn.report_usage(before).await.map_err(failure)?;
    Ok(answer.usage(usage))
}

fn settings(session: &OpenSession) -> (schema::SessionModeState, Vec<schema::SessionConfigOption>) {
    session.known(|known| (known.mode.state(), known.model.config_options()))
}

/// Keeps what the client opened the session with; it starts no server.
fn given(session: &OpenSession, servers: &[McpServer], roots: Vec<PathBuf>) -> Result<(), Error> {
    let name = |server: &McpServer| match server {
        McpServer::Http(server) => Some(server.name.clone()),
        McpServer::Sse(server) => Some(server.name.clone()),
        McpServer::Stdio(server) => Some(server.name.clone()),
        _ => None,
    };
    let servers: Vec<String> = servers.iter().filter_map(name).collect();
    if session.known(|known| (&known.given.0, &known.given.1) == (&servers, &roots)) {
        return Ok(());
    }
    session.record(&Record::Given { servers, roots }).map_err(refusal)
}

fn to_json(answer: Result<impl Serialize, Error>) -> Result<Value, Error> {
    answer.and_then(|answer| serde_json::to_value(answer).map_err(Error::into_internal_error))
}

fn existing_dir(cwd: PathBuf) -> Result<PathBuf, Error> {
    if cwd.is_absolute() && cwd.is_dir() {
        return Ok(cwd);
    }
    let hint = "cwd has to be an absolute path of a directory that exists";
    Err(Error::invalid_params().data(json!({ "cwd": cwd, "hint": hint })))
}

fn not_initialized() -> Error {
    let mut error = Error::invalid_request();
    error.message = "initialize comes first".to_owned();
    error
}

fn turn_running() -> Error {
    let mut error = Error::invalid_request();
    error.message = "a turn is already running in this session".to_owned();
    error
}

fn failure(error: TurnError) -> Error {
    let kind = match error {
        TurnError::Asked => "demo_fail",
        TurnError::Limited(_) => "limit",
        TurnError::Cancelled => "cancelled",
        TurnError::Storage(_) => "storage",
        TurnError::Wire(_) => "wire",
    };
    let mut answer = Error::internal_error().data(json!({ "errorKind": kind }));
    answer.message = error.to_string();
    answer
}

fn refusal(error: SessionFileError) -> Error {
    let message = error.to_string();
    let mut answer = match error {
        SessionFileError::Unknown(id) => schema::Error::session_not_found(id).into(),
        SessionFileError::Busy(id) => Error::invalid_request().data(json!({ "sessionId": id, "errorKind": "busy" })),
        SessionFileError::Damaged { .. } | SessionFileError::Version(_) | SessionFileError::Io(_) => {
            Error::internal_error()
        }
    };
    answer.message = message;
    answer
}
