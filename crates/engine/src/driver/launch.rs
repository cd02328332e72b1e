//! What a keeper is told to run: the agent's profile, made concrete. Agents get an allow-listed environment.

use std::path::{Path, PathBuf};

use throughline_keeper::client::LaunchError;
use throughline_keeper::{Bounds, LaunchSpec};
use throughline_model::runtime_session::Failure;

use super::Shared;
use crate::config::AgentProfile;

/// Variables that pass to every agent.
const COMMON: [&str; 21] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "SSH_AUTH_SOCK",
];

impl Shared {
    pub(crate) fn launch_spec(&self, agent: &AgentProfile, cwd: &Path) -> LaunchSpec {
        let own = self.keeper_exe.display().to_string();
        let mut words = agent.command.iter().map(|word| if word == "{tl}" { own.clone() } else { word.clone() });
        let program = words.next().unwrap_or_default();
        let bounds = Bounds { max_frame_bytes: self.config.max_frame_bytes, ..Bounds::default() };
        LaunchSpec {
            program: program.into(),
            args: words.collect(),
            cwd: cwd.to_owned(),
            env: self.environment(agent),
            bounds,
        }
    }

    fn environment(&self, agent: &AgentProfile) -> Vec<(String, String)> {
        let passes = |name: &str| {
            COMMON.contains(&name) || name.starts_with("LC_") || agent.env.iter().any(|known| known == name)
        };
        let mut env: Vec<(String, String)> = std::env::vars().filter(|(name, _)| passes(name)).collect();
        if agent.env.iter().any(|name| name == "THROUGHLINE_HOME") {
            env.retain(|(name, _)| name != "THROUGHLINE_HOME");
            env.push(("THROUGHLINE_HOME".into(), self.home.path().display().to_string()));
        }
        for (name, value) in &self.config.env {
            env.retain(|(known, _)| known != name);
            env.push((name.clone(), value.clone()));
        }
        env
    }
}

/// Where a program is, if it is anywhere.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let runnable = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| runnable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| runnable(path))
}

/// What a person is told when an agent could not be started.
pub(crate) fn launch_failure(agent: &AgentProfile, error: &LaunchError) -> Failure {
    let (code, hint) = match error {
        LaunchError::ProgramNotFound { .. } => {
            let how = if agent.install.is_empty() {
                "check its command in config.toml".into()
            } else {
                agent.install.clone()
            };
            ("agent_not_installed", how)
        }
        LaunchError::CwdMissing { .. } => ("bad_path", "the project's folder is gone; put it back".into()),
        LaunchError::PermissionDenied { .. } => ("agent_not_executable", "make it executable".into()),
        LaunchError::AlreadyRunning
        | LaunchError::Used
        | LaunchError::TimedOut
        | LaunchError::Other { .. }
        | LaunchError::Io(_) => ("agent_start_failed", "`tl doctor` checks the agent".into()),
    };
    Failure {
        code: code.into(),
        message: format!("{} cannot be started: {}", agent.name, whole(error)),
        hint: Some(hint),
    }
}

/// An error with its causes, in one line.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
