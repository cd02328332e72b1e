//! Saying something: build what the router looks at, route, and commit input, decision and all that follows.

use std::sync::Arc;

use throughline_model::command::Command;
use throughline_model::content::{ContentBlock, Text, one_line, plain_text};
use throughline_model::conversation::{Birth, Conversation, ConversationCommand, Received};
use throughline_model::ids::{ConversationId, InputId, Mint, PersonId, ProjectId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::project::Project;
use throughline_model::rejection::Rejection;
use throughline_model::route::{Intent, KnownExecution, RouteContext, RouteDecision, Stated, route};
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskSeed};
use throughline_model::view::{InputRow, TaskRow};
use throughline_store::port::{Answer, Ask, InboxEntry, Lookup};

use crate::core::{ExecuteError, Request};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::offload;
use crate::sites::ForkWish;

/// The longest text of a message. What is longer is a file.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// How much of a message makes a title.
const TITLE_CHARS: usize = 60;
/// How much of a message is kept as the task's goal.
const GOAL_CHARS: usize = 2_000;

/// Something that a person says.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who.
    pub person: PersonId,
    /// Where.
    pub conversation: ConversationId,
    /// What.
    pub content: Vec<ContentBlock>,
    /// What they state about where it goes.
    pub stated: Stated,
    /// The task that it replies to.
    pub reply_to: Option<TaskId>,
    /// The project of a new task; the conversation's if none is named.
    pub project: Option<ProjectId>,
    /// Where it goes in the queue.
    pub urgency: Urgency,
    /// By which the same message is known again.
    pub idempotency: Option<Idempotency>,
}

/// By which the same message is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The client's key, or the channel's event id.
    pub key: String,
    /// SHA-256 of the body, in hex.
    pub digest: String,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The input, with its decision and the turn it became.
    pub input: InputRow,
    /// The task it went to.
    pub task: Option<TaskRow>,
    /// It had been said before, and this is what became of it then.
    pub repeated: bool,
}

impl Engine {
    /// Takes a message in. When this answers, the message is durable, and so is what was made of it.
    ///
    /// # Errors
    /// If the message cannot be taken, the model says no, or the store fails.
    #[tracing::instrument(name = "input", skip_all, fields(trace = tracing::field::Empty, conversation = %message.conversation))]
    pub async fn say(&self, mut message: Message) -> Result<Said, EngineError> {
        check_size(&message.content)?;
        // Between the look at its blobs and the commit that names them, none is swept away.
        let _kept = self.inner.blobs.read().await;
        self.check_blobs(&message.content).await?;
        let inbox_key = message.idempotency.as_ref().map(|known| format!("{}:{}", message.conversation, known.key));
        if let (Some(key), Some(idempotency)) = (&inbox_key, &message.idempotency)
            && let Answer::Inbox(Some(entry)) = self.store().ask(Ask::Inbox(key.clone())).await?
        {
            return self.again(entry, &idempotency.digest).await;
        }
        offload::content(self.store().as_ref(), &mut message.content).await?;
        let mut mint = self.inner.core.clock.now().mint();
        let input: InputId = mint.id();
        tracing::Span::current().record("trace", tracing::field::display(input));
        let received = self.receive(&message, input, &mut mint).await?;
        if let Some(task) = received.task() {
            self.open_imported(task).await?;
        }
        let inbox = message.idempotency.as_ref().zip(inbox_key).map(|(known, key)| InboxEntry {
            key,
            digest: known.digest.clone(),
            input,
        });
        let digest = inbox.as_ref().map(|entry| entry.digest.clone()).unwrap_or_default();
        let command = Command::Conversation(ConversationCommand::Receive(Box::new(received)));
        let request = Request { inbox, ..Request::of(StreamId::Conversation(message.conversation), command) };
        match self.inner.core.execute(request).await {
            Ok(_) => {
                metrics::counter!("throughline_inputs_total").increment(1);
                self.said(input, false).await
            }
            Err(ExecuteError::Duplicate(entry)) => self.again(entry, &digest).await,
            Err(ExecuteError::Engine(error)) => Err(error),
        }
    }

    async fn receive(&self, message: &Message, input: InputId, mint: &mut Mint) -> Result<Received, EngineError> {
        let state = self.state(StreamId::Conversation(message.conversation)).await?;
        let conversation = state.conversation().ok_or(Rejection::NotFound { what: "conversation" })?;
        let mut stated = message.stated.clone();
        if let Some(agent) = &stated.agent {
            stated.agent = Some(self.agent_name(agent)?);
        }
        let project = message.project.or(conversation.project);
        let (context, target) = self.context(message, conversation, project, &stated).await?;
        let decision = route(mint.id(), &context, &stated);
        let project = match (&decision.intent, &target) {
            (Intent::NewTask { .. }, _) | (_, None) => {
                Some(self.project(project.ok_or(EngineError::NoProject)?).await?)
            }
            (_, Some(task)) => Some(self.project(task.project).await?),
        };
        if project.as_ref().is_some_and(|project| !project.members.contains(&message.person)) {
            return Err(Rejection::Forbidden.into());
        }
        let birth = match &decision.intent {
            Intent::Fork { task, agent } => {
                let title = Some(plain_text(&message.content));
                let (person, source, agent) = (message.person, *task, agent.clone());
                let wish = ForkWish { person, source, turn: None, agent, title };
                let (task, seed, fork) = self.fork_birth(&wish, mint).await?;
                Some(Birth::Fork { task, seed, fork })
            }
            _ => self.birth(message, &decision, project.as_ref(), &stated, mint),
        };
        Ok(Received {
            input,
            person: message.person,
            content: message.content.clone(),
            decision,
            birth,
            urgency: message.urgency,
            reply: None,
        })
    }

    async fn context(
        &self,
        message: &Message,
        conversation: &Conversation,
        project: Option<ProjectId>,
        stated: &Stated,
    ) -> Result<(RouteContext, Option<Arc<Task>>), EngineError> {
        let focus = conversation.focus.get(&message.person).copied();
        let task = match stated.task.or(message.reply_to).or(focus) {
            Some(task) => self.task(task).await?,
            None => None,
        };
        if stated.task.is_some() && task.is_none() {
            return Err(Rejection::NotFound { what: "task" }.into());
        }
        let live = task.iter().flat_map(|task| &task.executions).filter(|execution| execution.ended.is_none());
        let executions =
            live.map(|known| KnownExecution { id: known.id, agent: known.agent.clone(), role: known.role }).collect();
        let project = project.or_else(|| task.as_ref().map(|task| task.project)).ok_or(EngineError::NoProject)?;
        Ok((RouteContext { project, focus, reply_to: message.reply_to, executions }, task))
    }

    fn birth(
        &self,
        message: &Message,
        decision: &RouteDecision,
        project: Option<&Project>,
        stated: &Stated,
        mint: &mut Mint,
    ) -> Option<Birth> {
        match (&decision.intent, project) {
            (Intent::NewTask { agent, .. }, Some(project)) => {
                let words = plain_text(&message.content);
                let seed = TaskSeed {
                    project: project.id,
                    title: one_line(&words, TITLE_CHARS),
                    goal: words.chars().take(GOAL_CHARS).collect(),
                    root: project.roots.first().cloned().unwrap_or_default(),
                    execution: mint.id(),
                    agent: agent.clone().unwrap_or_else(|| project.default_agent.clone()),
                    role: stated.role.unwrap_or_default(),
                };
                Some(Birth::Task { task: mint.id(), seed })
            }
            (Intent::AddExecution { .. }, _) => Some(Birth::Execution { execution: mint.id() }),
            _ => None,
        }
    }

    async fn project(&self, project: ProjectId) -> Result<Project, EngineError> {
        let state = self.state(StreamId::Project(project)).await?;
        Ok(state.project().cloned().ok_or(Rejection::NotFound { what: "project" })?)
    }

    /// The answer to a message that was taken in before.
    async fn again(&self, entry: InboxEntry, digest: &str) -> Result<Said, EngineError> {
        if entry.digest != digest {
            return Err(EngineError::IdempotencyConflict);
        }
        self.said(entry.input, true).await
    }

    async fn said(&self, input: InputId, repeated: bool) -> Result<Said, EngineError> {
        let input = self.store().input(Lookup::Input(input)).await?.ok_or(Rejection::NotFound { what: "input" })?;
        let task = match input.task {
            Some(task) => match self.store().ask(Ask::Task(task)).await? {
                Answer::Task(task) => task.map(|task| *task),
                _ => None,
            },
            None => None,
        };
        Ok(Said { input, task, repeated })
    }

    async fn check_blobs(&self, content: &[ContentBlock]) -> Result<(), EngineError> {
        for block in content {
            let blob = match block {
                ContentBlock::Image { blob, .. } | ContentBlock::File { blob, .. } => blob,
                ContentBlock::Text { text: Text::Blob { blob, .. } } => blob,
                ContentBlock::Text { text: Text::Inline(_) } => continue,
            };
            if self.store().blob(&blob.sha256).await?.is_none() {
                return Err(EngineError::NoBlob { sha256: blob.sha256.clone() });
            }
        }
        Ok(())
    }
}

fn check_size(content: &[ContentBlock]) -> Result<(), EngineError> {
    let words = |block: &ContentBlock| match block {
        ContentBlock::Text { text: Text::Inline(text) } => text.len(),
        ContentBlock::Text { text: Text::Blob { .. } } | ContentBlock::Image { .. } | ContentBlock::File { .. } => 0,
    };
    let bytes: usize = content.iter().map(words).sum();
    let blank = content
        .iter()
        .all(|block| matches!(block, ContentBlock::Text { text: Text::Inline(text) } if text.trim().is_empty()));
    if blank {
        return Err(Rejection::Empty.into());
    }
    if bytes > MAX_MESSAGE_BYTES {
        return Err(EngineError::MessageTooLarge { bytes, allowed: MAX_MESSAGE_BYTES });
    }
    Ok(())
}
