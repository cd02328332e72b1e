//! What a person chose to be told, and what happened lately.
//!
//! **Invariant:** a person chooses for themselves: only a chat of theirs, or a group that they spoke in, is changed by them
//! from elsewhere.

use std::time::Duration;

use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::conversation::ConversationCommand;
use throughline_model::ids::{ConversationId, PersonId};
use throughline_model::notice::{Quiet, Reason, Reasons};
use throughline_model::person::{Person, PersonCommand};
use throughline_model::present::{self, Locale};
use throughline_model::rejection::Rejection;
use throughline_model::reply::Reply;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::DeliveryRow;
use throughline_store::port::{Answer, Ask, DeliveryQuery, TaskQuery};

use crate::core::Core;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::quiet;

/// How many tasks a digest looks at.
const TASKS: usize = 200;
/// How many deliveries it looks at for those that did not arrive.
const DELIVERIES: usize = 500;

/// What a person is told, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notices {
    /// When they want quiet.
    pub quiet: Option<Quiet>,
    /// Until when it is quiet, if it is now.
    pub quiet_until: Option<Timestamp>,
    /// Where they chose to hear of tasks in which none of their chats takes part.
    pub main: Option<ConversationId>,
    /// Where they do.
    pub told_in: Option<ConversationId>,
    /// Their chats.
    pub chats: Vec<ChatNotices>,
}

/// What one chat is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatNotices {
    /// Which.
    pub conversation: ConversationId,
    /// What it is called: as whom they are there, or the group.
    pub name: String,
    /// Where it is.
    pub channel: Channel,
    /// Who reads along.
    pub readers: Readers,
    /// For which reasons.
    pub reasons: Reasons,
    /// How much waits for quiet hours to end.
    pub held: usize,
}

/// Who reads along in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Nobody else.
    Alone,
    /// A group.
    Group,
}

impl Engine {
    /// What a person is told, and where.
    ///
    /// # Errors
    /// If there is no such person, or the store fails.
    pub async fn notices(&self, person: PersonId) -> Result<Notices, EngineError> {
        let person = self.person(person).await?;
        let mut chats = vec![];
        for conversation in person.places() {
            let state = self.state(StreamId::Conversation(conversation)).await?;
            let Some(known) = state.conversation() else { continue };
            let Some(address) = &known.address else { continue };
            let (name, readers) = match &address.with {
                Some(identity) => (identity.handle(), Readers::Alone),
                None => (format!("{}:{}", known.channel.word(), address.place), Readers::Group),
            };
            let (reasons, held) = (known.told.reasons.clone(), known.told.held.len());
            chats.push(ChatNotices { conversation, name, channel: known.channel, readers, reasons, held });
        }
        let (main, told_in) = (person.notices.main, person.main_chat());
        let quiet_until = person.notices.quiet.as_ref().and_then(|quiet| quiet::ends(quiet, self.now()));
        Ok(Notices { quiet: person.notices.quiet, quiet_until, main, told_in, chats })
    }

    /// Tells one of their chats, or a group that they spoke in, for these reasons, and for no other.
    ///
    /// # Errors
    /// If it is none of theirs, or the store fails.
    pub async fn choose_reasons(
        &self,
        person: PersonId,
        chat: ConversationId,
        reasons: Reasons,
    ) -> Result<(), EngineError> {
        let known = self.person(person).await?;
        if !known.places().any(|known| known == chat) {
            return Err(Rejection::NotFound { what: "chat of yours" }.into());
        }
        self.tune(chat, reasons).await
    }

    /// Tells a conversation for these reasons. Whoever calls has seen that the person is there.
    pub(crate) async fn tune(&self, conversation: ConversationId, reasons: Reasons) -> Result<(), EngineError> {
        let command = ConversationCommand::ChooseReasons { reasons };
        self.send(StreamId::Conversation(conversation), Command::Conversation(command)).await.map(drop)
    }

    /// Tells a person of tasks in which none of their chats takes part in this chat, or in the one they write from last.
    ///
    /// # Errors
    /// If it is none of theirs, or the store fails.
    pub async fn choose_main(&self, person: PersonId, chat: Option<ConversationId>) -> Result<(), EngineError> {
        let command = PersonCommand::ChooseMain { conversation: chat };
        self.send(StreamId::Person(person), Command::Person(command)).await.map(drop)
    }

    /// Keeps quiet for a person at these hours, such as `22:00-07:00`; without a zone in the one that they chose before,
    /// else in the daemon's.
    ///
    /// # Errors
    /// If these are no hours, there is no such zone, or the store fails.
    pub async fn choose_quiet(
        &self,
        person: PersonId,
        hours: &str,
        zone: Option<&str>,
        except: Option<Reasons>,
    ) -> Result<Quiet, EngineError> {
        let before = self.person(person).await?.notices.quiet;
        let (zone_before, except_before) = before.map(|quiet| (quiet.zone, quiet.except)).unzip();
        let zone = zone.map(str::to_owned).or(zone_before).unwrap_or_else(quiet::here);
        let except = except.or(except_before).unwrap_or_else(Reasons::none);
        let quiet = Quiet { except, ..quiet::parse(hours, &zone)? };
        let command = PersonCommand::ChooseQuiet { quiet: Some(quiet.clone()) };
        self.send(StreamId::Person(person), Command::Person(command)).await?;
        Ok(quiet)
    }

    /// Keeps quiet for a person no longer.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn end_quiet(&self, person: PersonId) -> Result<(), EngineError> {
        self.send(StreamId::Person(person), Command::Person(PersonCommand::ChooseQuiet { quiet: None })).await.map(drop)
    }

    /// The quiet hours of a person that a moment is in, and that hold what is told for this reason: when they began, and
    /// when they end.
    ///
    /// # Errors
    /// If there is no such person, or the store fails.
    pub async fn quiet_for(
        &self,
        person: PersonId,
        reason: Reason,
        at: Timestamp,
    ) -> Result<Option<(Timestamp, Timestamp)>, EngineError> {
        let quiet = self.person(person).await?.notices.quiet.filter(|quiet| !quiet.except.has(reason));
        Ok(quiet.and_then(|quiet| quiet::span(&quiet, at)))
    }

    /// What happened since then, and what needs the person, in a line; none if there is nothing to say.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn summary(
        &self,
        person: PersonId,
        locale: Locale,
        since: Timestamp,
    ) -> Result<Option<String>, EngineError> {
        Ok(present::summary(locale, &self.tasks_of(person, lately()).await?, since))
    }

    /// What happened in so many hours, and what needs the person.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn digest(&self, person: PersonId, locale: Locale, hours: u64) -> Result<Reply, EngineError> {
        let since = self.now().before(Duration::from_secs(hours * 60 * 60));
        digest(&self.inner.core, person, locale, since).await
    }

    async fn person(&self, person: PersonId) -> Result<Person, EngineError> {
        let state = self.state(StreamId::Person(person)).await?;
        Ok(state.person().cloned().ok_or(Rejection::NotFound { what: "person" })?)
    }
}

/// What happened since then to the tasks of a person's projects.
pub(crate) async fn digest(
    core: &Core,
    person: PersonId,
    locale: Locale,
    since: Timestamp,
) -> Result<Reply, EngineError> {
    let (rows, now) = (core.tasks_of(person, lately()).await?, core.clock.at());
    let state = core.state(StreamId::Person(person)).await?;
    let chats: Vec<ConversationId> =
        state.person().into_iter().flat_map(|person| &person.chats).map(|chat| chat.conversation).collect();
    let lost = match lost(chats) {
        Some(query) => match core.store.ask(Ask::Deliveries(query)).await? {
            Answer::Deliveries(rows) => rows.iter().filter(|row| row.at >= since && row.is_lost()).count(),
            _ => 0,
        },
        None => 0,
    };
    Ok(present::digest(locale, &rows, lost, since, now))
}

/// Asks for the tasks of which something may have happened, the most urgent first.
fn lately() -> TaskQuery {
    TaskQuery { all: true, limit: TASKS, ..TaskQuery::default() }
}

/// Asks for what did not arrive in these chats; there is nothing to ask without any.
fn lost(chats: Vec<ConversationId>) -> Option<DeliveryQuery> {
    let states = DeliveryRow::LOST.map(str::to_owned).to_vec();
    let query = DeliveryQuery { conversations: chats, states, limit: DELIVERIES, ..DeliveryQuery::default() };
    (!query.conversations.is_empty()).then_some(query)
}
