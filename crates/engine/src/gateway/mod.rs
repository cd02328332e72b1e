//! The gateway: what comes in through a channel becomes what a person says or decides.
//!
//! Invariants:
//! - who did it is looked up for every update; of someone who is not paired nothing is kept at all (P10);
//! - an update has one effect: what follows from it commits together with its key, and a key that is known is done (P7);
//! - a button decides only what was shown above it, for who may decide it, while it is open (P5).

mod attached;
mod called;
mod files;
mod notices;
mod order;
mod press;
mod strangers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use throughline_channels::rich::Rich;
use throughline_channels::{Account, Beyond, Inbox, NotTaken, Outbound, RemoteFile, Setting, Update, What};
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::content::ContentBlock;
use throughline_model::context::ReplyTo;
use throughline_model::conversation::{Address, ConversationCommand};
use throughline_model::delivery::Delivery;
use throughline_model::identity::Identity;
use throughline_model::ids::{ConversationId, DeliveryId, Id as _, InputId, PersonId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::person::{Offer, PersonCommand};
use throughline_model::present;
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::view::{DeliveryRow, NameRow};
use throughline_store::port::{Answer, Ask, InboxEntry};

use crate::core::{ExecuteError, Request};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::say::{Brought, Idempotency, Message};
use attached::Fetches;
use files::Wish;
use order::{Heard, Order};
use strangers::Strangers;

/// What a stranger is told. One line, an hour: this one, or the next.
const POLITE: &str = "Hello. I only talk to people that I know. If this is your Throughline: `tl pair` gives you a code to send me. / 你好，我只和认识的人说话。如果这是你的 Throughline：`tl pair` 会给你一个配对码，请发给我。";
/// What someone is told whose code does not work.
const BAD_CODE: &str = "This code does not work, or not any more. `tl pair` gives you another one. / 配对码无效或已过期，`tl pair` 会给你新的。";

/// How often, and how long apart, is looked for a message that may be one which is being sent: for ten seconds.
const MOST_LOOKS: usize = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// One channel's way in.
pub(crate) struct Gateway {
    engine: Engine,
    account: Account,
    strangers: Strangers,
    fetches: Fetches,
}

#[async_trait]
impl Inbox for Gateway {
    async fn take(&self, update: Update) -> Result<(), NotTaken> {
        match self.handle(&update).await {
            Ok(()) => Ok(()),
            // These pass, so the platform shall tell it again.
            Err(
                error @ (EngineError::Store(_)
                | EngineError::Home(_)
                | EngineError::Contended
                | EngineError::Stopping
                | EngineError::NotFetched { .. }),
            ) => Err(NotTaken(error.to_string())),
            Err(error) => {
                tracing::warn!(%error, key = update.key, "an update came to nothing");
                Ok(())
            }
        }
    }
}

impl Gateway {
    pub(crate) fn new(engine: Engine, account: Account) -> Self {
        Self { engine, account, strangers: Strangers::default(), fetches: Fetches::default() }
    }

    async fn handle(&self, update: &Update) -> Result<(), EngineError> {
        match (self.engine.person_of(&self.sender(update)).await?, &update.what) {
            (None, _) => self.stranger(update).await,
            (Some(person), What::Pressed(press)) => self.pressed(person, update, press).await,
            (Some(_), What::Said { .. }) if update.setting == Setting::Group && !self.account.groups => Ok(()),
            (Some(person), What::Said { message, text, answers, files }) => {
                let words =
                    Words { message: &message.0, text, answers: answers.as_ref().map(|it| it.0.as_str()), files };
                self.said(person, update, words).await
            }
            (Some(_), What::Beyond(_)) if update.setting == Setting::Group && !self.account.groups => Ok(()),
            (Some(person), What::Beyond(beyond)) => self.not_followed(person, update, *beyond).await,
        }
    }

    fn place(&self) -> Channel {
        self.account.place()
    }

    /// Who did it: a platform vouches for its own members and no others.
    fn sender(&self, update: &Update) -> Identity {
        Identity::on(self.account.platform(), &update.sender)
    }

    /// Someone who is not known can bring a code, and is told so; nothing else.
    async fn stranger(&self, update: &Update) -> Result<(), EngineError> {
        let now = self.engine.now();
        let name = self.sender(update).name();
        match &update.what {
            What::Said { text, .. } if update.setting == Setting::Private => match order::code(text) {
                Some(code) if self.strangers.may_try(&name, now) => return self.pair(update, &code).await,
                _ => self.tell_stranger(update, POLITE),
            },
            What::Beyond(_) if update.setting == Setting::Private => self.tell_stranger(update, POLITE),
            What::Pressed(press) if self.strangers.may_be_told(&name, now) => {
                let (platform, press) = (Arc::clone(&self.account.channel), press.clone());
                tokio::spawn(async move { platform.acknowledge(&press, POLITE).await });
            }
            What::Said { .. } | What::Beyond(_) | What::Pressed(_) => {}
        }
        Ok(())
    }

    async fn pair(&self, update: &Update, code: &str) -> Result<(), EngineError> {
        let digest = Offer::digest_of(code);
        let Some(person) = self.engine.person_of_code(&digest).await? else {
            self.tell_stranger(update, BAD_CODE);
            return Ok(());
        };
        let conversation = self.conversation(person, update);
        let state = self.engine.state(StreamId::Person(person)).await?;
        let name = state.person().map(|known| known.name.clone()).unwrap_or_default();
        let locale = self.engine.locale(person).await?;
        let pair = PersonCommand::Pair { digest, identity: self.sender(update) };
        let stream = StreamId::Conversation(conversation);
        let commands = vec![
            (StreamId::Person(person), Command::Person(pair)),
            (stream, Command::Conversation(self.opening(person, update))),
            (stream, Command::Conversation(self.words(update, locale.paired(name), None))),
        ];
        // The code is spent and still no secret to keep, so the update is not kept as it came.
        let inbox = InboxEntry { raw: None, ..self.entry(conversation, update) };
        match self.execute(Request { commands, inbox: Some(inbox), ..Request::default() }).await {
            Err(EngineError::Rejected(_)) => {
                self.tell_stranger(update, BAD_CODE);
                Ok(())
            }
            other => other,
        }
    }

    /// Says something to someone of whom nothing is kept, unless they were told something before.
    fn tell_stranger(&self, update: &Update, words: &str) {
        if !self.strangers.may_be_told(&self.sender(update).name(), self.engine.now()) {
            return;
        }
        let message = Outbound {
            delivery: self.engine.inner.core.clock.now().mint().id(),
            page: 0,
            place: update.place.clone(),
            text: Rich::from_markdown(words),
            buttons: vec![],
            replaces: None,
            answers: None,
            quiet: true,
        };
        let platform = Arc::clone(&self.account.channel);
        tokio::spawn(async move {
            if let Err(error) = platform.send(&message).await {
                tracing::debug!(%error, "a stranger was not answered");
            }
        });
    }

    async fn said(&self, person: PersonId, update: &Update, words: Words<'_>) -> Result<(), EngineError> {
        let conversation = self.conversation(person, update);
        let entry = self.entry(conversation, update);
        if matches!(self.engine.store().ask(Ask::Inbox(entry.key.clone())).await?, Answer::Inbox(Some(_))) {
            return Ok(());
        }
        let stream = StreamId::Conversation(conversation);
        if self.engine.state(stream).await?.conversation().is_none() {
            self.engine.send(stream, Command::Conversation(self.opening(person, update))).await?;
        }
        if self.heeded(person, conversation, update, words.text).await? {
            return Ok(());
        }
        if let Some(press) = self.numbered(person, conversation, update, words.text).await? {
            return self.pressed(person, update, &press).await;
        }
        let reply_to = self.reply_to(conversation, words.answers).await?;
        let heard = Heard { person, conversation, reply_to, text: words.text };
        if let Some(wish) = Wish::of(words.text) {
            return self.hand_out(&heard, update, words.message, wish).await;
        }
        let Order { text, stated, project, command } = match self.engine.order(&heard).await? {
            Ok(order) => order,
            Err(answer) => return self.answer(conversation, update, answer, None).await,
        };
        let mut content = vec![];
        if !text.is_empty() {
            content.push(ContentBlock::text(text));
        }
        for file in words.files {
            match self.fetched(&update.key, file).await? {
                Ok(block) => content.push(block),
                Err(why) => {
                    let locale = self.engine.locale(person).await?;
                    let answer = locale.file_not_taken(&file.name, why);
                    return self.answer(conversation, update, answer, None).await;
                }
            }
        }
        // To fetch takes a while, in which the sender may have been revoked.
        if !words.files.is_empty() && self.engine.person_of(&self.sender(update)).await? != Some(person) {
            return self.stranger(update).await;
        }
        let works = command.is_none();
        let message = Message {
            person,
            conversation,
            content,
            stated,
            reply_to,
            project,
            urgency: Urgency::InTurn,
            idempotency: Some(Idempotency { key: update.key.clone(), digest: String::new() }),
            brought: Some(Brought { message: words.message.to_owned(), raw: update.raw.clone(), command }),
        };
        match self.engine.say(message).await {
            Ok(said) => {
                let shows = self.account.channel.abilities().typing;
                if works && shows && !said.repeated && said.task.is_some() {
                    let (platform, place) = (Arc::clone(&self.account.channel), update.place.clone());
                    tokio::spawn(async move { platform.typing(&place).await });
                }
                Ok(())
            }
            Err(error) => self.refuse(person, conversation, update, error).await,
        }
    }

    /// Says that something was not followed, so that nobody waits for what comes of it.
    async fn not_followed(&self, person: PersonId, update: &Update, beyond: Beyond) -> Result<(), EngineError> {
        let conversation = self.conversation(person, update);
        if self.engine.state(StreamId::Conversation(conversation)).await?.conversation().is_none() {
            return Ok(());
        }
        let locale = self.engine.locale(person).await?;
        let words = match beyond {
            Beyond::Edit => locale.edit_not_followed(),
            Beyond::Kind => locale.kind_not_taken(),
        };
        self.answer(conversation, update, words, None).await
    }

    /// A "no" is an answer too, and is given once.
    async fn refuse(
        &self,
        person: PersonId,
        conversation: ConversationId,
        update: &Update,
        error: EngineError,
    ) -> Result<(), EngineError> {
        let locale = self.engine.locale(person).await?;
        let words = match &error {
            EngineError::Store(_) | EngineError::Contended | EngineError::Stopping => return Err(error),
            EngineError::NoProject { .. } => self.engine.which_project(person, locale).await?,
            EngineError::Rejected(rejection) => present::reply::refused(locale, rejection).text,
            other => format!("{other}: {}", other.hint()),
        };
        self.answer(conversation, update, words, None).await
    }

    /// Answers an update with words of our own, once.
    async fn answer(
        &self,
        conversation: ConversationId,
        update: &Update,
        words: String,
        task: Option<TaskId>,
    ) -> Result<(), EngineError> {
        let command = Command::Conversation(self.words(update, words, task));
        let commands = vec![(StreamId::Conversation(conversation), command)];
        let inbox = Some(self.entry(conversation, update));
        self.execute(Request { commands, inbox, ..Request::default() }).await
    }

    /// Carries out what follows from an update; what was done before is done.
    async fn execute(&self, request: Request) -> Result<(), EngineError> {
        match self.engine.inner.core.execute(request).await {
            Ok(_) | Err(ExecuteError::Duplicate(_)) => Ok(()),
            Err(ExecuteError::Engine(error)) => Err(error),
        }
    }

    fn words(&self, update: &Update, words: impl Into<String>, task: Option<TaskId>) -> ConversationCommand {
        let id = DeliveryId::derive(uuid::Uuid::nil(), &update.key);
        ConversationCommand::Deliver { delivery: Delivery::words(id, words, task, self.engine.now()) }
    }

    fn entry(&self, conversation: ConversationId, update: &Update) -> InboxEntry {
        InboxEntry {
            key: format!("{conversation}:{}", update.key),
            digest: String::new(),
            input: InputId::derive(conversation.uuid(), &update.key),
            raw: Some(update.raw.clone()),
        }
    }

    /// A place where others read along is one conversation; one with us alone is the person's.
    fn conversation(&self, person: PersonId, update: &Update) -> ConversationId {
        let owner = (update.setting == Setting::Private).then_some(person);
        ConversationId::of_place(owner, self.place().word(), &update.place.0)
    }

    fn opening(&self, person: PersonId, update: &Update) -> ConversationCommand {
        let with = (update.setting == Setting::Private).then(|| self.sender(update));
        ConversationCommand::Open {
            conversation: self.conversation(person, update),
            channel: self.place(),
            person,
            project: None,
            address: Some(Address { place: update.place.0.clone(), with }),
        }
    }

    /// What a message is about that answers another one.
    async fn reply_to(
        &self,
        conversation: ConversationId,
        answers: Option<&str>,
    ) -> Result<Option<ReplyTo>, EngineError> {
        let Some(message) = answers else { return Ok(None) };
        let Some(delivery) = self.behind(conversation, message).await? else { return Ok(None) };
        Ok(self.delivery(delivery).await?.and_then(|row| match (row.approval, row.task) {
            (Some(approval), _) => Some(ReplyTo::Approval(approval)),
            (None, task) => task.map(ReplyTo::Task),
        }))
    }

    /// The delivery that became this message. People may see it, and answer, before we have heard what it is called.
    async fn behind(&self, conversation: ConversationId, message: &str) -> Result<Option<DeliveryId>, EngineError> {
        let name = NameRow::of_message(conversation, message);
        for _ in 0..MOST_LOOKS {
            let state = self.engine.state(StreamId::Conversation(conversation)).await?;
            let mut outbound = state.conversation().into_iter().flat_map(|known| &known.outbound);
            let sending = outbound.any(|known| known.handed.attempted);
            if let Answer::Name(Some(of)) = self.engine.store().ask(Ask::Name(name.clone())).await? {
                return Ok(of.parse().ok());
            }
            if !sending {
                return Ok(None);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(None)
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryRow>, EngineError> {
        match self.engine.store().ask(Ask::Delivery(id)).await? {
            Answer::Deliveries(rows) => Ok(rows.into_iter().next()),
            _ => Ok(None),
        }
    }
}

/// What somebody said.
struct Words<'a> {
    message: &'a str,
    text: &'a str,
    answers: Option<&'a str>,
    files: &'a [RemoteFile],
}

/// A "no" of the model, in words for a moment on a screen.
fn no(locale: present::Locale, rejection: &Rejection) -> String {
    match rejection {
        Rejection::DigestMismatch => locale.press_changed(),
        Rejection::Forbidden => locale.press_not_yours(),
        other => present::reply::refused(locale, other).text,
    }
}
