//! The daemon's log: structured lines on stderr, as text for people or as JSON for programs.
//!
//! What is logged is chosen with `THROUGHLINE_LOG` (the syntax of `tracing` filters), `info` if unset.
//! Client commands do not log: what they have to say is their output.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// The variable that chooses what is logged.
const FILTER: &str = "THROUGHLINE_LOG";

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

/// Starts the log of this process. Without a wish: text on a terminal, JSON anywhere else.
pub(crate) fn start(wish: Option<LogFormat>) {
    let terminal = std::io::stderr().is_terminal();
    let format = wish.unwrap_or(if terminal { LogFormat::Text } else { LogFormat::Json });
    let filter = EnvFilter::try_from_env(FILTER).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Only fails if a log was started before, which then stays.
    let _ = match format {
        LogFormat::Text => {
            let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            log.with_ansi(colour).try_init()
        }
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
