//! `cargo xtask campaign`: the long runs of the tests that hold approvals to their promise (P5), and those of chats in
//! crowds (P7, P8, P10): duplicates, kills and strangers.
//!
//! The tests themselves are part of every `cargo test`, with a few thousand sequences. This runs them with as many as
//! one has patience for. It knows no more of them than the names of their settings.

use std::path::Path;

use anyhow::Result;

use crate::Verdict;
use crate::run::{Call, Exit, timed};

/// What the runs are about.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum About {
    Approvals,
    Channels,
}

/// How long the runs are.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which runs
    #[arg(value_enum, default_value_t = About::Approvals)]
    about: About,
    /// Random sequences of the model: decide, replay, expire, crash, restart, epoch change, policy change
    #[arg(long, default_value_t = 1_000_000)]
    sequences: u64,
    /// Sequences over the real store, killed at each write
    #[arg(long, default_value_t = 10_000)]
    deaths: u64,
    /// Random inputs for each property of the command parser and of the display escaper
    #[arg(long, default_value_t = 1_000_000)]
    inputs: u64,
    /// Updates from chats, a fifth of them again, while the daemon is killed every few seconds
    #[arg(long, default_value_t = 10_000)]
    updates: u64,
    /// Updates of strangers on each channel
    #[arg(long, default_value_t = 1_000_000)]
    strangers: u64,
}

/// Runs all of them, and stops at the first that fails: its output names the seed.
pub(crate) fn run(args: &Args, root: &Path) -> Result<Verdict> {
    let runs = match args.about {
        About::Approvals => approvals(args),
        About::Channels => channels(args),
    };
    for call in runs {
        println!("\n=== {}", call.shown());
        let (exit, took) = timed(|| call.run(root));
        println!("    took {} s", took.as_secs());
        if exit? == Exit::Failed {
            return Ok(Verdict::Findings);
        }
    }
    Ok(Verdict::Clean)
}

fn approvals(args: &Args) -> Vec<Call> {
    let inputs = args.inputs.to_string();
    vec![
        test("throughline-model", "no_sequence_breaks_the_promise")
            .env("THROUGHLINE_APPROVAL_SEQUENCES", &args.sequences.to_string()),
        test("throughline-engine", "no_death_breaks_the_promise")
            .env("THROUGHLINE_APPROVAL_DEATHS", &args.deaths.to_string()),
        test("throughline-model", "reading_a_plain_line_again_gives_the_same_words").env("PROPTEST_CASES", &inputs),
        test("throughline-model", "a_rule_allows_what_begins_with_its_words").env("PROPTEST_CASES", &inputs),
        test("throughline-model", "shown::tests").env("PROPTEST_CASES", &inputs),
    ]
}

fn channels(args: &Args) -> Vec<Call> {
    let crowd = |name| test("throughline-cli", &format!("channels_campaign::{name}")).env("TL_LOG", "warn");
    vec![
        crowd("each_update_has_one_effect").env("TL_UPDATES", &args.updates.to_string()),
        crowd("whatever_strangers_send").env("TL_STRANGERS", &args.strangers.to_string()),
        test("throughline-channels", "never_panic").env("THROUGHLINE_NOISE", &args.strangers.to_string()),
    ]
}

/// One test, optimised: a million sequences are minutes then, and hours otherwise.
fn test(package: &str, name: &str) -> Call {
    Call::cargo(&["test", "--profile", "measured", "--package", package, name, "--", "--nocapture"])
}
