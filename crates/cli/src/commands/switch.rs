//! `tl switch`: the same task goes on with another agent or model.

use clap::ArgGroup;
use throughline_api::task::SwitchTo;

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe_line;
use crate::task_change;

/// Go on with another agent or model
///
/// Another agent takes over with a brief of what was done. Another model is set in the session if it offers it, and
/// refused if it does not. An agent that takes a model only when it is started goes on in a new session, with a brief.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("to").required(true).multiple(true).args(["agent", "model"])))]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Which agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Which model
    #[arg(long, value_name = "M")]
    model: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let to = SwitchTo { agent: args.agent, model: args.model };
    let change = context.tell(async |client| Ok(client.switch(&args.key, &to).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    let named: Vec<&str> = [to.agent.as_deref(), to.model.as_deref()].into_iter().flatten().collect();
    task_change::print(&context, &change, |locale| locale.goes_on_with(safe_line(&named.join(", ")))).await
}
