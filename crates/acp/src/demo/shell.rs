//! Child processes: the command of a `run` line, and the detached one of a `spawn` line.
//!
//! A `run` command leads a process group of its own, and the group is killed when its [`Shell`] is
//! dropped before the command ended. So cancelling a turn, closing the session and losing the client
//! need no code of their own: each drops the turn. A detached process is left alone on purpose.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

/// A running `sh -c` command, its standard output and error in one stream.
pub struct Shell {
    child: Child,
    group: Group,
    output: pipe::Receiver,
    output_ended: bool,
}

/// What happened next in a [`Shell`].
pub enum Progress {
    /// More output is in the buffer.
    Output,
    /// The command ended; all it wrote until then is in the buffer.
    Ended(ExitStatus),
}

struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // The group may be gone already, which is what is wanted.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Shell {
    /// Starts `sh -c command` in `cwd`.
    #[expect(clippy::disallowed_methods, reason = "an agent runs commands; this file is where the demo agent does")]
    pub fn start(command: &str, cwd: &Path) -> io::Result<Self> {
        let (output, input) = io::pipe()?;
        let child = Command::new("sh")
            .args(["-c", command])
            .current_dir(cwd)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(input.try_clone()?)
            .stderr(input)
            .spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self {
            child,
            group: Group(leader),
            output: pipe::Receiver::from_owned_fd(output.into())?,
            output_ended: false,
        })
    }

    /// Waits for output or the end. A process that the command left in the background may hold the
    /// stream open, so the end of the command is the end, not that of the stream.
    pub async fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<Progress> {
        loop {
            tokio::select! {
                biased;
                read = self.output.read_buf(buffer), if !self.output_ended => {
                    if read? > 0 {
                        return Ok(Progress::Output);
                    }
                    self.output_ended = true;
                }
                status = self.child.wait() => {
                    self.group.0 = None;
                    self.drain(buffer)?;
                    return Ok(Progress::Ended(status?));
                }
            }
        }
    }

    /// Reads what is in the pipe now, past tokio's notion of readiness: the child's end may be noticed
    /// before its last words are.
    fn drain(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let mut chunk = [0; 8192];
        while !self.output_ended {
            match rustix::io::read(&self.output, &mut chunk) {
                Ok(0) => self.output_ended = true,
                Ok(count) => buffer.extend_from_slice(&chunk[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A new session without a controlling terminal: `setsid` where there is one, else by Perl (macOS). The
/// process says its pid itself, so that it is known only once it is detached, and lets go of the pipe
/// as it becomes `sleep`, so that the end of the pipe means that all is in place.
const DETACH: &str = r#"
sleeper='echo $$; exec sleep "$0" >/dev/null 2>&1'
if command -v setsid >/dev/null; then
    setsid sh -c "$sleeper" "$1" </dev/null &
else
    perl -MPOSIX -e 'POSIX::setsid(); exec @ARGV' sh -c "$sleeper" "$1" </dev/null &
fi
"#;

/// Leaves `sleep secs` running in a session of its own, its parent gone, and returns its pid.
#[expect(clippy::disallowed_methods, reason = "an agent runs commands; this file is where the demo agent does")]
pub async fn detach_sleep(secs: u64) -> io::Result<u32> {
    let output = Command::new("sh").args(["-c", DETACH, "sh", &secs.to_string()]).stdin(Stdio::null()).output().await?;
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .map_err(|_| io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Kills this very process, at once and without any clean-up.
pub fn kill_self() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    // Not reached unless the system refused the signal.
    std::process::abort()
}
