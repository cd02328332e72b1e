//! `tl policy`: what the agents of a project may do without asking.

use std::fmt::Write as _;

use clap::{Subcommand, ValueEnum};
use throughline_api::policy::{Allowance, Allowed, Policy, SetPolicy};

use super::{Context, rules};
use crate::failure::{Exit, Failure, Outcome};
use crate::moment;
use crate::role::RoleArg;
use crate::safe_text::safe_line;

/// Show or set what the agents of a project may do without asking
///
/// By default everything is asked about. Reads and edits inside the workspace can be allowed per role; commands are
/// allowed one by one, with `tl rules`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Of this project; the one here if left out
    #[arg(long, value_name = "P", global = true)]
    project: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show it
    Show,
    /// Set it: what is named is allowed, and nothing else
    Set {
        /// Only for this role; for every one if left out
        #[arg(long, value_name = "R")]
        role: Option<RoleArg>,
        /// What is allowed
        #[arg(required = true, value_name = "WHAT")]
        what: Vec<What>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Nothing: everything is asked about
    Ask,
    /// Reading files of the workspace
    Reads,
    /// Changing files of the workspace, but for those that decide what other programs run
    Edits,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let project = rules::project(&context, args.project.as_deref()).await?;
    let policy = match args.verb.unwrap_or(Verb::Show) {
        Verb::Show => context.ask(async |client| Ok(client.policy(&project).await?)).await?,
        Verb::Set { role, what } => {
            let set = SetPolicy { role: role.map(Into::into), allow: allowed(&what)? };
            // What is set twice is set.
            context.ask(async |client| Ok(client.set_policy(&project, &set).await?)).await?
        }
    };
    output.document(&policy, || shown(&policy))
}

fn allowed(what: &[What]) -> Outcome<Vec<Allowed>> {
    if what.contains(&What::Ask) && what.iter().any(|what| *what != What::Ask) {
        return Err(Failure::new("usage", "`ask` means that nothing is allowed, so it stands alone")
            .hint("tl policy set ask, or tl policy set reads edits")
            .exit(Exit::Usage));
    }
    let allowed = |what: &What| match what {
        What::Ask => None,
        What::Reads => Some(Allowed::Reads),
        What::Edits => Some(Allowed::Edits),
    };
    Ok(what.iter().filter_map(allowed).collect())
}

fn shown(policy: &Policy) -> String {
    let mut text = format!("{}\n", safe_line(&policy.project.name));
    // Writing to a String cannot fail.
    for role in ["editor", "reviewer", "tester", "researcher"] {
        let words: Vec<String> =
            policy.allowances.iter().filter(|known| known.role.word() == role).map(allowance).collect();
        let words = if words.is_empty() { "ask".to_owned() } else { words.join(", ") };
        let _ = writeln!(text, "  {role:<10} {words}");
    }
    for rule in &policy.rules {
        let _ = writeln!(text, "  {}", rules::line(rule));
    }
    text
}

fn allowance(allowance: &Allowance) -> String {
    let what = match allowance.what {
        Allowed::Reads => "reads",
        Allowed::Edits => "edits inside the workspace",
    };
    let made = &allowance.made;
    format!("{what} (from {} on {})", safe_line(&made.source.surface), moment::clock(&made.at))
}
