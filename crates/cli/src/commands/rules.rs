//! `tl rules`: which commands a project allows or forbids without asking.

use std::fmt::Write as _;

use clap::Subcommand;
use throughline_api::policy::{AddRule, MakeRule, Policy, Rule, RuleVerdict};

use super::Context;
use crate::failure::Outcome;
use crate::moment;
use crate::output::{Output, Style};
use crate::place;
use crate::role::RoleArg;
use crate::safe_text::safe_line;
use crate::span;
use crate::table::{Cell, table};

/// List, add and revoke rules: commands that a project allows or forbids without asking
///
/// A rule is about one plain command, word by word, in the project's folders. A rule that forbids wins. Shells,
/// operators, wrappers such as `sudo` or `xargs`, and everything else that no rule fits, is asked about each time.
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
    /// List the rules, oldest first
    List,
    /// Allow a command from now on, or forbid it
    Add {
        /// Forbid it: everything that begins with these words
        #[arg(long)]
        deny: bool,
        /// Only for this role
        #[arg(long, value_name = "R")]
        role: Option<RoleArg>,
        /// It holds no longer than this: 30m, 12h, 7d
        #[arg(long, value_name = "SPAN", value_parser = span::secs)]
        expires: Option<u64>,
        /// The command, word by word: `tl rules add -- cargo test`
        #[arg(required = true, value_name = "WORD", trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// Allow from now on what was approved
    From {
        /// The approval's id
        #[arg(value_name = "ID")]
        id: uuid::Uuid,
        /// It holds no longer than this: 30m, 12h, 7d
        #[arg(long, value_name = "SPAN", value_parser = span::secs)]
        expires: Option<u64>,
    },
    /// Take a rule back
    Revoke {
        /// Its number
        #[arg(value_name = "N")]
        number: u64,
    },
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let place = async || project(&context, args.project.as_deref()).await;
    match args.verb.unwrap_or(Verb::List) {
        Verb::List => {
            let project = place().await?;
            let policy = context.ask(async |client| Ok(client.policy(&project).await?)).await?;
            output.document(&policy.rules, || list(output, &policy))
        }
        Verb::Add { deny, role, expires, words } => {
            let project = place().await?;
            let verdict = if deny { RuleVerdict::Deny } else { RuleVerdict::Allow };
            // One word with spaces is a line that somebody quoted.
            let argv = words.iter().flat_map(|word| word.split(' ')).filter(|word| !word.is_empty());
            let argv = argv.map(str::to_owned).collect();
            let add = AddRule { verdict, argv, role: role.map(Into::into), expires_in_secs: expires };
            // The same rule again is the same rule.
            let rule = context.ask(async |client| Ok(client.add_rule(&project, &add).await?)).await?;
            output.document(&rule, || line(&rule) + "\n")
        }
        Verb::From { id, expires } => {
            let make = MakeRule { expires_in_secs: expires };
            let rule = context.ask(async |client| Ok(client.make_rule(id, &make).await?)).await?;
            output.document(&rule, || line(&rule) + "\n")
        }
        Verb::Revoke { number } => {
            let project = place().await?;
            let rule = context.tell(async |client| Ok(client.revoke_rule(&project, number).await?)).await?;
            output.document(&rule, || format!("revoked: {}\n", line(&rule)))
        }
    }
}

/// The name of the project that is meant.
pub(super) async fn project(context: &Context, named: Option<&str>) -> Outcome<String> {
    let output = context.output;
    let project = context
        .ask(async |client| match named {
            Some(name) => place::named(client, name).await,
            None => place::here_or_added(client, output).await,
        })
        .await?;
    Ok(project.id.to_string())
}

/// A rule in one line: `rule 3: allow cargo test [names]`.
pub(crate) fn line(rule: &Rule) -> String {
    let mut text = format!("rule {}: {} {}", rule.number, verdict(rule), safe_line(&rule.words));
    // Writing to a String cannot fail.
    if let Some(role) = rule.role {
        let _ = write!(text, ", for the {}", role.word());
    }
    if let Some(end) = &rule.expires_at {
        let _ = write!(text, ", until {}", moment::clock(end));
    }
    text
}

fn verdict(rule: &Rule) -> &'static str {
    match rule.verdict {
        RuleVerdict::Allow => "allow",
        RuleVerdict::Deny => "deny",
    }
}

fn list(output: Output, policy: &Policy) -> String {
    let name = safe_line(&policy.project.name);
    if policy.rules.is_empty() {
        return format!("{name} has no rules: everything is asked about, as far as `tl policy` does not allow it\n");
    }
    let row = |rule: &Rule| {
        let role = rule.role.map(|role| role.word()).unwrap_or_default();
        let until = rule.expires_at.as_deref().map(|end| format!("until {}", moment::clock(end))).unwrap_or_default();
        let from = format!("from {} on {}", safe_line(&rule.made.source.surface), moment::clock(&rule.made.at));
        vec![
            Cell::new(rule.number.to_string()),
            Cell::new(verdict(rule)),
            Cell::styled(safe_line(&rule.words), Style::Strong),
            Cell::new(role),
            Cell::new(until),
            Cell::new(format!("used {}×", rule.uses)),
            Cell::styled(from, Style::Faint),
        ]
    };
    table(output, &policy.rules.iter().map(row).collect::<Vec<_>>())
}
