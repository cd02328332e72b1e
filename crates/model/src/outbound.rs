//! What a conversation has on its way out: news of tasks, decisions, and the one message that tells of work going on.
//!
//! Invariants:
//! - work that goes on has one message in a conversation, which is changed and never sent a second time;
//! - it is changed at most once in [`PACE`]. What waits to leave is written when it leaves, so it tells the newest of
//!   everything that came meanwhile, and nothing that is newer has to be queued behind it;
//! - nothing waits for it: what asks, what was decided and what came of a turn leave before it;
//! - of what may not have arrived is said, once, that it is there: nothing is told twice, and nobody waits in vain;
//! - what comes in quiet hours is held, and not lost: when they end, one digest tells what happened, and what still asks
//!   follows by itself, because only there it can be answered.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::conversation::{Conversation, ConversationEvent};
use crate::delivery::{self, Cause, Delivery, DeliveryOutcome, Handed, PushReason};
use crate::ids::{DeliveryId, Id as _, TaskId, TurnId};
use crate::notice::{Quiet, Reason};
use crate::time::Timestamp;

/// Between two changes of a message that tells of work, at least; work that is over sooner has none.
pub const PACE: Duration = Duration::from_secs(3);
/// The longer work goes on, the less often it is told of: a change for each so many parts of the time so far.
const PARTS: u32 = 20;
/// Nobody wants to hear later how far something was.
const PROGRESS_TTL: Duration = Duration::from_secs(120);
/// How much is held at once. A digest is written from the record, so what is beyond it is told all the same.
const MAX_HELD: usize = 64;
/// What a digest looks back on, if nothing was held.
const DIGEST_SPAN: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It does, and something has happened.
    Working,
    /// It is over.
    Over,
}

/// The message by which a conversation sees work that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Since when there was something to tell.
    pub since: Timestamp,
    /// When it was last sent or changed.
    pub changed_at: Timestamp,
    /// Where it is.
    pub seen: Seen,
}

/// Where a message is on its platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// It was not sent yet.
    NotYet,
    /// The platform calls it this.
    As(String),
    /// It may be there, but nobody knows as what; or it cannot be. There is no second one.
    Lost,
}

impl Progress {
    /// When it may be changed next.
    fn next_at(&self, at: Timestamp) -> Timestamp {
        let so_far = Duration::from_millis(at.millis_since(self.since));
        self.changed_at.after(PACE.max(so_far / PARTS)).max(at)
    }
}

/// What is decided is said in the message that asked; one that was not sent yet is not worth sending any more.
pub(crate) fn deliver(state: &Conversation, delivery: Delivery) -> Vec<ConversationEvent> {
    let known = |known: &Delivery| known.id == delivery.id;
    let unwanted = Reason::of(delivery.push).is_some_and(|reason| !state.told.reasons.has(reason));
    if unwanted || state.outbound.iter().any(known) || state.told.held.iter().any(known) {
        return vec![];
    }
    if delivery.push != PushReason::Decided {
        return vec![ConversationEvent::DeliveryQueued { delivery }];
    }
    let asks = |known: &&Delivery| known.approval == delivery.approval;
    let asked = delivery.approval.is_some_and(|approval| state.asking.contains_key(&approval));
    if asked || state.outbound.iter().filter(asks).any(|known| known.handed.attempted) {
        return vec![ConversationEvent::DeliveryQueued { delivery }];
    }
    state.outbound.iter().chain(&state.told.held).filter(asks).map(superseded).collect()
}

/// Keeps for later what came in quiet hours; of too much, what asks nothing goes first.
pub(crate) fn hold(state: &Conversation, delivery: DeliveryId, until: Timestamp) -> Vec<ConversationEvent> {
    if !state.outbound.iter().any(|known| known.id == delivery && !known.handed.attempted) {
        return vec![];
    }
    let held = &state.told.held;
    let full = held.len() >= MAX_HELD;
    let oldest = held.iter().find(|known| !asks(known)).or(held.first()).filter(|_| full);
    oldest.map(superseded).into_iter().chain([ConversationEvent::DeliveryHeld { delivery, until }]).collect()
}

/// Other hours are kept from now on. Whoever chooses them is awake, so nothing waits any longer.
pub(crate) fn keep_quiet(state: &Conversation, quiet: Option<Quiet>, at: Timestamp) -> Vec<ConversationEvent> {
    if state.told.quiet == quiet {
        return vec![];
    }
    let rest = if state.told.held.is_empty() { vec![] } else { digest(state, at) };
    [ConversationEvent::QuietKept { quiet }].into_iter().chain(rest).collect()
}

/// One message tells what happened, in place of what was held. What still asks follows by itself.
pub(crate) fn digest(state: &Conversation, at: Timestamp) -> Vec<ConversationEvent> {
    let since = state.told.held_since.unwrap_or_else(|| at.before(DIGEST_SPAN));
    let id = DeliveryId::derive(state.id.uuid(), &format!("digest:{}", at.millis()));
    let digest = Delivery { push: PushReason::Digest { since }, ..Delivery::words(id, "", None, at) };
    let again = |known: &Delivery| ConversationEvent::DeliveryQueued {
        delivery: Delivery { expires_at: at.after(delivery::TTL), ..known.clone() },
    };
    let (asking, rest): (Vec<_>, Vec<_>) = state.told.held.iter().partition(|known| asks(known));
    let told = rest.into_iter().map(superseded);
    told.chain([ConversationEvent::DeliveryQueued { delivery: digest }]).chain(asking.into_iter().map(again)).collect()
}

fn asks(delivery: &Delivery) -> bool {
    Reason::of(delivery.push).is_some_and(Reason::asks)
}

/// Work goes on, or is over. What waits to leave tells that by itself.
pub(crate) fn report(
    state: &Conversation,
    task: TaskId,
    turn: TurnId,
    stage: Stage,
    at: Timestamp,
) -> Vec<ConversationEvent> {
    if stage == Stage::Working && state.told.reasons.is_none() {
        return vec![];
    }
    let known = state.progress.get(&turn);
    let telling =
        || state.outbound.iter().filter(|known| known.turn == Some(turn) && known.push == PushReason::Progress);
    let waits = |known: &&Delivery| !known.handed.attempted;
    let queue = |push, due_at: Timestamp, ttl| ConversationEvent::DeliveryQueued {
        delivery: message(state, task, turn, push, due_at, due_at.after(ttl)),
    };
    match (stage, known) {
        (Stage::Working, Some(known)) if known.seen == Seen::Lost => vec![],
        (Stage::Working, _) if telling().any(|known| waits(&known)) => vec![],
        (Stage::Working, Some(known)) => vec![queue(PushReason::Progress, known.next_at(at), PROGRESS_TTL)],
        (Stage::Working, None) => vec![queue(PushReason::Progress, at.after(PACE), PROGRESS_TTL)],
        (Stage::Over, None) => vec![],
        (Stage::Over, Some(known)) => {
            let waiting: Vec<_> = telling().filter(waits).map(superseded).collect();
            let unseen = known.seen == Seen::NotYet && !waiting.is_empty() && telling().all(|known| waits(&known));
            let last =
                (!unseen).then(|| queue(PushReason::Worked, known.changed_at.after(PACE).max(at), delivery::TTL));
            // The last word is queued first, so that the message is not forgotten with what did not leave.
            last.into_iter().chain(waiting).collect()
        }
    }
}

fn message(
    state: &Conversation,
    task: TaskId,
    turn: TurnId,
    push: PushReason,
    due_at: Timestamp,
    expires_at: Timestamp,
) -> Delivery {
    Delivery {
        id: DeliveryId::derive(state.id.uuid(), &format!("{turn}:{push:?}:{}", due_at.millis())),
        task: Some(task),
        approval: None,
        turn: Some(turn),
        input: None,
        answers: None,
        file: None,
        push,
        text: String::new(),
        due_at: Some(due_at),
        expires_at,
        handed: Handed::default(),
    }
}

fn superseded(known: &Delivery) -> ConversationEvent {
    let outcome = DeliveryOutcome::Superseded;
    ConversationEvent::DeliverySettled { delivery: known.id, outcome, message: None, cause: None }
}

pub(crate) fn queued(state: &mut Conversation, delivery: &Delivery, at: Timestamp) {
    if let (PushReason::Progress, Some(turn)) = (delivery.push, delivery.turn) {
        let new = Progress { since: at, changed_at: at, seen: Seen::NotYet };
        state.progress.entry(turn).or_insert(new);
    }
    if let PushReason::Digest { .. } = delivery.push {
        state.told.held_since = None;
    }
    state.told.held.retain(|known| known.id != delivery.id);
    state.outbound.push(delivery.clone());
}

pub(crate) fn held(state: &mut Conversation, delivery: DeliveryId) {
    let Some(place) = state.outbound.iter().position(|known| known.id == delivery) else { return };
    let held = state.outbound.remove(place);
    // When it happened, not when it would have left.
    state.told.held_since.get_or_insert(held.queued_at());
    state.told.held.push(held);
}

pub(crate) fn attempted(state: &mut Conversation, delivery: DeliveryId) {
    for known in state.outbound.iter_mut().filter(|known| known.id == delivery) {
        known.handed = Handed { attempted: true, tries: known.handed.tries.saturating_add(1), cause: None };
    }
}

pub(crate) fn postponed(state: &mut Conversation, delivery: DeliveryId, cause: Option<&Cause>) {
    for known in state.outbound.iter_mut().filter(|known| known.id == delivery) {
        known.handed = Handed { attempted: false, cause: cause.cloned(), ..known.handed };
    }
}

/// Says what became of a delivery, and what follows from not knowing it.
pub(crate) fn settle(
    state: &Conversation,
    delivery: DeliveryId,
    outcome: DeliveryOutcome,
    message: Option<String>,
    cause: Option<Cause>,
    at: Timestamp,
) -> Vec<ConversationEvent> {
    let Some(known) = state.outbound.iter().find(|known| known.id == delivery) else { return vec![] };
    let lost = matches!(cause, Some(Cause::NoAnswer { .. } | Cause::Interrupted));
    let unsure = if lost && outcome == DeliveryOutcome::Unknown { known.unsure(at) } else { None };
    let settled = ConversationEvent::DeliverySettled { delivery, outcome, message, cause };
    [settled].into_iter().chain(unsure.map(|delivery| ConversationEvent::DeliveryQueued { delivery })).collect()
}

pub(crate) fn settled(
    state: &mut Conversation,
    delivery: DeliveryId,
    outcome: DeliveryOutcome,
    message: Option<&str>,
    at: Timestamp,
) {
    let told = &mut state.told;
    told.held.retain(|known| known.id != delivery);
    told.held_since = told.held_since.filter(|_| !told.held.is_empty());
    let Some(place) = state.outbound.iter().position(|known| known.id == delivery) else { return };
    let settled = state.outbound.remove(place);
    match (settled.push, settled.approval, settled.turn) {
        (PushReason::NeedsApproval | PushReason::Unsure, Some(approval), _) => {
            state.asking.extend(message.map(|message| (approval, message.to_owned())));
        }
        (PushReason::Decided, Some(approval), _) => drop(state.asking.remove(&approval)),
        (PushReason::Progress, _, Some(turn)) => progressed(state, turn, outcome, message, at),
        (PushReason::Worked, _, Some(turn)) => drop(state.progress.remove(&turn)),
        _ => {}
    }
}

/// What became of a change, or of the first message.
fn progressed(state: &mut Conversation, turn: TurnId, outcome: DeliveryOutcome, message: Option<&str>, at: Timestamp) {
    let more = state.outbound.iter().any(|known| known.turn == Some(turn));
    let Some(progress) = state.progress.get_mut(&turn) else { return };
    progress.changed_at = at;
    match (outcome, message, &progress.seen) {
        (DeliveryOutcome::Sent, Some(message), _) => progress.seen = Seen::As(message.to_owned()),
        // It was seen before, or can still be said.
        (_, _, Seen::As(_)) | (DeliveryOutcome::Expired, ..) => {}
        // The work was over before there was anything to see.
        (DeliveryOutcome::Superseded, ..) if !more => drop(state.progress.remove(&turn)),
        (DeliveryOutcome::Superseded, ..) => {}
        (DeliveryOutcome::Sent | DeliveryOutcome::Unknown | DeliveryOutcome::Dead, ..) => progress.seen = Seen::Lost,
    }
}
