//! RuntimeSession: the provider's session and process under an execution. A person never has to name it.
//!
//! It is sticky: nothing but the four [`StartReason`]s begins another one. Its process may come and go; each
//! process is one *epoch*, and whoever speaks for an older epoch is refused.

use serde::{Deserialize, Serialize};

use crate::ids::RuntimeSessionId;
use crate::time::Timestamp;

/// A runtime session's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeSession {
    /// Which.
    pub id: RuntimeSessionId,
    /// The agent's own id of it, once it was opened.
    pub native: Option<String>,
    /// Counts the processes that carried it; the current one is the only one that may write.
    pub epoch: u64,
    /// Where it is in its life.
    pub phase: RuntimePhase,
    /// Why it was started at all.
    pub reason: StartReason,
    /// What the agent said it is and can do.
    pub description: RuntimeDescription,
    /// When its process goes while nothing runs.
    #[serde(default)]
    pub parking: Parking,
    /// How far its past was read, if it was begun elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedPast>,
    /// Whether its agent was told its role.
    #[serde(default)]
    pub introduced: bool,
}

/// How far the past of an imported session was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedPast {
    /// So many of its turns are in the record.
    pub turns: u64,
    /// There is no more to read.
    pub whole: bool,
}

/// Whether a process may change the workspace, and what keeps it from doing so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "access", rename_all = "snake_case")]
pub enum WriteAccess {
    /// It may.
    #[default]
    Writes,
    /// It is not to.
    ReadOnly {
        /// What keeps it from doing so; nothing but its role's words if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enforced_by: Option<Enforcement>,
    },
}

impl WriteAccess {
    /// Whether a record can leave it out.
    pub(crate) fn unsaid(&self) -> bool {
        *self == Self::default()
    }
}

/// What keeps a process from writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The kernel.
    Landlock,
    /// The agent's own read-only mode.
    AgentMode,
}

/// When a process goes while nothing runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parking {
    /// After so long; never for idleness if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_secs: Option<u64>,
    /// How many processes the agent had when it was ready: more than that are background children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<usize>,
}

impl Parking {
    /// Whether a record can leave it out.
    pub(crate) fn unsaid(&self) -> bool {
        *self == Self::default()
    }
}

impl RuntimeSession {
    /// Whether a process carries it now, or is about to.
    #[must_use]
    pub fn has_process(&self) -> bool {
        matches!(self.phase, RuntimePhase::Starting | RuntimePhase::Live)
    }

    /// Whether the next message goes to it, rather than to a new one.
    #[must_use]
    pub fn sticky(&self) -> bool {
        matches!(self.phase, RuntimePhase::Starting | RuntimePhase::Live | RuntimePhase::Parked)
    }
}

/// Where a runtime session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimePhase {
    /// A process was asked for.
    Starting,
    /// The agent answers.
    Live,
    /// No process; the native session stays bound and the next message resumes it.
    Parked,
    /// The native session is gone for good.
    Lost,
    /// Ended on purpose.
    Closed,
}

/// The only four reasons for which a new runtime session starts (DESIGN §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartReason {
    /// The execution has none yet.
    FirstUse,
    /// The person asked for a fresh one.
    Requested,
    /// The agent or model changed in a way that the live session cannot take.
    Changed,
    /// The old one is truly lost.
    Lost,
}

/// Why a process of a runtime session was started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeCause {
    /// It was parked on purpose.
    Parked,
    /// Its process had died.
    ProcessDied,
}

/// What the agent said about itself and the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeDescription {
    /// The agent's name and version.
    pub agent: AgentDescription,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The model in use, where the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that can be chosen.
    pub models: Vec<Choice>,
    /// The config option that sets the model, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_option: Option<String>,
    /// The mode in use, where the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The modes that can be chosen.
    pub modes: Vec<Choice>,
    /// The agent's own slash commands.
    pub commands: Vec<Choice>,
    /// Tools that were seen in use, by kind.
    pub tools: Vec<String>,
    /// The native session that it was forked from, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// MCP servers that the session was opened with.
    pub mcp_servers: Vec<String>,
    /// Whether its process may change the workspace.
    #[serde(skip_serializing_if = "WriteAccess::unsaid")]
    pub write_access: WriteAccess,
    /// On what terms it was opened.
    #[serde(skip_serializing_if = "Terms::unsaid")]
    pub terms: Terms,
}

/// On what terms a session was opened: what it was given besides its folder and its tool servers, and whether it asks before
/// it does things, by its profile and by what the person allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// Folders besides its own.
    pub roots: Vec<String>,
    /// What the project's settings ask for and the agent does not offer, in words.
    pub left_out: Vec<String>,
    /// Its strictest workable mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<String>,
    /// The config option that sets the mode, where `session/set_mode` does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Its modes that ask for nothing at all.
    pub skipping: Vec<String>,
    /// A person turned those on for the project.
    pub may_skip: bool,
    /// What it runs without a question even in its strictest mode, in words: `inside its sandbox`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_unasked: Option<String>,
    /// Another model is given to another process: the agent takes one when it is started, and then no more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub model_at_start: bool,
}

impl Terms {
    fn unsaid(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nobody allowed this mode.
    #[must_use]
    pub fn forbids(&self, mode: &str) -> bool {
        !self.may_skip && self.skipping.iter().any(|known| known == mode)
    }
}

/// What an agent runs without a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// Some of it, in words.
    Some(String),
    /// Everything: the mode it is in asks for nothing.
    Everything(String),
}

/// The agent's name and version, as it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDescription {
    /// Such as `codex-acp`.
    pub name: String,
    /// Such as `2.6.0`.
    pub version: String,
}

/// What an agent offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// `session/load`.
    pub load: bool,
    /// `session/resume`.
    pub resume: bool,
    /// `session/fork`.
    pub fork: bool,
    /// `session/list`.
    pub list: bool,
    /// `session/close`.
    pub close: bool,
    /// Pictures in prompts.
    pub images: bool,
    /// Files in prompts.
    pub embedded_context: bool,
    /// Folders besides the session's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub additional_directories: bool,
    /// MCP servers over HTTP; processes are always taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_http: bool,
}

/// Something that can be chosen, with what a person would call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The agent's id of it.
    pub id: String,
    /// What a person would call it.
    pub name: String,
}

impl Choice {
    /// The one that a person means: by its id, else by an id or name that only one of them has, whatever its case.
    #[must_use]
    pub fn meant<'a>(choices: &'a [Choice], said: &str) -> Option<&'a Choice> {
        let alike = |word: &str| word.to_lowercase() == said.to_lowercase();
        choices.iter().find(|choice| choice.id == said).or_else(|| {
            let mut meant = choices.iter().filter(|choice| alike(&choice.id) || alike(&choice.name));
            meant.next().filter(|_| meant.next().is_none())
        })
    }
}

/// Something that changed in a live session's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "changed", rename_all = "snake_case")]
pub enum SettingChange {
    /// The mode in use.
    Mode {
        /// The new one.
        mode: String,
    },
    /// It went into a mode that nobody allowed, and is set back.
    ModeSetBack {
        /// The mode it was in.
        from: String,
        /// The strict one.
        to: String,
    },
    /// The model in use.
    Model {
        /// The new one.
        model: String,
    },
    /// The agent did not take a model.
    ModelRefused {
        /// Which.
        model: String,
        /// What it said.
        cause: String,
    },
    /// The agent's slash commands.
    Commands {
        /// All of them.
        commands: Vec<Choice>,
    },
    /// A tool was used for the first time.
    Tool {
        /// Its kind.
        tool: String,
    },
}

impl RuntimeDescription {
    /// What the agent runs without a question, as far as that is known.
    #[must_use]
    pub fn unasked(&self) -> Option<Unasked> {
        let skipping = self.mode.as_ref().filter(|mode| self.terms.skipping.contains(mode));
        match skipping {
            Some(mode) => Some(Unasked::Everything(mode.clone())),
            None => self.terms.runs_unasked.clone().map(Unasked::Some),
        }
    }

    /// Takes a change in; true if it was one.
    pub fn apply(&mut self, change: &SettingChange) {
        match change {
            SettingChange::Mode { mode } | SettingChange::ModeSetBack { to: mode, .. } => {
                self.mode = Some(mode.clone())
            }
            SettingChange::ModelRefused { .. } => {}
            SettingChange::Model { model } => self.model = Some(model.clone()),
            SettingChange::Commands { commands } => self.commands.clone_from(commands),
            SettingChange::Tool { tool } => {
                if !self.tools.contains(tool) {
                    self.tools.push(tool.clone());
                }
            }
        }
    }
}

/// Why a session could not be opened, or ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable code; see `docs/errors.md`.
    pub code: String,
    /// What happened, in words.
    pub message: String,
    /// What the person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// When it will be over by itself, where the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}
