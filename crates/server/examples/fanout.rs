//! Many clients on one task: `cargo run --profile quick -p throughline-server --example fanout -- CLIENTS PER_SECOND SECONDS`.
//!
//! Everything in one process, the real engine and store. Each client has to get every durable event once, in order; one
//! more never reads. Prints what was delivered, how late, and what it cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use throughline_channels::Channels;
use throughline_engine::{Clock as _, Config, Engine, Home, Options, SystemClock};
use throughline_model::command::Command;
use throughline_model::content::Text;
use throughline_model::execution::Role;
use throughline_model::ids::{Id as _, ItemId, Mint};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::item::{Item, ItemBody};
use throughline_model::runtime_session::{Parking, RuntimeDescription};
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TaskSeed};
use throughline_server::{ServeOptions, Server};
use throughline_store::{OpenOptions, SqliteStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() {
    let number = |index: usize, default: u64| {
        std::env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (clients, rate, seconds) = (number(1, 1000), number(2, 50), number(3, 10));
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(&folder.path().join("home")).expect("a home");
    let lock = home.lock().expect("it is free");
    let store = SqliteStore::open(&OpenOptions::new(home.path())).expect("a store");
    let config = Config::load(&home).expect("settings");
    let options =
        Options { home: home.clone(), lock, config, keeper_exe: "/bin/false".into(), channels: Channels::default() };
    let engine = Engine::start(options, Arc::new(store)).await.expect("an engine");
    let server = Server::bind(engine.clone(), ServeOptions::new(&home)).await.expect("a server");
    let address = server.url().and_then(|url| url.strip_prefix("http://")).expect("an address").to_owned();
    let token = server.token().reveal().to_owned();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(server.run(shutdown.clone()));
    let task = Working::start(&engine, folder.path()).await;

    let total = rate * seconds;
    let late = Arc::new([const { AtomicU64::new(0) }; 2001]);
    let path = format!("/api/v1/events?task={}", task.task);
    let mut readers = vec![];
    for _ in 0..clients {
        let mut stream = open(&address, &path, &token).await;
        wait_for(&mut stream, b"event: ready").await;
        let late = Arc::clone(&late);
        readers.push(tokio::spawn(async move { read(stream, total, &late).await }));
    }
    let stuck = open(&address, "/api/v1/events", &token).await;
    println!("{clients} clients are ready");
    let cpu = cpu_ms();
    let mut beat = tokio::time::interval(Duration::from_micros(1_000_000 / rate));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for number in 0..total {
        beat.tick().await;
        task.say(&engine, number).await;
    }
    let mut whole = 0;
    for reader in readers {
        let seen = tokio::time::timeout(Duration::from_secs(60), reader).await.expect("in time").expect("no panic");
        whole += u64::from(seen == total);
    }
    let cpu = cpu_ms() - cpu;
    println!("{whole} of {clients} got all {total} events once, in order");
    println!("latency p50 {} ms, p99 {} ms, max {} ms", at(&late, 0.5), at(&late, 0.99), at(&late, 1.0));
    println!("cpu {cpu} ms in {seconds} s, clients included: {:.2} cores", cpu as f64 / 1000.0 / seconds as f64);
    drop(stuck);
    shutdown.cancel();
    running.await.expect("the end");
}

struct Working {
    task: throughline_model::ids::TaskId,
    turn: throughline_model::ids::TurnId,
    session: throughline_model::ids::RuntimeSessionId,
}

impl Working {
    async fn start(engine: &Engine, folder: &std::path::Path) -> Working {
        let person = engine.owner(rustix::process::getuid().as_raw()).await.expect("a person");
        let root = folder.join("shop");
        std::fs::create_dir(&root).expect("a root");
        let project = engine.add_project(person, &root, None, None).await.expect("a project").id;
        let mut mint: Mint = SystemClock.now().mint();
        let task = mint.id();
        let send =
            async |command| engine.send(StreamId::Task(task), Command::Task(command)).await.expect("it is taken");
        let seed = TaskSeed {
            project,
            title: "many".into(),
            goal: "many".into(),
            root: root.display().to_string(),
            execution: mint.id(),
            agent: "demo".into(),
            // A reader needs no lease, so nothing else happens.
            role: Role::Reviewer,
        };
        let conversation = mint.id();
        send(TaskCommand::Create { seed, person, conversation }).await;
        let content = vec![throughline_model::content::ContentBlock::text("go")];
        let queued = QueuedInput { input: mint.id(), person, conversation, content, at: SystemClock.at() };
        send(TaskCommand::Enqueue { queued, execution: None, urgency: Urgency::InTurn }).await;
        let state = engine.task(task).await.expect("it can be read").expect("it is there");
        let execution = &state.executions[0];
        let (turn, session) =
            (execution.active.as_ref().expect("a turn").id, execution.session.as_ref().expect("a runtime session").id);
        let opened = Report::Opened {
            native: "native".into(),
            description: Box::new(RuntimeDescription::default()),
            parking: Parking::default(),
        };
        send(TaskCommand::Report { session, epoch: 1, report: opened }).await;
        Working { task, turn, session }
    }

    async fn say(&self, engine: &Engine, number: u64) {
        let text = format!("#{number}@{}# {}", SystemClock.at().millis(), "word ".repeat(40));
        let body = ItemBody::Message { text: Text::from(text.as_str()), attachments: vec![], question: false };
        let item = Item { id: ItemId::derive(self.turn.uuid(), &text), turn: Some(self.turn), body };
        let report = Report::Recorded(Box::new(item));
        let command = TaskCommand::Report { session: self.session, epoch: 1, report };
        engine.send(StreamId::Task(self.task), Command::Task(command)).await.expect("it is taken");
    }
}

async fn open(address: &str, path: &str, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream
}

async fn wait_for(stream: &mut TcpStream, what: &[u8]) {
    let mut seen = vec![];
    while !seen.windows(what.len()).any(|window| window == what) {
        assert!(stream.read_buf(&mut seen).await.expect("read") > 0, "{}", String::from_utf8_lossy(&seen));
    }
}

/// Reads until all events came; the answer is how many came in order.
async fn read(mut stream: TcpStream, total: u64, late: &[AtomicU64; 2001]) -> u64 {
    let mut buffer: Vec<u8> = vec![];
    let mut next = 0;
    while next < total {
        if stream.read_buf(&mut buffer).await.expect("read") == 0 {
            break;
        }
        let now = SystemClock.at().millis();
        let mut done = 0;
        while let Some(end) = buffer[done..].windows(2).position(|window| window == b"\n\n") {
            let frame = &buffer[done..done + end];
            done += end + 2;
            let Some(mark) = frame.iter().position(|byte| *byte == b'#') else { continue };
            let text = std::str::from_utf8(&frame[mark + 1..]).expect("text");
            let (number, rest) = text.split_once('@').expect("a number");
            assert_eq!(number.parse::<u64>().expect("a number"), next, "in order");
            next += 1;
            let at: i64 = rest.split_once('#').expect("a time").0.parse().expect("a time");
            let ms = usize::try_from(now - at).unwrap_or_default().min(2000);
            late[ms].fetch_add(1, Ordering::Relaxed);
        }
        buffer.drain(..done);
    }
    next
}

fn at(late: &[AtomicU64; 2001], part: f64) -> usize {
    let all: u64 = late.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    let mut left = (all as f64 * part).ceil() as u64;
    late.iter()
        .position(|count| {
            left = left.saturating_sub(count.load(Ordering::Relaxed));
            left == 0
        })
        .unwrap_or(2000)
}

fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    (fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")) * 10
}
