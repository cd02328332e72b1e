//! The commands: one file each, whose doc comments are the help texts.
//!
//! This file owns the list and the routing, nothing else. Commands that need the daemon get it from
//! [`Context::daemon`], which starts one if none runs.

mod add;
mod agent;
mod agents;
mod answer;
mod approvals;
mod approve;
mod budget;
mod cancel;
mod close;
mod compare;
mod completions;
mod correct;
mod deliveries;
mod deny;
mod digest;
mod discard;
mod dismiss;
mod doctor;
mod down;
mod export;
mod fix;
mod fork;
mod fresh;
mod gc;
mod identities;
mod import;
pub(crate) mod keep;
mod locale;
mod note;
mod notify;
mod open;
mod pair;
mod policy;
mod project;
mod reopen;
mod restore;
mod retry;
mod route;
pub(crate) mod rules;
mod say;
mod serve;
mod show;
mod stand;
mod status;
mod switch;
mod take;
mod tasks;
mod up;

use std::future::Future;

use clap::{Parser, Subcommand};
use throughline_api::client::Client;
use throughline_engine::Home;

use crate::daemon::{self, Daemon};
use crate::failure::{Exit, Failure, Outcome};
use crate::home;
use crate::output::{Format, Output};

/// How often the daemon may go away in the middle of one command.
const TRIES: usize = 10;

/// Throughline remembers work, not sessions: coding agents whose tasks go on where they ended
///
/// Without a command it says where things stand: what needs you, what runs, what rests.
#[derive(Debug, Parser)]
#[command(name = "tl", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Start with: tl say \"plan look around; write notes\"")]
pub(crate) struct Cli {
    /// Print JSON instead of text: one document, or one per line for streams
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Say(say::Args),
    Status(status::Args),
    Tasks(tasks::Args),
    Show(show::Args),
    Export(export::Args),
    Approvals(approvals::Args),
    Approve(approve::Args),
    Deny(deny::Args),
    Answer(answer::Args),
    Budget(budget::Args),
    Cancel(cancel::Args),
    Correct(correct::Args),
    Undo(correct::UndoArgs),
    Retry(retry::Args),
    Close(close::Args),
    Reopen(reopen::Args),
    Fresh(fresh::Args),
    Restore(restore::Args),
    Fork(fork::Args),
    Compare(compare::Args),
    Take(take::Args),
    Discard(discard::Args),
    Switch(switch::Args),
    Add(add::Args),
    Dismiss(dismiss::Args),
    Fix(fix::Args),
    Note(note::Args),
    Locale(locale::Args),
    Pair(pair::Args),
    Identities(identities::Args),
    Notify(notify::Args),
    Digest(digest::Args),
    Deliveries(deliveries::Args),
    Project(project::Args),
    Policy(policy::Args),
    Rules(rules::Args),
    Import(import::Args),
    Agents(agents::Args),
    Route(route::Args),
    Doctor(doctor::Args),
    Open(open::Args),
    Gc(gc::Args),
    Up(up::Args),
    Down(down::Args),
    Serve(serve::Args),
    Completions(completions::Args),
    Agent(agent::Args),
    Keep(keep::Args),
}

/// What a client command works with.
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) home: Home,
}

impl Context {
    /// The daemon of this home; started if none runs, replaced if it is older than this build.
    pub(crate) async fn daemon(&self) -> Outcome<Daemon> {
        daemon::reach(&self.home).await
    }

    /// Asks the daemon something that can be asked twice: again if the daemon goes away in the middle.
    pub(crate) async fn ask<T>(&self, question: impl AsyncFn(&Client) -> Outcome<T>) -> Outcome<T> {
        self.repeat(question, Failure::is_departure).await
    }

    /// Tells the daemon to do something: again only if it is certain that it was not heard.
    pub(crate) async fn tell<T>(&self, order: impl AsyncFn(&Client) -> Outcome<T>) -> Outcome<T> {
        self.repeat(order, Failure::is_unheard).await
    }

    async fn repeat<T>(
        &self,
        call: impl AsyncFn(&Client) -> Outcome<T>,
        again: impl Fn(&Failure) -> bool,
    ) -> Outcome<T> {
        let mut tries = 1;
        loop {
            let daemon = self.daemon().await?;
            match call(&daemon.client).await {
                Err(failure) if again(&failure) && tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }
}

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Outcome {
    let output = Output::of_process(if cli.json { Format::Json } else { Format::Text });
    let command = match cli.command {
        None => return client(output, stand::run),
        Some(command) => command,
    };
    match command {
        // These three set up their own process.
        Command::Keep(args) => keep::run(&args),
        Command::Serve(args) => serve::run(&args, output),
        Command::Agent(args) => agent::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Route(args) => match args.eval() {
            Some(eval) => route::eval(output, eval),
            None => client(output, |context| route::explain(context, args)),
        },
        Command::Say(args) => client(output, |context| say::run(context, args)),
        Command::Status(args) => client(output, |context| status::run(context, args)),
        Command::Tasks(args) => client(output, |context| tasks::run(context, args)),
        Command::Show(args) => client(output, |context| show::run(context, args)),
        Command::Export(args) => client(output, |context| export::run(context, args)),
        Command::Approvals(args) => client(output, |context| approvals::run(context, args)),
        Command::Approve(args) => client(output, |context| approve::run(context, args)),
        Command::Answer(args) => client(output, |context| answer::run(context, args)),
        Command::Deny(args) => client(output, |context| deny::run(context, args)),
        Command::Budget(args) => client(output, |context| budget::run(context, args)),
        Command::Cancel(args) => client(output, |context| cancel::run(context, args)),
        Command::Correct(args) => client(output, |context| correct::run(context, args)),
        Command::Undo(args) => client(output, |context| correct::undo(context, args)),
        Command::Retry(args) => client(output, |context| retry::run(context, args)),
        Command::Close(args) => client(output, |context| close::run(context, args)),
        Command::Reopen(args) => client(output, |context| reopen::run(context, args)),
        Command::Fork(args) => client(output, |context| fork::run(context, args)),
        Command::Compare(args) => client(output, |context| compare::run(context, args)),
        Command::Take(args) => client(output, |context| take::run(context, args)),
        Command::Discard(args) => client(output, |context| discard::run(context, args)),
        Command::Restore(args) => client(output, |context| restore::run(context, args)),
        Command::Fresh(args) => client(output, |context| fresh::run(context, args)),
        Command::Switch(args) => client(output, |context| switch::run(context, args)),
        Command::Fix(args) => client(output, |context| fix::run(context, args)),
        Command::Add(args) => client(output, |context| add::run(context, args)),
        Command::Dismiss(args) => client(output, |context| dismiss::run(context, args)),
        Command::Locale(args) => client(output, |context| locale::run(context, args)),
        Command::Pair(args) => client(output, |context| pair::run(context, args)),
        Command::Identities(args) => client(output, |context| identities::run(context, args)),
        Command::Notify(args) => client(output, |context| notify::run(context, args)),
        Command::Digest(args) => client(output, |context| digest::run(context, args)),
        Command::Deliveries(args) => client(output, |context| deliveries::run(context, args)),
        Command::Note(args) => client(output, |context| note::run(context, args)),
        Command::Project(args) => client(output, |context| project::run(context, args)),
        Command::Policy(args) => client(output, |context| policy::run(context, args)),
        Command::Rules(args) => client(output, |context| rules::run(context, args)),
        Command::Import(args) => client(output, |context| import::run(context, args)),
        Command::Agents(args) => client(output, |context| agents::run(context, args)),
        Command::Doctor(args) => client(output, |context| doctor::run(context, args)),
        Command::Open(args) => client(output, |context| open::run(context, args)),
        Command::Gc(args) => client(output, |context| gc::run(context, args)),
        Command::Up(args) => client(output, |context| up::run(context, args)),
        Command::Down(args) => client(output, |context| down::run(context, args)),
    }
}

/// Runs a client command on one thread.
fn client<F: Future<Output = Outcome>>(output: Output, command: impl FnOnce(Context) -> F) -> Outcome {
    // Without a home there is no daemon, and none can be started.
    let home = home::resolve().map_err(|failure| failure.exit(Exit::NoDaemon))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from)?;
    let outcome = runtime.block_on(command(Context { output, home }));
    // A thread that still reads stdin must not keep the process.
    runtime.shutdown_background();
    outcome
}
