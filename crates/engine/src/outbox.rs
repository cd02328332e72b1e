//! The outbox: deliveries leave through their channel, one after the other in each conversation.
//!
//! **Invariants (P8):** a delivery ends as sent, unknown, dead, expired or superseded, and the record says which. That
//! it is about to be handed over is recorded first: whoever finds that after a crash, and nothing more, cannot know
//! whether it arrived, and says so instead of sending it twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_channels::mask::Mask;
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{Button, Channel, Channels, MessageRef, Outbound, Place, SendError};
use throughline_model::approval::Approval;
use throughline_model::command::Command;
use throughline_model::conversation::{Conversation, ConversationCommand};
use throughline_model::delivery::{Delivery, DeliveryOutcome, PushReason};
use throughline_model::ids::{ConversationId, DeliveryId};
use throughline_model::shown::View;
use throughline_model::stream::StreamId;

use crate::core::{Core, ExecuteError, Request};

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
    Settled(DeliveryOutcome, Option<String>),
    /// The platform has not taken it, and wants to be asked again after this long.
    Later(Duration),
}

impl Outbox {
    pub(crate) fn new(core: Arc<Core>, channels: Channels) -> Self {
        Self { core, channels, mask: Mask::default(), doors: Mutex::default() }
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
            let waiting = known.is_some_and(|known| known.outbound.iter().any(|queued| queued.id == delivery));
            let Some((known, first)) = known.zip(known.and_then(|known| known.outbound.first())).filter(|_| waiting)
            else {
                return self.core.execute(Request::settle(key)).await.map(drop);
            };
            match self.send(known, first).await? {
                Tried::Settled(outcome, message) => {
                    let settle = ConversationCommand::SettleDelivery { delivery: first.id, outcome, message };
                    self.tell(conversation, settle).await?;
                }
                Tried::Later(after) => {
                    self.tell(conversation, ConversationCommand::PostponeDelivery { delivery: first.id }).await?;
                    // The door stays closed: whoever comes later must not overtake, nor ask the platform too soon.
                    tokio::time::sleep(after).await;
                }
            }
        }
    }

    async fn send(&self, conversation: &Conversation, delivery: &Delivery) -> Result<Tried, ExecuteError> {
        let settled = |outcome| Ok(Tried::Settled(outcome, None));
        let Some((channel, address)) = self.channels.of(conversation.channel).zip(conversation.address.as_ref()) else {
            return settled(DeliveryOutcome::Dead);
        };
        if delivery.attempted && !channel.abilities().knows_deliveries {
            tracing::warn!(delivery = %delivery.id, "a delivery may have arrived before the daemon stopped");
            return settled(DeliveryOutcome::Unknown);
        }
        if self.core.clock.at() >= delivery.expires_at {
            return settled(DeliveryOutcome::Expired);
        }
        let replaces = match (delivery.push, delivery.approval) {
            (PushReason::Decided, Some(approval)) => match conversation.asking.get(&approval) {
                Some(message) => Some(MessageRef(message.clone())),
                None => return settled(DeliveryOutcome::Superseded),
            },
            _ => None,
        };
        let asked = match (delivery.push, delivery.task.zip(delivery.approval)) {
            (PushReason::NeedsApproval, Some((task, approval))) => {
                let state = self.core.task(task).await?;
                match state.task().and_then(|task| task.approvals.pending(approval)) {
                    Some(known) => Some(known.approval.clone()),
                    None => return settled(DeliveryOutcome::Superseded),
                }
            }
            _ => None,
        };
        let place = Place(address.clone());
        let pages = self.pages(channel.as_ref(), delivery, asked.as_ref());
        self.tell(conversation.id, ConversationCommand::AttemptDelivery { delivery: delivery.id }).await?;
        Ok(hand_over(channel.as_ref(), delivery, &place, replaces, pages).await)
    }

    /// What is written, page by page, with the buttons under the last one.
    fn pages(&self, channel: &dyn Channel, delivery: &Delivery, asked: Option<&Approval>) -> Vec<Page> {
        let abilities = channel.abilities();
        let text = Rich::from_markdown(&self.mask.apply(&delivery.text));
        let (text, buttons) = match asked {
            None => (text, vec![]),
            Some(approval) => {
                let exact = approval.shown(View::CHAT);
                let masked = self.mask.apply(&exact.text);
                // What was not shown letter by letter cannot be approved here.
                let whole = exact.complete && masked == exact.text && masked.len() <= abilities.max_length / 2;
                let shown: String = masked.chars().take(abilities.max_length / 4).collect();
                let shown = if whole { masked } else { shown };
                let text = text.and(Look::Plain, "\n").and(Look::Block { language: String::new() }, shown);
                (text, if whole { decision_buttons(approval) } else { vec![] })
            }
        };
        let mut pages: Vec<_> = text
            .split(abilities.unit, abilities.max_length)
            .into_iter()
            .map(|text| Page { text, buttons: vec![] })
            .collect();
        if let Some(last) = pages.last_mut().filter(|_| abilities.buttons) {
            last.buttons = buttons;
        }
        pages
    }

    async fn tell(&self, conversation: ConversationId, command: ConversationCommand) -> Result<(), ExecuteError> {
        let stream = StreamId::Conversation(conversation);
        self.core.execute(Request::of(stream, Command::Conversation(command))).await.map(drop)
    }

    fn door(&self, conversation: ConversationId) -> Arc<tokio::sync::Mutex<()>> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.retain(|_, door| Arc::strong_count(door) > 1);
        Arc::clone(doors.entry(conversation).or_default())
    }
}

struct Page {
    text: Rich,
    buttons: Vec<Vec<Button>>,
}

async fn hand_over(
    channel: &dyn Channel,
    delivery: &Delivery,
    place: &Place,
    replaces: Option<MessageRef>,
    pages: Vec<Page>,
) -> Tried {
    let mut sent = None;
    for Page { text, buttons } in pages {
        let message = Outbound {
            delivery: delivery.id,
            place: place.clone(),
            text,
            buttons,
            replaces: replaces.clone(),
            answers: delivery.answers.clone().map(MessageRef),
            quiet: delivery.push == PushReason::Decided,
        };
        match channel.send(&message).await {
            Ok(receipt) => sent = Some(receipt.message.0),
            // A part has arrived, so sending it again would say it twice.
            Err(SendError::Later { .. }) if sent.is_some() => return Tried::Settled(DeliveryOutcome::Unknown, sent),
            Err(SendError::Later { after_secs }) => return Tried::Later(Duration::from_secs(after_secs)),
            Err(SendError::Unknown(why)) => {
                tracing::warn!(why, delivery = %delivery.id, "a delivery may or may not have arrived");
                return Tried::Settled(DeliveryOutcome::Unknown, None);
            }
            Err(SendError::Dead(why)) => {
                tracing::warn!(why, delivery = %delivery.id, "a delivery cannot be sent");
                return Tried::Settled(DeliveryOutcome::Dead, None);
            }
        }
    }
    Tried::Settled(DeliveryOutcome::Sent, sent)
}

/// What a button does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Approve,
    Deny,
}

/// How many letters of the digest fit on a button.
const DIGEST_LETTERS: usize = 16;

/// What a button of a request carries: which request, what to do, and the beginning of the digest of what was shown.
fn token(approval: &Approval, choice: Choice) -> String {
    let letter = match choice {
        Choice::Approve => 'y',
        Choice::Deny => 'n',
    };
    let digest: String = approval.digest().chars().take(DIGEST_LETTERS).collect();
    format!("ap:{}:{letter}:{digest}", approval.id)
}

fn decision_buttons(approval: &Approval) -> Vec<Vec<Button>> {
    let button = |label: &str, choice| Button { label: label.into(), token: token(approval, choice) };
    vec![vec![button("✓ Approve once", Choice::Approve), button("✗ Deny", Choice::Deny)]]
}
