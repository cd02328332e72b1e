//! `tl keep`: the body of a keeper. Started by the daemon, never by a person.

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};

/// Own one agent's process (started by the daemon)
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// The keeper's own folder
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn run(args: &Args) -> Outcome {
    throughline_keeper::run(&args.dir).map_err(|error| Failure::new("keeper_failed", error.to_string()))
}
