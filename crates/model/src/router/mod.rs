//! The router: what a person's next message means, given the work around it. To `routing/FORMAT.md`.
//!
//! Facts come first: what the message replies to, keys, waiting states, pending approvals, installed agents,
//! titles. Words decide what facts leave open: a small linear classifier over pieces of words, trained from
//! `routing/corpus`, says which speech act the message performs, in any of the corpus's languages.
//!
//! **Invariants:** no IO, no clock, no randomness. An approval is decided only by a plain yes or no, and only if
//! exactly one is in reach; a condition, several decisions or a doubt is asked back.

pub mod act;
pub mod features;
pub mod input;
pub mod score;
pub mod text;
pub mod verdict;
pub mod weights;

mod agents;
mod amend;
mod approvals;
mod draft;
mod heard;
mod mention;
mod orders;
mod title;
mod work;

pub use amend::{Amended, amend};
pub use draft::ASK_BELOW;

use act::Act;
use draft::Draft;
use heard::Heard;
use input::{Activity, Context};
use verdict::{Decision, Verdict};
use weights::Weights;

/// Decides what a message means, with the weights that are shipped.
#[must_use]
pub fn decide(message: &str, context: &Context) -> Decision {
    decide_with(Weights::embedded(), message, context)
}

/// Decides what a message means, with given weights.
#[must_use]
pub fn decide_with(weights: &Weights, message: &str, context: &Context) -> Decision {
    let heard = Heard::new(weights, message, context);
    let draft = slash_command(&heard)
        .or_else(|| own_word(&heard))
        .or_else(|| unknown_key(&heard))
        .or_else(|| waiting_question(&heard))
        .or_else(|| approvals::decide(&heard))
        .or_else(|| agents::decide(&heard))
        .or_else(|| heard.speaks().then(|| orders::decide(&heard)).flatten())
        .unwrap_or_else(|| work::decide(&heard));
    draft.finish(&heard)
}

/// The message as the classifier sees it: folded, its names masked.
#[must_use]
pub fn masked(message: &str, context: &Context) -> String {
    Heard::new(Weights::embedded(), message, context).masked
}

/// The reason that a refusal gives: all of its words, if there are more than those of a bare no. What follows a comma is
/// more, however common its words are: "no, use make instead".
#[must_use]
pub fn reason(message: &str) -> Option<String> {
    let about = title::units(&text::fold(message), Weights::embedded());
    let rest = message.split_once([',', ':', ';', '，', '：', '；', '。']).map_or("", |(_, rest)| rest.trim());
    (!about.is_empty() || !rest.is_empty()).then(|| message.trim().to_owned())
}

/// An agent's own commands reach it verbatim.
fn slash_command(heard: &Heard<'_>) -> Option<Draft> {
    let name = heard.text.strip_prefix('/')?.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return None;
    }
    let (task, execution) = heard.replied().or_else(|| heard.focus().map(|task| (task, None)))?;
    let verdict = Verdict::Continue { task: heard.task(task).id.clone(), execution: execution.map(|e| e.id.clone()) };
    Some(Draft::fact(verdict, "a slash command belongs to the agent and is passed on as typed"))
}

/// A message that begins with a word which the agent takes as a command is a line for that agent.
fn own_word(heard: &Heard<'_>) -> Option<Draft> {
    if heard.installed().next().is_some() || heard.keyed().is_some() {
        return None;
    }
    let Some((at, execution)) = heard.replied().or_else(|| heard.focus().map(|task| (task, None))) else {
        let taken = heard.commands(&heard.context.default_agent);
        return taken.then(|| work::start(heard, 0.9, "it begins with a command of the project's agent"));
    };
    let task = heard.task(at);
    let agent = &execution.or_else(|| task.executions.iter().find(|e| e.primary))?.agent;
    let verdict = Verdict::Continue { task: task.id.clone(), execution: execution.map(|e| e.id.clone()) };
    let why = format!("it begins with a command of {agent}, who works on \"{}\"", task.title);
    heard.commands(agent).then(|| Draft::fact(verdict, why))
}

/// A key that looks like the visible ones but is none of them is asked about, unless it is a mere comparison.
fn unknown_key(heard: &Heard<'_>) -> Option<Draft> {
    if heard.keyed().is_some() || !heard.keys.iter().any(|key| key.task.is_none()) {
        return None;
    }
    let orders = heard.acts.any(&[Act::Status, Act::Cancel, Act::Close, Act::Retry, Act::Focus, Act::Fresh, Act::Fork]);
    let key =
        heard.keys.iter().find(|key| key.task.is_none() && (key.familiar || (orders > 0.6 && heard.length() <= 6)))?;
    if heard.acts.of(Act::Ref) > 0.5 || (!key.familiar && heard.weights.is_common(&key.key)) {
        return None;
    }
    Some(Draft::fact(Verdict::Clarify { candidates: vec![] }, format!("there is no task {} that you can see", key.key)))
}

/// What may interrupt a question that an agent waits on: a plain message is its answer.
fn waiting_question(heard: &Heard<'_>) -> Option<Draft> {
    let pointed = heard.keyed().map(|task| (task, None)).or_else(|| heard.replied());
    let (task, execution) =
        pointed.or_else(|| heard.focus().map(|task| (task, None))).or_else(|| lone_question(heard))?;
    let waits = heard.task(task);
    let asker = execution
        .filter(|e| e.state == Activity::WaitingAnswer)
        .or_else(|| waits.executions.iter().find(|e| e.state == Activity::WaitingAnswer));
    let asked = match execution {
        Some(execution) => execution.state == Activity::WaitingAnswer || waits.state == Activity::WaitingAnswer,
        None => waits.state == Activity::WaitingAnswer,
    };
    if !asked || interrupts(heard, task) {
        return None;
    }
    let verdict = Verdict::Answer { task: waits.id.clone(), execution: asker.map(|e| e.id.clone()) };
    Some(Draft::fact(verdict, format!("the agent of \"{}\" waits for an answer", waits.title)).weighed(0.93))
}

/// Without a focus, a short message that takes up the words of the only open question.
fn lone_question<'a>(heard: &Heard<'a>) -> Option<(usize, Option<&'a input::Execution>)> {
    let waiting = heard.tasks_that(|state| state == Activity::WaitingAnswer);
    let [task] = waiting[..] else { return None };
    let fits = heard.related(heard.task(task)) > 0 && heard.length() <= 10;
    (heard.focus().is_none() && fits && heard.titled().is_none()).then_some((task, None))
}

fn interrupts(heard: &Heard<'_>, task: usize) -> bool {
    let acts = &heard.acts;
    let question = heard.task(task).last_said.as_deref().unwrap_or("");
    let echoes = title::shared(&heard.units, question, heard.weights) > 0 || echoes_whole(heard, question);
    if acts.of(Act::NewTask) > 0.6 {
        return true;
    }
    let elsewhere = heard.titled().is_some_and(|named| named.task != task);
    if elsewhere && acts.any(&[Act::Focus, Act::Status, Act::Cancel, Act::Close, Act::Retry]) > 0.6 {
        return true;
    }
    if heard.installed().next().is_some() && acts.any(&[Act::Add, Act::Switch, Act::Fork]) > 0.6 {
        return true;
    }
    if echoes {
        return false;
    }
    acts.any(&[Act::Status, Act::StatusAll]) > 0.75
        || acts.any(&[Act::Cancel, Act::CancelAll]) > 0.85
        || [Act::Help, Act::Thanks, Act::Close, Act::Fresh, Act::Fork].iter().any(|act| acts.of(*act) > 0.85)
        || (acts.of(Act::Add) > 0.8 && heard.length() > 3)
}

/// Whether a one-word message is a word of the question.
fn echoes_whole(heard: &Heard<'_>, question: &str) -> bool {
    let question = text::fold(question);
    let asked = text::words(&question);
    text::words(&heard.text).iter().any(|word| match word.kind {
        text::Kind::Word => word.text.len() > 3 && asked.iter().any(|other| text::akin(other.text, word.text)),
        text::Kind::Run => word.text.chars().count() > 1 && question.contains(word.text),
        text::Kind::Mask | text::Kind::Symbol | text::Kind::Mark => false,
    })
}

#[cfg(test)]
mod tests;
