//! Orders about work that is already there: status, stop, close, again, a fresh session, another task, courtesy.

use super::act::Act;
use super::draft::Draft;
use super::heard::Heard;
use super::input::{Activity, Role};
use super::verdict::{ALL, Verdict};

/// How sure an order has to sound; what stops or closes work has to sound surer.
const HEARD: f32 = 0.5;
const HEARD_TO_END: f32 = 0.6;

/// Carries out an order, asks which task is meant, or leaves the message to the other rules.
pub fn decide(heard: &Heard<'_>) -> Option<Draft> {
    let acts = &heard.acts;
    let top = acts.top();
    let sure = acts.of(top);
    let long = heard.length() > 14;
    let status = acts.any(&[Act::Status, Act::StatusAll]);
    if acts.heard(status, HEARD)
        && (status > 0.6 || heard.agents.is_empty())
        && matches!(top, Act::Status | Act::StatusAll)
    {
        return Some(status_of(heard, status));
    }
    if let Some(draft) = bare_key(heard) {
        return Some(draft);
    }
    let stop = acts.any(&[Act::Cancel, Act::CancelAll]);
    if acts.heard(stop, HEARD_TO_END) && matches!(top, Act::Cancel | Act::CancelAll) && !(long && stop < 0.9) {
        return Some(cancel(heard, stop));
    }
    // An order that points at its task needs less to be heard.
    let points = heard.pointed().is_some_and(|task| Some(task) != heard.focus());
    let needed = if long {
        0.8
    } else if points {
        0.35
    } else {
        HEARD
    };
    if top == Act::Focus && sure > 0.4 {
        return focus(heard, sure);
    }
    let loud = |act: Act, floor: f32| top == act && if long { sure > floor } else { acts.heard(sure, floor) };
    if loud(Act::Close, HEARD_TO_END.max(needed)) {
        Some(close(heard, sure))
    } else if loud(Act::Retry, needed) {
        Some(retry(heard, sure))
    } else if loud(Act::Fresh, HEARD) {
        Some(on_task(heard, Act::Fresh, sure, |task| Verdict::FreshSession { task }))
    } else if loud(Act::Fork, HEARD) {
        Some(on_task(heard, Act::Fork, sure, |task| Verdict::Fork { task, agent: None }))
    } else if loud(Act::GoOn, needed) {
        Some(on_task(heard, Act::GoOn, sure, |task| Verdict::Continue { task, execution: None }))
    } else if loud(Act::Thanks, if heard.length() <= 6 { 0.38 } else { HEARD }) && !long {
        Some(Draft::words(Verdict::Ack, Act::Thanks, sure))
    } else if loud(Act::Help, HEARD) {
        Some(Draft::words(Verdict::Help, Act::Help, sure))
    } else {
        None
    }
}

fn id(heard: &Heard<'_>, task: usize) -> String {
    heard.task(task).id.clone()
}

/// Why a task was taken.
fn why(heard: &Heard<'_>, task: usize) -> String {
    let title = &heard.task(task).title;
    if heard.keyed() == Some(task) {
        format!("it names {}, \"{title}\"", heard.task(task).key)
    } else if heard.replied().is_some_and(|(at, _)| at == task) {
        format!("it replies to \"{title}\"")
    } else if heard.titled().is_some_and(|named| named.task == task) {
        format!("its words fit \"{title}\" alone")
    } else {
        format!("\"{title}\" is the current task")
    }
}

/// A key and nothing else asks how it is going.
fn bare_key(heard: &Heard<'_>) -> Option<Draft> {
    let task = heard.keyed().filter(|_| heard.length() == 1)?;
    let verdict = Verdict::Status { task: id(heard, task) };
    Some(Draft::fact(verdict, why(heard, task)).weighed(0.8).or(Verdict::Focus { task: id(heard, task) }))
}

fn status_of(heard: &Heard<'_>, sure: f32) -> Draft {
    let everything = heard.acts.of(Act::StatusAll) > heard.acts.of(Act::Status);
    let act = if everything { Act::StatusAll } else { Act::Status };
    let of = |task: String| Draft::words(Verdict::Status { task }, act, sure);
    if let Some(task) = heard.keyed().or_else(|| heard.titled().filter(|_| !everything).map(|n| n.task)) {
        return of(id(heard, task)).because(why(heard, task));
    }
    if everything {
        return of(ALL.to_owned());
    }
    if let Some((agent, _)) = heard.installed().next()
        && let Some(task) = where_agent_works(heard, agent)
    {
        return of(id(heard, task)).because(format!("{agent} works on \"{}\"", heard.task(task).title));
    }
    match heard.target() {
        Some(task) => of(id(heard, task)).because(why(heard, task)).or(Verdict::Status { task: ALL.to_owned() }),
        None => of(ALL.to_owned()).because("no task is current"),
    }
}

/// The task that an agent named in an order works on: the current one if it takes part there.
pub fn where_agent_works(heard: &Heard<'_>, agent: &str) -> Option<usize> {
    let takes_part = |at: &usize| heard.task(*at).executions.iter().any(|e| e.agent == agent);
    let runs = |at: &usize| heard.task(*at).executions.iter().any(|e| e.agent == agent && e.state.runs());
    let all: Vec<usize> = (0..heard.context.tasks.len()).collect();
    if let Some(task) = heard.target().filter(takes_part) {
        return Some(task);
    }
    let running: Vec<usize> = all.into_iter().filter(runs).collect();
    match running[..] {
        [one] => Some(one),
        [..] => None,
    }
}

fn cancel(heard: &Heard<'_>, sure: f32) -> Draft {
    let everything = heard.acts.of(Act::CancelAll) > heard.acts.of(Act::Cancel);
    let running = heard.tasks_that(Activity::runs);
    if everything {
        let draft = Draft::words(Verdict::Cancel { task: ALL.to_owned() }, Act::CancelAll, sure);
        return draft.because(format!("{} tasks run", running.len()));
    }
    let stop = |task: usize| Draft::words(Verdict::Cancel { task: id(heard, task) }, Act::Cancel, sure);
    if let Some(task) = heard.pointed() {
        return stop(task).because(why(heard, task));
    }
    if let Some((agent, _)) = heard.installed().next()
        && let Some(task) = where_agent_works(heard, agent)
    {
        return stop(task).because(format!("{agent} works on \"{}\"", heard.task(task).title));
    }
    let busy =
        |task: &usize| !matches!(heard.task(*task).state, Activity::Resting | Activity::Failed | Activity::Closed);
    match (heard.focus(), &running[..]) {
        (Some(focus), _) if busy(&focus) => stop(focus).because(why(heard, focus)),
        (None, [one]) => stop(*one).because("it is the only task that runs").weighed(sure.min(0.85)),
        (Some(focus), []) => stop(focus).because("no other task runs").weighed(sure.min(0.7)),
        (_, running) => which(heard, running, "it does not say which task to stop"),
    }
}

fn which(heard: &Heard<'_>, tasks: &[usize], why: &str) -> Draft {
    let candidates = tasks.iter().map(|task| id(heard, *task)).collect();
    Draft::fact(Verdict::Clarify { candidates }, why).weighed(0.85)
}

fn close(heard: &Heard<'_>, sure: f32) -> Draft {
    match heard.target() {
        Some(task) => {
            Draft::words(Verdict::Close { task: id(heard, task) }, Act::Close, sure).because(why(heard, task))
        }
        None => which(heard, &heard.tasks_that(|s| s != Activity::Closed), "it does not say which task to close"),
    }
}

fn retry(heard: &Heard<'_>, sure: f32) -> Draft {
    let again = |task: usize| {
        let execution = replied_execution(heard, task).or_else(|| execution_in_role(heard, task));
        Draft::words(Verdict::Retry { task: id(heard, task), execution }, Act::Retry, sure).because(why(heard, task))
    };
    if let Some(task) = heard.target() {
        return again(task);
    }
    let failed = heard.tasks_that(|state| state == Activity::Failed);
    let why = "it does not say which task to run again";
    match failed[..] {
        [one] => again(one).weighed(sure.min(0.8)),
        [] => which(heard, &heard.tasks_that(|state| state != Activity::Closed), why),
        [..] => which(heard, &failed, why),
    }
}

fn replied_execution(heard: &Heard<'_>, task: usize) -> Option<String> {
    let (replied, execution) = heard.replied()?;
    execution.filter(|_| replied == task).map(|e| e.id.clone())
}

/// The execution whose role or agent is named, or the only one that failed.
fn execution_in_role(heard: &Heard<'_>, task: usize) -> Option<String> {
    let executions = &heard.task(task).executions;
    let role = super::agents::role(&heard.text).filter(|role| *role != Role::Editor);
    let by_role = executions.iter().find(|e| role.is_some() && e.role == role && !e.primary);
    let by_agent = heard.installed().find_map(|(agent, _)| executions.iter().find(|e| e.agent == agent));
    let mut failed = executions.iter().filter(|e| e.state == Activity::Failed);
    let lone = failed.next().filter(|_| failed.next().is_none());
    by_role.or(by_agent).or(lone).map(|e| e.id.clone())
}

fn on_task(heard: &Heard<'_>, act: Act, sure: f32, verdict: impl Fn(String) -> Verdict) -> Draft {
    let open = heard.tasks_that(|state| state != Activity::Closed);
    match (heard.target(), &open[..]) {
        (Some(task), _) => Draft::words(verdict(id(heard, task)), act, sure).because(why(heard, task)),
        (None, [only]) => {
            Draft::words(verdict(id(heard, *only)), act, sure.min(0.8)).because("it is the only open task")
        }
        (None, open) => which(heard, open, "no task is current"),
    }
}

fn focus(heard: &Heard<'_>, sure: f32) -> Option<Draft> {
    if let Some(task) = heard.pointed() {
        return Some(
            Draft::words(Verdict::Focus { task: id(heard, task) }, Act::Focus, sure.max(0.7)).because(why(heard, task)),
        );
    }
    let tied: Vec<usize> = heard.named.iter().take(4).map(|named| named.task).collect();
    (sure > 0.7).then(|| which(heard, &tied, "it does not say clearly which task to turn to"))
}
