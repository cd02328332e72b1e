//! Whether a message puts right what was made of the one before it, rather than saying something of its own.
//!
//! Facts again: it opens another subject and names none, or it names a task and nothing that is to be done there.
//! Whether there was a message before, and when, is for the caller to know.

use super::act::Act;
use super::approvals::opens_with_refusal;
use super::heard::Heard;
use super::input::Context;
use super::weights::Weights;

/// How many words a correction has at most.
const SHORT: usize = 9;

/// What the message before was meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amended {
    /// A task of its own.
    New,
    /// This task.
    Task(String),
}

/// Reads a message as a correction of the one before it.
#[must_use]
pub fn amend(message: &str, context: &Context) -> Option<Amended> {
    let heard = Heard::new(Weights::embedded(), message, context);
    if heard.length() > SHORT || message.contains([':', '：', '?', '？', '\n']) || heard.installed().next().is_some()
    {
        return None;
    }
    let acts = &heard.acts;
    let bare = heard.units.is_empty() && heard.keys.is_empty();
    // Runs have no common words to leave out: there it has to be a refusal, and a short one.
    let run = opens_with_refusal(&heard)
        && heard.keys.is_empty()
        && heard.length() <= 6
        && heard.units.iter().all(|unit| unit.pair);
    if (bare || run) && acts.of(Act::NewTask) > 0.8 {
        return Some(Amended::New);
    }
    let refuses = opens_with_refusal(&heard) || acts.of(Act::No) > 0.5;
    let orders =
        acts.any(&[Act::Status, Act::StatusAll, Act::Cancel, Act::CancelAll, Act::Close, Act::Retry, Act::GoOn]);
    // Neither a plain turn to that task nor a plain comparison with it, but something of both.
    let points = acts.any(&[Act::Focus, Act::Ref, Act::No]) > 0.6
        && acts.of(Act::Focus) < 0.7
        && (0.2..0.5).contains(&acts.of(Act::Ref))
        && orders < 0.3
        && heard.length() <= 5;
    let task = if let Some(task) = heard.keyed() {
        let spoken = heard.units.iter().filter(|unit| !unit.pair).count();
        // "delete shop-2" refuses nothing, "no, shop-2" does.
        let order = heard.length() <= 2 && !message.contains([',', '，', '、', '.', '。', '!', '！']);
        let fits = spoken <= 1 && (points || (refuses && !order && heard.length() <= 6));
        fits.then_some(task)
    } else {
        let named = heard.titled().filter(|named| refuses && named.hits == heard.units.len());
        named.map(|named| named.task)
    }?;
    Some(Amended::Task(heard.task(task).id.clone()))
}
