//! What can go wrong when the engine is asked for something, with stable codes and hints.

use throughline_channels::{Manifest, platforms};
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::Failure;
use throughline_store::port::StoreError;

use crate::checkpoints::CheckpointError;
use crate::home::HomeError;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model said no.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A new task needs a project.
    #[error("this conversation has no project")]
    NoProject {
        /// The names of those there are.
        known: Vec<String>,
    },
    /// No agent has this name.
    #[error("there is no agent called `{name}`")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The agent's program is nowhere, so nothing was changed.
    #[error("{name} is not installed: `{program}` is not found")]
    AgentNotInstalled {
        /// The agent.
        name: String,
        /// What it would be started with.
        program: String,
        /// How to get it.
        install: String,
    },
    /// No native session of an agent that can be imported from has this id.
    #[error("there is no native session `{id}`")]
    NoNativeSession {
        /// The id.
        id: String,
    },
    /// Nothing can be imported from this agent.
    #[error("sessions of `{agent}` cannot be imported")]
    NotImportable {
        /// The agent.
        agent: String,
    },
    /// A task of ours has this native session.
    #[error("the session belongs to {key}")]
    NativeSessionTaken {
        /// The task's key.
        key: String,
    },
    /// It is not a folder.
    #[error("`{path}` is not a folder: {why}")]
    BadPath {
        /// The path.
        path: String,
        /// What the system said.
        why: String,
    },
    /// A project of this name has another root.
    #[error("a project called `{name}` is there already, at {root}")]
    ProjectExists {
        /// The name.
        name: String,
        /// Where that one is.
        root: String,
    },
    /// The name cannot be part of a key.
    #[error("`{name}` cannot be a project's name")]
    BadProjectName {
        /// The name.
        name: String,
    },
    /// A message is too long.
    #[error("the message has {bytes} bytes, and {allowed} are allowed")]
    MessageTooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        allowed: usize,
    },
    /// A message names an attachment that is not there.
    #[error("there is no blob {sha256}")]
    NoBlob {
        /// Its name.
        sha256: String,
    },
    /// There is no checkpoint to go back to.
    #[error("there is no checkpoint {side} turn {turn}: {why}")]
    NoCheckpoint {
        /// The turn's number.
        turn: usize,
        /// Before or after it.
        side: &'static str,
        /// Why not, in words.
        why: String,
    },
    /// A fork's workspace is being prepared.
    #[error("its workspace is being prepared")]
    NotReady,
    /// Neither comes from the other, nor both from the same task.
    #[error("the two tasks have no state in common")]
    NotRelated,
    /// Nothing was changed that could be undone.
    #[error("this workspace was not changed outside of turns, so there is nothing to undo")]
    NothingToUndo,
    /// A checkpoint could not be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// It was begun, and did not work out; the record says so too.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// A channel is not set up.
    #[error("{name} is not set up")]
    NoChannel {
        /// Its name.
        name: String,
    },
    /// Quiet hours that are none.
    #[error("these are no quiet hours: {why}")]
    BadQuietHours {
        /// What is wrong with them.
        why: String,
    },
    /// A file that came along cannot be had at the moment.
    #[error("a file cannot be fetched: {why}")]
    NotFetched {
        /// What the platform said.
        why: String,
    },
    /// The same key came with another body.
    #[error("this idempotency key was used for another message")]
    IdempotencyConflict,
    /// So many others wrote to the same place that it was given up.
    #[error("too many changes at once")]
    Contended,
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
}

impl EngineError {
    /// The stable code, the same in the CLI, the API and the docs.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            EngineError::Rejected(rejection) => rejection.code(),
            EngineError::Store(error) => error.code(),
            EngineError::Home(error) => error.code(),
            EngineError::NoProject { .. } => "project_unknown",
            EngineError::UnknownAgent { .. } => "agent_unknown",
            EngineError::AgentNotInstalled { .. } => "agent_not_installed",
            EngineError::NoNativeSession { .. } => "native_session_unknown",
            EngineError::NotImportable { .. } => "not_importable",
            EngineError::NativeSessionTaken { .. } => "native_session_taken",
            EngineError::BadPath { .. } => "bad_path",
            EngineError::ProjectExists { .. } => "project_exists",
            EngineError::BadProjectName { .. } => "bad_project_name",
            EngineError::MessageTooLarge { .. } => "message_too_large",
            EngineError::NoBlob { .. } => "blob_unknown",
            EngineError::NoCheckpoint { .. } => "no_checkpoint",
            EngineError::NotReady => "workspace_busy",
            EngineError::NotRelated => "not_related",
            EngineError::NothingToUndo => "nothing_to_undo",
            EngineError::Checkpoint(error) => error.code(),
            EngineError::Failed(failure) => &failure.code,
            EngineError::NoChannel { .. } => "channel_unknown",
            EngineError::BadQuietHours { .. } => "bad_quiet_hours",
            EngineError::NotFetched { .. } => "file_not_fetched",
            EngineError::IdempotencyConflict => "idempotency_conflict",
            EngineError::Contended => "contended",
            EngineError::Stopping => "stopping",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            EngineError::Rejected(rejection) => rejection.hint().into_owned(),
            EngineError::Store(error) => error.hint().into(),
            EngineError::Home(error) => error.hint().into(),
            EngineError::NoProject { known } if known.is_empty() => {
                "`tl project add PATH` makes a folder a project".into()
            }
            EngineError::NoProject { known } => {
                format!("say which one with --project P, or `override.project`: {}", known.join(", "))
            }
            EngineError::UnknownAgent { known, .. } => {
                format!("known agents: {}; add others in config.toml", known.join(", "))
            }
            EngineError::AgentNotInstalled { install, .. } => format!("{install}; `tl agents` shows which are here"),
            EngineError::NoNativeSession { .. } => "`tl import --list` lists them".into(),
            EngineError::NotImportable { .. } => "sessions of codex and claude-code can be imported".into(),
            EngineError::NativeSessionTaken { key } => format!("go on there: tl say --task {key} TEXT"),
            EngineError::BadPath { .. } => "name a folder that exists".into(),
            EngineError::ProjectExists { .. } => "choose another name with --name".into(),
            EngineError::BadProjectName { .. } => "use letters, digits, `-`, `_` and `.`, with --name".into(),
            EngineError::MessageTooLarge { .. } => "put it into a file and attach that: tl say --attach FILE".into(),
            EngineError::NoBlob { .. } => "send the bytes first: POST /api/v1/blobs".into(),
            EngineError::NoCheckpoint { .. } => "`tl restore KEY --list` shows the turns and their checkpoints".into(),
            EngineError::NotReady => "try again in a moment; `tl show KEY` shows how far it is".into(),
            EngineError::NotRelated => "compare a fork with its source, or two forks of one task".into(),
            EngineError::NothingToUndo => "`tl restore KEY --list` shows the turns to go back to".into(),
            EngineError::Checkpoint(error) => error.hint().unwrap_or("see the daemon's log").into(),
            EngineError::Failed(failure) => failure.hint.clone().unwrap_or_else(|| "`tl show KEY` shows it".into()),
            EngineError::NoChannel { name } => no_channel(name),
            EngineError::BadQuietHours { .. } => {
                "say two times of the day and a time zone, such as 22:00-07:00 and Europe/Berlin".into()
            }
            EngineError::NotFetched { .. } => "try again in a moment".into(),
            EngineError::IdempotencyConflict => "use a new key for a new message".into(),
            EngineError::Contended => "try again".into(),
            EngineError::Stopping => "try again in a moment".into(),
        }
    }
}

/// What to do about a channel that is not set up.
fn no_channel(name: &str) -> String {
    match platforms::ALL.iter().find(|known| known.is_called(name)) {
        Some(Manifest { platform, .. }) => {
            format!("set it up as [channels.{platform}] in config.toml, and start the daemon anew: docs/settings.md")
        }
        None => format!("there are {}", platforms::names()),
    }
}
