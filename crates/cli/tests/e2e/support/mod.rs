//! A world for transcripts: a home and a project of its own, the real `tl`, and an end to everything it
//! started.
//!
//! *Invariant:* when a [`World`] is dropped its daemon and its keepers are gone, by their ids, or the
//! test fails. Waiting is done on events or on the end of processes, always with a bound.
#![allow(clippy::disallowed_methods, reason = "these tests start the real binary and bound how long they wait for it")]

pub mod chats;
pub mod dump;
pub mod terminal;

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use tempfile::TempDir;

/// No single step of a test takes this long, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const TL: &str = env!("CARGO_BIN_EXE_tl");

/// A home, a project folder, and `tl` in it.
pub struct World {
    dir: TempDir,
    pub home: PathBuf,
    pub project: PathBuf,
}

impl World {
    /// An empty home and an empty project folder that is no project yet.
    pub fn bare() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("it is there");
        let world = Self { home: base.join("home"), project: base.join("shop"), dir };
        std::fs::create_dir(&world.project).expect("a project folder");
        world
    }

    /// The same with the folder added as project `shop`.
    pub fn new() -> Self {
        let world = Self::bare();
        world.ok(&["project", "add", "."]);
        world
    }

    /// The same with settings.
    pub fn with_settings(settings: &str) -> Self {
        let world = Self::bare();
        std::fs::create_dir_all(&world.home).expect("a home");
        std::fs::write(world.home.join("config.toml"), settings).expect("settings");
        world.ok(&["project", "add", "."]);
        world
    }

    /// A folder beside the project.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.project.with_file_name(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// `tl` with these arguments, not started yet.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.program(TL, args)
    }

    /// A script for bash, not started yet.
    pub fn shell(&self, script: &str) -> Command {
        self.program("bash", &["-c", script])
    }

    /// Any program, with nothing in its environment but this world.
    pub fn program<S: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: &[S]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TZ", "UTC")
            .env("THROUGHLINE_HOME", &self.home)
            // In a long run, millions of lines would be most of the work.
            .env("THROUGHLINE_LOG", std::env::var("TL_LOG").unwrap_or_else(|_| "debug".into()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn tl<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran::of(args, self.command(args), b"")
    }

    /// Runs it with something on its stdin.
    pub fn tl_with_stdin(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        Ran::of(args, command, stdin)
    }

    /// Runs it somewhere else.
    pub fn tl_in(&self, folder: &Path, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.current_dir(folder);
        Ran::of(args, command, b"")
    }

    /// Runs it, and it has to work.
    pub fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.tl(args);
        assert_eq!(ran.code, Some(0), "{ran}{}", self.log());
        ran
    }

    /// Runs it, and it has to fail with this code and exit code; gives what it said.
    pub fn fails(&self, args: &[&str], exit: i32, code: &str) -> Ran {
        let ran = self.tl(args);
        ran.has_failed(exit, code);
        ran
    }

    /// The one JSON document that it prints.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let ran = self.ok(&args);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
    }

    /// The JSON Lines that it prints.
    pub fn json_lines(&self, args: &[&str]) -> Vec<Value> {
        let mut args = args.to_vec();
        args.push("--json");
        let ran = self.ok(&args);
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {ran}"));
        ran.stdout.lines().map(parse).collect()
    }

    /// A task with all that is under it.
    pub fn task(&self, key: &str) -> Value {
        self.json(&["status", key])["tasks"][0].clone()
    }

    /// The keys of all tasks.
    pub fn keys(&self) -> Vec<String> {
        let list = self.json(&["tasks", "--all"]);
        let tasks = list["tasks"].as_array().expect("a list");
        let key = |task: &Value| task["key"].as_str().expect("a key").to_owned();
        tasks.iter().map(key).collect()
    }

    /// One request over HTTP, as a program on this machine makes it: its status and its body.
    pub fn http(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let notice = std::fs::read_to_string(self.home.join("daemon.json")).expect("a daemon");
        let notice: Value = serde_json::from_str(&notice).expect("its notice");
        let url = notice["url"].as_str().expect("its address");
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let token = std::fs::read_to_string(self.home.join("token")).expect("a token");
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(
            stream,
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            token.trim(),
            body.len()
        )
        .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// The daemon's process id.
    pub fn daemon_pid(&self) -> i32 {
        let status = self.json(&["status"]);
        let pid = status["daemon"]["pid"].as_i64().expect("a process id");
        i32::try_from(pid).expect("a process id")
    }

    /// Kills the daemon as hard as can be, and waits until it is dead.
    pub fn kill_daemon(&self) {
        let pid = self.daemon_pid();
        assert!(kill_and_wait(pid, Signal::KILL), "the daemon was running");
    }

    /// What the daemon logged last, for a failure's message.
    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(self.home.join("daemon.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(60);
        format!("\n--- daemon.log\n{}\n", lines[from..].join("\n"))
    }

    /// Starts it and reads what it prints as it comes.
    pub fn start(&self, args: &[&str]) -> Live {
        Live::of(args, self.command(args))
    }

    /// Waits for an entry of a task's timeline, from the task's beginning on.
    pub fn wait_for_entry(&self, key: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut live = self.start(&["show", key, "--follow", "--limit", "1000", "--json"]);
        live.wait_for_json(wanted)
    }

    /// Waits until so many turns of a task have ended.
    pub fn wait_for_turns(&self, key: &str, count: usize) {
        let mut live = self.start(&["show", key, "--follow", "--limit", "1000", "--json"]);
        for _ in 0..count {
            live.wait_for_json(|entry| entry["type"] == "turn_ended");
        }
    }

    /// Waits for the approval that a task needs next and gives its id.
    pub fn wait_for_approval(&self, key: &str) -> String {
        self.wait_for_entry(key, |entry| entry["type"] == "approval");
        let approval = &self.task(key)["approvals"][0];
        approval["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until a path is there.
    pub fn wait_for_file(&self, path: &Path) {
        self.wait_until(&format!("{} is there", path.display()), || path.exists());
    }

    fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < deadline, "not in time: {what}{}", self.log());
            // tidy: files tell nobody that they came or went
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until only so many keepers live: the end of a process follows its record.
    pub fn wait_for_keepers(&self, count: usize) {
        self.wait_until(&format!("{count} keepers are left"), || self.keepers().len() == count);
    }

    /// Waits until the last that some agent said, as its keeper has it, contains these words.
    pub fn wait_for_last_words(&self, words: &str) {
        let files = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
        self.wait_until(&format!("an agent said {words}"), || {
            let mut spools = files(self.home.join("keepers")).flat_map(|keeper| files(keeper.join("spool")));
            spools.any(|spool| end_of(&spool).is_ok_and(|end| end.contains(words)))
        });
    }

    /// Another setup command for the project, for the next daemon.
    pub fn set_setup(&self, command: &str) {
        let settings = format!("[projects.shop]\nsetup = '{command}'\n");
        std::fs::write(self.home.join("config.toml"), settings).expect("settings");
    }

    /// Process ids of the keepers that live.
    pub fn keepers(&self) -> Vec<i32> {
        let kept = throughline_keeper::client::list(&self.home.join("keepers"));
        let kept = kept.expect("the keepers' folder can be read");
        kept.iter().filter_map(|kept| kept.keeper_pid).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !self.home.exists() {
            return;
        }
        let ran = self.tl(&["down", "--all"]);
        // A daemon that hangs must not outlive its test.
        if ran.code != Some(0)
            && let Some(pid) =
                std::fs::read_to_string(self.home.join("daemon.lock")).ok().and_then(|text| text.trim().parse().ok())
        {
            kill_and_wait(pid, Signal::KILL);
        }
        for pid in self.keepers() {
            kill_and_wait(pid, Signal::TERM);
        }
        if !std::thread::panicking() {
            assert_eq!(ran.code, Some(0), "{ran}{}", self.log());
        }
    }
}

/// The last bytes of a file.
fn end_of(file: &Path) -> std::io::Result<String> {
    const BYTES: u64 = 4096;
    let mut file = std::fs::File::open(file)?;
    let from = file.metadata()?.len().saturating_sub(BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut end = vec![];
    file.read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// The person's own git.
pub fn git(root: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.invalid"];
    let ran = Command::new("git").args(identity).args(args).current_dir(root).output().expect("git runs");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Signals a process and waits for its end; false if it was gone before.
pub fn kill_and_wait(pid: i32, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(pid) else {
        return false;
    };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    if pidfd_send_signal(&handle, signal).is_err() {
        return false;
    }
    let timeout = Timespec::try_from(PATIENCE).expect("a time");
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout));
    assert_eq!(ended, Ok(1), "process {pid:?} does not end");
    true
}

/// A command that ran to its end.
#[derive(Debug)]
pub struct Ran {
    pub args: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of<S: AsRef<OsStr>>(args: &[S], mut command: Command, stdin: &[u8]) -> Self {
        let mut child = command.spawn().expect("tl starts");
        let pid = child.id();
        let stdin_pipe = child.stdin.take();
        let stdin = stdin.to_vec();
        let writer = std::thread::spawn(move || {
            // Whoever does not read it all has closed the pipe.
            let _ = stdin_pipe.map(|mut pipe| pipe.write_all(&stdin));
        });
        let (sender, receiver) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let output = match receiver.recv_timeout(PATIENCE * 2) {
            Ok(output) => output.expect("tl ran"),
            Err(_) => {
                kill_and_wait(i32::try_from(pid).expect("a process id"), Signal::KILL);
                let output = receiver.recv().expect("it ends now").expect("tl ran");
                panic!("tl hangs: {}", Self::ended(args, &output));
            }
        };
        let _ = writer.join();
        Self::ended(args, &output)
    }

    fn ended<S: AsRef<OsStr>>(args: &[S], output: &std::process::Output) -> Self {
        let words: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        Self {
            args: words.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// It failed as the contract says: nothing on stdout, a code and a hint on stderr.
    pub fn has_failed(&self, exit: i32, code: &str) {
        assert_eq!(self.code, Some(exit), "{self}");
        let prefix = format!("error[{code}]: ");
        assert!(self.stderr.contains(&prefix), "no {prefix}in: {self}");
        assert!(self.stderr.contains("\nhint: "), "no hint in: {self}");
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { args, code, stdout, stderr } = self;
        write!(f, "$ tl {args}\n{stdout}--- stderr\n{stderr}--- exit {code:?}\n")
    }
}

/// A command that runs while the test goes on.
pub struct Live {
    args: String,
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Live {
    pub fn of(args: &[&str], mut command: Command) -> Self {
        let mut child = command.spawn().expect("tl starts");
        let stdout = child.stdout.take().expect("a pipe");
        let stderr = child.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        let for_stderr = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = for_stderr.send(format!("stderr: {line}"));
            }
        });
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { args: args.join(" "), child, lines, seen: Vec::new() }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    /// Waits for a line of its output.
    pub fn wait_for_line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(error) => {
                    let why = match error {
                        RecvTimeoutError::Timeout => "the line does not come",
                        RecvTimeoutError::Disconnected => "it ended without the line",
                    };
                    panic!("{why}: $ tl {}\n{}", self.args, self.seen.join("\n"));
                }
            }
        }
    }

    /// Waits for a JSON line of its output.
    pub fn wait_for_json(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let line = self.wait_for_line(|line| serde_json::from_str::<Value>(line).is_ok_and(|value| wanted(&value)));
        serde_json::from_str(&line).expect("it was parsed before")
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid()).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Ran {
        let pid = Pid::from_raw(self.pid()).expect("a process id");
        let handle = pidfd_open(pid, PidfdFlags::empty()).expect("it is a child");
        let timeout = Timespec::try_from(PATIENCE).expect("a time");
        let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout));
        let hangs = ended != Ok(1);
        if hangs {
            let _ = self.child.kill();
        }
        let status = self.child.wait().expect("it ends");
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        let (stderr, stdout): (Vec<_>, Vec<_>) =
            self.seen.iter().cloned().partition(|line| line.starts_with("stderr: "));
        let join = |lines: Vec<String>| {
            let bare = |line: &String| line.strip_prefix("stderr: ").unwrap_or(line).to_owned();
            lines.iter().map(|line| bare(line) + "\n").collect()
        };
        let ran = Ran {
            args: std::mem::take(&mut self.args),
            code: status.code(),
            stdout: join(stdout),
            stderr: join(stderr),
        };
        assert!(!hangs, "it does not end: {ran}");
        ran
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
