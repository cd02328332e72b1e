//! Adding projects: a folder becomes a body of code with a name that keys can be made of.

use std::path::Path;

use throughline_model::command::Command;
use throughline_model::ids::{PersonId, ProjectId};
use throughline_model::project::ProjectCommand;
use throughline_model::stream::StreamId;
use throughline_model::view::ProjectRow;
use throughline_store::port::{Answer, Ask};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Makes a folder a project, or gives the project that it is.
    ///
    /// # Errors
    /// If it is no folder, the name is taken or unusable, the agent unknown, or the store fails.
    pub async fn add_project(
        &self,
        person: PersonId,
        root: &Path,
        name: Option<String>,
        agent: Option<String>,
    ) -> Result<ProjectRow, EngineError> {
        let root = folder(root)?;
        let known = self.projects().await?;
        if let Some(project) = known.iter().find(|project| project.root == root) {
            let renamed = name.as_ref().is_some_and(|name| *name != project.name);
            if renamed {
                return Err(EngineError::ProjectExists { name: project.name.clone(), root });
            }
            return self.with_agent(project.clone(), agent).await;
        }
        let name = match name {
            Some(name) => checked(name)?,
            None => free_name(&root, &known),
        };
        if let Some(project) = known.iter().find(|project| project.name == name) {
            return Err(EngineError::ProjectExists { name, root: project.root.clone() });
        }
        let agent = self.agent_name(agent.as_deref().unwrap_or(&self.config().default_agent))?;
        let project: ProjectId = self.inner.core.clock.now().mint().id();
        let command = ProjectCommand::Add {
            project,
            name: name.clone(),
            root: root.clone(),
            agent: agent.clone(),
            member: person,
        };
        self.send(StreamId::Project(project), Command::Project(command)).await?;
        self.ask_shells();
        Ok(ProjectRow { id: project, name, root, agent })
    }

    async fn with_agent(&self, mut project: ProjectRow, agent: Option<String>) -> Result<ProjectRow, EngineError> {
        if let Some(agent) = agent {
            project.agent = self.agent_name(&agent)?;
            let command = ProjectCommand::SetDefaultAgent { agent: project.agent.clone() };
            self.send(StreamId::Project(project.id), Command::Project(command)).await?;
        }
        Ok(project)
    }

    /// All projects.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn projects(&self) -> Result<Vec<ProjectRow>, EngineError> {
        match self.store().ask(Ask::Projects).await? {
            Answer::Projects(projects) => Ok(projects),
            _ => Ok(vec![]),
        }
    }

    /// The name of the agent that a person means.
    ///
    /// # Errors
    /// If there is none.
    pub fn agent_name(&self, name: &str) -> Result<String, EngineError> {
        let config = self.config();
        match config.agent(name) {
            Some(agent) => Ok(agent.name.clone()),
            None => Err(EngineError::UnknownAgent {
                name: name.to_owned(),
                known: config.agents.iter().map(|agent| agent.name.clone()).collect(),
            }),
        }
    }
}

fn folder(root: &Path) -> Result<String, EngineError> {
    let bad = |why: String| EngineError::BadPath { path: root.display().to_string(), why };
    let path = root.canonicalize().map_err(|error| bad(error.to_string()))?;
    if !path.is_dir() {
        return Err(bad("it is a file".into()));
    }
    path.into_os_string().into_string().map_err(|_| bad("its name is not UTF-8".into()))
}

fn usable(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(fits) && name.starts_with(char::is_alphanumeric)
}

fn checked(name: String) -> Result<String, EngineError> {
    if usable(&name) { Ok(name) } else { Err(EngineError::BadProjectName { name }) }
}

/// The folder's name, made usable and unique.
fn free_name(root: &str, known: &[ProjectRow]) -> String {
    let last = Path::new(root).file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = last.chars().map(|c| if fits(c) { c } else { '-' }).take(60).collect();
    let plain = plain.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let plain = if plain.is_empty() { "project".to_owned() } else { plain };
    let taken = |name: &str| known.iter().any(|project| project.name == name);
    if !taken(&plain) {
        return plain;
    }
    (2..).map(|count| format!("{plain}{count}")).find(|name| !taken(name)).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folders_name_becomes_usable_and_unique() {
        assert_eq!(free_name("/home/me/My Shop", &[]), "my-shop");
        assert_eq!(free_name("/", &[]), "project");
        assert_eq!(free_name("/x/.hidden", &[]), "hidden");
        let mut mint = throughline_model::ids::Mint::new(throughline_model::time::Timestamp::from_millis(0), 1);
        let known = ProjectRow { id: mint.id(), name: "shop".into(), root: "/a/shop".into(), agent: "demo".into() };
        assert_eq!(free_name("/b/shop", &[known]), "shop2");
    }

    #[test]
    fn names_that_would_spoil_a_key_are_refused() {
        for name in ["", " ", "a b", "-x", "a/b", "../x"] {
            assert!(checked(name.into()).is_err(), "{name:?}");
        }
        for name in ["shop", "shop.web", "店铺", "a-b_c"] {
            assert!(checked(name.into()).is_ok(), "{name:?}");
        }
    }
}
