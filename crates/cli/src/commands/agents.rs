//! `tl agents`: which agents are here, and how to get the others; `tl agents login A`: the agent's own login.

use std::process::{Command, Stdio};

use clap::Subcommand;
use serde_json::json;
use throughline_engine::Config;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::table::{Cell, table};

/// List the agents: which are installed, how to install the others
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run an agent's own login here, in this terminal
    Login {
        /// Which agent
        #[arg(value_name = "A")]
        agent: String,
    },
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    match args.verb {
        None => list(context).await,
        Some(Verb::Login { agent }) => login(&context, &agent),
    }
}

/// The agent's own login, with the variables that the settings give it, so that it stores what the agent will look for.
fn login(context: &Context, name: &str) -> Outcome {
    let config = Config::load(&context.home)?;
    let Some(agent) = config.agent(name) else {
        return Err(Failure::new("agent_unknown", format!("there is no agent called `{name}`")).hint("see `tl agents`"));
    };
    let Some((program, args)) = agent.login.split_first() else {
        let hint =
            format!("`login = [\"program\", \"argument\"]` under [agents.{}] in config.toml gives it one", agent.name);
        return Err(Failure::new("agent_has_no_login", format!("{} has no login of its own", agent.name)).hint(hint));
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "a login is the one thing that an agent does in the person's terminal"
    )]
    let mut command = Command::new(program);
    command.args(args).envs(config.variables(agent)?);
    if context.output.is_json() {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let status = command.status().map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let (code, hint) = match missing {
            true => ("agent_not_installed", agent.install.clone()),
            false => ("agent_start_failed", "`tl doctor` checks the agent".to_owned()),
        };
        Failure::new(code, format!("`{program}` cannot be run: {error}")).hint(hint)
    })?;
    if !status.success() {
        let message = format!("the login of {} ended with {status}", agent.name);
        return Err(Failure::new("login_failed", message).hint("see what it said above"));
    }
    context.output.document(&json!({ "agent": agent.name, "login": "ended" }), || {
        format!(
            "the login of {} has ended; `tl retry KEY` goes on with a task that waited for it\n",
            safe_line(&agent.name)
        )
    })
}

async fn list(context: Context) -> Outcome {
    let list = context.ask(async |client| Ok(client.agents().await?)).await?;
    let output = context.output;
    output.document(&list, || {
        let rows: Vec<Vec<Cell>> = list
            .agents
            .iter()
            .flat_map(|agent| {
                let (state, style, where_from) = match &agent.found {
                    Some(path) if agent.wants_login => ("login needed", Style::Warn, path.clone()),
                    Some(path) => ("found", Style::Good, path.clone()),
                    None => ("not found", Style::Faint, agent.install.clone()),
                };
                let mut rows = vec![vec![
                    Cell::styled(safe_line(&agent.name), Style::Strong),
                    Cell::styled(state, style),
                    Cell::styled(safe_line(&where_from), Style::Faint),
                ]];
                if agent.has_login && agent.found.is_some() {
                    let how = format!("log in: tl agents login {}", safe_line(&agent.name));
                    rows.push(vec![Cell::new(""), Cell::new(""), Cell::styled(how, Style::Faint)]);
                }
                if let Some(what) = agent.runs_unasked.as_ref().filter(|_| agent.found.is_some()) {
                    let what = format!("runs some commands unasked: {}", safe_line(what));
                    rows.push(vec![Cell::new(""), Cell::new(""), Cell::styled(what, Style::Warn)]);
                }
                rows
            })
            .collect();
        table(output, &rows)
    })
}
