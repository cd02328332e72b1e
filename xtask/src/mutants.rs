//! `cargo xtask mutants`: is every line that decides what an agent may do held by a test?
//!
//! [`PASSES`] says which files are changed and which tests have to notice: as little as can be is built for each change.
//! Changes are made in a copy of the checkout. A change that makes a test run for ever is found, too.

use std::path::Path;

use anyhow::{Result, bail};

use crate::Verdict;
use crate::run::{Call, Exit};

/// Files, and the tests that hold them.
struct Pass {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
}

const PASSES: [Pass; 3] = [
    Pass {
        name: "decisions",
        package: "throughline-model",
        files: &[
            "crates/model/src/approval.rs",
            "crates/model/src/policy/*.rs",
            "crates/model/src/project.rs",
            "crates/model/src/task/approvals.rs",
            "crates/model/src/task/budget.rs",
            "crates/model/src/task/questions.rs",
        ],
        tests: &["--test=trust"],
    },
    // These have tests beside them, so the crate is built twice.
    Pass {
        name: "texts",
        package: "throughline-model",
        files: &[
            "crates/model/src/budget.rs",
            "crates/model/src/question/*.rs",
            "crates/model/src/raw_input.rs",
            "crates/model/src/shown.rs",
        ],
        tests: &["--lib", "--test=trust"],
    },
    Pass {
        name: "engine",
        package: "throughline-engine",
        files: &["crates/engine/src/policy.rs"],
        tests: &["--lib", "--", "policy"],
    },
];

/// What to look at.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this pass: decisions, texts or engine
    #[arg(long)]
    pass: Option<String>,
    /// Only changes whose description (`file:line: what`) matches this expression
    #[arg(long)]
    only: Option<String>,
    /// Only this part of each pass, such as 1/4
    #[arg(long)]
    shard: Option<String>,
}

/// Runs `cargo mutants`; its own output names what no test noticed.
pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    if !Call::cargo(&["mutants", "--version"]).succeeds(root) {
        bail!("cargo-mutants is missing: cargo install --locked cargo-mutants");
    }
    let mut verdict = Verdict::Clean;
    for pass in PASSES.iter().filter(|pass| args.pass.as_deref().is_none_or(|name| name == pass.name)) {
        let output = format!("target/mutants/{}", pass.name);
        std::fs::create_dir_all(root.join(&output))?;
        let mut words = vec!["mutants", "--package", pass.package, "--output", &output];
        words.extend(pass.files.iter().flat_map(|file| ["--file", file]));
        words.extend(args.only.iter().flat_map(|only| ["--re", only]));
        words.extend(args.shard.iter().flat_map(|shard| ["--shard", shard]));
        words.push("--");
        words.extend(pass.tests);
        let call = Call::cargo(&words).env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
        println!("=== {}", call.shown());
        if call.run(root)? == Exit::Failed {
            verdict = Verdict::Findings;
        }
    }
    Ok(verdict)
}
