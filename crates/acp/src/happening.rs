//! What an agent's output means, in the model's words. The assembler makes these and performs none of them.

use serde_json::Value;
use throughline_model::approval::ApprovalOption;
use throughline_model::content::{BlobRef, Text};
use throughline_model::ids::{ItemId, TurnId};
use throughline_model::item::Item;
use throughline_model::plan::PlanEntry;
use throughline_model::runtime_session::{AgentDescription, Capabilities, Choice};
use throughline_model::time::Timestamp;
use throughline_model::turn::{StopReason, Usage};

use crate::outgoing::OutgoingFrame;
use crate::request_id::{AgentRequestId, Opening, RequestId};

/// One thing that happened, in the order of the agent's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// The agent answered `initialize`.
    Initialized(Initialized),
    /// The agent refused `initialize`, or speaks no version that we do.
    InitializeFailed(RpcError),
    /// The native session is open.
    Opened {
        /// How it was opened.
        opening: Opening,
        /// The agent's id of it; none where the request named it.
        native: Option<String>,
        /// What can be set, and what is set.
        settings: SessionSettings,
    },
    /// The native session could not be opened.
    OpenFailed {
        /// How it should have been opened.
        opening: Opening,
        /// What sort of failure.
        kind: OpenFailure,
        /// What the agent said.
        error: RpcError,
    },
    /// Text of an item that is not finished. Never persisted.
    Live(Live),
    /// Bytes that the next [`Happening::Recorded`] names: they go to the blob store first.
    Attached {
        /// The name that the item uses.
        blob: BlobRef,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An item as it now stands: a durable upsert by id.
    Recorded(Item),
    /// What the person said, told again by the agent. Only in [`crate::assembler::Replay::Keep`].
    Retold {
        /// Stable across replays where the agent has message ids.
        item: ItemId,
        /// The words.
        text: String,
    },
    /// The whole plan.
    PlanRevised(Vec<PlanEntry>),
    /// All of the agent's slash commands. The name is what a person would read: the description.
    Commands(Vec<Choice>),
    /// The mode in use.
    ModeChanged(String),
    /// The options that can be set, all of them, as they now stand.
    SettingsChanged(SessionSettings),
    /// What the context holds and the cost so far.
    UsageChanged(Usage),
    /// The agent's title of the session; none when it took it back.
    TitleChanged(Option<String>),
    /// The agent waits for a decision.
    PermissionRequested(PermissionRequest),
    /// The agent asks the person something, and waits for the answer.
    QuestionAsked(QuestionRequest),
    /// A request that was told before the spool was read again: who did not take it then may still owe it an answer.
    AskedBefore(Wanted),
    /// The agent no longer waits for an answer to a request of its own.
    PermissionWithdrawn(AgentRequestId),
    /// The agent answered a prompt.
    TurnAnswered {
        /// Which turn, from the answer's id.
        turn: TurnId,
        /// How it went.
        outcome: Result<TurnEnd, TurnFailure>,
    },
    /// A page of `session/list`.
    Listed {
        /// The page's count, from the answer's id.
        page: u64,
        /// The sessions.
        sessions: Vec<NativeSession>,
        /// What to ask the next page with.
        next: Option<String>,
    },
    /// The agent did what a request asked (authenticate, close, set mode, set model, configure).
    Done(RequestId),
    /// The agent refused such a request.
    RequestFailed {
        /// Which.
        id: RequestId,
        /// What it said.
        error: RpcError,
    },
    /// To be written to the agent at once. Safe to repeat: the keeper knows the frame id.
    Reply {
        /// Where the line begins that it answers.
        at: u64,
        /// What to write.
        frame: OutgoingFrame,
    },
    /// A line that was understood and says nothing new.
    Passed(Reason),
    /// The stream is of no use any more: the runtime session's process has to end.
    Ended(EndReason),
}

impl Happening {
    /// Whether it must be committed before the mark may move past it.
    #[must_use]
    pub fn durable(&self) -> bool {
        !matches!(self, Happening::Live(_) | Happening::Reply { .. } | Happening::AskedBefore(_) | Happening::Passed(_))
    }

    /// The request that it tells of, if it was made while no turn ran: nobody asked for anything, so nobody can be asked.
    #[must_use]
    pub fn without_turn(&self) -> Option<Wanted> {
        let turn = match self {
            Happening::PermissionRequested(asked) => asked.turn,
            Happening::QuestionAsked(asked) => asked.turn,
            _ => return None,
        };
        self.wanted().filter(|_| turn.is_none())
    }

    /// The request that it tells of, if it tells of one.
    #[must_use]
    pub fn wanted(&self) -> Option<Wanted> {
        match self {
            Happening::PermissionRequested(asked) => {
                Some(Wanted { request: asked.request.clone(), at: asked.at, what: Want::Decision })
            }
            Happening::QuestionAsked(asked) => {
                Some(Wanted { request: asked.request.clone(), at: asked.at, what: Want::Answer })
            }
            Happening::AskedBefore(wanted) => Some(wanted.clone()),
            _ => None,
        }
    }
}

/// What an agent said in answer to `initialize`.
#[derive(Clone, Debug, PartialEq)]
pub struct Initialized {
    /// Its name and version.
    pub agent: AgentDescription,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How a person can log in.
    pub auth_methods: Vec<AuthMethod>,
}

/// A way to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthMethod {
    /// The agent's id of it.
    pub id: String,
    /// What a person would call it.
    pub name: String,
    /// More about it.
    pub description: Option<String>,
}

/// What can be set in a session, and what is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSettings {
    /// The mode in use.
    pub mode: Option<String>,
    /// The modes that can be chosen.
    pub modes: Vec<Choice>,
    /// The config option that sets the mode; none where `session/set_mode` does.
    pub mode_option: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// The models that can be chosen.
    pub models: Vec<Choice>,
    /// The config option that sets the model; none where only `session/set_model` does.
    pub model_option: Option<String>,
    /// All config options.
    pub options: Vec<ConfigOption>,
}

/// One config option of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// The agent's id of it.
    pub id: String,
    /// What a person would call it.
    pub name: String,
    /// What it is about: `mode`, `model`, `thought_level`, … as the agent says.
    pub category: Option<String>,
    /// What it is set to; `true` or `false` for a switch.
    pub current: String,
    /// What it can be set to; none for a switch.
    pub choices: Vec<Choice>,
}

/// Text of an item that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Which item it will be.
    pub item: ItemId,
    /// In which turn.
    pub turn: Option<TurnId>,
    /// What of it.
    pub kind: LiveKind,
    /// The byte at which `text` begins. Whatever was shown from there on is replaced.
    pub at: usize,
    /// The text from there to the end.
    pub text: String,
}

/// What live text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveKind {
    /// A message.
    Message,
    /// A thought.
    Thought,
    /// A tool's output.
    ToolOutput,
}

/// A request of an agent that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The agent's id of it, to answer it with. Of requests that wait, no two have the same.
    pub request: AgentRequestId,
    /// Where its line begins in the spool. That tells it from every other request of its process, also when the agent uses
    /// an id again, and is the same however often the spool is read.
    pub at: u64,
    /// What is waited for.
    pub what: Want,
}

/// What an agent waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// Whether it may do one exact thing.
    Decision,
    /// The answer to a question.
    Answer,
}

/// An agent's question whether it may do one exact thing.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRequest {
    /// The agent's id of the request, to answer it with.
    pub request: AgentRequestId,
    /// Where its line begins in the spool.
    pub at: u64,
    /// The tool call as last recorded.
    pub item: ItemId,
    /// Whether it was recorded just before, because the request itself says something new of it.
    pub is_news: bool,
    /// The turn that runs.
    pub turn: Option<TurnId>,
    /// The agent's id of the call.
    pub call: String,
    /// The agent's description.
    pub title: String,
    /// What sort of tool, as the agent says.
    pub tool: String,
    /// The tool's input, exactly as the agent wrote it. Some send none.
    pub input: Option<Text>,
    /// What can be answered.
    pub options: Vec<ApprovalOption>,
}

/// An agent's question to the person, with a form for the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRequest {
    /// The agent's id of the request, to answer it with.
    pub request: AgentRequestId,
    /// Where its line begins in the spool.
    pub at: u64,
    /// The turn that runs.
    pub turn: Option<TurnId>,
    /// What it asks.
    pub message: String,
    /// The form of the answer: a JSON schema, as the agent wrote it.
    pub schema: String,
}

/// How a turn went that the agent calls done.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    /// Why the agent stopped.
    pub stop_reason: StopReason,
    /// What the turn used, where the agent says.
    pub usage: Option<Usage>,
}

/// Why a turn did not work.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFailure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// JSON-RPC's code; zero where the agent called the turn done all the same.
    pub code: i64,
    /// What the agent said.
    pub message: String,
    /// When a limit will be lifted, where the agent says.
    pub retry_at: Option<Timestamp>,
}

/// What sort of failure a turn met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It did not work.
    Failed,
    /// A rate, a quota or a budget is used up.
    Limited,
    /// The agent is not logged in.
    Auth,
}

/// What sort of failure stopped a session from opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFailure {
    /// The agent does not know the native session (any more).
    UnknownSession,
    /// Another process has it open.
    InUse,
    /// The agent is not logged in.
    Auth,
    /// Anything else.
    Other,
}

/// A native session as `session/list` tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeSession {
    /// The agent's id.
    pub native: String,
    /// Where it works.
    pub cwd: String,
    /// What the agent calls it.
    pub title: Option<String>,
    /// When it last changed, as the agent says.
    pub updated_at: Option<String>,
}

/// An error of the peer, as it sent it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i64,
    /// In words.
    pub message: String,
    /// Anything more.
    pub data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The message, with what the data adds in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let more = self.data.as_ref().and_then(|data| match data {
            Value::String(words) => Some(words.as_str()),
            _ => ["/message", "/details", "/reason"].iter().find_map(|pointer| data.pointer(pointer)?.as_str()),
        });
        match more {
            Some(more) if !self.message.contains(more) => format!("{}: {more}", self.message),
            _ => self.message.clone(),
        }
    }
}

/// Why a line says nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The agent tells the session's past again.
    Replay,
    /// The agent repeats what the person said.
    Echo,
    /// An extension that only the agent's own client knows.
    Private,
    /// Nothing in it differs from what was known.
    Unchanged,
    /// The stream was given up before.
    AfterEnd,
}

/// Why a stream is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndReason {
    /// Too many lines were no protocol.
    #[error("the agent wrote more than {allowed} lines that are not JSON")]
    NotJson {
        /// How many are let pass.
        allowed: u32,
    },
    /// One line was too long.
    #[error("the agent wrote a frame of {bytes} bytes, and {allowed} are allowed")]
    Oversized {
        /// How long it was.
        bytes: u64,
        /// How long it may be.
        allowed: u64,
    },
}
