//! The body of `tl keep --dir DIR`: become independent of the daemon, start the agent, serve.
//!
//! The daemon learns how the start went from one line of JSON on the keeper's stdout, and nothing
//! after it. Must be called before the process has any other thread.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::frames::FrameLog;
use crate::lock;
use crate::output::Output;
use crate::serve::{Keeper, Parts};
use crate::signals::Signals;
use crate::socket;
use crate::spec::LaunchSpec;

/// The keeper could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the agent was not started: {0:?}")]
    NotStarted(StartFailure),
    #[error("the keeper failed while the agent ran")]
    Failed(#[source] io::Error),
}

/// The one line on stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Started {
    Ready,
    Failed(StartFailure),
}

/// Why no agent runs.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StartFailure {
    ProgramNotFound,
    CwdMissing,
    PermissionDenied { message: String },
    AlreadyRunning,
    Used,
    Other { message: String },
}

impl StartFailure {
    fn other(what: &str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Other { message: format!("{what}: {error}") }
    }
}

/// Runs one agent until its whole tree is gone.
pub fn run(dir: &Path) -> Result<(), RunError> {
    let started = start(dir);
    report(match &started {
        Ok(_) => Started::Ready,
        Err(failure) => Started::Failed(failure.clone()),
    });
    let (keeper, _lock) = started.map_err(RunError::NotStarted)?;
    detach_stdio().map_err(RunError::Failed)?;
    let served = keeper.serve();
    // From here on whoever comes finds everything in the directory.
    let _ = socket::remove_here();
    served.map_err(RunError::Failed)
}

fn start(dir: &Path) -> Result<(Keeper, lock::Lock), StartFailure> {
    let dir = dir.canonicalize().map_err(StartFailure::other("directory"))?;
    let lock = lock::acquire(&dir).map_err(StartFailure::other("lock"))?;
    let lock = lock.ok_or(StartFailure::AlreadyRunning)?;
    if dir.join(crate::spool::DIR).exists() {
        return Err(StartFailure::Used);
    }
    let spec = LaunchSpec::load(&dir).map_err(StartFailure::other("spec.json"))?;
    become_independent(&dir).map_err(StartFailure::other("detaching"))?;
    let signals = Signals::listen().map_err(StartFailure::other("signals"))?;
    let listener = socket::bind_here().map_err(StartFailure::other("socket"))?;
    let output = Output::create(&dir, &spec.bounds).map_err(StartFailure::other("spool"))?;
    let frames = FrameLog::create(&dir).map_err(StartFailure::other("frames"))?;
    // Last, so that nothing that can fail comes after it.
    let agent = spawn(&spec, &dir).inspect_err(|_| {
        let _ = socket::remove_here();
    })?;
    if let Err(error) = spec.without_secrets().store(&dir) {
        eprintln!("spec.json still holds the environment: {error}");
    }
    let keeper = Keeper::new(Parts { bounds: spec.bounds, dir, agent, output, frames, signals, listener });
    Ok((keeper, lock))
}

/// A session of its own without a terminal, in its own folder, adopting whatever loses its parent.
fn become_independent(dir: &Path) -> io::Result<()> {
    // A process that already leads a group (started from a shell by hand) cannot; it stays as it is.
    let _ = rustix::process::setsid();
    rustix::process::chdir(dir)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

fn spawn(spec: &LaunchSpec, dir: &Path) -> Result<Agent, StartFailure> {
    if !spec.cwd.is_dir() {
        return Err(StartFailure::CwdMissing);
    }
    Agent::spawn(spec, dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StartFailure::ProgramNotFound,
        io::ErrorKind::PermissionDenied => StartFailure::PermissionDenied { message: error.to_string() },
        _ => StartFailure::other("spawn")(error),
    })
}

/// The daemon may be gone by now; then nobody needs to know.
fn report(started: Started) {
    if let Ok(mut line) = serde_json::to_vec(&started) {
        line.push(b'\n');
        let mut stdout = io::stdout();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// Lets go of the daemon's pipes, so that neither holds the other open. Stderr is `keeper.log`.
fn detach_stdio() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}
