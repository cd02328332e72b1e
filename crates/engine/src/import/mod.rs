//! Native sessions of agents that were begun elsewhere, as tasks: found, listed, bound, and read once.
//!
//! What an agent writes is known by one file per agent (`codex`, `claude`), as a [`Source`]; everything else here is the
//! same for all. A list reads only the heads of files. Binding reads no transcript: that is read when the task is opened
//! for the first time, before its first message, so that it stands in front of what comes after.
//!
//! *Invariants:* nothing of the agent's is ever written; importing twice changes nothing; whatever a line holds that
//! this version does not know is passed over.

mod claude;
mod codex;
mod holders;
mod lines;
mod transcript;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::content::one_line;
use throughline_model::execution::Role;
use throughline_model::ids::{ConversationId, ExecutionId, Id as _, PersonId, ProjectId, RuntimeSessionId, TaskId};
use throughline_model::project::ProjectCommand;
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{TaskCommand, TaskSeed};
use throughline_model::time::Timestamp;
use throughline_model::view::TaskRow;
use throughline_store::port::{Answer, Ask, TaskPlace, TaskQuery};

use crate::core::Request;
use crate::driver::launch::AboutProject;
use crate::engine::Engine;
use crate::error::EngineError;
use holders::Holders;
use transcript::{Progress, Transcript};

/// How many files of an agent are looked at, newest first.
const MOST_FILES: usize = 1_000;
/// How much of a prompt makes a title.
const TITLE_CHARS: usize = 60;
/// How many tasks are looked at together.
const PAGE: usize = 500;

/// Where an agent keeps its sessions, and what it writes there.
struct Source {
    /// The profile's name.
    agent: &'static str,
    /// Words by which its programs are known.
    programs: &'static [&'static str],
    /// Its folder, by the environment that it would be started with.
    folder: fn(&HashMap<String, String>) -> Option<PathBuf>,
    /// The files of sessions below that.
    files: fn(&Path) -> Vec<PathBuf>,
    /// Takes a line of a file's head in; false once all is known.
    head: fn(&mut Head, &serde_json::Value) -> Reading,
    /// Takes a line of a transcript in.
    read: fn(&mut Transcript, &serde_json::Value),
}

const SOURCES: [&Source; 2] = [&codex::SOURCE, &claude::SOURCE];

/// Whether a head has to be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    GoOn,
    Done,
}

/// What a list shows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Head {
    id: Option<String>,
    folder: Option<PathBuf>,
    title: Option<String>,
    /// Not a session of a person's own, such as that of a subagent.
    hidden: bool,
}

/// A native session that was begun elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeSession {
    /// The profile of its agent.
    pub agent: String,
    /// The agent's own id of it.
    pub id: String,
    /// What was said first, in one line.
    pub title: String,
    /// Where it worked.
    pub folder: PathBuf,
    /// When it was written to last.
    pub updated_at: Timestamp,
    /// The task that has it.
    pub task: Option<TaskRow>,
    /// Why another process may have it, in words.
    pub warning: Option<String>,
}

/// What became of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The task.
    pub task: TaskRow,
    /// It was there before, and nothing was changed.
    pub repeated: bool,
    /// Why another process may have the session, in words.
    pub warning: Option<String>,
}

/// A file, and what its head says.
struct Found {
    source: &'static Source,
    path: PathBuf,
    id: String,
    folder: PathBuf,
    title: String,
    updated_at: Timestamp,
}

impl Engine {
    /// Native sessions that can be imported, or were, newest first.
    ///
    /// # Errors
    /// If nothing can be imported from the agent, or the store fails.
    pub async fn native_sessions(&self, agent: Option<&str>) -> Result<Vec<NativeSession>, EngineError> {
        let found = self.find(agent, None).await?;
        let at = self.inner.core.clock.at();
        let bound = self.bound(found.iter().map(|found| found.folder.as_path())).await?;
        let holders = blocking(Holders::look).await?;
        let mut sessions: Vec<NativeSession> = found
            .into_iter()
            .map(|found| NativeSession {
                warning: holders.warning(&found.path, &found.folder, found.source.programs, found.updated_at, at),
                task: bound.get(&found.id).cloned(),
                agent: found.source.agent.to_owned(),
                id: found.id,
                title: found.title,
                folder: found.folder,
                updated_at: found.updated_at,
            })
            .collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
        Ok(sessions)
    }

    /// Makes a native session a task of the project that its folder is. Nothing changes if it is one.
    ///
    /// # Errors
    /// If there is no such session, its folder is gone, a task of ours began it, or the store fails.
    pub async fn import(&self, person: PersonId, agent: Option<&str>, id: &str) -> Result<Imported, EngineError> {
        let unknown = || EngineError::NoNativeSession { id: id.to_owned() };
        let found = self.find(agent, Some(id)).await?.into_iter().next().ok_or_else(unknown)?;
        let at = self.inner.core.clock.at();
        let holders = blocking(Holders::look).await?;
        let warning = holders.warning(&found.path, &found.folder, found.source.programs, found.updated_at, at);
        let task = TaskId::of_native(found.source.agent, &found.id);
        if let Some(row) = self.row(task).await? {
            self.check_member(person, row.project).await?;
            return Ok(Imported { task: row, repeated: true, warning });
        }
        if let Some(row) = self.bound([found.folder.as_path()]).await?.remove(&found.id) {
            return Err(EngineError::NativeSessionTaken { key: row.key });
        }
        self.bind(person, task, &found).await?;
        let row = self.row(task).await?.ok_or_else(unknown)?;
        Ok(Imported { task: row, repeated: false, warning })
    }

    async fn bind(&self, person: PersonId, task: TaskId, found: &Found) -> Result<(), EngineError> {
        let project = self.project_of(person, &found.folder, found.source.agent).await?;
        let root = found.folder.display().to_string();
        let conversation = ConversationId::of_terminal(person, &root);
        self.open_conversation(conversation, Channel::Cli, person, Some(project)).await?;
        let seed = TaskSeed {
            project,
            title: one_line(&found.title, TITLE_CHARS),
            goal: found.title.clone(),
            root,
            execution: ExecutionId::derive(task.uuid(), "execution"),
            agent: found.source.agent.to_owned(),
            role: Role::Editor,
        };
        let session = RuntimeSessionId::derive(task.uuid(), "native");
        let import = TaskCommand::Import { seed, person, conversation, session, native: found.id.clone() };
        let commands = vec![
            (StreamId::Task(task), Command::Task(import)),
            (StreamId::Project(project), Command::Project(ProjectCommand::NumberTask { task })),
        ];
        match self.inner.core.execute(Request { commands, ..Request::default() }).await.map_err(EngineError::from) {
            // Somebody else imported it at the same moment.
            Err(EngineError::Rejected(Rejection::Exists { .. })) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The project of a folder, added if there is none.
    async fn project_of(&self, person: PersonId, folder: &Path, agent: &str) -> Result<ProjectId, EngineError> {
        let root = folder.canonicalize().ok().map(|root| root.display().to_string());
        let known = self.projects().await?.into_iter().find(|project| Some(&project.root) == root.as_ref());
        let project = match known {
            Some(project) => project,
            None => self.add_project(person, folder, None, Some(agent.to_owned())).await?,
        };
        self.check_member(person, project.id).await?;
        Ok(project.id)
    }

    async fn check_member(&self, person: PersonId, project: ProjectId) -> Result<(), EngineError> {
        let state = self.state(StreamId::Project(project)).await?;
        let member = state.project().is_some_and(|project| project.members.contains(&person));
        if member { Ok(()) } else { Err(Rejection::Forbidden.into()) }
    }

    async fn row(&self, task: TaskId) -> Result<Option<TaskRow>, EngineError> {
        match self.store().ask(Ask::Task(task)).await? {
            Answer::Task(row) => Ok(row.map(|row| *row)),
            _ => Ok(None),
        }
    }

    /// Which native sessions have a task, of the projects that these folders are.
    async fn bound(&self, folders: impl IntoIterator<Item = &Path>) -> Result<BTreeMap<String, TaskRow>, EngineError> {
        let folders: std::collections::HashSet<&Path> = folders.into_iter().collect();
        let here = |root: &str| folders.contains(Path::new(root));
        let projects: Vec<ProjectId> = self
            .projects()
            .await?
            .into_iter()
            .filter(|project| here(&project.root))
            .map(|project| project.id)
            .collect();
        let mut bound = BTreeMap::new();
        let mut after: Option<TaskPlace> = None;
        while !projects.is_empty() {
            let query = TaskQuery { projects: projects.clone(), all: true, needs_person: false, after, limit: PAGE };
            let page = self.store().tasks(query).await?;
            after =
                page.last().map(|row| TaskPlace { rank: row.activity.rank(), updated_at: row.updated_at, id: row.id });
            let last = page.len() < PAGE;
            for row in page {
                let state = self.inner.core.task(row.id).await?;
                let sessions = state.task().into_iter().flat_map(|task| &task.executions);
                let natives = sessions.filter_map(|execution| execution.session.as_ref()?.native.clone());
                bound.extend(natives.map(|native| (native, row.clone())));
            }
            if last {
                break;
            }
        }
        Ok(bound)
    }

    /// Reads the past of an imported task, once. For any other task there is nothing to do.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn open_imported(&self, task: TaskId) -> Result<(), EngineError> {
        let state = self.inner.core.task(task).await?;
        let unread = state.task().into_iter().flat_map(|task| &task.executions).find_map(|execution| {
            let session = execution.session.as_ref()?;
            let past = session.imported.filter(|past| !past.whole)?;
            Some((execution.agent.clone(), session.id, session.native.clone()?, past.turns))
        });
        let Some((agent, session, native, known)) = unread else { return Ok(()) };
        let found = self.find(Some(&agent), Some(&native)).await?.into_iter().next();
        let left_out = match found {
            None => Some("the agent's file of the session is gone".to_owned()),
            Some(found) => self.read_past(task, session, known, &found).await?,
        };
        let finish = TaskCommand::FinishImport { session, left_out };
        self.send(StreamId::Task(task), Command::Task(finish)).await.map(drop)
    }

    async fn read_past(
        &self,
        task: TaskId,
        session: RuntimeSessionId,
        known: u64,
        found: &Found,
    ) -> Result<Option<String>, EngineError> {
        let mut progress = transcript::read(found.source, found.path.clone(), session);
        let mut from = 0;
        let mut left_out = None;
        while let Some(piece) = progress.recv().await {
            match piece {
                Progress::Turns(turns) => {
                    let count = turns.len() as u64;
                    // Turns that are on record already have their long texts in blobs, too.
                    if from + count > known {
                        let turns = self.offload_turns(turns).await;
                        let import = TaskCommand::ImportTurns { session, from, turns };
                        self.send(StreamId::Task(task), Command::Task(import)).await?;
                    }
                    from += count;
                }
                Progress::LeftOut(why) => left_out = Some(why),
            }
        }
        Ok(left_out)
    }

    async fn offload_turns(
        &self,
        mut turns: Vec<throughline_model::task::ImportedTurn>,
    ) -> Vec<throughline_model::task::ImportedTurn> {
        let store = self.store().as_ref();
        for turn in &mut turns {
            crate::offload::keep(store, &mut turn.said).await;
            for item in std::mem::take(&mut turn.items) {
                turn.items.push(crate::offload::item(store, item).await);
            }
        }
        turns
    }

    /// Files of sessions, by their heads; those of one id if one is given.
    async fn find(&self, agent: Option<&str>, id: Option<&str>) -> Result<Vec<Found>, EngineError> {
        let wanted = agent.map(|agent| self.agent_name(agent)).transpose()?;
        let sources: Vec<&'static Source> =
            SOURCES.into_iter().filter(|source| wanted.as_deref().is_none_or(|agent| agent == source.agent)).collect();
        if let (true, Some(agent)) = (sources.is_empty(), wanted) {
            return Err(EngineError::NotImportable { agent });
        }
        let shared = self.inner.drivers.shared();
        let mut found = vec![];
        for source in sources {
            let Some(profile) = shared.config.agent(source.agent) else { continue };
            let env = shared.launch_spec(profile, shared.home.path(), &AboutProject::default(), None).await.env;
            let id = id.map(str::to_owned);
            found.extend(blocking(move || look(source, &env.into_iter().collect(), id.as_deref())).await?);
        }
        Ok(found)
    }
}

fn look(source: &'static Source, env: &HashMap<String, String>, id: Option<&str>) -> Vec<Found> {
    let Some(folder) = (source.folder)(env) else { return vec![] };
    let mut files: Vec<(Timestamp, PathBuf)> = (source.files)(&folder)
        .into_iter()
        // The id is a part of the name, with both agents: other files need not be opened.
        .filter(|path| id.is_none_or(|id| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(id))))
        .filter_map(|path| Some((lines::modified(&path)?, path)))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    files.truncate(MOST_FILES);
    let found = files.into_iter().filter_map(|(updated_at, path)| headed(source, path, updated_at));
    found.filter(|found| id.is_none_or(|id| id == found.id)).collect()
}

fn headed(source: &'static Source, path: PathBuf, updated_at: Timestamp) -> Option<Found> {
    let mut head = Head::default();
    for line in lines::head(&path)? {
        if (source.head)(&mut head, &line) == Reading::Done {
            break;
        }
    }
    if head.hidden {
        return None;
    }
    // A session in which nothing was said has nothing to go on with.
    let title = head.title?;
    Some(Found { source, path, id: head.id?, folder: head.folder?, title, updated_at })
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Stopping)
}
