//! `cargo xtask ci`: everything that must pass before a change lands, in one command.
//!
//! Owns the order of the steps (cheap ones first) and the summary. Stops at the first failing step.
//! Refuses to change the checkout: it checks, it never formats or fixes. Tools that are not part of
//! the Rust toolchain are installed only where that is said below, and never silently.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::CommandFactory;

use crate::run::{Call, Exit, timed};
use crate::{Cli, Verdict, tidy};

/// Where the run takes place. Only a CI machine is given new tools for minutes on end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Ci,
    Desk,
}

impl Place {
    fn here() -> Self {
        match std::env::var("CI").as_deref() {
            Ok("" | "0" | "false") | Err(_) => Self::Desk,
            Ok(_) => Self::Ci,
        }
    }
}

/// What is there besides the toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tools {
    nextest: Presence,
    deny: Presence,
    bench: Presence,
    browser: Presence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    There,
    Missing,
}

impl Presence {
    fn of(there: bool) -> Self {
        if there { Self::There } else { Self::Missing }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Step {
    title: &'static str,
    work: Work,
}

#[derive(Debug, PartialEq, Eq)]
enum Work {
    Tidy,
    Call(Call),
    /// A step that this machine cannot do, with the way to get it.
    Skip(&'static str),
}

enum Ending {
    Passed,
    Skipped,
    Failed,
}

struct Done {
    title: &'static str,
    ending: Ending,
    took: Duration,
}

/// Runs all steps and prints the summary.
pub(crate) fn run(root: &Path) -> Result<Verdict> {
    let place = Place::here();
    let tools = Tools {
        nextest: provide("cargo-nextest", &["nextest", "--version"], root),
        deny: match place {
            Place::Ci => provide("cargo-deny", &["deny", "--version"], root),
            Place::Desk => Presence::of(Call::cargo(&["deny", "--version"]).succeeds(root)),
        },
        bench: Presence::of(Cli::command().find_subcommand("bench").is_some()),
        browser: Presence::of(
            Call::program("npm", &["--version"]).succeeds(root)
                && Call::program("chromium", &["--version"]).succeeds(root),
        ),
    };
    let mut done = Vec::new();
    for step in steps(place, tools) {
        let (ending, took) = timed(|| perform(&step, root));
        let ending = ending?;
        let failed = matches!(ending, Ending::Failed);
        done.push(Done { title: step.title, ending, took });
        if failed {
            break;
        }
    }
    Ok(summarise(&done))
}

/// Looks for a cargo subcommand and installs it when it is missing. A machine where that does not
/// work (no network) still gets the rest of the run.
fn provide(package: &str, probe: &[&str], root: &Path) -> Presence {
    if Call::cargo(probe).succeeds(root) {
        return Presence::There;
    }
    println!("\n=== {package} is missing: cargo install --locked {package} (takes minutes, once)");
    let install = Call::cargo(&["install", "--locked", package]);
    Presence::of(matches!(install.run(root), Ok(Exit::Ok)))
}

fn steps(place: Place, tools: Tools) -> Vec<Step> {
    let call = |title, args: &[&str]| Step { title, work: Work::Call(Call::cargo(args)) };
    let doc = Call::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    let mut steps = vec![
        call("format", &["fmt", "--all", "--check"]),
        Step { title: "tidy", work: Work::Tidy },
        call("supply chain", &["deny", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]),
        call("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        Step { title: "rustdoc", work: Work::Call(doc) },
        Step { title: "tests", work: tests(place, tools.nextest) },
        call("doc tests", &["test", "--workspace", "--doc"]),
    ];
    steps.extend(web(place, tools.browser));
    if tools.deny == Presence::Missing {
        steps[2].work = Work::Skip("cargo-deny is not installed: cargo install --locked cargo-deny");
    }
    if tools.bench == Presence::There {
        steps.push(call("bench smoke", &["xtask", "bench", "--smoke"]));
    }
    steps
}

/// The page: built into a binary, checked against the types of that very binary, and used in a browser. A desk without
/// a browser is told so; on CI it is missing only by mistake, and the step fails.
fn web(place: Place, browser: Presence) -> Vec<Step> {
    if (place, browser) == (Place::Desk, Presence::Missing) {
        return vec![Step { title: "web", work: Work::Skip("npm or chromium is missing: apt install npm chromium") }];
    }
    let build = Call::cargo(&["build", "--package", "throughline-cli", "--package", "throughline-testkit"])
        .env("THROUGHLINE_WEB", "build");
    let npm = |args: &[&str]| Work::Call(Call::program("npm", &[&["--prefix", "web"], args].concat()));
    vec![
        Step { title: "web packages", work: npm(&["ci", "--no-audit", "--no-fund"]) },
        Step { title: "web build", work: Work::Call(build) },
        Step { title: "web types", work: npm(&["run", "types"]) },
        Step { title: "web check", work: npm(&["run", "check"]) },
        Step { title: "web units", work: npm(&["test"]) },
        Step { title: "web browser", work: npm(&["run", "e2e"]) },
    ]
}

fn tests(place: Place, nextest: Presence) -> Work {
    Work::Call(match (nextest, place) {
        (Presence::There, Place::Ci) => Call::cargo(&["nextest", "run", "--workspace", "--profile", "ci"]),
        (Presence::There, Place::Desk) => Call::cargo(&["nextest", "run", "--workspace"]),
        // The doc tests have their own step.
        (Presence::Missing, _) => Call::cargo(&["test", "--workspace", "--all-targets"]),
    })
}

fn perform(step: &Step, root: &Path) -> Result<Ending> {
    println!("\n=== {}", step.title);
    match &step.work {
        Work::Skip(why) => {
            println!("skipped: {why}");
            Ok(Ending::Skipped)
        }
        Work::Tidy => Ok(match tidy::run(root)? {
            Verdict::Clean => Ending::Passed,
            Verdict::Findings => Ending::Failed,
        }),
        Work::Call(call) => {
            println!("$ {}", call.shown());
            Ok(match call.run(root)? {
                Exit::Ok => Ending::Passed,
                Exit::Failed => Ending::Failed,
            })
        }
    }
}

fn summarise(done: &[Done]) -> Verdict {
    println!("\n=== summary");
    for step in done {
        let ending = match step.ending {
            Ending::Passed => "ok",
            Ending::Skipped => "skipped",
            Ending::Failed => "FAILED",
        };
        println!("{ending:>8}  {:<14} {:>7.1} s", step.title, step.took.as_secs_f64());
    }
    let total: Duration = done.iter().map(|step| step.took).sum();
    match done.last() {
        Some(Done { title, ending: Ending::Failed, .. }) => {
            println!("ci: failed at `{title}` after {:.1} s", total.as_secs_f64());
            Verdict::Findings
        }
        _ => {
            println!("ci: passed in {:.1} s", total.as_secs_f64());
            Verdict::Clean
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Tools =
        Tools { nextest: Presence::There, deny: Presence::There, bench: Presence::There, browser: Presence::There };
    const NONE: Tools = Tools {
        nextest: Presence::Missing,
        deny: Presence::Missing,
        bench: Presence::Missing,
        browser: Presence::Missing,
    };

    fn shown(place: Place, tools: Tools) -> Vec<String> {
        steps(place, tools)
            .into_iter()
            .map(|step| match step.work {
                Work::Tidy => "tidy".to_owned(),
                Work::Call(call) => call.shown(),
                Work::Skip(_) => format!("skip {}", step.title),
            })
            .collect()
    }

    #[test]
    fn a_ci_machine_with_all_tools_runs_everything_in_order() {
        assert_eq!(
            shown(Place::Ci, ALL),
            [
                "cargo fmt --all --check",
                "tidy",
                "cargo deny check --hide-inclusion-graph bans licenses sources",
                "cargo clippy --workspace --all-targets -- -D warnings",
                r#"RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps"#,
                "cargo nextest run --workspace --profile ci",
                "cargo test --workspace --doc",
                "npm --prefix web ci --no-audit --no-fund",
                r#"THROUGHLINE_WEB="build" cargo build --package throughline-cli --package throughline-testkit"#,
                "npm --prefix web run types",
                "npm --prefix web run check",
                "npm --prefix web test",
                "npm --prefix web run e2e",
                "cargo xtask bench --smoke",
            ]
        );
    }

    #[test]
    fn a_bare_machine_still_runs_all_tests_and_says_what_it_skips() {
        let shown = shown(Place::Desk, NONE);
        assert_eq!(shown[2], "skip supply chain");
        assert_eq!(shown[5..], ["cargo test --workspace --all-targets", "cargo test --workspace --doc", "skip web"]);
        assert!(steps(Place::Ci, NONE).iter().any(|step| step.title == "web browser"), "CI does not skip it");
    }

    #[test]
    fn the_verdict_is_that_of_the_last_step() {
        let step = |ending| Done { title: "a step", ending, took: Duration::ZERO };
        assert_eq!(summarise(&[step(Ending::Passed), step(Ending::Skipped)]), Verdict::Clean);
        assert_eq!(summarise(&[step(Ending::Passed), step(Ending::Failed)]), Verdict::Findings);
    }
}
