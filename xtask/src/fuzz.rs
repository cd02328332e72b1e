//! `cargo xtask fuzz`: libFuzzer against the invariants of the command parser, the display escaper and rules, for a time.
//!
//! Begins with the command lines of the bypass corpus. Needs nightly and `cargo-fuzz`; the same invariants are tried
//! with random texts in every test run (`crates/model/tests/noise.rs`), which needs neither.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::Verdict;
use crate::run::{Call, Exit};

const TARGETS: [&str; 3] = ["argv", "shown", "rules"];
const CORPUS: &str = "crates/model/tests/bypass.txt";

/// Which targets, for how long.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these
    #[arg(value_parser = TARGETS)]
    targets: Vec<String>,
    /// How long each of them runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs one target after the other, and stops at the first that finds something: libFuzzer says how to repeat it.
pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    if !nightly(&["--version"]).succeeds(root) {
        bail!("cargo-fuzz or nightly is missing: rustup toolchain install nightly; cargo install --locked cargo-fuzz");
    }
    let chosen = |target: &&&str| args.targets.is_empty() || args.targets.iter().any(|known| known == **target);
    for target in TARGETS.iter().filter(chosen) {
        seed(target, root)?;
        let time = format!("-max_total_time={}", args.seconds);
        let call = nightly(&["run", target, "--", &time, "-dict=fuzz/shell.dict", "-max_len=4096"]);
        println!("\n=== {}", call.shown());
        if call.run(root)? == Exit::Failed {
            return Ok(Verdict::Findings);
        }
    }
    Ok(Verdict::Clean)
}

fn nightly(args: &[&str]) -> Call {
    Call::program("rustup", &[&["run", "nightly", "cargo", "fuzz"], args].concat())
}

/// A file for each line of the corpus; the rule's target gets a command before it that a rule is made of.
fn seed(target: &str, root: &Path) -> Result<()> {
    let folder = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let corpus = fs::read_to_string(root.join(CORPUS)).with_context(|| format!("could not read {CORPUS}"))?;
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (at, line) in lines.enumerate() {
        let text = if target == "rules" { format!("cargo test\n{line}") } else { line.to_owned() };
        fs::write(folder.join(format!("bypass-{at}")), text).context("could not write a seed")?;
    }
    Ok(())
}
