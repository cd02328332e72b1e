//! What a person chose to be told, and what happened lately.
//!
//! **Invariant:** a person chooses for themselves: only a chat of theirs is changed by them from elsewhere.

use std::collections::HashSet;
use std::time::Duration;

use throughline_model::command::Command;
use throughline_model::conversation::ConversationCommand;
use throughline_model::ids::{ConversationId, PersonId};
use throughline_model::notice::{Quiet, Reasons};
use throughline_model::person::{Identity, Person, PersonCommand};
use throughline_model::present::{self, Locale};
use throughline_model::rejection::Rejection;
use throughline_model::reply::Reply;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_store::port::{Answer, Ask, TaskQuery};

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
    /// As whom they are there.
    pub identity: Identity,
    /// For which reasons.
    pub reasons: Reasons,
    /// How much waits for quiet hours to end.
    pub held: usize,
}

impl Engine {
    /// What a person is told, and where.
    ///
    /// # Errors
    /// If there is no such person, or the store fails.
    pub async fn notices(&self, person: PersonId) -> Result<Notices, EngineError> {
        let person = self.person(person).await?;
        let mut chats = vec![];
        for chat in &person.chats {
            let state = self.state(StreamId::Conversation(chat.conversation)).await?;
            let told = state.conversation().map(|known| known.told.clone()).unwrap_or_default();
            chats.push(ChatNotices {
                conversation: chat.conversation,
                identity: chat.identity.clone(),
                reasons: told.reasons,
                held: told.held.len(),
            });
        }
        let (main, told_in) = (person.notices.main, person.main_chat());
        let quiet_until = person.notices.quiet.as_ref().and_then(|quiet| quiet::ends(quiet, self.now()));
        Ok(Notices { quiet: person.notices.quiet, quiet_until, main, told_in, chats })
    }

    /// Tells one of their chats for these reasons, and for no other.
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
        if !known.chats.iter().any(|known| known.conversation == chat) {
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
    let mut projects = vec![];
    if let Answer::Projects(rows) = core.store.ask(Ask::Projects).await? {
        for row in rows {
            let state = core.state(StreamId::Project(row.id)).await?;
            if state.project().is_some_and(|project| project.members.contains(&person)) {
                projects.push(row.id);
            }
        }
    }
    let now = core.clock.at();
    let rows = match projects.is_empty() {
        true => vec![],
        false => core.store.tasks(TaskQuery { projects, all: true, limit: TASKS, ..TaskQuery::default() }).await?,
    };
    let state = core.state(StreamId::Person(person)).await?;
    let chats: HashSet<ConversationId> =
        state.person().into_iter().flat_map(|person| &person.chats).map(|chat| chat.conversation).collect();
    let lost = match core.store.ask(Ask::Deliveries(DELIVERIES)).await? {
        Answer::Deliveries(rows) => {
            let failed = |state: &str| matches!(state, "expired" | "dead" | "unknown");
            // What only tells how far work is has no words of its own, and is no loss.
            let lost = rows.iter().filter(|row| row.at >= since && failed(&row.state) && !row.text.is_empty());
            lost.filter(|row| chats.contains(&row.conversation)).count()
        }
        _ => 0,
    };
    Ok(present::digest(locale, &rows, lost, since, now))
}
