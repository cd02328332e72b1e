//! Buttons: a press is checked like a message, by who pressed, and counts only for what stood above the button.

use std::sync::Arc;

use throughline_channels::{MessageRef, Press, Update};
use throughline_model::approval::{Decision, Source, Verdict};
use throughline_model::command::Command;
use throughline_model::conversation::Conversation;
use throughline_model::delivery::Delivery;
use throughline_model::ids::{ApprovalId, ConversationId, PersonId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::reply::Action;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_model::view::DeliveryRow;
use throughline_store::port::{Answer, Ask};

use super::{Gateway, no};
use crate::core::Request;
use crate::correct::Meant;
use crate::error::EngineError;
use crate::letter::{Chosen, Token, approval_row, asked_back, reply};
use crate::policy::Author;

/// A press that was found to be under a message of ours.
struct Under<'a> {
    person: PersonId,
    update: &'a Update,
    row: DeliveryRow,
    conversation: Conversation,
}

/// Whether a press was in this place. It says in which chat it was, and not always in which thread.
fn is_in(place: &str, update: &Update) -> bool {
    place.strip_prefix(&update.place.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Gateway {
    pub(super) async fn pressed(&self, person: PersonId, update: &Update, press: &Press) -> Result<(), EngineError> {
        let locale = self.engine.locale(person).await?;
        let words = match self.under(person, update, press).await? {
            None => locale.press_too_late(),
            Some((_, under)) if !self.is_theirs(&under) => locale.press_not_yours(),
            Some((_, under)) if self.is_done(&under).await? => locale.press_done(),
            Some((token, under)) => match self.choose(&token.choice, &under).await {
                Ok(words) => words,
                Err(EngineError::Rejected(rejection)) => no(locale, &rejection),
                Err(error @ (EngineError::Store(_) | EngineError::Contended | EngineError::Stopping)) => {
                    return Err(error);
                }
                Err(other) => other.to_string(),
            },
        };
        self.acknowledge(person, update, press, words).await
    }

    /// Where there are no buttons, a number chooses from what its sender was asked back last.
    pub(super) async fn numbered(
        &self,
        person: PersonId,
        conversation: ConversationId,
        update: &Update,
        text: &str,
    ) -> Result<Option<Press>, EngineError> {
        let number = text.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some(at) = number.filter(|_| !self.account.channel.abilities().buttons) else { return Ok(None) };
        let Some(last) = self.engine.last_input(conversation, person).await? else { return Ok(None) };
        let choices = asked_back(&self.engine.inner.core, last.id).await?;
        let row = self.delivery(Delivery::answer_id(last.id)).await?;
        let Some((row, (nth, _))) = row.zip(choices.into_iter().nth(at)) else { return Ok(None) };
        let Some(under) = row.message else { return Ok(None) };
        let token = Token { delivery: row.id, choice: Chosen::Nth(nth) }.write();
        Ok(Some(Press { token, under: MessageRef(under), id: update.key.clone() }))
    }

    /// Whether this press had its effect before.
    async fn is_done(&self, under: &Under<'_>) -> Result<bool, EngineError> {
        let key = self.entry(under.conversation.id, under.update).key;
        Ok(matches!(self.engine.store().ask(Ask::Inbox(key)).await?, Answer::Inbox(Some(_))))
    }

    /// Where the platform shows no word for a press, a message says it.
    async fn acknowledge(
        &self,
        person: PersonId,
        update: &Update,
        press: &Press,
        words: String,
    ) -> Result<(), EngineError> {
        if self.account.channel.abilities().toasts {
            let (platform, press) = (Arc::clone(&self.account.channel), press.clone());
            tokio::spawn(async move {
                if let Err(error) = platform.acknowledge(&press, &words).await {
                    tracing::debug!(%error, "a press was not acknowledged");
                }
            });
            return Ok(());
        }
        let done = words == self.engine.locale(person).await?.press_done();
        let found = self.under(person, update, press).await?.filter(|(_, under)| self.is_theirs(under) && !done);
        match found {
            Some((_, under)) => self.answer(under.conversation.id, update, words, under.row.task).await,
            None => Ok(()),
        }
    }

    /// The message that the button was under, if it is one of ours and says so itself.
    async fn under<'a>(
        &self,
        person: PersonId,
        update: &'a Update,
        press: &Press,
    ) -> Result<Option<(Token, Under<'a>)>, EngineError> {
        let Some(token) = Token::parse(&press.token) else { return Ok(None) };
        let Some(row) = self.delivery(token.delivery).await? else { return Ok(None) };
        if row.message.as_ref().is_some_and(|message| *message != press.under.0) {
            return Ok(None);
        }
        let state = self.engine.state(StreamId::Conversation(row.conversation)).await?;
        let here = |known: &&Conversation| {
            known.channel == self.place() && known.address.as_ref().is_some_and(|address| is_in(&address.place, update))
        };
        let Some(conversation) = state.conversation().filter(here) else {
            return Ok(None);
        };
        let conversation = conversation.clone();
        Ok(Some((token, Under { person, update, row, conversation })))
    }

    /// A place with us alone is its person's; in a group everyone is checked by what they press.
    fn is_theirs(&self, under: &Under<'_>) -> bool {
        match under.conversation.address.as_ref().and_then(|address| address.with.as_ref()) {
            Some(identity) => *identity == self.sender(under.update) && under.conversation.person == under.person,
            None => self.account.groups,
        }
    }

    async fn choose(&self, choice: &Chosen, under: &Under<'_>) -> Result<String, EngineError> {
        let locale = self.engine.locale(under.person).await?;
        match choice {
            Chosen::Decision(verdict, digest) => {
                let approval = under.row.approval.ok_or(Rejection::NotFound { what: "approval" })?;
                self.decide(under, approval, *verdict, digest).await?;
                Ok(locale.press_done())
            }
            Chosen::More => {
                let task = under.row.task.ok_or(Rejection::NotFound { what: "task" })?;
                self.act(under, Action::Open { task }).await
            }
            Chosen::Retry => {
                let task = under.row.task.ok_or(Rejection::NotFound { what: "task" })?;
                self.act(under, Action::Retry { task }).await
            }
            Chosen::Nth(nth) => {
                let input = under.row.input.ok_or(Rejection::NotFound { what: "choice" })?;
                let said = reply(&self.engine.inner.core, input).await?;
                let choice = said.and_then(|said| said.choices.into_iter().nth(*nth));
                match choice {
                    Some(choice) => self.act(under, choice.action).await,
                    None => Ok(locale.press_too_late()),
                }
            }
        }
    }

    async fn act(&self, under: &Under<'_>, action: Action) -> Result<String, EngineError> {
        let locale = self.engine.locale(under.person).await?;
        let person = under.person;
        match action {
            Action::Correct { decision, task, interrupt } => {
                let meant = task.map_or(Meant::New, Meant::Task);
                // Again, it changes nothing; so it need not commit together with what is said to it.
                let said = self.engine.correct(person, decision, meant, interrupt).await?;
                let words = reply(&self.engine.inner.core, said.input.id).await?.map(|reply| reply.text);
                let words = words.unwrap_or_else(|| locale.press_done());
                self.answer(under.conversation.id, under.update, words, said.input.task).await?;
                return Ok(locale.press_done());
            }
            Action::Decide { approval, verdict, digest } => self.decide(under, approval, verdict, &digest).await?,
            Action::MakeRule { approval } => {
                let missing = Rejection::NotFound { what: "approval" };
                let row = approval_row(&self.engine.inner.core, approval).await?.ok_or(missing)?;
                self.member(person, row.task).await?;
                let author = Author { by: person, source: self.source(under) };
                self.engine.rule_from(&row, author, None).await?;
                self.answer(under.conversation.id, under.update, locale.press_done(), Some(row.task)).await?;
            }
            Action::Answer { .. } => return Ok(locale.answer_here()),
            Action::Open { task } => {
                self.member(person, task).await?;
                let more = self.engine.more(locale, task).await?;
                self.answer(under.conversation.id, under.update, more.text, Some(task)).await?;
            }
            Action::Stop { task } => self.order_task(under, task, TaskCommand::Cancel).await?,
            Action::Retry { task } => {
                self.order_task(under, task, TaskCommand::Retry { person, execution: None }).await?;
            }
            Action::Close { task } => self.order_task(under, task, TaskCommand::Close { person }).await?,
            Action::Reopen { task } => self.order_task(under, task, TaskCommand::Reopen).await?,
        }
        Ok(locale.press_done())
    }

    /// Yes or no to exactly what was shown: the model checks that it is open, and that this is its digest.
    async fn decide(
        &self,
        under: &Under<'_>,
        approval: ApprovalId,
        verdict: Verdict,
        digest: &str,
    ) -> Result<(), EngineError> {
        let missing = Rejection::NotFound { what: "approval" };
        let row = approval_row(&self.engine.inner.core, approval).await?.ok_or(missing)?;
        let whole = row.approval.digest();
        if !whole.starts_with(digest) {
            return Err(Rejection::DigestMismatch.into());
        }
        if verdict == Verdict::Approve {
            self.engine.check_shown(approval, Some(self.place())).await?;
        }
        let source = self.source(under);
        let decision = Decision { verdict, by: under.person, source, digest: Some(whole), option: None, reason: None };
        let command = TaskCommand::DecideApproval { approval, decision: Box::new(decision) };
        self.order_task(under, row.task, command).await
    }

    fn source(&self, under: &Under<'_>) -> Source {
        Source {
            surface: self.place(),
            identity: Some(self.sender(under.update)),
            conversation: Some(under.conversation.id),
        }
    }

    async fn order_task(&self, under: &Under<'_>, task: TaskId, command: TaskCommand) -> Result<(), EngineError> {
        self.member(under.person, task).await?;
        let commands = vec![(StreamId::Task(task), Command::Task(command))];
        let inbox = Some(self.entry(under.conversation.id, under.update));
        self.execute(Request { commands, inbox, ..Request::default() }).await
    }

    /// Whoever presses has to be a member of the project, at this moment.
    async fn member(&self, person: PersonId, task: TaskId) -> Result<(), EngineError> {
        let task = self.engine.task(task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let project = self.engine.project(task.project).await?;
        match project.members.contains(&person) {
            true => Ok(()),
            false => Err(Rejection::Forbidden.into()),
        }
    }
}
