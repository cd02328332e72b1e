//! `cargo xtask bench`: measures what issue 2 promises, each figure beside its baseline, in one run.
//!
//! One file per benchmark; what they share is [`table`] (figures), [`measure`] (clock and quantiles), [`daemon`] (a real
//! `tl serve`), [`history`] and [`archive`] (a past that was never lived), [`baseline`] and [`relay`] (the bare loops),
//! [`wire`] and [`listener`] (a client that does nothing but read), [`emission`] and [`agent`] (an agent that does nothing but speak).
//!
//! **Invariant:** wrong behaviour (an event that is lost, doubled or out of order) is an error and fails the run; a figure
//! that misses its goal is reported, and fails the run only with `--strict`. Every process that is started is ended, by
//! its id.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and starts the processes that it measures")]

mod agent;
mod appends;
mod archive;
mod baseline;
mod channel;
mod daemon;
mod emission;
mod history;
mod latency;
mod list;
mod listener;
mod measure;
mod memory;
mod open;
mod parked;
mod prompt;
mod relay;
mod sse;
mod sse_load;
mod start;
mod table;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand, ValueEnum};

use archive::Archive;
use table::Figure;

/// Measures Throughline against bare loops
#[derive(Parser)]
#[command(name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// Which benchmarks; all if none is named
    names: Vec<Name>,
    /// Small sizes: only behaviour is judged, not time
    #[arg(long)]
    smoke: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Fail if a goal is missed
    #[arg(long)]
    strict: bool,
}

/// The processes that a benchmark starts of itself.
#[derive(Subcommand)]
enum Part {
    /// An agent that does nothing but emit
    #[command(hide = true)]
    Agent,
    /// What the agent emits, to stdout
    #[command(hide = true)]
    Emit { order: Vec<String> },
    /// Pipe to fsync to socket
    #[command(hide = true)]
    Relay { file: PathBuf },
    /// The clients of `sse`
    #[command(hide = true)]
    SseLoad(sse_load::Args),
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Durable appends per second
    Appends,
    /// From an agent's update to a client
    Latency,
    /// The last page of a long task
    Open,
    /// The first page of many tasks
    List,
    /// The daemon's private memory
    Memory,
    /// From start to ready
    Start,
    /// A thousand clients of one task
    Sse,
    /// From a message to the agent's first update
    Prompt,
    /// What parked sessions cost
    Parked,
    /// From a message in a chat to the first reply
    Channel,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to see that it works.
    Smoke,
    /// Enough to trust the figures.
    Full,
}

impl Size {
    /// The one or the other.
    pub(crate) fn pick<T>(self, smoke: T, full: T) -> T {
        match self {
            Size::Smoke => smoke,
            Size::Full => full,
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    match cli.part {
        Some(Part::Agent) => agent::run()?,
        Some(Part::Emit { order }) => emission::to_stdout(&order.join(" "))?,
        Some(Part::Relay { file }) => relay::run(&file)?,
        Some(Part::SseLoad(args)) => sse_load::run(args)?,
        None => return benchmarks(&cli),
    }
    Ok(ExitCode::SUCCESS)
}

fn benchmarks(cli: &Cli) -> Result<ExitCode> {
    let size = if cli.smoke { Size::Smoke } else { Size::Full };
    let names = if cli.names.is_empty() { Name::value_variants() } else { &cli.names };
    if names != [Name::Appends] {
        daemon::find_tl()?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let before = measure::load();
    let mut figures = runtime.block_on(run_all(names, size))?;
    // Times mean little on a busy machine, so it is said how busy it was.
    eprintln!("bench: {} cores, load {before} before and {} after", measure::cores(), measure::load());
    if size == Size::Smoke {
        figures = figures.into_iter().map(Figure::unjudged).collect();
    }
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print!("{}", table::render(&figures));
    }
    let missed = figures.iter().any(Figure::missed);
    Ok(if missed && cli.strict { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn run_all(names: &[Name], size: Size) -> Result<Vec<Figure>> {
    let mut archive = None;
    let mut figures = vec![];
    for name in names {
        let needs_archive = matches!(name, Name::Open | Name::List | Name::Memory | Name::Start);
        if needs_archive && archive.is_none() {
            archive = Some(Archive::write(size).await.context("the archive could not be written")?);
        }
        let word = name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        eprintln!("bench: {word} …");
        let measured = match (name, &archive) {
            (Name::Appends, _) => appends::run(size).await,
            (Name::Latency, _) => latency::run(size).await,
            (Name::Sse, _) => sse::run(size).await,
            (Name::Prompt, _) => prompt::run(size).await,
            (Name::Parked, _) => parked::run(size).await,
            (Name::Channel, _) => channel::run(size).await,
            (Name::Open, Some(archive)) => open::run(archive, size).await,
            (Name::List, Some(archive)) => list::run(archive, size).await,
            (Name::Memory, Some(archive)) => memory::run(archive, size).await,
            (Name::Start, Some(archive)) => start::run(archive, size).await,
            (Name::Open | Name::List | Name::Memory | Name::Start, None) => continue,
        };
        figures.extend(measured.with_context(|| format!("{word} went wrong"))?);
    }
    Ok(figures)
}
