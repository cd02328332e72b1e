//! What a keeper is told to run: the agent's profile, made concrete. Agents get an allow-listed environment.
//!
//! *Invariant:* whether an agent is installed has one answer, that of [`Shared::find`]: its program is in the `PATH` that
//! it would be started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use throughline_keeper::client::LaunchError;
use throughline_keeper::{Bounds, LaunchSpec};
use throughline_model::execution::Role;
use throughline_model::ids::ProjectId;
use throughline_model::project::Project;
use throughline_model::runtime_session::Failure;
use throughline_model::state::State;
use throughline_model::stream::StreamId;

use super::Shared;
use crate::config::{AgentProfile, ProjectSettings};
use crate::environment::{self, Variables};
use crate::home::Home;

/// As what an agent is started, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InRole {
    pub(crate) role: Role,
    pub(crate) project: ProjectId,
}

/// A project as an agent's process needs to know it.
#[derive(Default)]
pub(crate) struct AboutProject {
    /// Its folder.
    pub(crate) root: String,
    /// What is said about it.
    pub(crate) settings: ProjectSettings,
}

impl AboutProject {
    /// Its folder; the home where there is no project.
    pub(crate) fn folder<'a>(&'a self, home: &'a Home) -> &'a Path {
        if self.root.is_empty() { home.path() } else { Path::new(&self.root) }
    }
}

impl Shared {
    /// A project's folder and settings.
    pub(crate) async fn about(&self, project: ProjectId) -> AboutProject {
        let Some(project) = self.project(project).await else { return AboutProject::default() };
        AboutProject {
            root: project.roots.first().cloned().unwrap_or_default(),
            settings: self.config.project(&project.name),
        }
    }

    /// The agent that takes over in a project when another one cannot run, if the policy names one.
    pub(crate) async fn replacement(&self, project: ProjectId) -> Option<String> {
        let project = self.project(project).await?;
        let policy = self.config.on_agent_failure(&project.name)?;
        self.config.agent(&policy.replace_with).map(|agent| agent.name.clone())
    }

    async fn project(&self, project: ProjectId) -> Option<Project> {
        match self.core.state(StreamId::Project(project)).await {
            Ok(state) => match &*state {
                State::Project(known) => known.clone(),
                _ => None,
            },
            Err(error) => {
                tracing::error!(%error, %project, "a project cannot be read; its settings are passed over");
                None
            }
        }
    }

    /// Where an agent's program is, for one that would be started in this folder; nowhere if it is not installed.
    pub(crate) async fn find(&self, agent: &AgentProfile, folder: &Path, project: &AboutProject) -> Option<PathBuf> {
        find_program(&self.program(agent), folder, &self.environment(agent, folder, project).await)
    }

    /// The same, and a program that is not found is looked for where the shell says now: it may have come since.
    pub(crate) async fn find_now(
        &self,
        agent: &AgentProfile,
        folder: &Path,
        project: &AboutProject,
    ) -> Option<PathBuf> {
        if let Some(found) = self.find(agent, folder, project).await {
            return Some(found);
        }
        self.environments.forget(folder);
        self.find(agent, folder, project).await
    }

    /// The program that an agent is started with.
    pub(crate) fn program(&self, agent: &AgentProfile) -> String {
        let first = agent.command.first().map(String::as_str).unwrap_or_default();
        self.own(first)
    }

    /// `{tl}` stands for this very binary.
    fn own(&self, word: &str) -> String {
        if word == "{tl}" { self.keeper_exe.display().to_string() } else { word.to_owned() }
    }

    pub(crate) async fn launch_spec(
        &self,
        agent: &AgentProfile,
        cwd: &Path,
        project: &AboutProject,
        role: Option<InRole>,
    ) -> LaunchSpec {
        let found = self.find_now(agent, cwd, project).await;
        let bounds = Bounds { max_frame_bytes: self.config.max_frame_bytes, ..Bounds::default() };
        let env = self.environment(agent, cwd, project).await;
        let confine = match role {
            Some(InRole { role, project }) => self.confinement(agent, role, (project, cwd), &env).await,
            None => None,
        };
        LaunchSpec {
            // What is nowhere is left to the keeper, which knows whether it is missing or may not be run.
            program: found.unwrap_or_else(|| self.program(agent).into()),
            args: agent.command.iter().skip(1).map(|word| self.own(word)).collect(),
            cwd: cwd.to_owned(),
            env,
            bounds,
            confine,
        }
    }

    /// The login shell's, filtered; then the agent's own, then the person's settings for all and for the project, the
    /// later ones winning.
    async fn environment(&self, agent: &AgentProfile, cwd: &Path, project: &AboutProject) -> Variables {
        let mut env: BTreeMap<String, String> = self
            .environments
            .of(cwd)
            .await
            .into_iter()
            .filter(|(name, _)| environment::passes(name, &agent.variables.pass))
            .collect();
        let path = env.get("PATH").map(String::as_str).unwrap_or_default();
        env.insert("PATH".into(), joined_path(path));
        if agent.variables.pass.iter().any(|name| name == "THROUGHLINE_HOME") {
            env.insert("THROUGHLINE_HOME".into(), self.home.path().display().to_string());
        }
        env.extend(agent.variables.set.clone());
        for file in &self.config.env_files {
            env.extend(variables_of(file));
        }
        env.extend(self.config.env.clone());
        if let Some(file) = &project.settings.env_file {
            env.extend(variables_of(&Path::new(&project.root).join(file)));
        }
        env.extend(project.settings.env.clone());
        env.into_iter().collect()
    }
}

fn variables_of(file: &Path) -> Variables {
    match std::fs::read_to_string(file) {
        Ok(text) => environment::parse_file(&text),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "an env file cannot be read");
            vec![]
        }
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

/// Where a program is, if it is anywhere, for a process with this environment in this folder.
fn find_program(program: &str, folder: &Path, env: &[(String, String)]) -> Option<PathBuf> {
    let runnable = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(folder.join(program)).filter(runnable);
    }
    let (_, path) = env.iter().find(|(name, _)| name == "PATH")?;
    std::env::split_paths(path).map(|dir| folder.join(dir).join(program)).find(runnable)
}

/// How to get an agent.
pub(crate) fn how_to_install(agent: &AgentProfile) -> String {
    match agent.install.is_empty() {
        true => "check its command in config.toml".into(),
        false => agent.install.clone(),
    }
}

/// What a person is told when an agent could not be started.
pub(crate) fn launch_failure(agent: &AgentProfile, error: &LaunchError) -> Failure {
    let (code, hint) = match error {
        LaunchError::ProgramNotFound { .. } => {
            let how = how_to_install(agent);
            ("agent_not_installed", format!("{how}; or `tl switch KEY --agent A` goes on with another agent"))
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
        until: None,
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
