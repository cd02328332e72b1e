//! Running git: plumbing only, each process in a group of its own, in an environment that holds nothing of the person's.
//!
//! **Invariant:** no configuration, hook, filter, attribute file or credential of the person or the machine has any
//! effect on what runs here, and no process outlives its deadline or the future that waits for it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Duration, Instant, timeout_at};

use super::error::GitError;

/// Settings that make git byte exact and quiet, whatever the version's defaults are.
const SETTINGS: &[&str] = &[
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.attributesFile=/dev/null",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.quotePath=true",
    // Names that only Windows objects to are names.
    "core.protectNTFS=false",
    "core.precomposeUnicode=false",
    // The workspace is large and short-lived in the store: speed before size. `prune` packs properly.
    "core.looseCompression=1",
    "core.compression=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.renames=false",
    "advice.graftFileDeprecated=false",
];

/// How many bytes of an answer are read if the caller does not say otherwise: room for about a million paths.
const ANSWER_MAX_BYTES: usize = 64 << 20;
const STDERR_MAX_BYTES: u64 = 4 << 10;

/// When the patience ends, and how long it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    pub(super) fn passed(self) -> GitError {
        GitError::TimedOut { limit: self.limit }
    }
}

/// A git program and the private repository that it works on.
#[derive(Clone, Debug)]
pub(super) struct Git {
    pub(super) program: OsString,
    pub(super) dir: PathBuf,
}

/// Which files git sees.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// Where it stands; its listings are limited to what is below.
    pub(super) cwd: PathBuf,
    /// What paths are relative to.
    pub(super) top: PathBuf,
    /// The private index.
    pub(super) index: PathBuf,
    /// The person's own ignore file besides `.gitignore`.
    pub(super) excludes: PathBuf,
}

/// One run of git.
#[derive(Debug)]
pub(super) struct Call {
    command: Command,
    name: String,
    stdin: Vec<u8>,
    limit_bytes: usize,
    ok_codes: &'static [i32],
}

/// What git said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) stdout: Vec<u8>,
    /// Whether there was more than the bound.
    pub(super) cut: bool,
}

impl Git {
    /// A call that sees no workspace.
    pub(super) fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Call {
        self.build(None, &[], args)
    }

    /// A call that sees a workspace.
    pub(super) fn call_in<S: AsRef<OsStr>>(&self, sight: &Sight, args: &[S]) -> Call {
        self.build(Some(sight), &[], args)
    }

    /// The same, with more settings.
    pub(super) fn call_with<S: AsRef<OsStr>>(&self, sight: &Sight, settings: &[&str], args: &[S]) -> Call {
        self.build(Some(sight), settings, args)
    }

    #[expect(clippy::disallowed_methods, reason = "checkpoints are git's work, and this is where git is started")]
    fn build<S: AsRef<OsStr>>(&self, sight: Option<&Sight>, settings: &[&str], args: &[S]) -> Call {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("GIT_DIR", &self.dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        for setting in SETTINGS.iter().chain(settings) {
            command.arg("-c").arg(setting);
        }
        match sight {
            Some(sight) => {
                let mut excludes = OsString::from("core.excludesFile=");
                excludes.push(&sight.excludes);
                command.arg("-c").arg(excludes).current_dir(&sight.cwd);
                command.env("GIT_WORK_TREE", &sight.top).env("GIT_INDEX_FILE", &sight.index);
            }
            None => {
                command.arg("-c").arg("core.excludesFile=/dev/null").current_dir("/");
            }
        }
        command.args(args).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = args.first().map(|name| name.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
        Call { command, name, stdin: Vec::new(), limit_bytes: ANSWER_MAX_BYTES, ok_codes: &[0] }
    }

    /// A running `cat-file --batch`.
    pub(super) fn blobs(&self) -> Result<Blobs, GitError> {
        let mut call = self.call(&["cat-file", "--batch"]);
        call.command.stderr(Stdio::null());
        let mut child = spawn(&mut call.command)?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::Garbled { command: call.name });
        };
        Ok(Blobs { stdin, stdout: BufReader::with_capacity(64 << 10, stdout), _group: group, _child: child })
    }
}

impl Call {
    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    pub(super) fn limit_bytes(mut self, limit: usize) -> Self {
        self.limit_bytes = limit;
        self
    }

    pub(super) fn ok_codes(mut self, codes: &'static [i32]) -> Self {
        self.ok_codes = codes;
        self
    }

    /// Everything that git says; more than the bound is an error.
    pub(super) async fn whole(self, deadline: Deadline) -> Result<Vec<u8>, GitError> {
        let (command, limit_bytes) = (self.name.clone(), self.limit_bytes);
        let answer = self.run(deadline).await?;
        if answer.cut { Err(GitError::TooMuch { command, limit_bytes }) } else { Ok(answer.stdout) }
    }

    /// What git says, up to the bound. The process and its group have ended when this returns.
    pub(super) async fn run(mut self, deadline: Deadline) -> Result<Answer, GitError> {
        let mut child = spawn(&mut self.command)?;
        let mut group = Group::of(&child);
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let talk = async {
            let (_, stdout, stderr) = tokio::join!(
                say(stdin, std::mem::take(&mut self.stdin)),
                hear(stdout, self.limit_bytes, &group),
                last_words(stderr)
            );
            (stdout, stderr, child.wait().await)
        };
        let talked = timeout_at(deadline.at, talk).await;
        match talked {
            Ok((stdout, stderr, status)) => {
                group.disarm();
                let (stdout, cut) = stdout?;
                if !cut && !status?.code().is_some_and(|code| self.ok_codes.contains(&code)) {
                    return Err(GitError::Failed { command: self.name, said: stderr });
                }
                Ok(Answer { stdout, cut })
            }
            Err(_) => {
                group.kill();
                // Reaped here, so that nothing holds a lock file when the caller goes on.
                child.wait().await?;
                group.disarm();
                Err(deadline.passed())
            }
        }
    }
}

fn spawn(command: &mut Command) -> Result<Child, GitError> {
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => GitError::Missing,
        _ => GitError::Io(error),
    })
}

/// A broken pipe is not told: git's exit status and its last words say more.
async fn say(stdin: Option<ChildStdin>, bytes: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&bytes).await;
    }
}

async fn hear(stdout: Option<ChildStdout>, limit: usize, group: &Group) -> std::io::Result<(Vec<u8>, bool)> {
    let mut heard = Vec::new();
    let Some(stdout) = stdout else { return Ok((heard, false)) };
    stdout.take(limit as u64 + 1).read_to_end(&mut heard).await?;
    let cut = heard.len() > limit;
    if cut {
        heard.truncate(limit);
        group.kill();
    }
    Ok((heard, cut))
}

async fn last_words(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let mut said = Vec::new();
    if let Some(mut stderr) = stderr {
        let _ = (&mut stderr).take(STDERR_MAX_BYTES).read_to_end(&mut said).await;
        // The rest is drained, so that a talkative git does not block.
        let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// The process group of a git: it is killed when this is dropped, unless git has already been waited for.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn kill(&self) {
        if let Some(pid) = self.0 {
            // It may have ended by itself meanwhile.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Blobs out of the store, one at a time, so that one blob and no more is in memory.
pub(super) struct Blobs {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    // Before the child: the group is killed while its leader has not been reaped.
    _group: Group,
    _child: Child,
}

impl Blobs {
    /// One blob; `None` if the store does not have it.
    pub(super) async fn get(&mut self, oid: &str, deadline: Deadline) -> Result<Option<Vec<u8>>, GitError> {
        timeout_at(deadline.at, self.ask(oid)).await.map_err(|_| deadline.passed())?
    }

    async fn ask(&mut self, oid: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.stdin.write_all(format!("{oid}\n").as_bytes()).await?;
        let mut header = String::new();
        self.stdout.read_line(&mut header).await?;
        let mut words = header.split_whitespace().skip(1);
        match (words.next(), words.next().and_then(|size| size.parse::<usize>().ok())) {
            (Some("blob"), Some(size)) => {
                let mut content = vec![0; size + 1];
                self.stdout.read_exact(&mut content).await?;
                content.truncate(size);
                Ok(Some(content))
            }
            (Some("missing"), _) => Ok(None),
            _ => Err(GitError::Garbled { command: "cat-file".into() }),
        }
    }
}

/// A lock file that a killed git left. The caller holds the root's lock, so nobody else is writing the index.
pub(super) async fn drop_stale_lock(index: &Path) {
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    let _ = tokio::fs::remove_file(lock).await;
}

/// Work on files, off the async threads. A file system that hangs costs a thread, not the caller's patience.
pub(super) async fn blocking<T: Send + 'static>(
    deadline: Deadline,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GitError> {
    let done = timeout_at(deadline.at, tokio::task::spawn_blocking(work)).await.map_err(|_| deadline.passed())?;
    done.map_err(|error| GitError::Io(std::io::Error::other(error)))
}
