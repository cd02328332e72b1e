//! Budget: how much a task may use before a person is asked again.
//!
//! Time is looked at by a timer, tokens and cost whenever the agent reports them, turns when they end. A turn that uses up
//! the rest is asked to stop, as a person would ask it; then the person is asked. Nothing starts until they answer.

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::ExecutionId;
use crate::present::Locale;
use crate::time::Timestamp;
use crate::turn::Usage;

/// A task's budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// What it may use; nothing in here means that it has no bound.
    pub caps: Caps,
    /// What it has used since the caps were set or extended.
    pub used: Used,
    /// Which cap was reached first: no turn starts until a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Cap>,
    /// When the caps were set or extended: what was before does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whose turns were stopped in their midst: they go on with the next budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<ExecutionId>,
}

/// What a task may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// So many turns.
    pub turns: Option<u64>,
    /// So many minutes in which agents work.
    #[serde(serialize_with = "whole")]
    pub minutes: Option<f64>,
    /// So many tokens.
    pub tokens: Option<u64>,
    /// So much money, in the agent's currency.
    pub cost: Option<f64>,
}

/// Whole minutes are written as they always were.
fn whole<S: Serializer>(minutes: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match minutes {
        Some(minutes) if minutes.fract() == 0.0 => (*minutes as u64).serialize(serializer),
        other => other.serialize(serializer),
    }
}

/// What a task has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Turns that ended.
    pub turns: u64,
    /// Milliseconds in which agents worked.
    pub millis: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost: f64,
}

/// One of the caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// On turns.
    Turns,
    /// On time.
    Minutes,
    /// On tokens.
    Tokens,
    /// On money.
    Cost,
}

/// A cap that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Which.
    pub cap: Cap,
    /// How much that was.
    pub amount: String,
}

impl Spent {
    /// What the person is asked.
    #[must_use]
    pub fn question(&self, locale: Locale) -> String {
        let Spent { cap, amount } = self;
        locale.budget_question(match cap {
            Cap::Turns => locale.amount_turns(amount),
            Cap::Minutes => locale.amount_minutes(amount),
            Cap::Tokens => locale.amount_tokens(amount),
            Cap::Cost => locale.amount_cost(amount),
        })
    }
}

/// What an agent last said that its session has used. Agents count from the beginning of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost: f64,
    /// Tokens that its context held.
    pub context: u64,
}

impl Reported {
    /// What a session has used since the last report, as far as it can be known, and the report to go on from.
    fn news(self, usage: &Usage) -> (Used, Reported) {
        let context = usage.context_tokens.unwrap_or(self.context);
        let tokens = match usage.total_tokens {
            // What is less than before was counted by a new session, from its own beginning.
            Some(total) => total.checked_sub(self.tokens).unwrap_or(total),
            // What is new in the context was read or written once, at least.
            None => context.saturating_sub(self.context),
        };
        let cost = usage.cost.as_deref().and_then(amount).unwrap_or(self.cost);
        let more = if cost >= self.cost { cost - self.cost } else { cost };
        let used = Used { tokens, cost: more, ..Used::default() };
        (used, Reported { tokens: usage.total_tokens.unwrap_or(self.tokens), cost, context })
    }
}

impl Used {
    fn add(&mut self, more: Used) {
        self.turns += more.turns;
        self.millis += more.millis;
        self.tokens += more.tokens;
        self.cost += more.cost;
    }
}

impl Caps {
    /// The bound on time.
    #[must_use]
    pub fn millis(&self) -> Option<u64> {
        // A number that is too large becomes the largest there is.
        self.minutes.map(|minutes| (minutes * 60_000.0).ceil() as u64)
    }

    /// Whether there is any.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Caps::default()
    }
}

impl Budget {
    /// Takes in what a turn used.
    pub(crate) fn spend(&mut self, millis: u64, usage: &Usage, reported: &mut Reported) {
        let (used, now) = reported.news(usage);
        self.used.add(Used { turns: 1, millis, ..used });
        *reported = now;
    }

    /// How much of a span until now counts.
    pub(crate) fn counted(&self, millis: u64, now: Timestamp) -> u64 {
        millis.min(self.since.map_or(u64::MAX, |since| now.millis_since(since)))
    }

    /// The first cap that is used up in the midst of turns: what running turns took, and what an agent just reported.
    pub(crate) fn over_midway(&self, millis: u64, reported: Reported, usage: &Usage) -> Option<Cap> {
        let mut used = self.used;
        used.add(Used { millis, ..reported.news(usage).0 });
        // Turns are counted when they end.
        let caps = Caps { turns: None, ..self.caps };
        Budget { caps, used, ..Budget::default() }.over()
    }

    /// What was used up, with this cap.
    #[must_use]
    pub fn spent(&self, cap: Cap) -> Spent {
        let Caps { turns, minutes, tokens, cost } = self.caps;
        let amount = match cap {
            Cap::Turns => turns.map(|count| count.to_string()),
            Cap::Minutes => minutes.map(|count| count.to_string()),
            Cap::Tokens => tokens.map(|count| count.to_string()),
            Cap::Cost => cost.map(|count| count.to_string()),
        };
        Spent { cap, amount: amount.unwrap_or_default() }
    }

    /// The first cap that is used up.
    #[must_use]
    pub fn over(&self) -> Option<Cap> {
        let Budget { caps, used, .. } = self;
        let full = |cap: Option<u64>, used: u64| cap.is_some_and(|cap| used >= cap);
        [
            (Cap::Turns, full(caps.turns, used.turns)),
            (Cap::Minutes, full(caps.millis(), used.millis)),
            (Cap::Tokens, full(caps.tokens, used.tokens)),
            (Cap::Cost, caps.cost.is_some_and(|cap| used.cost >= cap)),
        ]
        .into_iter()
        .find_map(|(cap, full)| full.then_some(cap))
    }
}

/// The number in `0.12 USD`.
fn amount(cost: &str) -> Option<f64> {
    let number = cost.split_whitespace().find_map(|word| word.trim_start_matches('$').parse::<f64>().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64, cost: &str) -> Usage {
        Usage { total_tokens: Some(tokens), cost: Some(cost.into()), ..Usage::default() }
    }

    #[test]
    fn what_agents_count_from_the_beginning_of_a_session_is_not_counted_twice() {
        let (mut budget, mut reported) = (Budget::default(), Reported::default());
        budget.spend(1_000, &usage(100, "0.50 USD"), &mut reported);
        budget.spend(1_000, &usage(150, "$0.75"), &mut reported);
        // An agent that says nothing used nothing that is known.
        budget.spend(1_000, &Usage::default(), &mut reported);
        // A new session.
        budget.spend(1_000, &usage(20, "0.25 USD"), &mut reported);
        assert_eq!(budget.used, Used { turns: 4, millis: 4_000, tokens: 170, cost: 1.0 });
        for nonsense in ["", "much", "-1 USD", "NaN", "inf"] {
            assert_eq!(amount(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_cap_is_reached_when_it_is_used_up() {
        let used = Used { turns: 3, millis: 120_000, tokens: 500, cost: 1.5 };
        let over = |caps: Caps| Budget { caps, used, ..Budget::default() }.over();
        assert_eq!(over(Caps::default()), None);
        assert!(!Caps::default().any());
        for (caps, cap) in [
            (Caps { turns: Some(3), ..Caps::default() }, Some(Cap::Turns)),
            (Caps { turns: Some(4), ..Caps::default() }, None),
            (Caps { minutes: Some(2.0), ..Caps::default() }, Some(Cap::Minutes)),
            (Caps { minutes: Some(2.001), ..Caps::default() }, None),
            (Caps { tokens: Some(500), ..Caps::default() }, Some(Cap::Tokens)),
            (Caps { tokens: Some(501), ..Caps::default() }, None),
            (Caps { cost: Some(1.5), ..Caps::default() }, Some(Cap::Cost)),
            (Caps { cost: Some(1.6), ..Caps::default() }, None),
        ] {
            assert_eq!(over(caps), cap, "{caps:?}");
            assert!(caps.any());
        }
    }

    #[test]
    fn what_is_new_in_the_context_counts_where_nothing_else_is_said() {
        let context = |tokens| Usage { context_tokens: Some(tokens), ..Usage::default() };
        let (mut budget, mut reported) = (Budget::default(), Reported::default());
        budget.spend(0, &context(100), &mut reported);
        budget.spend(0, &context(250), &mut reported);
        // It was compacted, and grows again.
        budget.spend(0, &context(50), &mut reported);
        budget.spend(0, &context(60), &mut reported);
        assert_eq!(budget.used.tokens, 260);
        let total = Usage { total_tokens: Some(1_000), ..context(80) };
        budget.spend(0, &total, &mut reported);
        assert_eq!(budget.used.tokens, 1_260, "what an agent counts goes first");
    }

    #[test]
    fn in_the_midst_of_a_turn_all_counts_but_turns() {
        let used = Used { turns: 9, millis: 50_000, tokens: 400, cost: 1.0 };
        let reported = Reported { tokens: 1_000, cost: 5.0, context: 100 };
        let over = |caps: Caps, millis: u64, usage: &Usage| {
            Budget { caps, used, ..Budget::default() }.over_midway(millis, reported, usage)
        };
        let none = Usage::default();
        assert_eq!(over(Caps { turns: Some(1), ..Caps::default() }, 0, &none), None);
        let minute = Caps { minutes: Some(1.0), ..Caps::default() };
        assert_eq!((over(minute, 9_999, &none), over(minute, 10_000, &none)), (None, Some(Cap::Minutes)));
        let tokens = Caps { tokens: Some(500), ..Caps::default() };
        let context = |tokens| Usage { context_tokens: Some(tokens), ..Usage::default() };
        assert_eq!((over(tokens, 0, &context(199)), over(tokens, 0, &context(200))), (None, Some(Cap::Tokens)));
        let cost = Caps { cost: Some(1.5), ..Caps::default() };
        let dollars = |cost: &str| Usage { cost: Some(cost.into()), ..Usage::default() };
        assert_eq!((over(cost, 0, &dollars("5.49 USD")), over(cost, 0, &dollars("5.5 USD"))), (None, Some(Cap::Cost)));
    }

    #[test]
    fn what_was_before_the_caps_does_not_count() {
        let at = Timestamp::from_millis;
        assert_eq!(Budget::default().counted(5_000, at(9_000)), 5_000);
        let budget = Budget { since: Some(at(8_000)), ..Budget::default() };
        assert_eq!((budget.counted(5_000, at(9_000)), budget.counted(500, at(9_000))), (1_000, 500));
    }
}
