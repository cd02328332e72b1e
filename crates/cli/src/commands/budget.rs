//! `tl budget`: how much a task may use before you are asked again.

use std::fmt::Display;

use throughline_api::budget::{Budget, Caps};

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe_line;

/// Show or set how much a task may use before you are asked again
///
/// A turn that uses up the rest is asked to stop, and you are asked whether to go on: nothing starts before. A yes extends
/// it, and the agent goes on where it stopped. Tokens and cost count as far as the agent reports them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// So many turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    turns: Option<u64>,
    /// So many minutes in which agents work
    #[arg(long, value_name = "M")]
    minutes: Option<f64>,
    /// So many tokens
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,
    /// So much money, in the agent's currency
    #[arg(long, value_name = "C")]
    cost: Option<f64>,
    /// No bound any more
    #[arg(long, conflicts_with_all = ["turns", "minutes", "tokens", "cost", "extend"])]
    off: bool,
    /// As much again
    #[arg(long, conflicts_with_all = ["turns", "minutes", "tokens", "cost"])]
    extend: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let Args { key, turns, minutes, tokens, cost, off, extend } = args;
    let caps = Caps { turns, minutes, tokens, cost };
    let budget = if extend {
        context.tell(async |client| Ok(client.extend_budget(&key).await?)).await
    } else if off || caps != Caps::default() {
        context.ask(async |client| Ok(client.set_budget(&key, &caps).await?)).await
    } else {
        context.ask(async |client| Ok(client.budget(&key).await?)).await
    };
    let budget = budget.map_err(|failure| failure.about(&key))?;
    context.output.document(&budget, || shown(&budget))
}

fn shown(budget: &Budget) -> String {
    let key = safe_line(&budget.task.key);
    fn of<T: Default + Display>(name: &str, used: Option<T>, cap: Option<T>) -> Option<String> {
        cap.map(|cap| format!("  {name:<8} {} of {cap}\n", used.unwrap_or_default()))
    }
    let Budget { used, caps, .. } = budget;
    let cost = caps.cost.map(|cap| format!("  {:<8} {:.2} of {cap:.2}\n", "cost", used.cost.unwrap_or_default()));
    let lines = [
        of("turns", used.turns, caps.turns),
        of("minutes", used.minutes, caps.minutes),
        of("tokens", used.tokens, caps.tokens),
        cost,
    ];
    let lines: String = lines.into_iter().flatten().collect();
    match (lines.as_str(), &budget.reached) {
        ("", _) => format!("{key} has no budget: it may use what it needs\n"),
        (_, None) => format!("{key}\n{lines}"),
        (_, Some(cap)) => format!("{key}\n{lines}used up ({}): go on with: tl budget {key} --extend\n", safe_line(cap)),
    }
}
