//! `tl completions`: what a shell needs to complete `tl` commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::failure::{Failure, Outcome};
use crate::output::write_stdout;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "For example: tl completions bash > ~/.local/share/bash-completion/completions/tl")]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tl", &mut script);
    let script = String::from_utf8(script).map_err(|error| Failure::new("internal", error.to_string()))?;
    write_stdout(&script)
}
