//! The outbox: deliveries leave through their channel, one after the other in each conversation.
//!
//! **Invariants (P8):** a delivery ends as sent, unknown, dead, expired or superseded, and the record says which. That
//! it is about to be handed over is recorded first: whoever finds that after a crash, and nothing more, cannot know
//! whether it arrived, and says so instead of sending it twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_channels::mask::Mask;
use throughline_channels::{
    Abilities, Account, Channel, Channels, Formatting, MessageRef, Outbound, Place, SendError, Upload,
};
use throughline_model::command::Command;
use throughline_model::conversation::{Address, Conversation, ConversationCommand};
use throughline_model::delivery::{Cause, Delivery, DeliveryOutcome, PushReason};
use throughline_model::ids::{ConversationId, DeliveryId};
use throughline_model::outbound::Seen;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;

use crate::config::Config;
use crate::core::{Core, ExecuteError, Request};
use crate::letter::{Letter, Writer};
use crate::parcel;
use crate::quiet;

/// How soon something is tried again that may have arrived.
const RETRY: Duration = Duration::from_secs(1);
/// How long is waited at most, if the platform does not want more.
const MAX_BACK_OFF: Duration = Duration::from_secs(30);

/// See the file's header.
pub(crate) struct Outbox {
    core: Arc<Core>,
    channels: Channels,
    mask: Mask,
    /// One at a time leaves in each conversation.
    doors: Mutex<HashMap<ConversationId, Arc<tokio::sync::Mutex<()>>>>,
}

/// What became of a try.
enum Tried {
    /// The platform took it, and calls it this.
    Sent(Option<String>),
    /// It did not arrive, or nobody can know.
    Lost(DeliveryOutcome, Option<Cause>),
    /// A part of it is there under this name.
    InPart(Option<String>),
    /// The platform has not taken it, and wants to be asked again after this long.
    Later(Duration, Cause),
    /// Its person wants quiet until then.
    Held(Timestamp),
}

impl Tried {
    fn dead(cause: Cause) -> Self {
        Tried::Lost(DeliveryOutcome::Dead, Some(cause))
    }

    fn unknown(cause: Cause) -> Self {
        Tried::Lost(DeliveryOutcome::Unknown, Some(cause))
    }
}

impl Outbox {
    pub(crate) fn new(core: Arc<Core>, channels: Channels, config: &Config) -> Self {
        let mask = config.mask(&channels);
        Self { core, channels, mask, doors: Mutex::default() }
    }

    /// Sends what is first in line, up to this delivery.
    pub(crate) async fn deliver(
        &self,
        key: &str,
        conversation: ConversationId,
        delivery: DeliveryId,
    ) -> Result<(), ExecuteError> {
        let door = self.door(conversation);
        let _held = door.lock().await;
        loop {
            let state = self.core.state(StreamId::Conversation(conversation)).await?;
            let known = state.conversation();
            let waiting = |known: &&Conversation| known.outbound.iter().any(|queued| queued.id == delivery);
            let Some(known) = known.filter(waiting) else {
                return self.core.execute(Request::settle(key)).await.map(drop);
            };
            let now = self.core.clock.at();
            // Should the clock have gone back, the row of this one is due again when it is.
            let Some(first) = known.outbound.iter().find(|queued| queued.is_due(now)) else { return Ok(()) };
            let delivery = first.id;
            let settle =
                |outcome, message, cause| ConversationCommand::SettleDelivery { delivery, outcome, message, cause };
            match self.send(known, first).await? {
                Tried::Sent(message) => {
                    self.tell(conversation, settle(DeliveryOutcome::Sent, message, None)).await?;
                }
                Tried::Lost(outcome, cause) => self.tell(conversation, settle(outcome, None, cause)).await?,
                Tried::InPart(message) => {
                    let settle = settle(DeliveryOutcome::Unknown, message, Some(Cause::InPart));
                    self.tell(conversation, settle).await?;
                }
                Tried::Held(until) => {
                    self.tell(conversation, ConversationCommand::HoldDelivery { delivery, until }).await?;
                }
                Tried::Later(after, cause) => {
                    let after = after.max(back_off(first.handed.tries));
                    let postpone = ConversationCommand::PostponeDelivery { delivery, cause: Some(cause) };
                    self.tell(conversation, postpone).await?;
                    // The door stays closed: whoever comes later must not overtake, nor ask the platform too soon.
                    tokio::time::sleep(after).await;
                }
            }
        }
    }

    async fn send(&self, conversation: &Conversation, delivery: &Delivery) -> Result<Tried, ExecuteError> {
        let Some((account, address)) = self.channels.of(conversation.channel).zip(conversation.address.as_ref()) else {
            return Ok(Tried::dead(Cause::NoChannel));
        };
        let channel = account.channel.as_ref();
        if delivery.push == PushReason::Progress && !channel.abilities().edits {
            return Ok(Tried::dead(Cause::Unable));
        }
        let again = self.again_is_once(channel.abilities(), conversation, delivery);
        if delivery.handed.attempted && again == Again::Twice {
            tracing::warn!(delivery = %delivery.id, "a delivery may have arrived before the daemon stopped");
            return Ok(Tried::unknown(Cause::Interrupted));
        }
        if self.core.clock.at() >= delivery.expires_at {
            return Ok(Tried::Lost(DeliveryOutcome::Expired, None));
        }
        if let Some(until) = quiet::until(&conversation.told, delivery, self.core.clock.at()) {
            match delivery.push {
                // Changes ring nowhere, so what was begun goes on; what was not is not begun at night.
                PushReason::Progress if is_begun(conversation, delivery) => {}
                PushReason::Progress => return Ok(Tried::dead(Cause::Quiet)),
                _ => return Ok(Tried::Held(until)),
            }
        }
        if !self.reaches(account, conversation, address).await? {
            tracing::warn!(delivery = %delivery.id, "a delivery has nobody to go to any more");
            return Ok(Tried::dead(Cause::NobodyThere));
        }
        let place = Place(address.place.clone());
        if let Some(file) = parcel::of(&self.core, &self.mask, delivery, &place).await? {
            let Some(file) = file else { return Ok(Tried::dead(Cause::NoFile)) };
            self.tell(conversation.id, ConversationCommand::AttemptDelivery { delivery: delivery.id }).await?;
            let tried = hand_over_file(channel, &file, again).await;
            return Ok(self.masked(delivery, tried));
        }
        let writer = Writer { core: &self.core, mask: &self.mask, abilities: channel.abilities() };
        let Some(mut letter) = writer.letter(conversation, delivery).await? else {
            return Ok(Tried::Lost(DeliveryOutcome::Superseded, None));
        };
        if channel.abilities().formatting == Formatting::Plain {
            letter.text = letter.text.unadorned();
        }
        // Once more, as people will see it: markup may have kept the halves of a secret apart.
        letter.text = self.mask.rich(&letter.text);
        self.tell(conversation.id, ConversationCommand::AttemptDelivery { delivery: delivery.id }).await?;
        Ok(self.masked(delivery, hand_over(channel, delivery, &place, letter, again).await))
    }

    /// A platform's words are kept, and it may repeat what it was given.
    fn masked(&self, delivery: &Delivery, tried: Tried) -> Tried {
        let masked = |cause| match cause {
            Cause::Refused { words } => Cause::refused(&self.mask.apply(&words)),
            Cause::NoAnswer { words } => Cause::no_answer(&self.mask.apply(&words)),
            other => other,
        };
        match tried {
            Tried::Lost(outcome, cause) => {
                let cause = cause.map(masked);
                tracing::warn!(delivery = %delivery.id, outcome = outcome.word(), ?cause, "a delivery did not arrive for sure");
                Tried::Lost(outcome, cause)
            }
            Tried::Later(after, cause) => Tried::Later(after, masked(cause)),
            other @ (Tried::Sent(_) | Tried::InPart(_) | Tried::Held(_)) => other,
        }
    }

    /// Whether whoever is at the address is still who the conversation is with. Revocation takes effect at once.
    async fn reaches(
        &self,
        account: &Account,
        conversation: &Conversation,
        address: &Address,
    ) -> Result<bool, ExecuteError> {
        if let Some(identity) = &address.with {
            let state = self.core.state(StreamId::Person(conversation.person)).await?;
            return Ok(state.person().is_some_and(|person| person.identities.contains(identity)));
        }
        // A group is told as long as it is heard, and somebody of it is known there.
        if !account.groups {
            return Ok(false);
        }
        for person in conversation.focus.keys().chain([&conversation.person]) {
            let state = self.core.state(StreamId::Person(*person)).await?;
            let mut identities = state.person().map(|person| person.identities.iter()).into_iter().flatten();
            if identities.any(|known| known.channel() == Some(conversation.channel)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn tell(&self, conversation: ConversationId, command: ConversationCommand) -> Result<(), ExecuteError> {
        let stream = StreamId::Conversation(conversation);
        self.core.execute(Request::of(stream, Command::Conversation(command))).await.map(drop)
    }

    /// To change a message again is the same as once; a new one is, for as long as the platform knows it again.
    fn again_is_once(&self, abilities: &Abilities, conversation: &Conversation, delivery: &Delivery) -> Again {
        let once = match delivery.push {
            PushReason::Decided | PushReason::Worked => abilities.edits,
            // What it says may have changed meanwhile: the first of them would stay as it was.
            PushReason::Progress => is_begun(conversation, delivery),
            _ => abilities.remembers.is_some_and(|span| self.core.clock.at() < delivery.queued_at().after(span)),
        };
        if once { Again::Once } else { Again::Twice }
    }

    fn door(&self, conversation: ConversationId) -> Arc<tokio::sync::Mutex<()>> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.retain(|_, door| Arc::strong_count(door) > 1);
        Arc::clone(doors.entry(conversation).or_default())
    }
}

/// How long to wait at least before another try, after so many that came to nothing.
fn back_off(before: u32) -> Duration {
    RETRY.saturating_mul(2_u32.saturating_pow(before)).min(MAX_BACK_OFF)
}

/// What comes of sending something once more that may have arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It is there once.
    Once,
    /// It may be there twice.
    Twice,
}

/// Whether the message is there that it changes.
fn is_begun(conversation: &Conversation, delivery: &Delivery) -> bool {
    let progress = delivery.turn.and_then(|turn| conversation.progress.get(&turn));
    progress.is_some_and(|progress| matches!(progress.seen, Seen::As(_)))
}

/// A letter goes out page by page, with the buttons under the last one.
async fn hand_over(channel: &dyn Channel, delivery: &Delivery, place: &Place, letter: Letter, again: Again) -> Tried {
    let abilities = channel.abilities();
    let words_only = letter.buttons.is_empty() && letter.replaces.is_none();
    if let Some(file) = parcel::long(&letter.text, abilities, delivery, place).filter(|_| words_only) {
        return hand_over_file(channel, &file, again).await;
    }
    let pages = parcel::pages(letter.text, abilities);
    let last = pages.len().saturating_sub(1);
    let mut sent = None;
    for (at, text) in pages.into_iter().enumerate() {
        let message = Outbound {
            delivery: delivery.id,
            page: at,
            place: place.clone(),
            text,
            buttons: if at == last && abilities.buttons { letter.buttons.clone() } else { vec![] },
            // What cannot be changed is said anew.
            replaces: letter.replaces.clone().filter(|_| abilities.edits),
            answers: delivery.answers.clone().map(MessageRef),
            quiet: !delivery.push.rings(),
        };
        match channel.send(&message).await {
            Ok(receipt) => sent = Some(receipt.message.0),
            // A part has arrived, so sending it again would say it twice, unless the platform knows it again.
            Err(SendError::Later { .. }) if sent.is_some() && again == Again::Twice => {
                return Tried::InPart(sent);
            }
            Err(error) => return failed(error, again),
        }
    }
    Tried::Sent(sent)
}

async fn hand_over_file(channel: &dyn Channel, file: &Upload, again: Again) -> Tried {
    match channel.upload(file).await {
        Ok(receipt) => Tried::Sent(Some(receipt.message.0)),
        Err(error) => failed(error, again),
    }
}

fn failed(error: SendError, again: Again) -> Tried {
    match error {
        SendError::Later { after_secs } => Tried::Later(Duration::from_secs(after_secs), Cause::Busy),
        SendError::Unknown(why) if again == Again::Once => Tried::Later(RETRY, Cause::NoAnswer { words: why }),
        SendError::Unknown(why) => Tried::unknown(Cause::NoAnswer { words: why }),
        SendError::Dead(why) => Tried::dead(Cause::Refused { words: why }),
    }
}
