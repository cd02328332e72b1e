//! The keeper's loop: wait for anything to happen, apply it, move on.
//!
//! [`Keeper::wait`] only looks; everything that changes state runs after it, without blocking on
//! anything but the disk. What a daemon may ask is in `calls`, how the tree ends in `ending`.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::agent::{Agent, Verdict};
use crate::conn::{Conn, ConnId, Standing};
use crate::ending::Phase;
use crate::exit::ExitReason;
use crate::frames::FrameLog;
use crate::output::{Heard, Output};
use crate::protocol::{Activity, MAX_DATA_BYTES, Reply};
use crate::signals::{Children, Signals, reap};
use crate::socket::same_user;
use crate::spec::Bounds;

const MAX_CONNECTIONS: usize = 8;
/// An agent that closes its stdout is usually about to end: its own status is worth this wait.
const STDOUT_CLOSED_GRACE: Duration = Duration::from_secs(1);

pub(crate) struct Keeper {
    /// Canonical; also the value of the marker.
    pub(crate) dir: PathBuf,
    pub(crate) bounds: Bounds,
    pub(crate) agent: Agent,
    pub(crate) output: Output,
    pub(crate) frames: FrameLog,
    pub(crate) signals: Signals,
    pub(crate) lease: Lease,
    pub(crate) phase: Phase,
    pub(crate) door: Door,
    scratch: Box<[u8]>,
    stdout_closed_at: Option<Instant>,
}

/// Where daemons come in.
pub(crate) struct Door {
    listener: UnixListener,
    pub(crate) conns: Vec<Conn>,
    /// The highest daemon generation that ever attached.
    pub(crate) fence: u64,
    next_id: u64,
}

/// How long the agent may run without a daemon.
pub(crate) struct Lease {
    pub(crate) activity: Activity,
    /// `None` while a daemon is attached.
    pub(crate) detached_at: Option<Instant>,
}

impl Lease {
    pub(crate) fn secs(&self, bounds: &Bounds) -> u64 {
        match self.activity {
            Activity::Busy => bounds.busy_lease_secs,
            Activity::Idle => bounds.idle_lease_secs,
        }
    }

    pub(crate) fn ends_at(&self, bounds: &Bounds) -> Option<Instant> {
        self.detached_at?.checked_add(Duration::from_secs(self.secs(bounds)))
    }
}

#[derive(Clone, Copy)]
enum Source {
    Signals,
    Listener,
    Stdin,
    Stdout,
    Stderr,
    Conn(ConnId),
}

/// What the keeper is put together from, once everything is open and the agent runs.
pub(crate) struct Parts {
    pub(crate) dir: PathBuf,
    pub(crate) bounds: Bounds,
    pub(crate) agent: Agent,
    pub(crate) output: Output,
    pub(crate) frames: FrameLog,
    pub(crate) signals: Signals,
    pub(crate) listener: UnixListener,
}

impl Keeper {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            dir: parts.dir,
            bounds: parts.bounds,
            agent: parts.agent,
            output: parts.output,
            frames: parts.frames,
            signals: parts.signals,
            lease: Lease { activity: Activity::Idle, detached_at: Some(Instant::now()) },
            phase: Phase::Running,
            door: Door { listener: parts.listener, conns: Vec::new(), fence: 0, next_id: 1 },
            scratch: vec![0; MAX_DATA_BYTES / 2].into_boxed_slice(),
            stdout_closed_at: None,
        }
    }

    /// Returns when the tree is gone, its end is durable, and the attached daemon knows it.
    pub(crate) fn serve(mut self) -> io::Result<()> {
        while !self.is_finished() {
            let happened = self.wait()?;
            let now = Instant::now();
            for (source, flags) in happened {
                self.apply(source, flags, now);
            }
            self.reap();
            self.advance(now);
            self.answer_reads();
            self.flush(now);
        }
        Ok(())
    }

    fn is_finished(&self) -> bool {
        let strangers = |conn: &Conn| matches!(conn.standing, Standing::Handshake { .. });
        matches!(self.phase, Phase::Ended { .. }) && self.door.conns.iter().all(strangers)
    }

    fn wait(&self) -> io::Result<Vec<(Source, PollFlags)>> {
        let mut sources = vec![Source::Signals, Source::Listener];
        let mut fds =
            vec![PollFd::new(&self.signals.wake, PollFlags::IN), PollFd::new(&self.door.listener, PollFlags::IN)];
        if let Some(stdin) = &self.agent.stdin
            && self.agent.wants_to_write()
        {
            sources.push(Source::Stdin);
            fds.push(PollFd::new(stdin, PollFlags::OUT));
        }
        if let Some(stdout) = &self.agent.stdout
            && self.output.wants_stdout()
        {
            sources.push(Source::Stdout);
            fds.push(PollFd::new(stdout, PollFlags::IN));
        }
        if let Some(stderr) = &self.agent.stderr {
            sources.push(Source::Stderr);
            fds.push(PollFd::new(stderr, PollFlags::IN));
        }
        for conn in &self.door.conns {
            sources.push(Source::Conn(conn.id));
            fds.push(PollFd::from_borrowed_fd(conn.stream.as_fd(), conn.interest()));
        }
        let timeout = self.next_deadline().map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs().min(86_400).cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let happened = sources.into_iter().zip(fds.iter().map(PollFd::revents));
        Ok(happened.filter(|(_, flags)| !flags.is_empty()).collect())
    }

    fn next_deadline(&self) -> Option<Instant> {
        let lease = match self.phase {
            Phase::Running => self.lease.ends_at(&self.bounds),
            _ => None,
        };
        let conns = self.door.conns.iter().filter_map(Conn::deadline).min();
        [lease, conns, self.phase.deadline(), self.output.retry_at(), self.stdout_lost_at()].into_iter().flatten().min()
    }

    fn stdout_lost_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => Some(self.stdout_closed_at? + STDOUT_CLOSED_GRACE),
            _ => None,
        }
    }

    fn apply(&mut self, source: Source, flags: PollFlags, now: Instant) {
        match source {
            Source::Signals => {
                if let Some(signal) = self.signals.take() {
                    let reason = ExitReason::KeeperTerminated { signal };
                    self.begin_end(reason, self.bounds.grace(), now);
                }
            }
            Source::Listener => self.accept(now),
            Source::Stdin => self.pump_stdin(),
            Source::Stdout => self.hear(now),
            Source::Stderr => {
                self.hear_stderr();
            }
            Source::Conn(id) => self.listen_to(id, flags, now),
        }
    }

    pub(crate) fn reap(&mut self) {
        let agent = &mut self.agent;
        let children = reap(|pid, status| {
            if pid == agent.pid {
                agent.status = Some(status);
            }
        });
        self.phase.note_children(children);
        if children == Children::None && agent.status.is_none() {
            // Someone else took the status; the agent is gone all the same.
            agent.status = Some(crate::exit::AgentStatus::Unknown);
        }
    }

    /// Time passes: leases, retries, grace.
    fn advance(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| now >= at);
        if due(self.output.retry_at()) {
            self.hear(now);
        }
        if matches!(self.phase, Phase::Running) {
            if due(self.lease.ends_at(&self.bounds)) {
                let lease_secs = self.lease.secs(&self.bounds);
                let reason = ExitReason::LeaseExpired { lease_secs };
                self.begin_end(reason, self.bounds.grace(), now);
            } else if due(self.stdout_lost_at()) {
                self.begin_end(ExitReason::StdoutClosed, self.bounds.grace(), now);
            }
        }
        self.advance_ending(now);
    }

    pub(crate) fn pump_stdin(&mut self) {
        let verdicts = self.agent.pump(&mut self.frames);
        self.announce(verdicts);
    }

    pub(crate) fn announce(&mut self, verdicts: Vec<Verdict>) {
        for (id, seq, reply) in verdicts {
            if let Some(conn) = self.door.conns.iter_mut().find(|conn| conn.id == id) {
                conn.reply(seq, reply);
            }
        }
    }

    /// One chunk of the agent's stdout.
    pub(crate) fn hear(&mut self, now: Instant) {
        let Some(stdout) = &mut self.agent.stdout else {
            return;
        };
        match self.output.hear(stdout, now) {
            Heard::Something | Heard::Nothing => {}
            Heard::Closed => {
                self.agent.stdout = None;
                self.stdout_closed_at = Some(now);
            }
            Heard::TooLong => {
                self.agent.stdout = None;
                let limit_bytes = self.bounds.max_frame_bytes;
                self.begin_end(ExitReason::FrameTooLong { limit_bytes }, Duration::ZERO, now);
            }
            Heard::Failed(message) => {
                self.agent.stdout = None;
                self.begin_end(ExitReason::SpoolFailed { message }, Duration::ZERO, now);
            }
        }
    }

    /// Whether there was anything.
    pub(crate) fn hear_stderr(&mut self) -> bool {
        let Some(stderr) = &mut self.agent.stderr else {
            return false;
        };
        match self.output.hear_stderr(stderr) {
            Heard::Something => true,
            Heard::Nothing => false,
            Heard::Closed | Heard::TooLong | Heard::Failed(_) => {
                self.agent.stderr = None;
                false
            }
        }
    }

    fn accept(&mut self, now: Instant) {
        let Ok((stream, _)) = self.door.listener.accept() else {
            return;
        };
        if !same_user(&stream) {
            return;
        }
        if self.door.conns.len() >= MAX_CONNECTIONS {
            // The oldest that has not said who it is makes room; a daemon speaks at once.
            let idle = |conn: &Conn| !conn.is_attached();
            match self.door.conns.iter().position(idle) {
                Some(oldest) => drop(self.door.conns.remove(oldest)),
                None => return,
            }
        }
        let id = ConnId(self.door.next_id);
        self.door.next_id += 1;
        self.door.conns.extend(Conn::new(id, stream, now));
    }

    fn listen_to(&mut self, id: ConnId, flags: PollFlags, now: Instant) {
        let Some(conn) = self.door.conns.iter_mut().find(|conn| conn.id == id) else {
            return;
        };
        let heard = if flags.contains(PollFlags::IN) {
            conn.receive(&mut self.scratch, self.bounds.max_frame_bytes)
        } else {
            conn.flush().map(|()| Vec::new())
        };
        match heard {
            Ok(messages) => {
                for message in messages {
                    self.handle(id, message, now);
                }
            }
            Err(_) => self.drop_conn(id, now),
        }
    }

    /// Answers the daemon that waits for more, if there is more.
    fn answer_reads(&mut self) {
        for conn in &mut self.door.conns {
            let Some(read) = conn.parked else { continue };
            let answer = match self.output.read(read.from) {
                Ok(Some(data)) => {
                    let offset = read.from;
                    conn.reply_with(read.seq, Reply::Data { offset }, data);
                    conn.parked = None;
                    continue;
                }
                Ok(None) => self.phase.exit().map(|exit| Reply::Exited { exit }),
                Err(refusal) => Some(Reply::Refused { refusal }),
            };
            if let Some(reply) = answer {
                let told = matches!(reply, Reply::Exited { .. });
                conn.reply(read.seq, reply);
                conn.parked = None;
                if told {
                    conn.leave(Instant::now());
                }
            }
        }
    }

    fn flush(&mut self, now: Instant) {
        let mut gone = Vec::new();
        for conn in &mut self.door.conns {
            let closed = conn.flush().is_err();
            let late = conn.deadline().is_some_and(|until| now >= until);
            let left = matches!(conn.standing, Standing::Leaving { .. }) && conn.is_flushed();
            if closed || late || left {
                gone.push(conn.id);
            }
        }
        for id in gone {
            self.drop_conn(id, now);
        }
    }

    fn drop_conn(&mut self, id: ConnId, now: Instant) {
        self.door.conns.retain(|conn| conn.id != id);
        let attached = self.door.conns.iter().any(Conn::is_attached);
        if !attached && self.lease.detached_at.is_none() {
            self.lease.detached_at = Some(now);
        }
    }
}
