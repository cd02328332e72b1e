//! Yes and no: which approval is in reach, and whether the words decide it.
//!
//! **Invariant:** [`Verdict::Approve`] and [`Verdict::Deny`] are made here and nowhere else, for an approval that
//! is alone in reach.

use super::act::{Act, Acts};
use super::draft::Draft;
use super::heard::{Heard, first_clause};
use super::input::{Activity, ReplyTo};
use super::text::{Kind, Word, words};
use super::title;
use super::verdict::{Scope, Verdict};

/// How an approval came into reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Reply,
    Named,
    Focus,
    Elsewhere,
}

/// Which approvals a yes or no could decide.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    None,
    One(usize, How),
    Many(Vec<usize>),
}

/// Decides an approval, asks about it, or leaves the message to the other rules.
pub fn decide(heard: &Heard<'_>) -> Option<Draft> {
    if heard.context.approvals.is_empty() {
        return None;
    }
    let acts = &heard.acts;
    let consent = acts.any(&[Act::Yes, Act::Always]);
    let hedged = acts.any(&[Act::YesBut, Act::Multi]);
    let refusal = refusal(heard);
    let reach = reach(heard);
    if acts.of(Act::Multi) > 0.4 && acts.of(Act::Multi) > consent {
        let all: Vec<usize> = (0..heard.context.approvals.len()).collect();
        let which = if let Reach::Many(some) = reach { some } else { all };
        return Some(ask(heard, &which, "several decisions in one message are asked back one by one"));
    }
    let first_is_no = opens_with_refusal(heard);
    match reach {
        Reach::None => None,
        Reach::Many(which) => {
            let decides = consent + hedged + refusal > 0.55 || (first_is_no && refusal > 0.2);
            (decides && heard.length() <= 14).then(|| ask(heard, &which, "more than one approval is pending in reach"))
        }
        Reach::One(which, how) => {
            if consent > 0.5 {
                return consented(heard, which, how, consent);
            }
            if refusal > 0.5 || (first_is_no && how != How::Elsewhere && !asks(heard)) {
                return refused(heard, which, how, refusal.max(0.6));
            }
            if acts.of(Act::GoOn) > 0.5 && how != How::Elsewhere {
                return Some(ask(heard, &[which], "\"go on\" is no consent while an approval is pending"));
            }
            let short = heard.length() <= 6 && matches!(acts.top(), Act::Yes | Act::Always | Act::No | Act::YesBut);
            let doubtful = first_is_no || consent + hedged + refusal > if short { 0.3 } else { 0.5 };
            (doubtful && how != How::Elsewhere)
                .then(|| ask(heard, &[which], "a conditional or unclear yes does not approve"))
        }
    }
}

/// Whether the message ends as a question.
fn asks(heard: &Heard<'_>) -> bool {
    heard.text.trim_end().ends_with(['?', '？', '؟'])
}

/// How likely the message refuses: as a whole, or by its opening where the rest gives the reason.
fn refusal(heard: &Heard<'_>) -> f32 {
    let whole = heard.acts.of(Act::No);
    let opening = first_clause(&heard.masked).map_or(0.0, |clause| heard.weights.acts(clause).of(Act::No));
    if whole > 0.15 { whole.max(opening) } else { whole }
}

fn ask(heard: &Heard<'_>, which: &[usize], why: &str) -> Draft {
    let candidates = which.iter().map(|at| heard.context.approvals[*at].id.clone()).collect();
    let mut draft = Draft::fact(Verdict::Clarify { candidates }, why).weighed(0.9);
    for at in which {
        let approval = heard.context.approvals[*at].id.clone();
        draft = draft
            .or(Verdict::Approve { approval: approval.clone(), scope: Scope::Once })
            .or(Verdict::Deny { approval });
    }
    draft
}

fn consented(heard: &Heard<'_>, which: usize, how: How, consent: f32) -> Option<Draft> {
    let approval = &heard.context.approvals[which];
    let strange = strange_words(heard, which);
    let plain = strange.is_empty() && !asks(heard) && consent > 0.6;
    if !plain {
        // So much beside the yes is about the work, not about the request.
        if strange.len() > 3 || (strange.len() > 2 && heard.length() > 7) || how == How::Elsewhere {
            return None;
        }
        return Some(ask(heard, &[which], "there is more in it than a plain yes"));
    }
    let always = heard.acts.of(Act::Always) > heard.acts.of(Act::Yes);
    let scope = if always { Scope::Always } else { Scope::Once };
    let verdict = Verdict::Approve { approval: approval.id.clone(), scope };
    let draft = Draft::words(verdict, if always { Act::Always } else { Act::Yes }, consent.clamp(0.7, 0.97));
    Some(draft.because(reason(heard, which, how)).or(Verdict::Deny { approval: approval.id.clone() }))
}

fn refused(heard: &Heard<'_>, which: usize, how: How, refusal: f32) -> Option<Draft> {
    let approval = &heard.context.approvals[which];
    if how == How::Elsewhere && !(heard.units.is_empty() || names(heard, which) > 0) {
        return None;
    }
    let opening = first_clause(&heard.masked).map_or(0.0, |clause| heard.weights.acts(clause).of(Act::No));
    let contradicts = opening < 0.5 && first_word(heard).is_some_and(|acts| acts.of(Act::Yes) > 0.6);
    if contradicts || (heard.length() > 25 && refusal < 0.8) {
        return Some(ask(heard, &[which], "it is not clear whether this refuses the request"));
    }
    let draft = Draft::words(Verdict::Deny { approval: approval.id.clone() }, Act::No, refusal.clamp(0.65, 0.97));
    Some(
        draft
            .because(reason(heard, which, how))
            .or(Verdict::Approve { approval: approval.id.clone(), scope: Scope::Once }),
    )
}

fn reason(heard: &Heard<'_>, which: usize, how: How) -> String {
    let what = &heard.context.approvals[which].what;
    match how {
        How::Reply => format!("it replies to the request to run `{what}`"),
        How::Named => format!("it names the request to run `{what}`"),
        How::Focus => format!("`{what}` is the one approval pending on the current task"),
        How::Elsewhere => format!("`{what}` is the only approval pending anywhere"),
    }
}

/// Which approvals a plain yes could be about.
fn reach(heard: &Heard<'_>) -> Reach {
    let all = &heard.context.approvals;
    let of_task =
        |task: usize| -> Vec<usize> { (0..all.len()).filter(|at| all[*at].task == heard.task(task).id).collect() };
    if let Some(ReplyTo::Approval(id)) = &heard.context.reply_to {
        return all.iter().position(|a| a.id == *id).map_or(Reach::None, |at| Reach::One(at, How::Reply));
    }
    if let Some(task) = heard.keyed() {
        return narrowed(heard, of_task(task), How::Named);
    }
    if let Some((task, execution)) = heard.replied() {
        let of_task = of_task(task);
        let own: Vec<usize> =
            of_task.iter().copied().filter(|at| execution.is_some_and(|e| e.id == all[*at].execution)).collect();
        return narrowed(heard, if own.is_empty() { of_task } else { own }, How::Reply);
    }
    if let Some(at) = named_alone(heard, &(0..all.len()).collect::<Vec<_>>()) {
        return Reach::One(at, How::Named);
    }
    let Some(focus) = heard.focus() else {
        return narrowed(heard, (0..all.len()).collect(), How::Elsewhere);
    };
    let here = of_task(focus);
    if !here.is_empty() {
        return narrowed(heard, here, How::Focus);
    }
    // A question that the focus agent has just asked outranks an approval elsewhere.
    let task = heard.task(focus);
    let asked = task.last_said.as_deref().is_some_and(|said| said.trim_end().ends_with(['?', '？', '؟']));
    if asked && !matches!(task.state, Activity::Closed) {
        return Reach::None;
    }
    narrowed(heard, (0..all.len()).collect(), How::Elsewhere)
}

fn narrowed(heard: &Heard<'_>, which: Vec<usize>, how: How) -> Reach {
    match which[..] {
        [] => Reach::None,
        [one] => Reach::One(one, how),
        [..] => named_alone(heard, &which).map_or(Reach::Many(which), |at| Reach::One(at, How::Named)),
    }
}

/// The one approval among several whose command or task the message's words fit best.
fn named_alone(heard: &Heard<'_>, which: &[usize]) -> Option<usize> {
    if which.len() < 2 {
        return None;
    }
    let mut hits: Vec<(usize, usize)> = which.iter().map(|at| (names(heard, *at), *at)).collect();
    hits.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    (hits[0].0 > hits[1].0).then_some(hits[0].1)
}

/// How many of the message's words occur in an approval's command or in its task's title.
fn names(heard: &Heard<'_>, which: usize) -> usize {
    let approval = &heard.context.approvals[which];
    let title = heard.context.tasks.iter().find(|t| t.id == approval.task).map_or("", |t| t.title.as_str());
    let there = super::text::fold(&format!("{} {title}", approval.what));
    let there = words(&there);
    let known = words(&heard.text);
    let spoken = |w: &&Word<'_>| w.kind == Kind::Word && w.text.len() >= 3 && !heard.weights.assents(w);
    let by_word = known
        .iter()
        .filter(spoken)
        .filter(|w| there.iter().filter(spoken).any(|o| super::text::akin(o.text, w.text)))
        .count();
    by_word + title::shared(&heard.units.iter().filter(|u| u.pair).cloned().collect::<Vec<_>>(), title, heard.weights)
}

/// The words that neither belong to a yes nor to what is to be approved.
fn strange_words(heard: &Heard<'_>, which: usize) -> Vec<String> {
    let approval = &heard.context.approvals[which];
    let there = super::text::fold(&approval.what);
    let there = words(&there);
    words(&heard.masked)
        .iter()
        .filter(|w| w.kind != Kind::Mark && !heard.weights.assents(w))
        // A run has no words to look up: it must sound like a yes as a whole. A word may be filler.
        .filter(|w| heard.weights.hedges(w.text) || !harmless(heard, w))
        // "And never ask again": the no in it is part of the yes.
        .filter(|w| heard.acts.of(Act::Always) < 0.6 || !heard.weights.lasts(w.text))
        .filter(|w| !there.iter().any(|o| super::text::akin(o.text, w.text)))
        .map(|w| w.text.to_owned())
        .collect()
}

/// Whether a piece beside a yes cannot change it: a run that is a yes itself, or a word of mere address.
fn harmless(heard: &Heard<'_>, word: &Word<'_>) -> bool {
    let acts = heard.weights.acts(word.text);
    match word.kind {
        Kind::Run => acts.any(&[Act::Yes, Act::Always]) > 0.85,
        Kind::Word => {
            let refuses = acts.any(&[Act::No, Act::YesBut, Act::Cancel, Act::Multi, Act::GoOn]) > 0.2;
            heard.acts.any(&[Act::Yes, Act::Always]) > 0.9 && heard.weights.is_common(word.text) && !refuses
        }
        Kind::Mask | Kind::Symbol | Kind::Mark => false,
    }
}

/// What the first word alone does.
fn first_word(heard: &Heard<'_>) -> Option<Acts> {
    let words = words(&heard.masked);
    let first = words.first()?;
    let head = if first.kind == Kind::Run { first.text.chars().take(2).collect() } else { first.text.to_owned() };
    Some(heard.weights.acts(&head))
}

/// Whether the first word alone is a no.
pub fn opens_with_refusal(heard: &Heard<'_>) -> bool {
    first_word(heard).is_some_and(|acts| acts.top() == Act::No && acts.of(Act::No) > 0.5)
}
