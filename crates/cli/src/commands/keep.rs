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

impl Args {
    /// What the daemon starts a keeper with, read without the parser of all commands: that one weighs more than all else
    /// that a keeper remembers.
    pub(crate) fn given() -> Option<Self> {
        let given: Vec<_> = std::env::args_os().skip(1).take(4).collect();
        match &given[..] {
            [keep, flag, dir] if keep == "keep" && flag == "--dir" => Some(Self { dir: dir.into() }),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    throughline_keeper::run(&args.dir).map_err(|error| Failure::new("keeper_failed", error.to_string()))
}
