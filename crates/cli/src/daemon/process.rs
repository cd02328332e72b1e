//! The daemon as a process: who listens, how it is stopped, how one is started in the background.
//!
//! The listener's process id comes from the kernel (peer credentials), and on Linux it is signalled
//! through a pidfd, so a process id that was given to somebody else is never hit. *Invariant:* a
//! daemon is stopped with SIGTERM only, which leaves its keepers and their turns alone.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use throughline_api::socket::ShortPath;
use throughline_engine::Home;

use super::log_file;
use super::notice::Notice;
use crate::build_identity::own_executable;
use crate::failure::{Exit, Failure, Outcome};

/// A daemon promises to be gone 5 s after SIGTERM; one that ends its keepers first may take longer.
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// A store with a long past, on a busy machine, may take a while to open.
const START_PATIENCE: Duration = Duration::from_secs(60);
const MAX_REPORT_BYTES: usize = 16 << 10;

/// The one line that a daemon in the background writes to its stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "report")]
pub(crate) enum StartReport {
    /// It listens.
    Ready {
        /// Where.
        url: String,
    },
    /// It does not, and says why.
    Failed { code: String, message: String, hint: Option<String> },
}

/// A daemon that listens.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Its process, where the system tells.
    pub(crate) pid: Option<Pid>,
    /// What it says about itself, if that notice is its own.
    pub(crate) notice: Option<Notice>,
    /// Where it listens for `tl`.
    pub(crate) socket: PathBuf,
}

/// The daemon that listens on this home's socket now, if there is one.
pub(crate) fn listening(home: &Home) -> io::Result<Option<Running>> {
    let notice = Notice::load(home);
    let mut sockets = vec![home.socket()];
    if let Some(notice) = &notice
        && !sockets.contains(&notice.socket)
    {
        sockets.insert(0, notice.socket.clone());
    }
    for socket in sockets {
        let stream = match connect(&socket) {
            Ok(stream) => stream,
            Err(error) if is_absence(&error) => continue,
            Err(error) => return Err(error),
        };
        let pid = peer_pid(&stream).or_else(|| Pid::from_raw(notice.as_ref()?.pid));
        let own = notice.filter(|notice| Pid::from_raw(notice.pid) == pid);
        return Ok(Some(Running { pid, notice: own, socket }));
    }
    Ok(None)
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(ShortPath::of(socket)?.path())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

#[cfg(target_os = "linux")]
fn peer_pid(stream: &UnixStream) -> Option<Pid> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid)
}

#[cfg(not(target_os = "linux"))]
fn peer_pid(_stream: &UnixStream) -> Option<Pid> {
    None
}

/// Asks a daemon to stop and waits until its process is gone. One that is gone already is fine.
pub(crate) fn stop(running: &Running) -> Outcome {
    Hold::of(running)?.stop()
}

/// A hold on a daemon's process, taken before it is asked to stop, so that its end is seen.
pub(crate) struct Hold {
    pid: Pid,
    /// None if it was gone when it was looked for.
    #[cfg(target_os = "linux")]
    handle: Option<std::os::fd::OwnedFd>,
}

impl Hold {
    /// Takes hold of a daemon's process.
    pub(crate) fn of(running: &Running) -> Outcome<Self> {
        let Some(pid) = running.pid else {
            return Err(stuck("it does not say which process it is"));
        };
        Self::on(pid).map_err(|error| stuck_process(pid, &format!("cannot be stopped: {error}")))
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn stop(&self) -> Outcome {
        self.terminate().map_err(|error| stuck_process(self.pid, &format!("cannot be stopped: {error}")))?;
        self.wait()
    }

    /// Waits for the end.
    pub(crate) fn wait(&self) -> Outcome {
        let late = || {
            let patience_secs = STOP_PATIENCE.as_secs();
            stuck_process(self.pid, &format!("did not stop within {patience_secs} s"))
        };
        match self.is_gone_by(deadline_in(STOP_PATIENCE)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(late()),
            Err(error) => Err(stuck_process(self.pid, &format!("cannot be watched: {error}"))),
        }
    }
}

#[cfg(target_os = "linux")]
impl Hold {
    fn on(pid: Pid) -> io::Result<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::SRCH) => None,
            other => Some(other?),
        };
        Ok(Self { pid, handle })
    }

    fn terminate(&self) -> io::Result<()> {
        let Some(handle) = &self.handle else {
            return Ok(());
        };
        match rustix::process::pidfd_send_signal(handle, Signal::TERM) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// A pidfd becomes readable when its process ends.
    fn is_gone_by(&self, deadline: Instant) -> io::Result<bool> {
        match &self.handle {
            Some(handle) => wait_readable(handle, deadline),
            None => Ok(true),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Hold {
    fn on(pid: Pid) -> io::Result<Self> {
        Ok(Self { pid })
    }

    fn terminate(&self) -> io::Result<()> {
        match rustix::process::kill_process(self.pid, Signal::TERM) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    fn is_gone_by(&self, deadline: Instant) -> io::Result<bool> {
        while rustix::process::test_kill_process(self.pid).is_ok() {
            if left(deadline).is_zero() {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
    }
}

fn stuck_process(pid: Pid, why: &str) -> Failure {
    stuck(&format!("process {} {why}", pid.as_raw_nonzero()))
}

fn stuck(why: &str) -> Failure {
    Failure::new("daemon_stuck", format!("the daemon could not be stopped: {why}"))
        .hint("end that process yourself; nothing that was acknowledged is lost by it")
}

/// What came of starting a daemon.
#[derive(Debug)]
pub(crate) enum Started {
    /// It listens.
    Ready,
    /// Another one has the home: it listens soon, or stops soon.
    HomeInUse,
    /// Somebody killed it before it listened.
    Killed(Failure),
}

/// Starts this build as the daemon of a home, in the background, and waits until it listens.
pub(crate) fn start(home: &Home) -> Outcome<Started> {
    let log = log_file::open(home).map_err(|error| unwritable(home, &error))?;
    let log_from = log.metadata().map_or(0, |metadata| metadata.len());
    let executable = own_executable().map_err(|error| not_started(format!("tl is not found: {error}")))?;
    #[expect(clippy::disallowed_methods, reason = "the cli starts the daemon")]
    let mut command = Command::new(executable);
    command
        .args(["serve", "--detached"])
        .env("THROUGHLINE_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    let mut child = command.spawn().map_err(|error| not_started(format!("tl could not be run: {error}")))?;
    let heard = match child.stdout.take() {
        Some(mut stdout) => {
            listen(&mut stdout).map_err(|error| not_started(format!("nothing is heard of it: {error}")))?
        }
        None => Heard::Nothing,
    };
    let failed = |why: String| {
        let hint = format!("its log is {}", log_file::path(home).display());
        Failure { details: log_file::tail(home, log_from), ..not_started(why).hint(hint) }
    };
    match heard {
        Heard::Report(StartReport::Ready { .. }) => Ok(Started::Ready),
        Heard::Report(StartReport::Failed { code, .. }) if code == "home_in_use" => Ok(Started::HomeInUse),
        Heard::Report(StartReport::Failed { code, message, hint }) => {
            let message = format!("the daemon could not be started: {message}");
            Err(Failure::new(code, message).hint(hint.unwrap_or_default()).exit(Exit::NoDaemon))
        }
        Heard::Nothing => Err(failed(format!("it did not say within {} s that it listens", START_PATIENCE.as_secs()))),
        Heard::End => {
            let status = child.wait().map_err(|error| failed(error.to_string()))?;
            let failure = failed(format!("it ended with {status}"));
            if status.signal().is_some() { Ok(Started::Killed(failure)) } else { Err(failure) }
        }
    }
}

fn not_started(why: String) -> Failure {
    Failure::new("daemon_not_started", format!("the daemon could not be started: {why}"))
        .hint("`tl serve` runs it in the foreground and shows what happens")
        .exit(Exit::NoDaemon)
}

fn unwritable(home: &Home, error: &io::Error) -> Failure {
    let path = log_file::path(home);
    Failure::new(
        "home_unwritable",
        format!("the daemon could not be started: {} cannot be written: {error}", path.display()),
    )
    .hint("make it writable, or set THROUGHLINE_HOME to a folder that is")
    .exit(Exit::NoDaemon)
}

/// What a starting daemon lets its starter know.
enum Heard {
    Report(StartReport),
    /// It ended without a word.
    End,
    /// It lives, and says nothing that makes sense.
    Nothing,
}

fn listen(stdout: &mut ChildStdout) -> io::Result<Heard> {
    let deadline = deadline_in(START_PATIENCE);
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < MAX_REPORT_BYTES {
        if !wait_readable(&*stdout, deadline)? {
            return Ok(Heard::Nothing);
        }
        let mut bytes = [0; 1024];
        match stdout.read(&mut bytes)? {
            0 => return Ok(Heard::End),
            count => line.extend_from_slice(&bytes[..count]),
        }
    }
    Ok(serde_json::from_slice(&line).map_or(Heard::Nothing, Heard::Report))
}

#[expect(clippy::disallowed_methods, reason = "the patience of a person at a terminal is measured here")]
fn deadline_in(patience: Duration) -> Instant {
    Instant::now() + patience
}

#[expect(clippy::disallowed_methods, reason = "the patience of a person at a terminal is measured here")]
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Waits until a file can be read, or has ended; false if the deadline came first.
fn wait_readable(file: impl std::os::fd::AsFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = left(deadline);
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut files = [PollFd::new(&file, PollFlags::IN)];
        match poll(&mut files, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) if !left.is_zero() => {}
            other => return Ok(other? > 0),
        }
    }
}
