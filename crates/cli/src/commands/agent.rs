//! `tl agent demo`: the built-in agent on stdio.

use clap::Subcommand;

use crate::failure::{Failure, Outcome};
use crate::home;

/// Run a built-in agent on stdio, for a client that speaks ACP
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    agent: Agent,
}

#[derive(Debug, Subcommand)]
enum Agent {
    /// The demo agent: a real ACP agent with no model behind it
    Demo,
}

pub(super) fn run(args: &Args) -> Outcome {
    let Agent::Demo = args.agent;
    let state_dir = home::resolve()?.path().join("agents").join("demo");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from)?;
    let outcome = runtime.block_on(throughline_acp::demo::run(&state_dir));
    // Stdin may still be open if the agent failed, and must not keep the process.
    runtime.shutdown_background();
    outcome.map_err(|error| Failure::new("demo_failed", error.to_string()))
}
