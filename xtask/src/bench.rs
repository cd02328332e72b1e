//! `cargo xtask bench`: builds and runs the benchmarks (`bench/`).
//!
//! Owns the choice of the profile: figures need an optimised build, `--smoke` judges behaviour alone and takes the build
//! that the tests made. Refuses to know any benchmark: names and flags are passed on.

use std::path::Path;

use anyhow::{Context as _, Result};

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
    /// Which benchmarks: appends, latency, open, list, memory, start, sse, prompt, parked; all if none is named
    names: Vec<String>,
}

pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    // One call for both programs: cargo chooses features per call, and two calls would undo each other's work.
    if build(args).run(root)? == Exit::Failed {
        return Ok(Verdict::Findings);
    }
    let metadata = Call::cargo(&["metadata", "--no-deps", "--format-version", "1"]).output(root)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str().context("cargo does not say where it builds")?;
    Ok(match measure(args, Path::new(target)).run(root)? {
        Exit::Ok => Verdict::Clean,
        Exit::Failed => Verdict::Findings,
    })
}

fn build(args: &Args) -> Call {
    if args.smoke {
        // The same features as the tests, so that nothing is compiled twice.
        return Call::cargo(&["build", "--quiet", "--workspace", "--bins"]);
    }
    let packages = ["--package", "throughline-cli", "--package", "throughline-bench"];
    Call::cargo(&[&["build", "--profile", "measured"], &packages[..]].concat())
}

fn measure(args: &Args, target: &Path) -> Call {
    let folder = if args.smoke { "debug" } else { "measured" };
    let program = target.join(folder).join("throughline-bench").display().to_string();
    let flags = [(args.smoke, "--smoke"), (args.json, "--json"), (args.strict, "--strict")];
    let given = flags.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag);
    let words: Vec<&str> = given.chain(args.names.iter().map(String::as_str)).collect();
    Call::program(&program, &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &Args) -> [String; 2] {
        [build(args).shown(), measure(args, Path::new("/target")).shown()]
    }

    #[test]
    fn figures_are_taken_from_an_optimised_build() {
        let args = Args { names: vec!["open".into(), "list".into()], json: true, ..Args::default() };
        assert_eq!(
            shown(&args),
            [
                "cargo build --profile measured --package throughline-cli --package throughline-bench",
                "throughline-bench --json open list",
            ]
        );
    }

    #[test]
    fn smoke_takes_the_build_that_the_tests_made() {
        let args = Args { smoke: true, ..Args::default() };
        assert_eq!(shown(&args), ["cargo build --quiet --workspace --bins", "throughline-bench --smoke"]);
    }
}
