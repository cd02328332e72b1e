//! What a keeper is told to run: the agent's profile, made concrete. Agents get an allow-listed environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use throughline_keeper::client::LaunchError;
use throughline_keeper::{Bounds, LaunchSpec};
use throughline_model::execution::Role;
use throughline_model::ids::ProjectId;
use throughline_model::runtime_session::Failure;

use super::Shared;
use crate::config::AgentProfile;
use crate::environment;

/// As what an agent is started, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InRole {
    pub(crate) role: Role,
    pub(crate) project: ProjectId,
}

impl Shared {
    /// The program that an agent is started with.
    pub(crate) fn program(&self, agent: &AgentProfile) -> String {
        let first = agent.command.first().map(String::as_str).unwrap_or_default();
        self.own(first)
    }

    /// `{tl}` stands for this very binary.
    fn own(&self, word: &str) -> String {
        if word == "{tl}" { self.keeper_exe.display().to_string() } else { word.to_owned() }
    }

    pub(crate) async fn launch_spec(&self, agent: &AgentProfile, cwd: &Path, role: Option<InRole>) -> LaunchSpec {
        let bounds = Bounds { max_frame_bytes: self.config.max_frame_bytes, ..Bounds::default() };
        let env = self.environment(agent, cwd).await;
        let confine = match role {
            Some(InRole { role, project }) => self.confinement(agent, role, (project, cwd), &env).await,
            None => None,
        };
        LaunchSpec {
            program: self.program(agent).into(),
            args: agent.command.iter().skip(1).map(|word| self.own(word)).collect(),
            cwd: cwd.to_owned(),
            env,
            bounds,
            confine,
        }
    }

    /// The login shell's, filtered; then the agent's own, then the person's settings, the later ones winning.
    async fn environment(&self, agent: &AgentProfile, cwd: &Path) -> Vec<(String, String)> {
        let mut env: BTreeMap<String, String> = self
            .environments
            .of(cwd)
            .await
            .into_iter()
            .filter(|(name, _)| environment::passes(name, &agent.env))
            .collect();
        let path = env.get("PATH").map(String::as_str).unwrap_or_default();
        env.insert("PATH".into(), joined_path(path));
        if agent.env.iter().any(|name| name == "THROUGHLINE_HOME") {
            env.insert("THROUGHLINE_HOME".into(), self.home.path().display().to_string());
        }
        env.extend(agent.set.clone());
        for file in &self.config.env_files {
            match std::fs::read_to_string(file) {
                Ok(text) => env.extend(environment::parse_file(&text)),
                Err(error) => tracing::warn!(file = %file.display(), %error, "an env file cannot be read"),
            }
        }
        env.extend(self.config.env.clone());
        env.into_iter().collect()
    }
}

/// The login shell's folders first, then those that only the daemon knows: whoever started it may know more.
fn joined_path(shell: &str) -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let mut folders: Vec<&str> = shell.split(':').filter(|folder| !folder.is_empty()).collect();
    for folder in own.split(':').filter(|folder| !folder.is_empty()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
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
