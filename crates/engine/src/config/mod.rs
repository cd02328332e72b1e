//! Settings: `config.toml` in the home, over the agents that are shipped. Nothing here is read twice.
//!
//! - `agents`: the agents that can be named;
//! - `channels`: where people can be reached besides;
//! - `projects`: what is said about a project by its name;
//! - `reach`: how browsers on other machines get here;
//! - `roles`: what each role is told and allowed.

mod agents;
mod channels;
mod projects;
mod reach;
mod retention;
mod roles;

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use agents::{AgentProfile, AskingProfile};
pub use channels::ChannelSettings;
pub use projects::{McpServerSettings, OnAgentFailure, ProjectSettings};
pub use reach::{PublicUrl, Reach, TlsSettings};
pub use retention::Retention;
pub(crate) use retention::days;
pub use roles::Roles;
use throughline_model::content::Text;
use throughline_model::handoff::Budget;

use crate::home::Home;
use crate::tie::TieModel;

/// Nobody decides on something that was asked a month ago.
const MAX_EXPIRES_SECS: u64 = 31 * 24 * 60 * 60;

/// All settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The agent of a project that names none.
    pub default_agent: String,
    /// The agents that can be named.
    pub agents: Vec<AgentProfile>,
    /// Variables that every agent gets.
    pub env: BTreeMap<String, String>,
    /// Files with more of them, read at every start of an agent.
    pub env_files: Vec<PathBuf>,
    /// What is said about projects, by name.
    pub projects: BTreeMap<String, ProjectSettings>,
    /// What happens when an agent cannot run, where the project says nothing.
    pub on_agent_failure: Option<OnAgentFailure>,
    /// How long an agent may take to answer `initialize`, and to open a session.
    pub initialize_timeout: Duration,
    /// The longest line that an agent may write.
    pub max_frame_bytes: u64,
    /// A turn of which nothing is heard for this long is shown as stalled.
    pub stall_after: Duration,
    /// A request that nobody decides for this long is denied.
    pub approval_expires: Duration,
    /// A process that has nothing to do goes after this long.
    pub park_after: Duration,
    /// How many processes there may be before one that rests has to go.
    pub max_live_sessions: usize,
    /// What agents are told besides the person's words.
    pub briefing: Briefing,
    /// How long what is no longer needed stays.
    pub retention: Retention,
    /// The model that breaks the router's ties; none if the person is asked.
    pub tie_model: Option<TieModel>,
    /// The channels that are set up.
    pub channels: ChannelSettings,
    /// How browsers on other machines get here.
    pub reach: Reach,
}

/// What agents are told besides the person's words.
#[derive(Clone, Debug, Default)]
pub struct Briefing {
    /// How long a handoff, or what others found, may be.
    pub handoff: Budget,
    /// What each role is told and allowed.
    pub roles: Roles,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{} is not right: {message}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
}

impl ConfigError {
    /// The stable code, the same in the CLI, the API and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ConfigError::Unreadable { .. } => "config_unreadable",
            ConfigError::Invalid { .. } => "config_invalid",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "mend the file, or move it away to use the defaults"
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    default_agent: Option<String>,
    initialize_timeout_secs: Option<u64>,
    max_frame_bytes: Option<u64>,
    stall_after_secs: Option<u64>,
    approval_expires_secs: Option<u64>,
    park_after_secs: Option<u64>,
    max_live_sessions: Option<usize>,
    handoff: HandoffFile,
    roles: roles::File,
    agents: BTreeMap<String, agents::Profile>,
    env: BTreeMap<String, String>,
    env_file: Option<PathBuf>,
    projects: BTreeMap<String, ProjectSettings>,
    on_agent_failure: Option<OnAgentFailure>,
    retention: Retention,
    channels: ChannelSettings,
    router: RouterFile,
    web: reach::File,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RouterFile {
    model: Option<TieModel>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HandoffFile {
    max_bytes: Option<usize>,
}

impl HandoffFile {
    fn budget(&self) -> Result<Budget, String> {
        let most = Text::INLINE_MAX_BYTES;
        match self.max_bytes {
            None => Ok(Budget::default()),
            Some(max_bytes) if max_bytes <= most => Ok(Budget { max_bytes }),
            Some(max_bytes) => Err(format!("handoff.max_bytes is {max_bytes}, and {most} at most")),
        }
    }
}

/// One live session per GB of memory, at most eight.
fn default_live_sessions() -> usize {
    const MOST: usize = 8;
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<usize> = total.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or(MOST, |kib| (kib >> 20).clamp(1, MOST))
}

impl Config {
    /// The home's settings; the defaults where it has none.
    ///
    /// # Errors
    /// If the file is there but cannot be used.
    pub fn load(home: &Home) -> Result<Self, ConfigError> {
        let path = home.config_file();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        Self::parse(&path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let invalid = |message: String| ConfigError::Invalid { path: path.to_owned(), message };
        let file: File = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        let agents = agents::profiles(file.agents).map_err(invalid)?;
        let config = Self {
            default_agent: file.default_agent.unwrap_or_else(|| "demo".into()),
            agents,
            env: file.env,
            env_files: file.env_file.into_iter().collect(),
            projects: file.projects,
            on_agent_failure: file.on_agent_failure,
            initialize_timeout: Duration::from_secs(file.initialize_timeout_secs.unwrap_or(60)),
            max_frame_bytes: file.max_frame_bytes.unwrap_or(64 << 20),
            stall_after: Duration::from_secs(file.stall_after_secs.unwrap_or(10 * 60)),
            approval_expires: Duration::from_secs(
                file.approval_expires_secs.unwrap_or(60 * 60).clamp(1, MAX_EXPIRES_SECS),
            ),
            park_after: Duration::from_secs(file.park_after_secs.unwrap_or(10 * 60)),
            max_live_sessions: file.max_live_sessions.unwrap_or_else(default_live_sessions).max(1),
            retention: file.retention,
            tie_model: file.router.model,
            channels: file.channels,
            reach: file.web.checked().map_err(invalid)?,
            briefing: Briefing {
                handoff: file.handoff.budget().map_err(invalid)?,
                roles: Roles::with(file.roles).map_err(invalid)?,
            },
        };
        let stray = config.agents_in_use().into_iter().find(|(_, name)| config.agent(name).is_none());
        if let Some((place, name)) = stray {
            return Err(invalid(format!("{place} `{name}` is not an agent")));
        }
        Ok(config)
    }

    /// The agents that the settings name, with where they do.
    fn agents_in_use(&self) -> Vec<(String, &str)> {
        let mut named = vec![("default_agent".to_owned(), self.default_agent.as_str())];
        if let Some(policy) = &self.on_agent_failure {
            named.push(("on_agent_failure.replace_with".into(), &policy.replace_with));
        }
        for (name, project) in &self.projects {
            if let Some(policy) = &project.on_agent_failure {
                named.push((format!("projects.{name}.on_agent_failure.replace_with"), &policy.replace_with));
            }
        }
        named
    }

    /// The variables that the settings give an agent in every project, the later ones winning.
    ///
    /// # Errors
    /// If an env file cannot be read.
    pub fn variables(&self, agent: &AgentProfile) -> Result<BTreeMap<String, String>, ConfigError> {
        let mut variables = agent.variables.set.clone();
        for path in &self.env_files {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
            variables.extend(crate::environment::parse_file(&text));
        }
        variables.extend(self.env.clone());
        Ok(variables)
    }

    /// What is said about the project of this name.
    #[must_use]
    pub fn project(&self, name: &str) -> ProjectSettings {
        self.projects.get(name).cloned().unwrap_or_default()
    }

    /// What happens when an agent cannot run in the project of this name.
    #[must_use]
    pub fn on_agent_failure(&self, project: &str) -> Option<&OnAgentFailure> {
        let own = self.projects.get(project).and_then(|project| project.on_agent_failure.as_ref());
        own.or(self.on_agent_failure.as_ref())
    }

    /// What to do when an agent is not logged in.
    pub(crate) fn login_hint(&self, agent: &str) -> String {
        let hint = self.agent(agent).map(AgentProfile::login_hint);
        hint.unwrap_or_else(|| "log in with the agent's own login".into())
    }

    /// The agent of this name or alias.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&AgentProfile> {
        let same = |known: &String| known.eq_ignore_ascii_case(name);
        self.agents
            .iter()
            .find(|agent| same(&agent.name))
            .or_else(|| self.agents.iter().find(|agent| agent.aliases.iter().any(same)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Path::new("config.toml"), text)
    }

    #[test]
    fn an_empty_file_has_the_shipped_agents() {
        let config = parse("").expect("fine");
        assert_eq!(config.default_agent, "demo");
        assert_eq!(config.agent("CC").map(|agent| agent.name.as_str()), Some("claude-code"));
    }

    #[test]
    fn a_user_adds_an_agent_with_one_line() {
        let config = parse("[agents.mine]\ncommand = [\"my-agent\", \"--acp\"]\n").expect("fine");
        assert_eq!(config.agent("mine").map(|agent| agent.command.len()), Some(2));
        assert!(config.agent("codex").is_some(), "the shipped ones stay");
    }

    #[test]
    fn a_project_has_settings_of_its_own() {
        let text = r#"
            on_agent_failure = { replace_with = "cc" }
            [projects.shop]
            env = { NODE_ENV = "test" }
            env_file = ".env.agents"
            extra_roots = ["../shared"]
            setup = "npm ci"
            copy = [".env"]
            unasked_modes = true
            on_agent_failure = { replace_with = "codex" }
            [projects.shop.mcp_servers.docs]
            url = "https://docs.example/mcp"
            headers = { Authorization = "Bearer x" }
            [projects.shop.mcp_servers.db]
            command = "db-mcp"
            args = ["--read-only"]
        "#;
        let config = parse(text).expect("fine");
        let shop = config.project("shop");
        assert_eq!(shop.setup.as_deref(), Some("npm ci"));
        assert_eq!(shop.copy, [PathBuf::from(".env")]);
        assert_eq!(shop.mcp_servers.len(), 2);
        let docs = McpServerSettings::Server {
            url: "https://docs.example/mcp".into(),
            headers: [("Authorization".into(), "Bearer x".into())].into(),
        };
        assert_eq!(shop.mcp_servers.get("docs"), Some(&docs));
        assert_eq!(config.on_agent_failure("shop").map(|policy| policy.replace_with.as_str()), Some("codex"));
        assert_eq!(config.on_agent_failure("other").map(|policy| policy.replace_with.as_str()), Some("cc"));
        assert_eq!(config.project("other"), ProjectSettings::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("[projects.shop]\nsteup = 'x'", "steup"),
            ("[projects.shop.mcp_servers.a]\nargs = []", "needs a `command`"),
            ("[projects.shop.mcp_servers.a]\ncommand = 'a'\nurl = 'b'", "not both"),
            ("[projects.shop.mcp_servers.a]\nurl = 'b'\nargs = []", "go with a `command`"),
            ("[projects.shop]\non_agent_failure = { replace_with = 'nobody' }", "projects.shop.on_agent_failure"),
            ("defualt_agent = 'x'", "defualt_agent"),
            ("default_agent = 'nobody'", "nobody"),
            ("[agents.mine]\ncommand = []", "mine"),
            ("[agents.mine]\n", "command"),
            ("[handoff]\nmax_bytes = 1000000", "handoff.max_bytes"),
            ("[router.model]\nurl = 'x'\nmodel = 'y'\napi = 'telepathy'", "telepathy"),
            ("[roles.reviewer]\nread_only = false", "roles.reviewer"),
            ("[roles.janitor]", "janitor"),
            ("[channels.telegram]\ntokne = 'x'", "tokne"),
            ("[web]\npublic_url = 'desk'", "public_url"),
            ("[web]\ntls_cert = 'c.pem'", "tls_key"),
            ("not toml", "config.toml"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.code(), "config_invalid");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
