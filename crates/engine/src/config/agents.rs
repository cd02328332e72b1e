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
    /// What its environment has besides the common variables.
    pub variables: AgentVariables,
    /// How to get it.
    pub install: String,
    /// Its own login, for a person at a terminal; empty if it has none.
    pub login: Vec<String>,
    /// Whether it takes a session up again safely. If not, its process stays when it has nothing to do, and a session
    /// whose process died is rebuilt from a brief.
    pub resumes: bool,
    /// What has to be known of it besides.
    pub quirks: AgentQuirks,
    /// Words that it takes as a command where a message begins with one.
    pub words: Vec<String>,
    /// How it works in a role that only reads.
    pub read_only: ReadOnly,
    /// Whether it asks before it does things.
    pub asking: AskingProfile,
}

/// What an agent's environment has besides the common variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentVariables {
    /// Those of the person's environment that pass to it.
    pub pass: Vec<String>,
    /// Those that it always gets.
    pub set: BTreeMap<String, String>,
}

/// What has to be known of an agent that does not do as others do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentQuirks {
    /// The variable that names its model, if it takes a model only when it is started.
    pub model_env: Option<String>,
    /// Its ways to log in that need nobody at a terminal: the method's id, and the variable that has the key.
    pub key_logins: BTreeMap<String, String>,
    /// Whether its model sees the documents that come along with a prompt. If not, they go as text.
    pub shows_documents: bool,
    /// Messages with which it ends a failed turn as if it had worked.
    pub failed_messages: Vec<FailedMessage>,
}

impl Default for AgentQuirks {
    fn default() -> Self {
        Self { model_env: None, key_logins: BTreeMap::new(), shows_documents: true, failed_messages: vec![] }
    }
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
    /// What it then runs without a question, in words, if that is not what it runs elsewhere; empty if it is nothing.
    pub runs_unasked: Option<String>,
}

/// Whether an agent asks before it does things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskingProfile {
    /// Its strictest workable mode.
    pub mode: Option<String>,
    /// Its modes that ask for nothing at all.
    pub skips_asking: Vec<String>,
    /// What it runs without a question even in that mode, in words.
    pub runs_unasked: Option<String>,
}

impl AgentProfile {
    /// What to do when it is not logged in.
    pub(crate) fn login_hint(&self) -> String {
        if self.login.is_empty() {
            return "log in with the agent's own login, then `tl retry KEY`".into();
        }
        format!("`tl agents login {}`, then `tl retry KEY`", self.name)
    }

    /// How it departs from the protocol's plain reading.
    pub(crate) fn on_the_wire(&self) -> Quirks {
        Quirks { failed_messages: self.quirks.failed_messages.clone(), ..Quirks::default() }
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
    #[serde(default)]
    login: Vec<String>,
    #[serde(default = "yes")]
    resumes: bool,
    #[serde(default)]
    quirks: AgentQuirks,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    read_only: ReadOnly,
    mode: Option<String>,
    #[serde(default)]
    skips_asking: Vec<String>,
    runs_unasked: Option<String>,
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
        let Profile { command, aliases, install, login, resumes, quirks, .. } = profile;
        if command.is_empty() {
            return Err(format!("agent `{name}` has an empty command"));
        }
        let asking = AskingProfile {
            mode: profile.mode,
            skips_asking: profile.skips_asking,
            runs_unasked: profile.runs_unasked,
        };
        let variables = AgentVariables { pass: profile.env, set: profile.set };
        let (words, read_only) = (profile.words, profile.read_only);
        Ok(AgentProfile {
            name,
            command,
            aliases,
            variables,
            install,
            login,
            resumes,
            quirks,
            words,
            read_only,
            asking,
        })
    };
    profiles.into_iter().map(concrete).collect()
}
