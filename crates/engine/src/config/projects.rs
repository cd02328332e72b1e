//! What `config.toml` says about a project by its name: `[projects.NAME]`. A project that it does not name has the
//! defaults. Relative paths are taken from the project's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The settings of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectSettings {
    /// Variables that its agents get, over the global ones.
    pub env: BTreeMap<String, String>,
    /// A file with more of them, read at every start of an agent.
    pub env_file: Option<PathBuf>,
    /// Tool servers that its agents connect to, by name.
    pub mcp_servers: BTreeMap<String, McpServerSettings>,
    /// Folders besides its own that its agents work in, where they offer that.
    pub extra_roots: Vec<PathBuf>,
    /// What to run in a new worktree before an agent works there.
    pub setup: Option<String>,
    /// Files and folders that git does not keep and a new worktree needs, such as `.env`.
    pub copy: Vec<PathBuf>,
    /// Whether agents may be in a mode that asks for nothing at all.
    pub unasked_modes: bool,
    /// What happens when its agent cannot run; the global policy if it says nothing.
    pub on_agent_failure: Option<OnAgentFailure>,
}

/// A tool server: a process of the agent, or a server somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "McpServerTable")]
pub enum McpServerSettings {
    /// The agent starts it.
    Process {
        /// What to run.
        command: String,
        /// With what.
        args: Vec<String>,
        /// Its environment.
        env: BTreeMap<String, String>,
    },
    /// The agent connects to it.
    Server {
        /// Where it is.
        url: String,
        /// What is sent along.
        headers: BTreeMap<String, String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpServerTable {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
}

impl TryFrom<McpServerTable> for McpServerSettings {
    type Error = &'static str;

    fn try_from(table: McpServerTable) -> Result<Self, Self::Error> {
        let McpServerTable { command, args, env, url, headers } = table;
        match (command, url) {
            (Some(_), Some(_)) => Err("an MCP server has a `command` or a `url`, not both"),
            (None, None) => Err("an MCP server needs a `command` (with `args` and `env`) or a `url` (with `headers`)"),
            (Some(_), None) if headers.is_some() => Err("`headers` go with a `url`, not with a `command`"),
            (None, Some(_)) if args.is_some() || env.is_some() => {
                Err("`args` and `env` go with a `command`, not with a `url`")
            }
            (Some(command), None) => {
                Ok(McpServerSettings::Process { command, args: args.unwrap_or_default(), env: env.unwrap_or_default() })
            }
            (None, Some(url)) => Ok(McpServerSettings::Server { url, headers: headers.unwrap_or_default() }),
        }
    }
}

/// What happens when an agent itself cannot run: it is not installed, its login or its quota is gone, or it dies again
/// and again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnAgentFailure {
    /// The agent that takes the task over.
    pub replace_with: String,
}
