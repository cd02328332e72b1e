//! Repository chores, as `cargo xtask <chore>`.
//!
//! Owns the command line of the chores; each chore has its own module. Refuses to hold product
//! logic: nothing that `tl` needs at run time lives here, and no crate depends on this one.

mod bench;
mod campaign;
mod ci;
mod fuzz;
mod mutants;
mod run;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line of `cargo xtask`.
#[derive(Parser)]
#[command(name = "cargo xtask", about = "Repository chores")]
pub(crate) struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check layers, file headers, sizes, names and documents; report everything in one run
    Tidy,
    /// Run everything that must pass before a change lands, and stop at the first failure
    Ci,
    /// Run the tests of approvals, or of chats, for as long as one has patience: a million sequences, a million strangers
    Campaign(campaign::Args),
    /// Look for texts that break what must hold of commands, of what is shown, and of rules
    Fuzz(fuzz::Args),
    /// Change the approval and policy code line by line, and see whether a test notices
    Mutants(mutants::Args),
    /// Measure against bare loops, in one run; `--smoke` judges behaviour only
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let root = workspace_root();
    let outcome = match Cli::parse().chore {
        Chore::Tidy => tidy::run(&root),
        Chore::Ci => ci::run(&root),
        Chore::Campaign(args) => campaign::run(&args, &root),
        Chore::Fuzz(args) => fuzz::run(&args, &root),
        Chore::Mutants(args) => mutants::run(&args, &root),
        Chore::Bench(args) => bench::run(&args, &root),
    };
    match outcome {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Findings) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What a chore found: an `Err` means it could not even look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Clean,
    Findings,
}

/// The checkout to work on, from any folder of it. `cargo run` says it at run time, which is right
/// even where several clones share one target folder.
fn workspace_root() -> PathBuf {
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
