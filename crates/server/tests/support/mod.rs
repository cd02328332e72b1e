//! A daemon in a temporary home: the real engine on the real store behind the real server, with no agent that starts.
//!
//! What agents would do is written into the record by [`Daemon::tell`], which decides and commits as the engine does but
//! performs no effect, so that nothing happens by itself.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

pub mod push;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use throughline_api::client::Client;
use throughline_api::event::Frame;
use throughline_channels::Channels;
use throughline_engine::{Clock, Config, Engine, Home, Options, Shutdown, SystemClock};
use throughline_model::approval::{ApprovalOption, Ask as Asking, Asked, OptionKind};
use throughline_model::command::Command;
use throughline_model::content::{ContentBlock, Text};
use throughline_model::execution::Role;
use throughline_model::ids::{
    ApprovalId, Id as _, InputId, ItemId, Mint, PersonId, ProjectId, RuntimeSessionId, TaskId, TurnId,
};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::runtime_session::{Parking, RuntimeDescription};
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TaskSeed, TurnAnswer};
use throughline_model::time::{Now, Timestamp};
use throughline_model::turn::{StopReason, Usage};
use throughline_model::view;
use throughline_server::{Ended, ServeOptions, Server};
use throughline_store::port::{Answer, Append, Ask, Batch, Store};
use throughline_store::{OpenOptions, SqliteStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Nothing in these tests takes this long unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Daemon {
    pub folder: tempfile::TempDir,
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub client: Client,
    pub address: SocketAddr,
    pub tls: Option<SocketAddr>,
    pub token: String,
    pub person: PersonId,
    pub project: ProjectId,
    pub shutdown: CancellationToken,
    pub running: JoinHandle<Ended>,
    pub socket: PathBuf,
}

pub const HOUR: i64 = 3_600_000;

/// The machine's clock, so much ahead.
#[derive(Default)]
pub struct Shifted(AtomicI64);

impl Shifted {
    /// It is this long after midnight from now on, and goes on from there.
    pub fn set(&self, millis_of_day: i64) {
        let day = 24 * HOUR;
        let ahead = millis_of_day - SystemClock.at().millis().rem_euclid(day);
        // Never back.
        let ahead = if ahead < self.0.load(Ordering::SeqCst) { ahead + day } else { ahead };
        self.0.store(ahead, Ordering::SeqCst);
    }
}

impl Clock for Shifted {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(SystemClock.at().millis() + self.0.load(Ordering::SeqCst))
    }

    fn entropy(&self) -> u128 {
        SystemClock.entropy()
    }
}

/// A task whose agent has a prompt and waits.
pub struct Working {
    pub task: TaskId,
    pub key: String,
    pub turn: TurnId,
    pub session: RuntimeSessionId,
}

/// A raw answer.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Raw {
    pub fn code(&self) -> String {
        let problem: serde_json::Value =
            serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no problem in {self:?}"));
        assert_eq!(problem["status"], self.status);
        assert!(!problem["hint"].as_str().unwrap().is_empty());
        assert!(self.head.to_ascii_lowercase().contains("content-type: application/problem+json"), "{self:?}");
        problem["code"].as_str().unwrap().to_owned()
    }
}

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

impl Daemon {
    pub async fn start() -> Daemon {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(adjust: impl FnOnce(&mut ServeOptions)) -> Daemon {
        Self::start_with_channels(Channels::default(), adjust).await
    }

    pub async fn start_with_channels(channels: Channels, adjust: impl FnOnce(&mut ServeOptions)) -> Daemon {
        Self::start_at(Arc::new(SystemClock), channels, adjust).await
    }

    /// By another clock.
    pub async fn start_at(clock: Arc<dyn Clock>, channels: Channels, adjust: impl FnOnce(&mut ServeOptions)) -> Daemon {
        Self::start_in(tempfile::tempdir().unwrap(), clock, channels, adjust).await
    }

    /// In the home that another one left.
    pub async fn start_in(
        folder: tempfile::TempDir,
        clock: Arc<dyn Clock>,
        channels: Channels,
        adjust: impl FnOnce(&mut ServeOptions),
    ) -> Daemon {
        let home = Home::at(&folder.path().join("home")).unwrap();
        let lock = within("the last daemon lets go", async {
            loop {
                match home.lock() {
                    Ok(lock) => return lock,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        })
        .await;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&OpenOptions::new(home.path())).unwrap());
        let config = Config::load(&home).unwrap();
        let options = Options { home: home.clone(), lock, config, keeper_exe: "/bin/false".into(), channels };
        let engine = Engine::start_with(options, Arc::clone(&store), clock).await.unwrap();
        let mut serve = ServeOptions::new(&home);
        adjust(&mut serve);
        let server = Server::bind(engine.clone(), serve).await.unwrap();
        let socket = server.socket().to_owned();
        let address = server.url().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
        let tls = server.tls_address();
        let token = server.token().reveal().to_owned();
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(server.run(shutdown.clone()));
        let person = engine.owner(rustix::process::getuid().as_raw()).await.unwrap();
        let root = folder.path().join("shop");
        let project = match store.ask(Ask::Projects).await.unwrap() {
            Answer::Projects(known) if !known.is_empty() => known[0].id,
            _ => {
                std::fs::create_dir(&root).unwrap();
                engine.add_project(person, &root, Some("shop".into()), Some("demo".into())).await.unwrap().id
            }
        };
        let client = Client::unix(&socket).with_patience(PATIENCE);
        Daemon { folder, engine, store, client, address, tls, token, person, project, shutdown, running, socket }
    }

    /// Ends it where it stands, and leaves its home to the next one.
    pub async fn end(self) -> tempfile::TempDir {
        self.shutdown.cancel();
        within("it ends", self.running).await.unwrap();
        self.engine.shutdown(Shutdown::LeaveKeepers).await;
        self.folder
    }

    /// Decides a task's command and commits it, and performs nothing.
    pub async fn tell(&self, task: TaskId, command: TaskCommand) {
        let stream = StreamId::Task(task);
        let loaded = self.store.load(stream).await.unwrap();
        let (mut state, mut version) = (loaded.state, loaded.version);
        for recorded in &loaded.tail {
            throughline_model::evolve(&mut state, &recorded.event, recorded.at);
            version = recorded.version;
        }
        let at = self.engine.now();
        let now = Now { at, entropy: task.uuid().as_u128() ^ u128::from(version) };
        let events = throughline_model::decide(stream, &state, Command::Task(command), now).unwrap();
        let mut rows = vec![];
        for event in &events {
            let before = state.clone();
            throughline_model::evolve(&mut state, event, at);
            rows.extend(view::rows(stream, &before, &state, event, at));
        }
        let append = Append { stream, expected: version, events, snapshot: None };
        self.store.commit(Batch { at, appends: vec![append], rows, ..Batch::default() }).await.unwrap();
    }

    /// A task that nothing was said to yet.
    pub async fn task(&self, number: u128) -> (TaskId, String) {
        self.task_of(self.project, self.person, number).await
    }

    /// The same, in a project of somebody.
    pub async fn task_of(&self, project: ProjectId, person: PersonId, number: u128) -> (TaskId, String) {
        let mut mint = Mint::new(Timestamp::from_millis(1_700_000_000_000), number);
        let (task, key) = (mint.id(), format!("shop-{}", 1000 + number));
        let seed = TaskSeed {
            project,
            title: "Fix routing".into(),
            goal: "fix it".into(),
            root: self.folder.path().join("shop").display().to_string(),
            execution: mint.id(),
            agent: "demo".into(),
            role: Role::Editor,
        };
        self.tell(task, TaskCommand::Create { seed, person, conversation: mint.id() }).await;
        self.tell(task, TaskCommand::AssignKey { key: key.clone() }).await;
        (task, key)
    }

    /// A task whose agent was prompted.
    pub async fn working(&self, number: u128) -> Working {
        let (task, key) = self.task(number).await;
        let mut mint = Mint::new(Timestamp::from_millis(1_700_000_000_001), number);
        let queued = QueuedInput {
            input: mint.id::<InputId>(),
            person: self.person,
            conversation: mint.id(),
            content: vec![ContentBlock::text("go on")],
            at: Timestamp::from_millis(1_700_000_000_000),
        };
        self.tell(task, TaskCommand::Enqueue { queued, execution: None, urgency: Urgency::InTurn }).await;
        let turn = self.state(task).await.executions[0].active.as_ref().unwrap().id;
        self.tell(task, TaskCommand::BeginTurn { turn }).await;
        let session = self.state(task).await.executions[0].session.as_ref().unwrap().id;
        let report = Report::Opened {
            native: "native-1".into(),
            description: Box::new(RuntimeDescription::default()),
            parking: Parking::default(),
        };
        self.tell(task, TaskCommand::Report { session, epoch: 1, report }).await;
        Working { task, key, turn, session }
    }

    pub async fn report(&self, working: &Working, report: Report) {
        self.tell(working.task, TaskCommand::Report { session: working.session, epoch: 1, report }).await;
    }

    /// Records a state of a tool call.
    pub async fn tool_call(&self, working: &Working, name: &str, status: ToolStatus) {
        let item = Item {
            id: ItemId::derive(working.turn.uuid(), name),
            turn: Some(working.turn),
            body: ItemBody::ToolCall(ToolCall {
                call: name.into(),
                title: name.into(),
                tool: "execute".into(),
                status,
                input: None,
                output: status.ended().then(|| Text::from("done")),
                exit_code: None,
                changes: vec![],
                locations: vec![],
                unasked: false,
            }),
        };
        self.report(working, Report::Recorded(Box::new(item))).await;
    }

    /// Records a finished message.
    pub async fn message(&self, working: &Working, text: &str) {
        self.report(working, Report::Recorded(Box::new(said(working, text)))).await;
    }

    /// Asks for an approval.
    pub async fn ask(&self, working: &Working, name: &str) -> ApprovalId {
        self.ask_for(working, name, Some(r#"{"command":["cargo","test"]}"#.into())).await
    }

    pub async fn ask_for(&self, working: &Working, name: &str, input: Option<Text>) -> ApprovalId {
        self.report(working, asked_for(working, name, input)).await;
        ApprovalId::derive(working.turn.uuid(), name)
    }

    pub async fn state(&self, task: TaskId) -> throughline_model::task::Task {
        let loaded = self.store.load(StreamId::Task(task)).await.unwrap();
        let mut state = loaded.state;
        for recorded in &loaded.tail {
            throughline_model::evolve(&mut state, &recorded.event, recorded.at);
        }
        state.task().unwrap().clone()
    }

    /// The agent does something, through the engine, so that listeners are told.
    pub async fn does(&self, working: &Working, report: Report) {
        let command = TaskCommand::Report { session: working.session, epoch: 1, report };
        self.engine.send(StreamId::Task(working.task), Command::Task(command)).await.unwrap();
    }

    /// It says something.
    pub async fn say(&self, working: &Working, text: &str) {
        self.does(working, Report::Recorded(Box::new(said(working, text)))).await;
    }

    /// It is done.
    pub async fn complete(&self, working: &Working) {
        self.does(working, done(working)).await;
    }

    /// One request over TCP, byte for byte.
    pub async fn raw(&self, request: &[u8]) -> Raw {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(request).await.unwrap();
            let mut answer = vec![];
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8(answer).unwrap()
        };
        let answer = within("a raw request", exchange).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Raw { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A request over TCP with the token, or without it.
    pub async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Raw {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        self.raw(&[request.as_bytes(), body].concat()).await
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// The same with the right host and token.
    pub async fn authed(&self, method: &str, path: &str, body: &[u8]) -> Raw {
        self.call(method, path, &[("host", &self.host()), ("authorization", &self.bearer())], body).await
    }
}

/// The turn ended by itself.
pub fn done(working: &Working) -> Report {
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    Report::TurnAnswered { turn: working.turn, answer, usage: Usage::default() }
}

/// What an agent asks for: to run the tests.
pub fn asked(working: &Working, name: &str) -> Report {
    asked_for(working, name, Some(r#"{"command":["cargo","test"]}"#.into()))
}

pub fn asked_for(working: &Working, name: &str, input: Option<Text>) -> Report {
    let approval = ApprovalId::derive(working.turn.uuid(), name);
    let option = |id: &str, kind| ApprovalOption { id: id.into(), name: id.into(), kind };
    Report::Asked(Box::new(Asked {
        approval,
        request: format!("\"{name}\""),
        item: None,
        ask: Asking {
            call: name.into(),
            title: "cargo test".into(),
            tool: "execute".into(),
            input,
            cwd: "/tmp".into(),
        },
        options: vec![
            option("yes", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ],
        expires_secs: 3_600,
        ruling: None,
    }))
}

fn said(working: &Working, text: &str) -> Item {
    Item {
        id: ItemId::derive(working.turn.uuid(), text),
        turn: Some(working.turn),
        body: ItemBody::Message { text: Text::from(text), attachments: vec![], question: false },
    }
}

/// The next frame that is not live text.
pub async fn next_durable(stream: &mut throughline_api::client::EventStream) -> Frame {
    loop {
        match within("the next event", stream.next()).await.unwrap().expect("the stream goes on") {
            Frame::Live(_) => {}
            frame => return frame,
        }
    }
}
