//! Settings: `config.toml` in the home, over the agents that are shipped. Nothing here is read twice.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use throughline_acp::quirks::{FailedMessage, Quirks};

use crate::home::Home;

const SHIPPED: &str = include_str!("../agents.toml");

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
    /// How long an agent may take to answer `initialize`, and to open a session.
    pub initialize_timeout: Duration,
    /// The longest line that an agent may write.
    pub max_frame_bytes: u64,
    /// A turn of which nothing is heard for this long is shown as stalled.
    pub stall_after: Duration,
    /// A process that has nothing to do goes after this long.
    pub park_after: Duration,
    /// How many processes there may be before one that rests has to go.
    pub max_live_sessions: usize,
}

/// An agent as data: what to start, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProfile {
    /// Its name.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What else people call it.
    pub aliases: Vec<String>,
    /// Variables of the person's environment that pass to it, besides the common ones.
    pub env: Vec<String>,
    /// Variables that it always gets.
    pub set: BTreeMap<String, String>,
    /// How to get it.
    pub install: String,
    /// Whether it takes a session up again safely. If not, its process stays when it has nothing to do, and a session
    /// whose process died is rebuilt from a brief.
    pub resumes: bool,
    /// Messages with which it ends a failed turn as if it had worked.
    pub failed_messages: Vec<FailedMessage>,
}

impl AgentProfile {
    /// How it departs from the protocol's plain reading.
    pub(crate) fn quirks(&self) -> Quirks {
        Quirks { failed_messages: self.failed_messages.clone(), ..Quirks::default() }
    }
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
    park_after_secs: Option<u64>,
    max_live_sessions: Option<usize>,
    agents: BTreeMap<String, Profile>,
    env: BTreeMap<String, String>,
    env_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    command: Vec<String>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    install: String,
    #[serde(default = "yes")]
    resumes: bool,
    #[serde(default)]
    failed_messages: Vec<FailedMessage>,
}

fn yes() -> bool {
    true
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
        let mut profiles: BTreeMap<String, Profile> =
            toml::from_str(SHIPPED).map_err(|error| invalid(format!("the shipped agents: {error}")))?;
        profiles.extend(file.agents);
        let mut agents = Vec::with_capacity(profiles.len());
        for (name, profile) in profiles {
            if profile.command.is_empty() {
                return Err(invalid(format!("agent `{name}` has an empty command")));
            }
            let Profile { command, aliases, env, set, install, resumes, failed_messages } = profile;
            agents.push(AgentProfile { name, command, aliases, env, set, install, resumes, failed_messages });
        }
        let config = Self {
            default_agent: file.default_agent.unwrap_or_else(|| "demo".into()),
            agents,
            env: file.env,
            env_files: file.env_file.into_iter().collect(),
            initialize_timeout: Duration::from_secs(file.initialize_timeout_secs.unwrap_or(60)),
            max_frame_bytes: file.max_frame_bytes.unwrap_or(64 << 20),
            stall_after: Duration::from_secs(file.stall_after_secs.unwrap_or(10 * 60)),
            park_after: Duration::from_secs(file.park_after_secs.unwrap_or(10 * 60)),
            max_live_sessions: file.max_live_sessions.unwrap_or_else(default_live_sessions).max(1),
        };
        match config.agent(&config.default_agent) {
            Some(_) => Ok(config),
            None => Err(invalid(format!("default_agent `{}` is not an agent", config.default_agent))),
        }
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
    fn mistakes_are_named() {
        for (text, word) in [
            ("defualt_agent = 'x'", "defualt_agent"),
            ("default_agent = 'nobody'", "nobody"),
            ("[agents.mine]\ncommand = []", "mine"),
            ("[agents.mine]\n", "command"),
            ("not toml", "config.toml"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.code(), "config_invalid");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
