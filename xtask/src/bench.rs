//! `cargo xtask bench`: builds and runs the benchmarks (`bench/`).
//!
//! Owns the choice of the profile: figures need an optimised build, `--smoke` judges behaviour alone and takes the build
//! that the tests made. Refuses to know any benchmark: names and flags are passed on.

use std::path::Path;

use anyhow::Result;

use crate::Verdict;
use crate::run::{Call, Exit};

#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Args {
    /// Small sizes: fails on wrong behaviour, never on time
    #[arg(long)]
    smoke: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Fail if a goal is missed
    #[arg(long)]
    strict: bool,
    /// Which benchmarks: appends, latency, open, list, memory, start, sse; all if none is named
    names: Vec<String>,
}

pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    Ok(match call(args).run(root)? {
        Exit::Ok => Verdict::Clean,
        Exit::Failed => Verdict::Findings,
    })
}

fn call(args: &Args) -> Call {
    let mut words = vec!["run", "--quiet", "--package", "throughline-bench"];
    if !args.smoke {
        words.extend(["--profile", "quick"]);
    }
    words.push("--");
    let flags = [(args.smoke, "--smoke"), (args.json, "--json"), (args.strict, "--strict")];
    words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag));
    words.extend(args.names.iter().map(String::as_str));
    Call::cargo(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_from_an_optimised_build_and_smoke_from_the_tests_own() {
        let args = Args { names: vec!["open".into(), "list".into()], json: true, ..Args::default() };
        let shown = call(&args).shown();
        assert_eq!(shown, "cargo run --quiet --package throughline-bench --profile quick -- --json open list");
        let smoke = call(&Args { smoke: true, ..Args::default() }).shown();
        assert_eq!(smoke, "cargo run --quiet --package throughline-bench -- --smoke");
    }
}
