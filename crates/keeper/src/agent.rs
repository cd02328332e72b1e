//! The agent's own process: its start, its three pipes, and the frames on their way into it.
//!
//! *Invariant:* a frame is recorded before its first byte is written. *Invariant:* frames are
//! written whole and in the order in which they came; what waits is bounded.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use crate::cgroup::{self, Cgroup};
use crate::confine::{self, Confine};
use crate::conn::{ConnId, is_passing};
use crate::exit::AgentStatus;
use crate::frames::FrameLog;
use crate::payload::Payload;
use crate::protocol::{Refusal, Reply};
use crate::spec::{LaunchSpec, MARKER};

const MAX_WAITING_FRAMES: usize = 64;

pub(crate) struct Agent {
    pub(crate) pid: i32,
    pub(crate) cgroup: Option<Cgroup>,
    /// `None` until it was reaped.
    pub(crate) status: Option<AgentStatus>,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    waiting: VecDeque<Outbound>,
    waiting_bytes: u64,
}

struct Outbound {
    id: String,
    line: Payload,
    sent: u64,
    recorded: bool,
    askers: Vec<Asker>,
}

/// Who wants to know how a frame fared.
#[derive(Clone, Copy)]
struct Asker {
    conn: ConnId,
    seq: u64,
    /// What it is told if all goes well: the one who sent the frame, or one who sent it again.
    good: Good,
}

#[derive(Clone, Copy)]
enum Good {
    Written,
    Duplicate,
}

/// An answer to send, if its connection still stands.
pub(crate) type Verdict = (ConnId, u64, Reply);

impl Agent {
    pub(crate) fn spawn(spec: &LaunchSpec, marker: &Path) -> io::Result<Self> {
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .env(MARKER, marker)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (child, cgroup) = cgroup::around(marker, || match &spec.confine {
            None => command.spawn(),
            Some(confine) => confined(confine, command, marker),
        });
        let mut child = child.inspect_err(|_| {
            if let Some(cgroup) = &cgroup {
                cgroup.remove(marker);
            }
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        unblock(stdin.as_ref())?;
        unblock(stdout.as_ref())?;
        unblock(stderr.as_ref())?;
        Ok(Self {
            pid: child.id().cast_signed(),
            cgroup,
            status: None,
            stdin,
            stdout,
            stderr,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        })
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        self.stdin.is_some() && !self.waiting.is_empty()
    }

    /// Takes a frame that the log does not know, or knows to be on its way.
    pub(crate) fn enqueue(
        &mut self,
        conn: ConnId,
        seq: u64,
        id: &str,
        mut line: Payload,
        max_frame_bytes: u64,
    ) -> Result<(), Refusal> {
        if self.stdin.is_none() {
            return Err(Refusal::AgentGone);
        }
        if let Some(same) = self.waiting.iter_mut().find(|frame| frame.id == id) {
            let good = Good::Duplicate;
            same.askers.push(Asker { conn, seq, good });
            return Ok(());
        }
        line.end_line().map_err(|error| Refusal::NotRecorded { message: error.to_string() })?;
        let bytes = line.len();
        if bytes - 1 > max_frame_bytes {
            let limit_bytes = max_frame_bytes;
            return Err(Refusal::FrameTooLong { limit_bytes });
        }
        if !line.is_one_line() {
            return Err(Refusal::MalformedFrame);
        }
        let over = self.waiting_bytes + bytes > max_frame_bytes + 1;
        if !self.waiting.is_empty() && (over || self.waiting.len() >= MAX_WAITING_FRAMES) {
            return Err(Refusal::Backlog);
        }
        self.waiting_bytes += bytes;
        let good = Good::Written;
        self.waiting.push_back(Outbound {
            id: id.to_owned(),
            line,
            sent: 0,
            recorded: false,
            askers: vec![Asker { conn, seq, good }],
        });
        Ok(())
    }

    /// Writes as much as the pipe takes.
    pub(crate) fn pump(&mut self, log: &mut FrameLog) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        while let Some(stdin) = &mut self.stdin
            && let Some(frame) = self.waiting.front_mut()
        {
            if !frame.recorded {
                if let Err(error) = log.record(&frame.id) {
                    let message = error.to_string();
                    self.settle(&mut verdicts, Some(Refusal::NotRecorded { message }));
                    continue;
                }
                frame.recorded = true;
            }
            match frame.line.with_chunk(frame.sent, |chunk| stdin.write(chunk)) {
                Ok(count) if count > 0 => frame.sent += count as u64,
                Err(error) if is_passing(&error) => break,
                // The pipe is broken, or what was held of the frame is lost.
                Ok(_) | Err(_) => {
                    verdicts.extend(self.close_stdin(log));
                    break;
                }
            }
            if frame.sent == frame.line.len() {
                // It is written whatever the log says; without the word the state stays `Recorded`.
                let _ = log.written(&frame.id);
                self.settle(&mut verdicts, None);
            }
        }
        verdicts
    }

    /// No more input. What was not whole in the pipe did not reach the agent, and is said so.
    pub(crate) fn close_stdin(&mut self, log: &mut FrameLog) -> Vec<Verdict> {
        self.stdin = None;
        let mut verdicts = Vec::new();
        while let Some(frame) = self.waiting.front() {
            // All but the newline may pass for a frame with an agent that reads to the end of input.
            if frame.recorded && frame.sent + 1 < frame.line.len() {
                let _ = log.failed(&frame.id);
            }
            self.settle(&mut verdicts, Some(Refusal::AgentGone));
        }
        verdicts
    }

    /// Takes the first frame off and tells those who asked.
    fn settle(&mut self, verdicts: &mut Vec<Verdict>, refusal: Option<Refusal>) {
        let Some(frame) = self.waiting.pop_front() else {
            return;
        };
        self.waiting_bytes -= frame.line.len();
        for asker in frame.askers {
            let reply = match (&refusal, asker.good) {
                (Some(refusal), _) => Reply::Refused { refusal: refusal.clone() },
                (None, Good::Written) => Reply::Written,
                (None, Good::Duplicate) => Reply::Duplicate,
            };
            verdicts.push((asker.conn, asker.seq, reply));
        }
    }
}

/// Starts it confined. Temporary files go to the keeper's folder if the usual one is not writable as a whole.
fn confined(confine: &Confine, mut command: Command, dir: &Path) -> io::Result<Child> {
    let mut confine = confine.clone();
    let named = command.get_envs().find(|(name, _)| *name == "TMPDIR").and_then(|(_, value)| value);
    let usual = named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    if !confine.grants_whole(&usual) {
        let tmp = dir.join("tmp");
        std::fs::create_dir_all(&tmp)?;
        command.env("TMPDIR", &tmp);
        confine.own.push(tmp);
    }
    confine::spawn(&confine, command)
}

fn unblock<F: AsFd>(pipe: Option<&F>) -> io::Result<()> {
    match pipe {
        Some(pipe) => Ok(rustix::io::ioctl_fionbio(pipe, true)?),
        None => Ok(()),
    }
}
