//! Agents as data: what is shipped in `agents.toml`, and what a person adds in `config.toml` in the same shape.

use std::collections::BTreeMap;

use serde::Deserialize;
use throughline_acp::quirks::{FailedMessage, Quirks};

const SHIPPED: &str = include_str!("../../agents.toml");

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
    /// Words that it takes as a command where a message begins with one.
    pub words: Vec<String>,
    /// How it works in a role that only reads.
    pub read_only: ReadOnly,
}

/// How an agent works in a role that only reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOnly {
    /// The mode of its own in which it changes nothing.
    pub mode: Option<String>,
    /// Its own state, which it has to write all the same. `~/`, `{home}/` and `$NAME` are understood; what ends with a
    /// slash is made.
    pub writable: Vec<String>,
}

impl AgentProfile {
    /// How it departs from the protocol's plain reading.
    pub(crate) fn quirks(&self) -> Quirks {
        Quirks { failed_messages: self.failed_messages.clone(), ..Quirks::default() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
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
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    read_only: ReadOnly,
}

fn yes() -> bool {
    true
}

/// The shipped agents with a person's over them.
pub(super) fn profiles(own: BTreeMap<String, Profile>) -> Result<Vec<AgentProfile>, String> {
    let mut profiles: BTreeMap<String, Profile> =
        toml::from_str(SHIPPED).map_err(|error| format!("the shipped agents: {error}"))?;
    profiles.extend(own);
    let concrete = |(name, profile): (String, Profile)| {
        let Profile { command, aliases, env, set, install, resumes, failed_messages, words, read_only } = profile;
        if command.is_empty() {
            return Err(format!("agent `{name}` has an empty command"));
        }
        Ok(AgentProfile { name, command, aliases, env, set, install, resumes, failed_messages, words, read_only })
    };
    profiles.into_iter().map(concrete).collect()
}
