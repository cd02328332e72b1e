//! `tl serve`: the daemon itself, in the foreground.
//!
//! The order matters: the home's lock first, so that nobody else opens the store; the notice last, so
//! that it only ever names a daemon that listens. *Invariant:* whatever stops it, keepers live on unless
//! a person said otherwise, and everything acknowledged was committed before.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use throughline_engine::{Config, ConfigError, Engine, EngineError, Home, Options, Shutdown};
use throughline_server::{Ended, ServeError, ServeOptions, Server};
use throughline_store::{OpenOptions, SqliteStore, StoreError};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::build_identity::{BuildIdentity, own_executable};
use crate::daemon::notice::Notice;
use crate::daemon::process::StartReport;
use crate::failure::{Failure, Outcome};
use crate::home;
use crate::logging::{self, LogFormat};
use crate::output::Output;

/// The promise is 5 s from the signal to the end; what is left over is for the process itself.
const END_PATIENCE: Duration = Duration::from_millis(4_500);

/// Run the daemon in the foreground
///
/// It logs to stderr; THROUGHLINE_LOG chooses what (such as `debug`). SIGTERM and Ctrl-C stop it; agents
/// go on working under their keepers, and the next daemon takes them up again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen for browsers and programs here; loopback only, any free port if left out
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Listen for `tl` here; `tl.sock` in the home if left out
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// How log lines look; text on a terminal, else JSON
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Leave the terminal, and report to whoever started it
    #[arg(long, hide = true)]
    detached: bool,
}

/// Who is told that the daemon listens.
#[derive(Clone, Copy, Debug)]
enum Audience {
    /// A person, or whatever reads stdout.
    Person(Output),
    /// The command that started it.
    Starter,
}

pub(super) fn run(args: &Args, output: Output) -> Outcome {
    let audience = if args.detached {
        // Before any thread: a session of its own, without the starter's terminal.
        let _ = rustix::process::setsid();
        Audience::Starter
    } else {
        Audience::Person(output)
    };
    logging::start(args.log_format);
    let outcome = serve_home(args, audience);
    if let Err(failure) = &outcome
        && matches!(audience, Audience::Starter)
    {
        // If it was ready before, nobody reads this any more.
        report(&StartReport::Failed {
            code: failure.code.clone(),
            message: failure.message.clone(),
            hint: failure.hint.clone(),
        });
    }
    outcome
}

fn serve_home(args: &Args, audience: Audience) -> Outcome {
    let home = home::resolve()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve(args, home, audience));
    // Whatever still blocks a thread holds nothing that matters.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: &Args, home: Home, audience: Audience) -> Outcome {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let lock = home.lock()?;
    let config = Config::load(&home)?;
    let store = SqliteStore::open(&OpenOptions::new(home.path()))?;
    let reach = config.reach.clone();
    let channels = config.connect(&home)?;
    let options = Options { home: home.clone(), lock, config, keeper_exe: own_executable()?, channels };
    let engine = Engine::start(options, Arc::new(store)).await?;
    let mut listen = ServeOptions::new(&home);
    listen.listen = args.listen.or(listen.listen);
    listen.push.ca.clone_from(&reach.push_ca);
    listen.reach = reach;
    if let Some(socket) = &args.socket {
        listen.socket = std::path::absolute(socket)?;
    }
    let server = match Server::bind(engine.clone(), listen).await {
        Ok(server) => server,
        Err(error) => {
            engine.shutdown(Shutdown::LeaveKeepers).await;
            return Err(error.into());
        }
    };
    announce(&home, &server, audience)?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        } => {
            tracing::info!("told to stop");
            stop.cancel();
            return end_in_time(&home, &engine, serving).await;
        }
    };
    let how = match ended {
        Ok(Ended::Asked(how)) => how,
        Ok(Ended::Cancelled) => Shutdown::LeaveKeepers,
        Err(error) => {
            Notice::remove(&home);
            return Err(Failure::new("server_failed", error.to_string()).hint("see the log"));
        }
    };
    match how {
        Shutdown::StopKeepers => engine.shutdown(how).await,
        Shutdown::LeaveKeepers => {
            bounded(engine.shutdown(how)).await;
        }
    }
    Notice::remove(&home);
    tracing::info!("stopped");
    Ok(())
}

/// Ends within the promise, whatever still hangs: what was acknowledged is committed already.
async fn end_in_time(
    home: &Home,
    engine: &Engine,
    serving: impl Future<Output = Result<Ended, tokio::task::JoinError>>,
) -> Outcome {
    bounded(async {
        let _ = serving.await;
        engine.shutdown(Shutdown::LeaveKeepers).await;
    })
    .await;
    Notice::remove(home);
    tracing::info!("stopped");
    Ok(())
}

async fn bounded(work: impl Future<Output = ()>) {
    if tokio::time::timeout(END_PATIENCE, work).await.is_err() {
        tracing::warn!("not everything came to rest in time");
    }
}

/// Puts up the notice and tells who waits for it that the daemon listens.
fn announce(home: &Home, server: &Server, audience: Audience) -> Outcome {
    let url = server.url().unwrap_or_default().to_owned();
    let notice = Notice {
        pid: std::process::id().cast_signed(),
        build: BuildIdentity::own(),
        url: url.clone(),
        socket: server.socket().to_owned(),
        home: Some(home.path().to_owned()),
    };
    notice.store(home)?;
    tracing::info!(%url, socket = %notice.socket.display(), version = notice.build.version, "listening");
    if let Some(address) = server.tls_address() {
        tracing::info!(%address, "listening with TLS");
    }
    match audience {
        Audience::Person(output) if output.is_json() => {
            let login = server.first_link();
            tell(&json!({ "url": url, "socket": notice.socket, "pid": notice.pid, "login": login }).to_string());
        }
        Audience::Person(_) => {
            tell(&format!("listening on {url}"));
            if let Some(link) = server.first_link() {
                tell(&format!("open {link} in a browser: it works once, within ten minutes; later `tl open`"));
            }
        }
        Audience::Starter => {
            report(&StartReport::Ready { url });
            // The starter goes its way; its pipe must neither break nor stay open.
            let null = std::fs::File::options().write(true).open("/dev/null")?;
            rustix::stdio::dup2_stdout(&null).map_err(std::io::Error::from)?;
        }
    }
    Ok(())
}

fn report(report: &StartReport) {
    if let Ok(line) = serde_json::to_string(report) {
        tell(&line);
    }
}

/// A daemon does not end because nobody reads what it has to say.
fn tell(line: &str) {
    let mut stdout = std::io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::new(error.code(), error.to_string()).hint(error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::new(error.code(), error.to_string()).hint(error.hint())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure::new(error.code(), error.to_string()).hint(error.hint())
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Failure::new(error.code(), error.to_string()).hint(error.hint())
    }
}
