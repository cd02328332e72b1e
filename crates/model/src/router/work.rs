//! Everything that is no order: an adjustment, a question or a goal. Goes on with a task, or starts one.
//!
//! A conversation goes on: without a signal to the contrary the focus task gets the message. The signals are
//! weighed on one scale; where both readings are live, continuing is the cheaper mistake.

use super::act::Act;
use super::draft::Draft;
use super::heard::Heard;
use super::input::Activity;
use super::text::{AGENT, words};
use super::title::Named;
use super::verdict::Verdict;

/// How many tasks are named as readings of one message.
const MOST_READINGS: usize = 5;

/// Continues a task, starts one, or asks.
pub fn decide(heard: &Heard<'_>) -> Draft {
    let acts = &heard.acts;
    if acts.of(Act::NewTask) > 0.5 && acts.top() == Act::NewTask {
        return start(heard, acts.of(Act::NewTask), "it opens another subject");
    }
    if let Some((task, execution)) = heard.replied() {
        let verdict =
            Verdict::Continue { task: heard.task(task).id.clone(), execution: execution.map(|e| e.id.clone()) };
        return Draft::fact(verdict, format!("it replies to \"{}\"", heard.task(task).title));
    }
    if let Some(draft) = keyed(heard) {
        return draft;
    }
    let Some(focus) = heard.focus() else {
        return without_focus(heard);
    };
    if let Some(named) = other_task(heard, focus) {
        return named;
    }
    let lean = lean_to_new(heard, focus);
    let chance = 1.0 / (1.0 + (-lean).exp());
    if lean > 0.0 {
        return start(heard, chance, "it reads as a goal of its own").or(go_on(heard, focus));
    }
    let draft = Draft::fact(go_on(heard, focus), format!("\"{}\" is the current task", heard.task(focus).title));
    draft.weighed((1.0 - chance).min(0.97)).because(format!("it sounds like {}", acts.top().sounds_like()))
}

fn go_on(heard: &Heard<'_>, task: usize) -> Verdict {
    Verdict::Continue { task: heard.task(task).id.clone(), execution: None }
}

/// A key is an address, unless it is named for comparison.
fn keyed(heard: &Heard<'_>) -> Option<Draft> {
    let task = heard.keyed()?;
    let compares = heard.acts.of(Act::Ref) > 0.35 || heard.acts.of(Act::Ref) > heard.acts.of(Act::Adjust);
    let draft = Draft::fact(go_on(heard, task), format!("it is addressed to {}", heard.task(task).key));
    if heard.addressed() {
        return Some(draft);
    }
    if let Some(focus) = heard.focus().filter(|focus| compares && *focus != task) {
        let why = format!("{} is named for comparison, not addressed", heard.task(task).key);
        return Some(Draft::fact(go_on(heard, focus), why).weighed(0.85).or(go_on(heard, task)));
    }
    Some(draft.weighed(0.8))
}

/// Another task that the words fit, and the focus not.
fn other_task(heard: &Heard<'_>, focus: usize) -> Option<Draft> {
    let named = heard.titled().filter(|named| named.task != focus)?;
    let task = heard.task(named.task);
    if heard.related(heard.task(focus)) > 0 || !clearly(named, task.state) {
        return None;
    }
    let why = format!("its words fit \"{}\" alone", task.title);
    Some(Draft::fact(go_on(heard, named.task), why).weighed(0.7).or(go_on(heard, focus)))
}

/// Whether a title is named clearly enough to leave the focus for it.
fn clearly(named: &Named, state: Activity) -> bool {
    let needed = if state == Activity::Closed { 0.6 } else { 0.33 };
    named.coverage >= needed && (named.hits >= 2 || named.coverage >= 0.5)
}

fn without_focus(heard: &Heard<'_>) -> Draft {
    let close: Vec<&Named> = heard.named.iter().filter(|n| clearly(n, heard.task(n.task).state)).collect();
    if heard.acts.of(Act::Goal) < 0.9 || close.iter().any(|n| n.coverage >= 0.5) {
        if let [one] = close[..] {
            let why = format!("its words fit \"{}\" alone", heard.task(one.task).title);
            return Draft::fact(go_on(heard, one.task), why).weighed(0.75);
        }
        if close.len() > 1 {
            let fitting: Vec<usize> = close.iter().map(|named| named.task).collect();
            return which(heard, &fitting, "its words fit more than one task").weighed(0.8);
        }
    }
    let bare = heard.acts.any(&[Act::Yes, Act::Always, Act::No, Act::YesBut, Act::GoOn, Act::Multi]) > 0.45;
    let adjusts = heard.acts.of(Act::Adjust) > 0.8 && heard.units.len() < 2;
    // Where there is no task at all, nothing else can be meant than one to come.
    if heard.context.tasks.is_empty() {
        return start(heard, 0.7, "there is no task yet");
    }
    let works = heard.acts.any(&[Act::Goal, Act::NewTask, Act::Adjust, Act::Ask]);
    if bare || works < 0.35 || (adjusts && !heard.context.tasks.is_empty()) {
        let open = heard.tasks_that(|state| state != Activity::Closed);
        return which(heard, &open, "no task is current and none is named").weighed(0.75);
    }
    start(heard, 0.88, "no task is current")
}

/// A question which of these tasks goes on.
fn which(heard: &Heard<'_>, tasks: &[usize], why: &str) -> Draft {
    let candidates = tasks.iter().map(|task| heard.task(*task).id.clone()).collect();
    let ask = Draft::fact(Verdict::Clarify { candidates }, why);
    tasks.iter().take(MOST_READINGS).fold(ask, |ask, task| ask.or(go_on(heard, *task)))
}

/// How far the message leans to a task of its own; above zero it does.
fn lean_to_new(heard: &Heard<'_>, focus: usize) -> f32 {
    let acts = &heard.acts;
    let task = heard.task(focus);
    let goal = acts.any(&[Act::Goal, Act::NewTask]) + 0.02;
    let rest =
        acts.any(&[Act::Adjust, Act::Ask, Act::Ref, Act::Yes, Act::No, Act::YesBut, Act::GoOn, Act::Switch]) + 0.02;
    let mut lean = (goal / rest).ln().clamp(-2.5, 2.5) - 0.4;
    let related = heard.related(task);
    lean -= 1.7 * (related.min(2) as f32);
    lean += match task.idle_minutes {
        0..=15 => -0.3,
        16..=90 => 0.2,
        91..=600 => 0.9,
        _ => 1.4,
    };
    if task.state == Activity::Closed {
        lean += if task.idle_minutes > 600 { 2.5 } else { 1.0 };
        lean += if related == 0 && !heard.units.is_empty() { 2.4 } else { 0.0 };
    }
    if acts.any(&[Act::No, Act::Yes, Act::GoOn]) > 0.4 {
        lean -= 2.0;
    }
    if task.project != heard.context.current_project {
        lean += 2.5;
    }
    let elsewhere = heard.project.is_some_and(|at| heard.context.projects[at].id != task.project);
    if elsewhere {
        lean += 4.0;
    }
    if heard.calls_agent() && !called_is_present(heard, focus) {
        lean += 1.0;
    }
    lean
}

fn called_is_present(heard: &Heard<'_>, task: usize) -> bool {
    heard.installed().next().is_none_or(|(agent, _)| heard.task(task).executions.iter().any(|e| e.agent == agent))
}

/// Starts a task of its own.
pub fn start(heard: &Heard<'_>, sure: f32, why: &str) -> Draft {
    let context = heard.context;
    let project = heard.project.map_or_else(|| context.current_project.clone(), |at| context.projects[at].id.clone());
    let agent = heard.installed().next().filter(|_| heard.calls_agent() || instructed(heard));
    let verdict = Verdict::NewTask { project, agent: agent.map(|(id, _)| id.to_owned()) };
    let draft = Draft::fact(verdict, why).weighed(sure.min(0.97));
    match heard.project {
        Some(at) => draft.because(format!("it names the project {}", context.projects[at].name)),
        None => draft,
    }
}

/// Whether the words next to an agent's name put it to work.
fn instructed(heard: &Heard<'_>) -> bool {
    let all = words(&heard.masked);
    let Some(at) = all.iter().position(|w| w.text.starts_with(AGENT)) else { return false };
    let near = &all[at.saturating_sub(2)..(at + 3).min(all.len())];
    let phrase = near.iter().map(|w| w.text).collect::<Vec<_>>().join(" ");
    heard.weights.acts(&phrase).any(&[Act::Add, Act::Switch, Act::Fork]) > 0.5
}
