//! The place: which project a command is about, from flags, from a task, or from where it was typed.
//!
//! A terminal's conversation is the OS user and the project root, so the project comes first. The
//! innermost project whose root holds the current folder wins. Refuses to add a project by itself: on
//! a terminal it asks, anywhere else it says the command.

use std::path::{Path, PathBuf};

use throughline_api::client::Client;
use throughline_api::project::{AddProject, Channel, OpenConversation, Project};
use throughline_model::ids::{ConversationId, Id as _};
use uuid::Uuid;

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::safe_text::{safe_line, shell_word};
use crate::terminal::{self, Answer};

/// The project of this name, id or root.
pub(crate) async fn named(client: &Client, name: &str) -> Outcome<Project> {
    let projects = client.projects().await?.projects;
    let names: Vec<String> = projects.iter().map(|known| known.name.clone()).collect();
    let canonical = Path::new(name).canonicalize().ok();
    let fits = |known: &Project| {
        known.name == name || known.id.to_string() == name || canonical.as_deref() == Some(Path::new(&known.root))
    };
    projects.into_iter().find(fits).ok_or_else(|| {
        let hint = if names.is_empty() {
            "there are none yet: `tl project add PATH` makes a folder a project".to_owned()
        } else {
            format!("there are: {}; `tl project add PATH` adds one", names.join(", "))
        };
        Failure::new("project_unknown", format!("there is no project `{name}`")).hint(hint)
    })
}

/// The project of this id.
pub(crate) async fn of_id(client: &Client, id: uuid::Uuid) -> Outcome<Project> {
    named(client, &id.to_string()).await
}

/// The project that the current folder is in, if it is in one.
pub(crate) async fn here(client: &Client) -> Outcome<Option<Project>> {
    let folder = current_folder()?;
    let projects = client.projects().await?.projects;
    Ok(innermost(projects, &folder))
}

/// The project that the current folder is in; offered to be added where there is none.
pub(crate) async fn here_or_added(client: &Client, output: Output) -> Outcome<Project> {
    if let Some(project) = here(client).await? {
        return Ok(project);
    }
    let root = repository_root(&current_folder()?);
    let shown = safe_line(&root.to_string_lossy()).into_owned();
    let unknown = Failure::new("project_unknown", format!("{shown} is in no project yet"))
        .hint(format!("tl project add {}", shell_word(&root.to_string_lossy())));
    if !output.asks() {
        return Err(unknown);
    }
    let question = format!("{shown} is in no project yet. Add it? [y/N] ");
    match terminal::ask(&question).await? {
        Answer::Yes => add(client, &root, None, None).await,
        Answer::No | Answer::Other(_) | Answer::End => Err(unknown),
    }
}

/// Adds a folder as a project.
pub(crate) async fn add(
    client: &Client,
    folder: &Path,
    name: Option<String>,
    agent: Option<String>,
) -> Outcome<Project> {
    let bad = |why: &str| {
        Failure::new("bad_path", format!("`{}` is not a folder: {why}", folder.display()))
            .hint("name a folder that exists")
    };
    let root = folder.canonicalize().map_err(|error| bad(&error.to_string()))?;
    if !root.is_dir() {
        return Err(bad("it is a file"));
    }
    let root = root.into_os_string().into_string().map_err(|_| Failure::invalid_utf8("the path"))?;
    Ok(client.add_project(&AddProject { root, name, agent }).await?)
}

fn current_folder() -> Outcome<PathBuf> {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    folder.map_err(|error| {
        Failure::new("bad_path", format!("the current folder cannot be used: {error}"))
            .hint("go to a folder that exists")
    })
}

fn innermost(projects: Vec<Project>, folder: &Path) -> Option<Project> {
    projects
        .into_iter()
        .filter(|project| folder.starts_with(&project.root))
        .max_by_key(|project| Path::new(&project.root).components().count())
}

/// The repository that a folder is in, else the folder itself.
fn repository_root(folder: &Path) -> PathBuf {
    let repository = folder.ancestors().find(|above| above.join(".git").exists());
    repository.unwrap_or(folder).to_owned()
}

/// Whether a conversation is named by its id.
pub(crate) fn is_id(name: &str) -> bool {
    name.parse::<Uuid>().is_ok()
}

/// The terminal's own conversation for the project, or the one that was named.
pub(crate) async fn conversation(client: &Client, name: Option<&str>, project: Option<&Project>) -> Outcome<Uuid> {
    let open =
        OpenConversation { channel: Channel::Cli, project: project.map(|project| project.id.to_string()), root: None };
    let named = name.map(|name| match name.parse() {
        Ok(id) => id,
        Err(_) => {
            let parent = project.map_or(Uuid::nil(), |project| project.id);
            ConversationId::derive(parent, &format!("terminal:{name}")).uuid()
        }
    });
    let opened = match named {
        Some(id) => client.put_conversation(id, &open).await?,
        None => {
            let root = project.map(|project| project.root.clone());
            client.open_conversation(&OpenConversation { root, ..open }).await?
        }
    };
    Ok(opened.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(name: &str, root: &str) -> Project {
        Project { id: uuid::Uuid::nil(), name: name.to_owned(), root: root.to_owned(), agent: "demo".to_owned() }
    }

    #[test]
    fn the_innermost_project_wins_and_a_common_beginning_is_not_enough() {
        let projects =
            || vec![project("outer", "/work"), project("inner", "/work/shop"), project("twin", "/work/shopping")];
        let at = |folder: &str| innermost(projects(), Path::new(folder)).map(|found| found.name);
        assert_eq!(at("/work/shop/src").as_deref(), Some("inner"));
        assert_eq!(at("/work/shopper").as_deref(), Some("outer"));
        assert_eq!(at("/elsewhere"), None);
    }
}
