//! What the agent offers: its capabilities, modes, models and slash commands. Constant data.

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Implementation,
    InitializeResponse, McpCapabilities, PromptCapabilities, SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionForkCapabilities, SessionListCapabilities, SessionMode, SessionModeState,
    SessionResumeCapabilities, UnstructuredCommandInput,
};
use serde::{Deserialize, Serialize};

use super::line::WORDS;

/// The id of the one config option.
pub const MODEL_OPTION: &str = "model";

/// Whether `run` asks first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It does.
    #[default]
    Ask,
    /// It does not.
    Auto,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Ask, Self::Auto];

    /// The id on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
        }
    }

    /// The mode of that id.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }

    /// All modes, with this one as the current one.
    pub fn state(self) -> SessionModeState {
        SessionModeState::new(
            self.id(),
            vec![
                SessionMode::new(Self::Ask.id(), "Ask")
                    .description("Asks permission before it runs a command".to_owned()),
                SessionMode::new(Self::Auto.id(), "Auto").description("Runs commands without asking".to_owned()),
            ],
        )
    }
}

/// Two names without a model behind them, so that switching can be seen to work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Model {
    #[default]
    #[serde(rename = "demo-small")]
    Small,
    #[serde(rename = "demo-large")]
    Large,
}

impl Model {
    const ALL: [Self; 2] = [Self::Small, Self::Large];

    /// The id on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Small => "demo-small",
            Self::Large => "demo-large",
        }
    }

    /// The model of that id.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.id() == id)
    }

    /// How much context the model would have.
    pub fn context_tokens(self) -> u64 {
        match self {
            Self::Small => 100_000,
            Self::Large => 200_000,
        }
    }

    /// All config options, with this as the current model.
    pub fn config_options(self) -> Vec<SessionConfigOption> {
        let choices: Vec<_> =
            Self::ALL.into_iter().map(|model| SessionConfigSelectOption::new(model.id(), model.id())).collect();
        vec![
            SessionConfigOption::select(MODEL_OPTION, "Model", self.id(), choices)
                .category(SessionConfigOptionCategory::Model)
                .description("A name only: the demo agent has no model behind it".to_owned()),
        ]
    }
}

/// The answer to `initialize`.
pub fn initialize_response() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .session_capabilities(sessions)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true));
    // Version 1 is all that is spoken here, whatever was asked for.
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("demo", env!("CARGO_PKG_VERSION")).title("Demo".to_owned()))
}

/// The slash commands: every word but those that are there to break something.
pub fn commands() -> AvailableCommandsUpdate {
    let harmless =
        WORDS.iter().filter(|word| !matches!(word.name, "fail" | "crash" | "hang" | "flood" | "spawn" | "spend"));
    let commands = harmless.map(|word| {
        let command = AvailableCommand::new(word.name, word.effect);
        if word.argument.is_empty() {
            return command;
        }
        let hint = UnstructuredCommandInput::new(word.argument);
        command.input(AvailableCommandInput::Unstructured(hint))
    });
    AvailableCommandsUpdate::new(commands.collect())
}
