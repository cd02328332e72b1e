//! One span per input, from the moment it was received until what came of it was delivered.
//!
//! It is made from the record as it is published, not carried through the code: so it survives queues, and a log line
//! of any step has the input's id as its trace. After a restart the spans of what was under way begin anew.

use std::num::NonZeroUsize;

use lru::LruCache;
use throughline_model::conversation::ConversationEvent;
use throughline_model::event::{Event, Recorded};
use throughline_model::ids::{DeliveryId, InputId, TaskId, TurnId};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_model::time::Timestamp;
use tracing::{Span, field, info, info_span};

/// How many inputs are followed at once; beyond that the oldest is no longer.
const FOLLOWED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// The inputs that are under way.
pub(crate) struct Traces {
    inputs: LruCache<InputId, Followed>,
    turns: LruCache<TurnId, Followed>,
    deliveries: LruCache<DeliveryId, Span>,
    /// Turns that ended in what is being published: their deliveries follow at once.
    ended: Vec<(TaskId, Span)>,
}

struct Followed {
    span: Span,
    since: Timestamp,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            inputs: LruCache::new(FOLLOWED),
            turns: LruCache::new(FOLLOWED),
            deliveries: LruCache::new(FOLLOWED),
            ended: vec![],
        }
    }
}

impl Traces {
    /// Takes note of what is being published.
    pub(crate) fn observe(&mut self, recorded: &Recorded) {
        match (&recorded.event, recorded.stream) {
            (Event::Conversation(event), _) => self.conversation(event, recorded.at),
            (Event::Task(event), StreamId::Task(task)) => self.task(task, event, recorded.at),
            _ => {}
        }
    }

    /// All that was committed is published: who was to be told of an end has been.
    pub(crate) fn drained(&mut self) {
        self.ended.clear();
    }

    fn conversation(&mut self, event: &ConversationEvent, at: Timestamp) {
        match event {
            ConversationEvent::InputReceived(received) => {
                let span = info_span!("work", trace = %received.input, turn = field::Empty, outcome = field::Empty);
                info!(parent: &span, "received");
                self.inputs.put(received.input, Followed { span, since: at });
            }
            ConversationEvent::DeliveryQueued { delivery } => {
                if let Some((_, span)) = self.ended.iter().rev().find(|(task, _)| Some(*task) == delivery.task) {
                    self.deliveries.put(delivery.id, span.clone());
                }
            }
            ConversationEvent::DeliverySettled { delivery, outcome, .. } => {
                if let Some(span) = self.deliveries.pop(delivery) {
                    info!(parent: &span, outcome = outcome.word(), "delivered");
                }
            }
            ConversationEvent::InputCorrected(correction) => {
                let span = info_span!("work", trace = %correction.input, turn = field::Empty, outcome = field::Empty);
                info!(parent: &span, "corrected");
                self.inputs.put(correction.input, Followed { span, since: at });
            }
            ConversationEvent::ConversationOpened { .. }
            | ConversationEvent::ReasonsChosen { .. }
            | ConversationEvent::QuietKept { .. }
            | ConversationEvent::DeliveryHeld { .. }
            | ConversationEvent::DeliveryAttempted { .. }
            | ConversationEvent::DeliveryPostponed { .. }
            | ConversationEvent::FocusMoved { .. } => {}
        }
    }

    fn task(&mut self, task: TaskId, event: &TaskEvent, at: Timestamp) {
        match event {
            TaskEvent::TurnRequested { turn, input, .. } => {
                let followed = self.inputs.pop(input).unwrap_or_else(|| Followed {
                    span: info_span!("work", trace = %input, turn = field::Empty, outcome = field::Empty),
                    since: at,
                });
                followed.span.record("turn", field::display(turn));
                self.turns.put(*turn, followed);
            }
            TaskEvent::TurnStarted { turn, .. } => {
                if let Some(followed) = self.turns.get(turn) {
                    info!(parent: &followed.span, waited_ms = at.millis_since(followed.since), "prompted");
                }
            }
            TaskEvent::TurnEnded { turn, outcome, duration_ms, .. } => {
                if let Some(followed) = self.turns.pop(turn) {
                    let span = followed.span;
                    span.record("outcome", outcome.word());
                    info!(parent: &span, total_ms = at.millis_since(followed.since), turn_ms = duration_ms, "ended and published");
                    self.ended.push((task, span));
                }
                metrics::counter!("throughline_turns_total", "outcome" => outcome.word()).increment(1);
            }
            TaskEvent::InputWithdrawn { input } => drop(self.inputs.pop(input)),
            _ => {}
        }
    }
}
