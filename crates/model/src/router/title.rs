//! Which tasks a text is about: the words that it shares with their titles, weighed by how many tasks share them.

use super::input::Task;
use super::text::{Kind, Word, akin, fold, words};
use super::weights::Weights;

/// How many of a message's subject words are looked at.
const MOST_UNITS: usize = 40;

/// A word, or two neighbouring characters of a run, that says what a text is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The word or pair.
    pub text: String,
    /// From where to where, in bytes.
    pub span: (usize, usize),
    /// Whether it is a pair of a run.
    pub pair: bool,
}

/// A task that a message may name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Which task.
    pub task: usize,
    /// How much of the message fits its title, each word divided by how many tasks it fits.
    pub score: f32,
    /// How many of the message's units fit.
    pub hits: usize,
    /// What share of the message's units fit.
    pub coverage: f32,
    /// Which units fit.
    pub spans: Vec<(usize, usize)>,
}

/// The subject words of a folded text.
#[must_use]
pub fn units(text: &str, weights: &Weights) -> Vec<Unit> {
    let mut out = vec![];
    for word in words(text) {
        match word.kind {
            Kind::Word => {
                let long = word.text.chars().count() >= 2 && !word.text.bytes().all(|b| b.is_ascii_digit());
                if long && !weights.is_common(word.text) {
                    out.push(Unit {
                        text: word.text.to_owned(),
                        span: (word.at, word.at + word.text.len()),
                        pair: false,
                    });
                }
            }
            Kind::Run => pairs(&word, weights, &mut out),
            Kind::Mask | Kind::Symbol | Kind::Mark => {}
        }
        if out.len() >= MOST_UNITS {
            break;
        }
    }
    out
}

fn pairs(word: &Word<'_>, weights: &Weights, out: &mut Vec<Unit>) {
    let ends: Vec<usize> = word.text.char_indices().map(|(at, _)| at).chain([word.text.len()]).collect();
    for window in ends.windows(3).take(MOST_UNITS) {
        let pair = &word.text[window[0]..window[2]];
        if !weights.is_common(pair) {
            out.push(Unit { text: pair.to_owned(), span: (word.at + window[0], word.at + window[2]), pair: true });
        }
    }
}

/// Whether a unit occurs among others, by stem.
#[must_use]
pub fn occurs(unit: &Unit, among: &[Unit]) -> bool {
    among.iter().any(|other| {
        unit.pair == other.pair && if unit.pair { unit.text == other.text } else { akin(&unit.text, &other.text) }
    })
}

/// How many units of a message occur in another text.
#[must_use]
pub fn shared(units: &[Unit], text: &str, weights: &Weights) -> usize {
    let there = self::units(&fold(text), weights);
    units.iter().filter(|unit| occurs(unit, &there)).count()
}

/// The tasks whose titles share words with a message, best first.
#[must_use]
pub fn named(units: &[Unit], tasks: &[Task], weights: &Weights) -> Vec<Named> {
    if units.is_empty() {
        return vec![];
    }
    let titles: Vec<Vec<Unit>> = tasks.iter().map(|task| self::units(&fold(&task.title), weights)).collect();
    let mut out: Vec<Named> =
        (0..tasks.len()).map(|task| Named { task, score: 0.0, hits: 0, coverage: 0.0, spans: vec![] }).collect();
    for unit in units {
        let fitting: Vec<usize> = (0..tasks.len()).filter(|task| occurs(unit, &titles[*task])).collect();
        for task in &fitting {
            let named = &mut out[*task];
            named.score += 1.0 / fitting.len() as f32;
            named.hits += 1;
            named.spans.push(unit.span);
        }
    }
    out.retain(|named| named.hits > 0);
    for named in &mut out {
        named.coverage = named.hits as f32 / units.len() as f32;
    }
    out.sort_by(|a, b| b.score.total_cmp(&a.score));
    out
}

/// The one task that a message's words fit, if they fit one alone.
#[must_use]
pub fn only(named: &[Named]) -> Option<&Named> {
    let best = named.first()?;
    let rival = named.get(1).map_or(0.0, |next| next.score);
    let much = best.coverage >= 0.25 || best.hits >= 3;
    (best.score >= 0.99 && rival <= best.score * 0.5 && much).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<Task> {
        [
            "Rate limit the login endpoint",
            "Checkout page redesign",
            "登录接口限流",
            "Client-side routing",
            "Move request routing",
        ]
        .iter()
        .map(|title| Task { title: (*title).to_owned(), ..Task::default() })
        .collect()
    }

    fn best(text: &str) -> Option<usize> {
        let weights = Weights::embedded();
        only(&named(&units(&fold(text), weights), &tasks(), weights)).map(|n| n.task)
    }

    #[test]
    fn words_that_fit_one_title_name_that_task() {
        assert_eq!(best("back to the checkout thing"), Some(1));
        assert_eq!(best("切到登录限流那个"), Some(2));
    }

    #[test]
    fn words_that_fit_two_titles_name_none() {
        assert_eq!(best("fix routing"), None);
    }
}
