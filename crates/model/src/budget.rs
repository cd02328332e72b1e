//! Budget: how much a task may use before a person is asked again.
//!
//! It is looked at when a turn ends: nothing is stopped in its midst, and nothing starts once it is used up. Tokens and
//! cost count as far as the agent reports them.

use serde::{Deserialize, Serialize};

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
}

/// What a task may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// So many turns.
    pub turns: Option<u64>,
    /// So many minutes in which agents work.
    pub minutes: Option<u64>,
    /// So many tokens.
    pub tokens: Option<u64>,
    /// So much money, in the agent's currency.
    pub cost: Option<f64>,
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

/// What an agent last said that its session has used. Agents count from the beginning of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost: f64,
}

impl Caps {
    /// Whether there is any.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Caps::default()
    }
}

impl Budget {
    /// Takes in what a turn used.
    pub(crate) fn spend(&mut self, millis: u64, usage: &Usage, reported: &mut Reported) {
        let tokens = usage.total_tokens.unwrap_or(reported.tokens);
        let cost = usage.cost.as_deref().and_then(amount).unwrap_or(reported.cost);
        // What is less than before was counted by a new session, from its own beginning.
        self.used.tokens += tokens.checked_sub(reported.tokens).unwrap_or(tokens);
        self.used.cost += if cost >= reported.cost { cost - reported.cost } else { cost };
        self.used.turns += 1;
        self.used.millis += millis;
        *reported = Reported { tokens, cost };
    }

    /// What a person is asked when a cap is reached.
    #[must_use]
    pub fn question(&self, cap: Cap) -> String {
        let Budget { caps, .. } = self;
        let amount = match cap {
            Cap::Turns => format!("{} turns", caps.turns.unwrap_or_default()),
            Cap::Minutes => format!("{} minutes", caps.minutes.unwrap_or_default()),
            Cap::Tokens => format!("{} tokens", caps.tokens.unwrap_or_default()),
            Cap::Cost => format!("a cost of {}", caps.cost.unwrap_or_default()),
        };
        format!("The budget of {amount} is used up. Go on with as much again? (yes, or `tl budget`)")
    }

    /// The first cap that is used up.
    #[must_use]
    pub fn over(&self) -> Option<Cap> {
        let Budget { caps, used, .. } = self;
        let full = |cap: Option<u64>, used: u64| cap.is_some_and(|cap| used >= cap);
        [
            (Cap::Turns, full(caps.turns, used.turns)),
            (Cap::Minutes, full(caps.minutes.map(|minutes| minutes.saturating_mul(60_000)), used.millis)),
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
        let over = |caps: Caps| Budget { caps, used, reached: None }.over();
        assert_eq!(over(Caps::default()), None);
        assert!(!Caps::default().any());
        for (caps, cap) in [
            (Caps { turns: Some(3), ..Caps::default() }, Some(Cap::Turns)),
            (Caps { turns: Some(4), ..Caps::default() }, None),
            (Caps { minutes: Some(2), ..Caps::default() }, Some(Cap::Minutes)),
            (Caps { minutes: Some(3), ..Caps::default() }, None),
            (Caps { tokens: Some(500), ..Caps::default() }, Some(Cap::Tokens)),
            (Caps { tokens: Some(501), ..Caps::default() }, None),
            (Caps { cost: Some(1.5), ..Caps::default() }, Some(Cap::Cost)),
            (Caps { cost: Some(1.6), ..Caps::default() }, None),
        ] {
            assert_eq!(over(caps), cap, "{caps:?}");
            assert!(caps.any());
        }
    }
}
