//! A real `tl serve` in a home of its own, and its end.
//!
//! **Invariant:** when a [`Daemon`] is dropped, its process and its keepers are gone, by their ids: it is asked to stop
//! them, and what does not go in time is killed.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use throughline_api::client::{Client, EventsQuery};
use throughline_api::daemon::Stopping;
use throughline_api::event::Frame;
use throughline_api::message::{Override, SendMessage, SentMessage};
use throughline_api::project::{AddProject, Channel, OpenConversation, Project};
use throughline_api::socket::ShortPath;
use throughline_api::timeline::EntryBody;

/// A daemon of a debug build on a busy machine takes a while.
const PATIENCE: Duration = Duration::from_secs(60);
const END_PATIENCE: Duration = Duration::from_secs(10);
/// The one conversation of a benchmark.
const CONVERSATION: &str = "bench";
/// The one project of a benchmark, and the agent of this crate.
pub(crate) const NAME: &str = "bench";

/// Makes sure that there is a `tl` of the same build. `cargo xtask bench` builds both in one call, because cargo chooses
/// features per call: with two calls each would rebuild what the other one made.
pub(crate) fn find_tl() -> Result<()> {
    let tl = tl()?;
    ensure!(tl.is_file(), "{} is not there: run `cargo xtask bench`, which builds it", tl.display());
    Ok(())
}

fn own_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().context("a program is in a folder")?.to_owned())
}

/// The `tl` that is measured.
pub(crate) fn tl() -> Result<PathBuf> {
    Ok(own_folder()?.join("tl"))
}

/// A daemon that listens.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    /// Where it listens for programs.
    pub(crate) address: SocketAddr,
    /// What they have to know.
    pub(crate) token: String,
    /// From its start to the line that says that it listens.
    pub(crate) listening_after: Duration,
    /// From its start to the first answer that says that it is ready.
    pub(crate) ready_after: Duration,
}

impl Daemon {
    /// Starts one in this home and waits until it is ready.
    pub(crate) fn start(home: &Path) -> Result<Self> {
        let log = File::options().create(true).append(true).open(home.join("serve.log"))?;
        let started = Instant::now();
        let mut child = Command::new(tl()?)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("THROUGHLINE_HOME", home)
            .env_remove("THROUGHLINE_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("tl could not be started")?;
        match Self::ready(&mut child, home, started) {
            Ok((address, listening_after)) => {
                let token = std::fs::read_to_string(home.join("token"))?.trim().to_owned();
                let socket = home.join("tl.sock");
                let daemon = Daemon { child, socket, address, token, listening_after, ready_after: started.elapsed() };
                Ok(daemon)
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                let log = std::fs::read_to_string(home.join("serve.log")).unwrap_or_default();
                Err(error.context(format!("the daemon is not ready; its log:\n{log}")))
            }
        }
    }

    fn ready(child: &mut Child, home: &Path, started: Instant) -> Result<(SocketAddr, Duration)> {
        let stdout = child.stdout.take().context("a pipe")?;
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let address = loop {
            let line = lines.recv_timeout(PATIENCE).context("it does not say that it listens")?;
            if let Some(url) = line.strip_prefix("listening on http://") {
                break url.trim().trim_end_matches('/').parse()?;
            }
        };
        let listening_after = started.elapsed();
        let answer = request(&home.join("tl.sock"), "GET", "/readyz", "")?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "it is not ready: {answer}");
        Ok((address, listening_after))
    }

    /// A client over the Unix socket.
    pub(crate) fn client(&self) -> Client {
        Client::unix(&self.socket)
    }

    /// Where it listens for `tl`.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Adds the project of the benchmark, in this folder.
    pub(crate) async fn add_project(&self, root: &Path, agent: &str) -> Result<Project> {
        std::fs::create_dir_all(root)?;
        let root = root.canonicalize()?.display().to_string();
        let add = AddProject { root, name: Some(NAME.into()), agent: Some(agent.into()) };
        Ok(self.client().add_project(&add).await?)
    }

    /// Opens the benchmark's conversation.
    pub(crate) async fn open_conversation(&self) -> Result<()> {
        let open = OpenConversation { channel: Channel::Api, project: Some(NAME.into()), root: None };
        self.client().put_conversation(CONVERSATION, &open).await?;
        Ok(())
    }

    /// Says something in it: to this task, or to a new one. It is stated, so that no routing decides what is measured.
    pub(crate) async fn say(&self, task: Option<&str>, text: &str, key: &str) -> Result<SentMessage> {
        let stated = Override { task: task.map(str::to_owned), new: task.is_none(), ..Override::default() };
        let message = SendMessage { text: Some(text.to_owned()), stated: Some(stated), ..SendMessage::default() };
        Ok(self.client().send_message(CONVERSATION, &message, key).await?)
    }

    /// Follows the turn of what was said to its end, and gives the task's key.
    pub(crate) async fn turn_end(&self, sent: SentMessage) -> Result<String> {
        let task = sent.task.context("the message went to no task")?.key;
        let query = EventsQuery { after: sent.cursor, task: Some(task.clone()) };
        let mut events = self.client().events(&query).await?;
        let end = async {
            while let Some(frame) = events.next().await? {
                if matches!(&frame, Frame::Entry(entry) if matches!(entry.body, EntryBody::TurnEnded { .. })) {
                    return anyhow::Ok(());
                }
            }
            bail!("the event stream ended before the turn did")
        };
        tokio::time::timeout(PATIENCE, end).await.context("the turn does not end")??;
        Ok(task)
    }

    /// Stops it and its keepers, and makes sure that they are gone.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let mut processes = vec![Hold::on(self.child.id().cast_signed())?];
        let asked = request(&self.socket, "POST", "/api/v1/daemon/stop", r#"{"keepers":"stop"}"#).and_then(|answer| {
            let start = answer.find('{').context("the daemon's answer has no body")?;
            let end = answer.rfind('}').context("the daemon's answer has no body")?;
            let stopping: Stopping = serde_json::from_str(&answer[start..=end])?;
            stopping.running.iter().map(|keeper| Hold::on(keeper.pid)).collect::<Result<Vec<_>>>()
        });
        let outcome = asked.map(|keepers| processes.extend(keepers));
        let deadline = Instant::now() + END_PATIENCE;
        let killed = processes.into_iter().filter(|process| !process.end_by(deadline)).count();
        self.child.wait()?;
        outcome?;
        ensure!(killed == 0, "{killed} process(es) did not stop in time and were killed");
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: the daemon did not stop well: {error:#}");
        }
    }
}

/// A hold on a process that is about to end.
struct Hold(Option<std::os::fd::OwnedFd>);

impl Hold {
    fn on(pid: i32) -> Result<Self> {
        let pid = Pid::from_raw(pid).context("no process has the id 0")?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Hold(Some(handle))),
            Err(rustix::io::Errno::SRCH) => Ok(Hold(None)),
            Err(error) => bail!("process {pid:?} cannot be watched: {error}"),
        }
    }

    /// Waits for the end until the deadline, then makes it; the answer is whether it came by itself.
    fn end_by(&self, deadline: Instant) -> bool {
        let Some(handle) = &self.0 else { return true };
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let gone = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0);
        if !gone {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
        gone
    }
}

/// One request over the Unix socket, without a runtime; the answer with its head.
pub(crate) fn request(socket: &Path, method: &str, path: &str, body: &str) -> Result<String> {
    let mut stream = UnixStream::connect(ShortPath::of(socket)?.path())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The settings that make this program an agent.
pub(crate) fn write_settings(home: &Path) -> Result<()> {
    std::fs::create_dir_all(home)?;
    let own = serde_json::to_string(&std::env::current_exe()?)?;
    std::fs::write(home.join("config.toml"), format!("[agents.{NAME}]\ncommand = [{own}, \"agent\"]\n"))?;
    Ok(())
}
