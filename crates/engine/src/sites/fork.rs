//! Fork: another way from where a task stands, or stood after a turn, in a workspace of its own.
//!
//! At the head, with the same agent, the agent's own session is forked where it can do that. Everything else goes by a
//! brief that is cut at the turn: it is built from the record up to there, and from nothing else.

use throughline_model::checkpoint::CheckpointSide;
use throughline_model::command::Command;
use throughline_model::content::one_line;
use throughline_model::conversation::fork_task;
use throughline_model::effect::Effect;
use throughline_model::ids::{ChangeId, ConversationId, ExecutionId, Id as _, Mint, PersonId, ProjectId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::site::{Fork, Site, WorktreeSeed};
use throughline_model::stream::StreamId;
use throughline_model::task::{ForkSeed, Task, TaskSeed};
use uuid::Uuid;

use super::turns::Record;
use super::{TurnChoice, Worktree};
use crate::core::Request;
use crate::engine::Engine;
use crate::error::EngineError;

/// How much of a message makes a title.
const TITLE_CHARS: usize = 60;

/// A fork that a person wants.
#[derive(Clone, Debug)]
pub struct ForkWish {
    /// Who.
    pub person: PersonId,
    /// Of which task.
    pub source: TaskId,
    /// As it was after this turn; as it is now if none is named.
    pub turn: Option<TurnChoice>,
    /// With which agent; the same if none is named.
    pub agent: Option<String>,
    /// What it is to be called; after its source if that is not said.
    pub title: Option<String>,
}

impl Engine {
    /// Makes a fork. When this answers it is there, and its workspace is being prepared.
    ///
    /// # Errors
    /// If there is no checkpoint to fork from, or the agent is unknown.
    pub async fn fork(&self, wish: &ForkWish, conversation: Option<ConversationId>) -> Result<TaskId, EngineError> {
        let mut mint = self.inner.core.clock.now().mint();
        let (task, seed, fork) = self.fork_birth(wish, &mut mint).await?;
        let source = self.task(wish.source).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let conversation = conversation.or_else(|| source.conversations.first().copied());
        let conversation = conversation.ok_or(Rejection::NotFound { what: "conversation" })?;
        let told = fork_task(task, &seed, &fork, conversation).into_iter().filter_map(|effect| match effect {
            Effect::Tell { to, command } => Some((to, *command)),
            _ => None,
        });
        let commands: Vec<(StreamId, Command)> = told.collect();
        self.inner.core.execute(Request { commands, ..Request::default() }).await?;
        Ok(task)
    }

    /// What a fork starts from. It keeps the present state of the source's workspace, and changes nothing.
    pub(crate) async fn fork_birth(
        &self,
        wish: &ForkWish,
        mint: &mut Mint,
    ) -> Result<(TaskId, TaskSeed, Box<ForkSeed>), EngineError> {
        let source = self.task(wish.source).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let primary = source.primary().ok_or(Rejection::NotFound { what: "execution" })?;
        let turn = match wish.turn {
            Some(choice) => Some(self.chosen_turn(source.id, Some(choice), CheckpointSide::After).await?),
            None => None,
        };
        let base = match &turn {
            Some(turn) => turn.tree(CheckpointSide::After)?.to_owned(),
            None => self.present_tree(source.workplace()).await?,
        };
        let agent = match &wish.agent {
            Some(agent) => self.installed_agent(agent, source.project).await?,
            None => primary.agent.clone(),
        };
        let same_agent = agent == primary.agent;
        let Record { turns, plan, notes } = self.record(source.id, turn.as_ref().map(|turn| turn.id)).await?;
        let native = native_session(&source).filter(|_| turn.is_none() && same_agent && !turns.is_empty());
        let task: TaskId = mint.id();
        let root = self.worktree_root(source.project, &source.workplace().root, task.uuid()).await?;
        let title = wish.title.as_deref().map(|title| one_line(title, TITLE_CHARS));
        let seed = TaskSeed {
            project: source.project,
            title: title.unwrap_or_else(|| format!("{} (fork)", one_line(&source.title, TITLE_CHARS))),
            goal: source.goal.clone(),
            root,
            execution: mint.id(),
            agent,
            role: primary.role,
        };
        let fork = Fork {
            source: source.id,
            key: source.key.clone(),
            turn: turn.map(|turn| turn.id),
            base,
            from: source.workplace().root.clone(),
        };
        let fork = ForkSeed {
            fork,
            change: mint.id(),
            person: wish.person,
            native,
            model: primary.model.clone().filter(|_| same_agent),
            plan,
            notes,
            cut: turns.iter().rev().find(|turn| !turn.outcome.is_empty()).map(|turn| turn.id),
        };
        Ok((task, seed, Box::new(fork)))
    }

    /// A worktree for an execution of a task, as its workspace is now. It changes nothing.
    ///
    /// # Errors
    /// If the present state cannot be kept.
    pub async fn worktree(
        &self,
        (project, site): (ProjectId, &Site),
        execution: ExecutionId,
        person: PersonId,
    ) -> Result<WorktreeSeed, EngineError> {
        let base = self.present_tree(site).await?;
        let root = self.worktree_root(project, &site.root, execution.uuid()).await?;
        Ok(WorktreeSeed { root, base, change: ChangeId::derive(execution.uuid(), "worktree"), person })
    }

    /// Named after the project, so that it says something where an agent shows its folder.
    async fn worktree_root(&self, project: ProjectId, from: &str, id: Uuid) -> Result<String, EngineError> {
        let state = self.state(StreamId::Project(project)).await?;
        let project = state.project().map(|project| project.name.clone()).unwrap_or_default();
        let id = id.simple().to_string();
        let name = format!("{project}-{}", &id[id.len() - 8..]);
        let home = self.inner.drivers.shared().home.path();
        Ok(Worktree::root_for(home, from, &name).await?)
    }
}

/// The agent's own session of a task, if it can be forked now: not in the middle of a turn.
fn native_session(source: &Task) -> Option<String> {
    let primary = source.primary().filter(|primary| primary.active.is_none())?;
    let session = primary.session.as_ref().filter(|session| session.sticky())?;
    session.native.clone().filter(|_| session.description.capabilities.fork)
}
