//! `tl add`: a second agent under the same task. It replaces nothing.

use throughline_api::task::AddExecution;

use super::Context;
use crate::failure::Outcome;
use crate::role::RoleArg;
use crate::task_change;

/// Add an agent to a task, in a role
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Which agent
    #[arg(long, value_name = "A")]
    agent: String,
    /// As what
    #[arg(long, value_name = "R")]
    role: RoleArg,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let add = AddExecution { agent: args.agent.clone(), role: args.role.into() };
    let change = context.tell(async |client| Ok(client.add_execution(&args.key, &add).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    let done = format!("{} joined as {}", add.agent, add.role.word());
    task_change::print(context.output, &change, &done)
}
