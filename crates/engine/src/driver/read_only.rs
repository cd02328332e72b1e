//! Read-only roles: the kernel keeps the agent from writing where it can, else the agent's own mode, else nothing does;
//! and whichever it is, is said.
//!
//! The writable set is what agents need to work at all: their own state, the usual places for settings and caches,
//! temporary files and a few devices. The project's folders and Throughline's home are never in it.

use std::path::{Path, PathBuf};

use throughline_acp::happening::SessionSettings;
use throughline_keeper::{Confine, can_confine, client};
use throughline_model::effect::Process;
use throughline_model::execution::Role;
use throughline_model::ids::ProjectId;
use throughline_model::runtime_session::{Enforcement, WriteAccess};
use throughline_model::stream::StreamId;

use super::Shared;
use crate::config::AgentProfile;

/// Devices that programs write to without changing anything.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/shm"];
/// Where programs keep settings, caches and state, below the person's home; made where they are missing, because an agent
/// that is confined could not.
const IN_HOME: [&str; 3] = [".config", ".cache", ".local"];
/// The same, for those who have it.
const IN_SOME_HOMES: &str = ".npm";
/// The variables that move those places.
const MOVED_BY: [&str; 5] = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

impl Shared {
    /// What an agent in a role would be held to.
    pub(crate) fn write_access(&self, agent: Option<&AgentProfile>, role: Role) -> WriteAccess {
        let profile = self.config.briefing.roles.of(role);
        if !profile.read_only {
            return WriteAccess::Writes;
        }
        let by_mode = agent.is_some_and(|agent| agent.read_only.mode.is_some()).then_some(Enforcement::AgentMode);
        let enforced_by = if profile.confine && can_confine() { Some(Enforcement::Landlock) } else { by_mode };
        WriteAccess::ReadOnly { enforced_by }
    }

    /// Where an agent in a role may write; everywhere if its role does, or if nothing can keep it from doing so.
    pub(super) async fn confinement(
        &self,
        agent: &AgentProfile,
        role: Role,
        (project, root): (ProjectId, &Path),
        env: &[(String, String)],
    ) -> Option<Confine> {
        let landlock = WriteAccess::ReadOnly { enforced_by: Some(Enforcement::Landlock) };
        if self.write_access(Some(agent), role) != landlock {
            return None;
        }
        let mut protected = vec![root.to_owned(), self.home.path().to_owned()];
        if let Ok(state) = self.core.state(StreamId::Project(project)).await {
            protected.extend(state.project().into_iter().flat_map(|project| &project.roots).map(PathBuf::from));
        }
        let home = variable(env, "HOME").map(PathBuf::from);
        let own = agent.read_only.writable.iter().filter_map(|place| self.place(place, home.as_deref(), env));
        let mut shared: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        shared.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
        shared.extend(variable(env, "TMPDIR").map(PathBuf::from));
        shared.extend(MOVED_BY.iter().filter_map(|name| variable(env, name)).map(PathBuf::from));
        if let Some(home) = &home {
            let usual = IN_HOME.map(|name| home.join(name));
            usual.iter().for_each(|folder| made(folder));
            shared.extend(usual);
            shared.push(home.join(IN_SOME_HOMES));
        }
        Some(Confine { own: own.collect(), shared, protected })
    }

    /// A place that an agent's profile names: `~/` is the person's home, `{home}/` Throughline's, `$NAME` a variable. One
    /// that ends with a slash is a folder, and is made: the agent could not.
    fn place(&self, named: &str, home: Option<&Path>, env: &[(String, String)]) -> Option<PathBuf> {
        let path = if let Some(rest) = named.strip_prefix("~/") {
            home?.join(rest)
        } else if let Some(rest) = named.strip_prefix("{home}/") {
            self.home.path().join(rest)
        } else if let Some(name) = named.strip_prefix('$') {
            PathBuf::from(variable(env, name.trim_end_matches('/'))?)
        } else {
            PathBuf::from(named)
        };
        if named.ends_with('/') {
            made(&path);
        }
        Some(path)
    }

    /// The agent's own read-only mode, if its role asks for one and the session offers it.
    pub(super) fn read_only_mode(&self, agent: &str, role: Role, settings: &SessionSettings) -> Option<String> {
        let mode = self.config.agent(agent)?.read_only.mode.clone()?;
        let asked = self.config.briefing.roles.of(role).read_only;
        let offered = settings.modes.iter().any(|known| known.id == mode);
        (asked && offered).then_some(mode)
    }

    /// What a process that is open is held to: what its keeper did, and the mode that the agent took on.
    pub(super) fn held_to(&self, process: Process, agent: &str, role: Role, settings: &SessionSettings) -> WriteAccess {
        if !self.config.briefing.roles.of(role).read_only {
            return WriteAccess::Writes;
        }
        let mode = self.read_only_mode(agent, role, settings);
        let enforced_by = match client::is_confined(&self.keeper_dir(process)) {
            true => Some(Enforcement::Landlock),
            false => mode.filter(|mode| settings.mode.as_ref() == Some(mode)).map(|_| Enforcement::AgentMode),
        };
        WriteAccess::ReadOnly { enforced_by }
    }
}

fn made(folder: &Path) {
    if let Err(error) = std::fs::create_dir_all(folder) {
        tracing::warn!(path = %folder.display(), %error, "an agent's folder cannot be made");
    }
}

fn variable<'a>(env: &'a [(String, String)], name: &str) -> Option<&'a str> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}
