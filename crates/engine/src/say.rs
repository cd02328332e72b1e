//! Saying something: build what the router looks at, route, and commit input, decision and all that follows.

use throughline_model::answer;
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::content::{ContentBlock, Text, one_line, plain_text};
use throughline_model::context::{ReplyTo, Surroundings};
use throughline_model::conversation::{Birth, Conversation, ConversationCommand, Received};
use throughline_model::ids::{ApprovalId, ConversationId, DecisionId, InputId, Mint, PersonId, ProjectId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::present::Locale;
use throughline_model::project::Project;
use throughline_model::rejection::Rejection;
use throughline_model::remember::remembered;
use throughline_model::reopen::reopens;
use throughline_model::reply::Reply;
use throughline_model::route::{Focus, Intent, KnownExecution, RouteContext, RouteDecision, Stated, route};
use throughline_model::site::Site;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::task::{Lifecycle, MAX_NOTES, TaskCommand, TaskSeed};
use throughline_model::view::{InputRow, ProjectRow, TaskRow};
use throughline_store::port::{Answer, Ask, InboxEntry, Lookup};

use crate::core::{ExecuteError, Request};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::letter::{approval_row, shown_in_chat};
use crate::offload;
use crate::sites::ForkWish;
use crate::tie;

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
    /// What it replies to.
    pub reply_to: Option<ReplyTo>,
    /// The project of a new task; the conversation's if none is named.
    pub project: Option<ProjectId>,
    /// Where it goes in the queue.
    pub urgency: Urgency,
    /// By which the same message is known again.
    pub idempotency: Option<Idempotency>,
    /// What it came as, for one that a channel brought.
    pub brought: Option<Brought>,
}

/// What a channel knows of a message.
#[derive(Clone, Debug)]
pub struct Brought {
    /// The platform's name of it.
    pub message: String,
    /// As the platform told it, for the record.
    pub raw: String,
    /// What it is, if it was a command of the channel and not words, and what is said to it where that is known.
    pub command: Option<(Intent, Option<Reply>)>,
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

/// A message with what was made of it, and what it changes about the one before.
struct Taken {
    received: Received,
    correction: Option<Command>,
    besides: Option<(StreamId, Command)>,
}

/// A message to think about.
#[derive(Clone, Debug)]
pub struct Explain {
    /// Who would say it.
    pub person: PersonId,
    /// Where; it need not be open.
    pub conversation: ConversationId,
    /// The project of a new task; the conversation's if none is named.
    pub project: Option<ProjectId>,
    /// What it would reply to.
    pub reply_to: Option<ReplyTo>,
    /// The words.
    pub text: String,
}

/// What would be made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// What would be done, and why.
    pub decision: RouteDecision,
    /// The task that it would be about.
    pub task: Option<TaskRow>,
    /// What would be said to it.
    pub reply: Option<Reply>,
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
        let Taken { received, correction, besides } = self.receive(&message, input, &mut mint).await?;
        if let Intent::Approve { approval, .. } = received.decision.intent {
            let state = self.state(StreamId::Conversation(message.conversation)).await?;
            self.check_shown(approval, state.conversation().map(|known| known.channel)).await?;
        }
        if let Some(task) = received.task() {
            self.open_imported(task).await?;
        }
        let inbox = message.idempotency.as_ref().zip(inbox_key).map(|(known, key)| InboxEntry {
            key,
            digest: known.digest.clone(),
            input,
            raw: message.brought.as_ref().map(|brought| brought.raw.clone()),
        });
        let digest = inbox.as_ref().map(|entry| entry.digest.clone()).unwrap_or_default();
        let request = |received: Received, correction: Option<Command>| {
            let receive = Command::Conversation(ConversationCommand::Receive(Box::new(received)));
            let to = StreamId::Conversation(message.conversation);
            let said = [receive].into_iter().chain(correction).map(|command| (to, command));
            let commands = said.chain(besides.clone()).collect();
            Request { inbox: inbox.clone(), commands, ..Request::default() }
        };
        let mut done = self.inner.core.execute(request(received.clone(), correction)).await;
        if let Err(ExecuteError::Engine(EngineError::Rejected(Rejection::NeedsConsent))) = &done {
            let locale = self.locale(message.person).await?;
            done = self.inner.core.execute(request(answer::consent(locale, received), None)).await;
        }
        match done {
            Ok(_) => {
                metrics::counter!("throughline_inputs_total").increment(1);
                self.said(input, false).await
            }
            Err(ExecuteError::Duplicate(entry)) => self.again(entry, &digest).await,
            Err(ExecuteError::Engine(error)) => Err(error),
        }
    }

    /// What would be made of a message, and what would be said to it. Nothing happens.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn explain(&self, question: Explain) -> Result<Explained, EngineError> {
        let Explain { person, conversation, project, reply_to, text } = question;
        let state = self.state(StreamId::Conversation(conversation)).await?;
        let blank = Conversation::new(conversation, Channel::Api, person, project);
        let known = state.conversation().unwrap_or(&blank);
        let around = self.surroundings(person, known, project.or(known.project), reply_to, &text).await?;
        let decision = around.route(self.inner.core.clock.now().mint().id(), &text);
        let reply = self.reply(person, &decision, &around).await?;
        let task = decision.intent.task().and_then(|task| around.task(task).cloned());
        Ok(Explained { decision, task, reply })
    }

    async fn receive(&self, message: &Message, input: InputId, mint: &mut Mint) -> Result<Taken, EngineError> {
        let state = self.state(StreamId::Conversation(message.conversation)).await?;
        let conversation = state.conversation().ok_or(Rejection::NotFound { what: "conversation" })?;
        let mut stated = message.stated.clone();
        if let Some(agent) = &stated.agent {
            stated.agent = Some(self.agent_name(agent)?);
        }
        let words = plain_text(&message.content);
        let project = message.project.or(conversation.project);
        let around = self.surroundings(message.person, conversation, project, message.reply_to, &words).await?;
        let command = message.brought.as_ref().and_then(|brought| brought.command.clone());
        let amended = match stated.any() || message.reply_to.is_some() || command.is_some() {
            true => None,
            false => self.amended(message, &around, &words).await?,
        };
        let correction = match amended {
            Some((row, meant)) => self.correction(&row, meant, false).await?.map(|(_, command)| (row, meant, command)),
            None => None,
        };
        let decision = match (stated.any(), &correction) {
            _ if command.is_some() => commanded(mint.id(), command.as_ref(), around.focus()),
            (true, _) => self.stated(mint.id(), &around, &stated).await?,
            (false, Some((row, meant, _))) => meant.decision(mint.id(), row.decision_id(), around.focus()),
            (false, None) => {
                let decision = around.route(mint.id(), &words);
                tie::settle(self.config().tie_model.as_ref(), &words, decision, &around).await
            }
        };
        let project = self.place_of(message.person, &decision, &around).await?;
        if let (Some(agent), Some(project)) = (brought_in(&decision.intent), &project) {
            self.installed_agent(agent, project.id).await?;
        }
        let birth = match &decision.intent {
            Intent::Fork { task, agent } => {
                let (person, source, agent) = (message.person, *task, agent.clone());
                let wish = ForkWish { person, source, turn: None, agent, title: Some(words.clone()) };
                let (task, seed, fork) = self.fork_birth(&wish, mint).await?;
                Some(Birth::Fork { task, seed, fork })
            }
            _ => birth(&words, &decision, project.as_ref(), &stated, mint),
        };
        let birth = match birth {
            Some(Birth::Task { task, seed, .. }) if stated.worktree => {
                let place = (seed.project, &Site::of(seed.root.clone()));
                let worktree = Some(self.worktree(place, seed.execution, message.person).await?);
                Some(Birth::Task { task, seed, worktree })
            }
            birth => birth,
        };
        let reply = match command {
            Some((_, Some(reply))) => Some(reply),
            Some((_, None)) | None => self.reply(message.person, &decision, &around).await?,
        };
        let mut received = Received {
            message: message.brought.as_ref().map(|brought| brought.message.clone()),
            input,
            person: message.person,
            content: message.content.clone(),
            decision,
            birth,
            urgency: message.urgency,
            reply,
        };
        let besides = self.besides(&received, &words).await?;
        if let (Some((_, Command::Task(TaskCommand::Reopen))), Some(reply)) = (&besides, &mut received.reply) {
            reply.text.push('\n');
            reply.text.push_str(&self.locale(message.person).await?.open_again());
        }
        Ok(Taken { received, correction: correction.map(|(_, _, command)| command), besides })
    }

    /// A yes in a chat is one to what the chat showed, whether it is a word or a button.
    pub(crate) async fn check_shown(&self, approval: ApprovalId, place: Option<Channel>) -> Result<(), EngineError> {
        let Some(account) = place.and_then(|place| self.inner.channels.of(place)) else { return Ok(()) };
        let Some(row) = approval_row(&self.inner.core, approval).await? else { return Ok(()) };
        let mask = self.config().mask(&self.inner.channels);
        match shown_in_chat(&row.approval, account.channel.abilities(), &mask).complete {
            true => Ok(()),
            false => Err(Rejection::NotShown.into()),
        }
    }

    /// What a message asks for besides, by its words: that a closed task is open again, or a note, if its task is there and has
    /// room. A new task has these words as its goal.
    async fn besides(&self, received: &Received, words: &str) -> Result<Option<(StreamId, Command)>, EngineError> {
        let (task, command) = match (&received.decision.intent, remembered(words)) {
            (Intent::Focus { task }, _) if reopens(words) => (*task, TaskCommand::Reopen),
            (Intent::Continue { task, .. } | Intent::Answer { task, .. }, Some(note)) => {
                (*task, TaskCommand::PinNote { person: received.person, text: note.to_owned() })
            }
            _ => return Ok(None),
        };
        let fits = self.task(task).await?.is_some_and(|task| match command {
            TaskCommand::Reopen => task.lifecycle != Lifecycle::Open,
            _ => task.notes.len() < MAX_NOTES,
        });
        Ok(fits.then_some((StreamId::Task(task), Command::Task(command))))
    }

    /// What is said to a message, in the person's language: of one task, what its record says.
    async fn reply(
        &self,
        person: PersonId,
        decision: &RouteDecision,
        around: &Surroundings,
    ) -> Result<Option<Reply>, EngineError> {
        let locale = self.locale(person).await?;
        match decision.intent {
            Intent::Status { task: Some(task) } => self.standing(person, locale, Some(task)).await.map(Some),
            _ => Ok(answer::reply(locale, person, decision, around)),
        }
    }

    /// The language that a person is spoken to in.
    pub(crate) async fn locale(&self, person: PersonId) -> Result<Locale, EngineError> {
        let state = self.state(StreamId::Person(person)).await?;
        Ok(match &*state {
            State::Person(Some(person)) => Locale::of(&person.locale),
            _ => Locale::default(),
        })
    }

    /// What a person states goes before everything that could be guessed.
    async fn stated(
        &self,
        id: DecisionId,
        around: &Surroundings,
        stated: &Stated,
    ) -> Result<RouteDecision, EngineError> {
        let focus = around.focus();
        let task = match stated.task.or(around.replied()).or(focus.map(|focus| focus.task)) {
            Some(task) => self.task(task).await?,
            None => None,
        };
        if stated.task.is_some() && task.is_none() {
            return Err(Rejection::NotFound { what: "task" }.into());
        }
        let live = task.iter().flat_map(|task| &task.executions).filter(|execution| execution.ended.is_none());
        let executions = live
            .clone()
            .filter(|known| known.primary)
            .chain(live.filter(|known| !known.primary))
            .map(|known| KnownExecution {
                id: known.id,
                agent: known.agent.clone(),
                role: known.role,
                asks: known.question().is_some(),
            })
            .collect();
        let project = around
            .project
            .or_else(|| task.as_ref().map(|task| task.project))
            .ok_or_else(|| no_project(&around.projects))?;
        Ok(route(id, &RouteContext { project, focus, reply_to: around.replied(), executions }, stated))
    }

    /// The project that a decision is about, for someone who may act there.
    async fn place_of(
        &self,
        person: PersonId,
        decision: &RouteDecision,
        around: &Surroundings,
    ) -> Result<Option<Project>, EngineError> {
        let task = match decision.intent.task() {
            Some(task) => self.task(task).await?,
            None => None,
        };
        let project = match (&decision.intent, task) {
            (Intent::NewTask { project, .. }, _) => Some(*project),
            (_, Some(task)) => Some(task.project),
            (_, None) => None,
        };
        // A chat is about all projects; what is said there without one is answered without one.
        if project.or(around.project).is_none() && !around.channel.pushes() {
            return Err(no_project(&around.projects));
        }
        let Some(project) = project else { return Ok(None) };
        let project = self.project(project).await?;
        if !project.members.contains(&person) {
            return Err(Rejection::Forbidden.into());
        }
        Ok(Some(project))
    }

    pub(crate) async fn project(&self, project: ProjectId) -> Result<Project, EngineError> {
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

    pub(crate) async fn said(&self, input: InputId, repeated: bool) -> Result<Said, EngineError> {
        let mut input = self.store().input(Lookup::Input(input)).await?.ok_or(Rejection::NotFound { what: "input" })?;
        // A correction is about the message that it moved.
        let moved = match input.decision.intent {
            Intent::Correct { decision, .. } => self.store().input(Lookup::Decision(decision)).await?,
            _ => None,
        };
        let task = self.row_of(moved.map_or(input.task, |moved| moved.task)).await?;
        if let (None, Some(task)) = (&input.reply, &task) {
            let focus = self.row_of(input.decision.focus.map(|focus| focus.task)).await?;
            let locale = self.locale(input.person).await?;
            input.reply = answer::announcement(locale, &input.decision, task, focus);
        }
        Ok(Said { input, task, repeated })
    }

    async fn row_of(&self, task: Option<TaskId>) -> Result<Option<TaskRow>, EngineError> {
        let Some(task) = task else { return Ok(None) };
        match self.store().ask(Ask::Task(task)).await? {
            Answer::Task(task) => Ok(task.map(|task| *task)),
            _ => Ok(None),
        }
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

/// Nobody said which of these it is about.
pub(crate) fn no_project(known: &[ProjectRow]) -> EngineError {
    EngineError::NoProject { known: known.iter().map(|project| project.name.clone()).collect() }
}

/// The agent that a decision brings in by name. Whoever works already needs no second look.
fn brought_in(intent: &Intent) -> Option<&str> {
    match intent {
        Intent::NewTask { agent, .. } | Intent::SwitchAgent { agent, .. } => agent.as_deref(),
        Intent::AddExecution { agent, .. } => Some(agent),
        _ => None,
    }
}

/// A command of a channel leaves nothing to be guessed.
fn commanded(id: DecisionId, command: Option<&(Intent, Option<Reply>)>, focus: Option<Focus>) -> RouteDecision {
    let intent = command.map_or(Intent::Help, |(intent, _)| intent.clone());
    RouteDecision { id, intent, confidence: 1.0, evidence: vec!["it is a command".into()], alternatives: vec![], focus }
}

/// What a decision gives birth to, with ids that it can be known by.
pub(crate) fn birth(
    words: &str,
    decision: &RouteDecision,
    project: Option<&Project>,
    stated: &Stated,
    mint: &mut Mint,
) -> Option<Birth> {
    match (&decision.intent, project) {
        (Intent::NewTask { agent, .. }, Some(project)) => {
            let seed = TaskSeed {
                project: project.id,
                title: one_line(words, TITLE_CHARS),
                goal: words.chars().take(GOAL_CHARS).collect(),
                root: project.roots.first().cloned().unwrap_or_default(),
                execution: mint.id(),
                agent: agent.clone().unwrap_or_else(|| project.default_agent.clone()),
                role: stated.role.unwrap_or_default(),
            };
            Some(Birth::Task { task: mint.id(), seed, worktree: None })
        }
        (Intent::AddExecution { .. } | Intent::SwitchAgent { .. }, _) => {
            Some(Birth::Execution { execution: mint.id() })
        }
        _ => None,
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
