//! `cargo xtask mutants`: is every line that decides what an agent may do held by a test?
//!
//! `.cargo/mutants.toml` says which files and which tests. Changes are made in a copy of the checkout. A mutant that
//! makes a test run for ever is found, too.

use std::path::Path;

use anyhow::{Result, bail};

use crate::Verdict;
use crate::run::{Call, Exit};

/// What to look at.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only mutants whose description (`file:line: what`) matches this expression
    #[arg(long)]
    only: Option<String>,
    /// Only this part of them, such as 1/4
    #[arg(long)]
    shard: Option<String>,
}

/// Runs `cargo mutants`; its own output names the survivors.
pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    if !Call::cargo(&["mutants", "--version"]).succeeds(root) {
        bail!("cargo-mutants is missing: cargo install --locked cargo-mutants");
    }
    let mut words = vec!["mutants", "--package", "throughline-model", "--output", "target"];
    words.extend(args.only.iter().flat_map(|only| ["--re", only]));
    words.extend(args.shard.iter().flat_map(|shard| ["--shard", shard]));
    let call = Call::cargo(&words).env("CARGO_PROFILE_DEV_DEBUG", "0");
    println!("=== {}", call.shown());
    Ok(match call.run(root)? {
        Exit::Ok => Verdict::Clean,
        Exit::Failed => Verdict::Findings,
    })
}
