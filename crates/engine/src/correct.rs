//! Correcting: a message goes to where it was meant, and the record says so.

use throughline_model::command::Command;
use throughline_model::content::plain_text;
use throughline_model::context::{Surroundings, TOUCHED_MILLIS};
use throughline_model::conversation::{ConversationCommand, ConversationEvent, Received};
use throughline_model::correction::Correction;
use throughline_model::event::Event;
use throughline_model::ids::{ConversationId, DecisionId, InputId, PersonId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::route::{Focus, Intent, RouteDecision, Stated};
use throughline_model::stream::StreamId;
use throughline_model::view::InputRow;
use throughline_store::port::{Lookup, PageQuery};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::say::{Message, Said, birth, no_project};
use crate::surroundings::only;

/// How many events of a conversation are read at once, and how often, to find what was said.
const PAGE: usize = 50;
const PAGES: usize = 40;

/// What a message was meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This task.
    Task(TaskId),
    /// A task of its own.
    New,
    /// The likeliest other reading.
    Otherwise,
}

impl Meant {
    /// What a message that says so is for.
    pub(crate) fn decision(self, id: DecisionId, corrects: DecisionId, focus: Option<Focus>) -> RouteDecision {
        let task = match self {
            Meant::Task(task) => Some(task),
            Meant::New | Meant::Otherwise => None,
        };
        RouteDecision {
            id,
            intent: Intent::Correct { decision: corrects, task },
            confidence: 0.9,
            evidence: vec!["it says what the message before was meant for, and nothing else".into()],
            alternatives: vec![],
            focus,
        }
    }
}

impl Engine {
    /// Moves the message that a decision was about to where it was meant. Again, it changes nothing.
    ///
    /// # Errors
    /// If there is no such decision of this person, an agent works on it and may not be stopped, or the store fails.
    pub async fn correct(
        &self,
        person: PersonId,
        decision: DecisionId,
        meant: Meant,
        interrupt: bool,
    ) -> Result<Said, EngineError> {
        let missing = Rejection::NotFound { what: "decision" };
        let row = self.store().input(Lookup::Decision(decision)).await?.ok_or(missing)?;
        if row.person != person {
            return Err(Rejection::Forbidden.into());
        }
        match self.correction(&row, meant, interrupt).await? {
            Some((conversation, command)) => {
                self.send(StreamId::Conversation(conversation), command).await?;
                self.said(row.id, false).await
            }
            None => self.said(row.id, true).await,
        }
    }

    /// The command that moves an input; none if it is there already.
    pub(crate) async fn correction(
        &self,
        row: &InputRow,
        meant: Meant,
        interrupt: bool,
    ) -> Result<Option<(ConversationId, Command)>, EngineError> {
        let meant = match meant {
            Meant::Otherwise => otherwise(row)?,
            stated => stated,
        };
        let is_new = matches!(row.decision.intent, Intent::NewTask { .. });
        let there = row.decision.intent.queues();
        match meant {
            Meant::Task(task) if there && row.task == Some(task) => return Ok(None),
            Meant::New if is_new => return Ok(None),
            Meant::Task(_) | Meant::New | Meant::Otherwise => {}
        }
        let said = self.what_was_said(row).await?;
        let state = self.state(StreamId::Conversation(row.conversation)).await?;
        let conversation = state.conversation().ok_or(Rejection::NotFound { what: "conversation" })?;
        let (intent, project) = match meant {
            Meant::Task(task) => {
                let known = self.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
                (Intent::Continue { task, execution: None }, known.project)
            }
            Meant::New | Meant::Otherwise => {
                let of_task = match row.task {
                    Some(task) => self.task(task).await?.map(|task| task.project),
                    None => None,
                };
                let project = match conversation.project.or(of_task) {
                    Some(project) => project,
                    None => {
                        let known = self.projects_of(row.person).await?;
                        only(&known).ok_or_else(|| no_project(&known))?
                    }
                };
                (Intent::NewTask { project, agent: None }, project)
            }
        };
        let project = self.project(project).await?;
        if !project.members.contains(&row.person) {
            return Err(Rejection::Forbidden.into());
        }
        let decision = RouteDecision {
            intent,
            confidence: 1.0,
            evidence: vec!["you said so afterwards".into()],
            alternatives: vec![row.decision.intent.clone()],
            ..row.decision.clone()
        };
        let mut mint = self.inner.core.clock.now().mint();
        let birth = birth(&plain_text(&said.content), &decision, Some(&project), &Stated::default(), &mut mint);
        let correction = Correction {
            input: row.id,
            person: row.person,
            content: said.content,
            said_at: row.at,
            decision,
            birth,
            from: row.task.filter(|_| there),
            started: is_new,
            interrupt,
        };
        let command = Command::Conversation(ConversationCommand::Correct(Box::new(correction)));
        Ok(Some((row.conversation, command)))
    }

    /// What a message changes about the one before it, if that is all that it says.
    pub(crate) async fn amended(
        &self,
        message: &Message,
        around: &Surroundings,
        words: &str,
    ) -> Result<Option<(InputRow, Meant)>, EngineError> {
        let Some(meant) = around.amended(words) else { return Ok(None) };
        let last = self.last_input(message.conversation, message.person).await?;
        let fresh = |row: &InputRow| around.now.millis_since(row.at) <= TOUCHED_MILLIS;
        // An order that was carried out is no message for another task's agent.
        let movable = |row: &InputRow| {
            meant.is_none() || row.decision.intent.queues() || matches!(row.decision.intent, Intent::Clarify { .. })
        };
        let last = last.filter(fresh).filter(movable);
        Ok(last.map(|row| (row, meant.map_or(Meant::New, Meant::Task))))
    }

    /// What a person said last in a conversation that something was made of.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn last_input(
        &self,
        conversation: ConversationId,
        person: PersonId,
    ) -> Result<Option<InputRow>, EngineError> {
        let last = |received: &Received| {
            received.person == person && !matches!(received.decision.intent, Intent::Correct { .. })
        };
        match self.heard_in(conversation, last).await? {
            Some(received) => Ok(self.store().input(Lookup::Input(received.input)).await?),
            None => Ok(None),
        }
    }

    async fn what_was_said(&self, row: &InputRow) -> Result<Received, EngineError> {
        let wanted: InputId = row.id;
        let found = self.heard_in(row.conversation, |received| received.input == wanted).await?;
        Ok(found.ok_or(Rejection::NotFound { what: "input" })?)
    }

    /// The newest message of a conversation that fits.
    async fn heard_in(
        &self,
        conversation: ConversationId,
        fits: impl Fn(&Received) -> bool,
    ) -> Result<Option<Received>, EngineError> {
        let stream = StreamId::Conversation(conversation);
        let mut before = None;
        for _ in 0..PAGES {
            let page = self.store().page(PageQuery { stream, before, limit: PAGE }).await?;
            for recorded in &page {
                if let Event::Conversation(ConversationEvent::InputReceived(received)) = &recorded.event
                    && fits(received)
                {
                    return Ok(Some((**received).clone()));
                }
            }
            before = page.last().map(|recorded| recorded.seq);
            if page.len() < PAGE {
                break;
            }
        }
        Ok(None)
    }
}

/// What a message would have meant next: the task that it was taken away from, or one of its own.
fn otherwise(row: &InputRow) -> Result<Meant, Rejection> {
    let decision = &row.decision;
    let focus = decision.focus.map(|focus| focus.task).filter(|task| row.task != Some(*task));
    let continued = decision.alternatives.iter().find_map(|other| match other {
        Intent::Continue { task, .. } | Intent::Answer { task, .. } if row.task != Some(*task) => Some(*task),
        _ => None,
    });
    match (&decision.intent, continued.or(focus)) {
        (_, Some(task)) => Ok(Meant::Task(task)),
        (Intent::NewTask { .. }, None) => Err(Rejection::NotFound { what: "task that it could belong to instead" }),
        (_, None) => Ok(Meant::New),
    }
}
