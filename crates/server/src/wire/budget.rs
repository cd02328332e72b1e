//! Budgets to the wire.

use throughline_api::budget as api;
use throughline_api::task::TaskRef;
use throughline_model::budget::{Budget, Cap, Caps};

/// A task's budget.
pub(crate) fn budget(budget: &Budget, task: TaskRef) -> api::Budget {
    let used = &budget.used;
    api::Budget {
        task,
        caps: caps(&budget.caps),
        used: api::Caps {
            turns: Some(used.turns),
            minutes: Some((used.millis / 600) as f64 / 100.0),
            tokens: Some(used.tokens),
            cost: Some(used.cost),
        },
        reached: budget.reached.map(|cap| word(cap).to_owned()),
    }
}

pub(super) fn caps(caps: &Caps) -> api::Caps {
    let Caps { turns, minutes, tokens, cost } = *caps;
    api::Caps { turns, minutes, tokens, cost }
}

/// What a client says that a task may use.
pub(crate) fn caps_of(caps: api::Caps) -> Caps {
    let api::Caps { turns, minutes, tokens, cost } = caps;
    Caps { turns, minutes, tokens, cost }
}

pub(super) fn word(cap: Cap) -> &'static str {
    match cap {
        Cap::Turns => "turns",
        Cap::Minutes => "minutes",
        Cap::Tokens => "tokens",
        Cap::Cost => "cost",
    }
}
