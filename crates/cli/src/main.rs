//! `tl`, the one binary: reads the command line, runs one command, turns failures into exit codes.
//!
//! *Invariant:* `tl keep` runs before any runtime, thread, log or parser of commands is set up: a keeper is one small
//! single-threaded process. Commands hold no logic of their own: they talk to the daemon through the
//! typed client and print what comes back.

mod approval_view;
mod approvals;
mod build_identity;
mod commands;
mod daemon;
mod decision_view;
mod failure;
mod follow;
mod home;
mod interrupt;
mod language;
mod logging;
mod message_content;
mod moment;
mod output;
mod place;
mod qr;
mod role;
mod safe_text;
mod span;
mod table;
mod task_change;
mod task_view;
mod terminal;
mod timeline_view;
mod turn_view;
mod watch;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use commands::{Cli, keep};
use failure::{Exit, Failure, Outcome};

fn main() -> ExitCode {
    let outcome = match keep::Args::given() {
        Some(args) => keep::run(&args),
        None => parsed(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = std::io::stderr().write_all(failure.render().as_bytes());
            failure.exit.into()
        }
    }
}

/// Runs the command that was typed.
fn parsed() -> Outcome {
    match Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) if is_request(&error) => {
            // Help and version are answers, and go to stdout.
            let _ = error.print();
            Ok(())
        }
        Err(error) => Err(usage(&error)),
    }
}

fn is_request(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// A command line that makes no sense, in the form of all other failures.
fn usage(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return Failure::invalid_utf8("an argument");
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (message, hint) = match text.split_once("\n\nFor more information, try ") {
        Some((message, command)) => (message, format!("try {}", command.trim().trim_end_matches('.'))),
        None => (text, "try 'tl --help'".to_owned()),
    };
    Failure::new("usage", message.trim_end()).hint(hint).exit(Exit::Usage)
}
