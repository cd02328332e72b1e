//! How many durable batches per second the store takes from 64 concurrent writers, against a bare SQLite
//! group-commit loop that writes the same rows into the same tables.
//!
//! `cargo run --release -p throughline-store --example append [batches per writer] [rounds]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use rusqlite::{Connection, params};
use throughline_model::event::Event;
use throughline_model::execution::Activity;
use throughline_model::ids::{Id as _, ProjectId, RuntimeSessionId};
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::Row;
use throughline_store::conformance::Fixture;
use throughline_store::port::{Append, Batch, InboxEntry, Mark, Store};
use throughline_store::sqlite::MIGRATIONS;
use throughline_store::{OpenOptions, SqliteStore};

const WRITERS: u128 = 64;
const TEXT_BYTES: usize = 300;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One writer's task, and the batches it will commit: what a turn's step changes, in all tables that it can.
struct Script {
    seed: u128,
    stream: StreamId,
    project: ProjectId,
    version: u64,
    last_key: Option<String>,
}

impl Script {
    fn new(seed: u128) -> Self {
        let mut make = Fixture::new(seed);
        let (stream, project) = (make.stream(), make.id());
        Self { seed, stream, project, version: 0, last_key: None }
    }

    fn next(&mut self) -> Batch {
        let now = Timestamp::from_millis(i64::try_from(self.version).unwrap_or_default());
        let make = &mut Fixture::made_at(now, self.seed);
        let event = make.message(&"lorem ipsum dolor ".repeat(TEXT_BYTES / 18));
        let mut task = make.task(self.project, Activity::Working, now);
        if let StreamId::Task(id) = self.stream {
            task.id = id;
            task.key = format!("t-{id}");
        }
        let input = make.input(task.id);
        let effect = make.prompt();
        let settled = self.last_key.replace(effect.key()).into_iter().collect();
        let append = Append { stream: self.stream, expected: self.version, events: vec![event], snapshot: None };
        self.version += 1;
        let session = RuntimeSessionId::from_uuid(self.stream.uuid());
        Batch {
            appends: vec![append],
            inbox: Some(InboxEntry {
                key: format!("web:{}", input.id),
                digest: "0".repeat(64),
                input: input.id,
                raw: None,
            }),
            rows: vec![Row::Task(Box::new(task)), Row::Input(Box::new(input))],
            effects: vec![effect],
            settled,
            mark: Some(Mark { session, epoch: 1, safe: self.version, seen: self.version, not_json: 0 }),
            ..Batch::default()
        }
    }
}

fn scripts(batches: usize) -> Vec<Vec<Batch>> {
    (0..WRITERS)
        .map(|writer| {
            let mut script = Script::new((writer + 1) << 64);
            (0..batches).map(|_| script.next()).collect()
        })
        .collect()
}

async fn through_the_store(home: &Path, scripts: Vec<Vec<Batch>>) -> Outcome<f64> {
    let store = Arc::new(SqliteStore::open(&OpenOptions::new(home))?);
    let total: usize = scripts.iter().map(Vec::len).sum();
    let start = Instant::now();
    let mut writers = tokio::task::JoinSet::new();
    for script in scripts {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for batch in script {
                store.commit(batch).await?;
            }
            Outcome::Ok(())
        });
    }
    for writer in writers.join_all().await {
        writer?;
    }
    Ok(total as f64 / start.elapsed().as_secs_f64())
}

/// The same rows as text and bytes, encoded beforehand: the loop only writes.
struct Bare {
    stream: Vec<u8>,
    version: u64,
    event: String,
    task: (Vec<u8>, String, Vec<u8>, String),
    input: (Vec<u8>, Vec<u8>, String),
    inbox: String,
    effect: (String, String),
    settled: Option<String>,
}

fn bare(batch: &Batch) -> Outcome<Bare> {
    let append = &batch.appends[0];
    let stream = [&[append.stream.kind().number()], &append.stream.uuid().as_bytes()[..]].concat();
    let (Row::Task(task), Row::Input(input)) = (&batch.rows[0], &batch.rows[1]) else {
        return Err("other rows".into());
    };
    let bytes = |id: uuid::Uuid| id.as_bytes().to_vec();
    Ok(Bare {
        stream,
        version: append.expected + 1,
        event: Event::encode(&append.events[0])?,
        task: (bytes(task.id.uuid()), task.key.clone(), bytes(task.project.uuid()), serde_json::to_string(task)?),
        input: (bytes(input.id.uuid()), bytes(input.decision_id().uuid()), serde_json::to_string(input)?),
        inbox: batch.inbox.as_ref().map(|entry| entry.key.clone()).unwrap_or_default(),
        effect: (batch.effects[0].key(), serde_json::to_string(&batch.effects[0])?),
        settled: batch.settled.first().cloned(),
    })
}

fn bare_database(home: &Path) -> Outcome<Connection> {
    let connection = Connection::open(home.join("bare.db"))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    for migration in MIGRATIONS {
        connection.execute_batch(migration.sql)?;
    }
    Ok(connection)
}

/// The loop that STACK.md measures: threads hand rows to one that commits whatever waits. `make` turns what a thread
/// has into rows.
fn through_a_bare_loop<T: Send + 'static>(
    home: &Path,
    scripts: Vec<Vec<T>>,
    make: impl Fn(T) -> Outcome<Bare> + Copy + Send + 'static,
) -> Outcome<f64> {
    let connection = bare_database(home)?;
    let total: usize = scripts.iter().map(Vec::len).sum();
    let (send, receive) = mpsc::channel::<(Bare, mpsc::SyncSender<()>)>();
    let start = Instant::now();
    let writers: Vec<_> = scripts
        .into_iter()
        .map(|script| {
            let send = send.clone();
            std::thread::spawn(move || {
                for thing in script {
                    let (done, wait) = mpsc::sync_channel(1);
                    let Ok(row) = make(thing) else { return };
                    if send.send((row, done)).is_err() || wait.recv().is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    drop(send);
    let mut seq = 0;
    while let Ok(first) = receive.recv() {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut told = Vec::new();
        for (row, done) in std::iter::once(first).chain(receive.try_iter()) {
            seq += 1;
            write_bare(&connection, seq, &row)?;
            told.push(done);
        }
        connection.execute_batch("COMMIT")?;
        for done in told {
            let _ = done.send(());
        }
    }
    for writer in writers {
        writer.join().map_err(|_| "a writer panicked")?;
    }
    Ok(total as f64 / start.elapsed().as_secs_f64())
}

fn write_bare(connection: &Connection, seq: u64, row: &Bare) -> Outcome<()> {
    let sql = |text| connection.prepare_cached(text);
    sql("INSERT INTO events VALUES (?1, ?2, ?3, ?4, NULL, ?5)")?.execute(params![
        seq,
        row.stream,
        row.version,
        0,
        row.event
    ])?;
    let (id, key, project, data) = &row.task;
    let recency = 1 - i64::try_from(row.version)?;
    sql("INSERT INTO tasks VALUES (?1, ?2, ?3, 1, 4, ?4, ?5) ON CONFLICT (id) DO UPDATE SET recency = ?4, data = ?5")?
        .execute(params![id, key, project, recency, data])?;
    let (id, decision, data) = &row.input;
    sql("INSERT INTO inputs VALUES (?1, ?2, NULL, 'received', ?3)")?.execute(params![id, decision, data])?;
    sql("INSERT INTO inbox (key, digest, input, at) VALUES (?1, ?2, ?3, 0)")?.execute(params![
        row.inbox,
        "0".repeat(64),
        row.input.0
    ])?;
    if let Some(key) = &row.settled {
        sql("DELETE FROM effects WHERE key = ?1")?.execute([key])?;
    }
    sql("INSERT INTO effects (key, due_at, data) VALUES (?1, 0, ?2)")?.execute(params![row.effect.0, row.effect.1])?;
    sql("INSERT INTO marks VALUES (?1, 1, ?2, ?2, 0) ON CONFLICT DO UPDATE SET safe = ?2, seen = ?2")?
        .execute(params![&row.stream[1..], row.version])?;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let batches = arguments.next().transpose()?.unwrap_or(200);
    let rounds = arguments.next().transpose()?.unwrap_or(9);
    let (mut ready_made, mut made_there) = (Vec::new(), Vec::new());
    // Many short rounds and their median, because whatever else the machine does hits one side of a round only.
    for round in 1..=rounds {
        let (homes, encoded) = ([tempfile::tempdir()?, tempfile::tempdir()?], scripts(batches));
        let encoded = encoded.iter().map(|script| script.iter().map(bare).collect()).collect::<Outcome<_>>()?;
        let ready = through_a_bare_loop(homes[0].path(), encoded, Ok)?;
        let store = through_the_store(homes[0].path(), scripts(batches)).await?;
        let made = through_a_bare_loop(homes[1].path(), scripts(batches), |batch| bare(&batch))?;
        println!(
            "round {round}: store {store:.0}/s, bare loop {ready:.0}/s with ready-made rows, {made:.0}/s making them"
        );
        ready_made.push(store / ready);
        made_there.push(store / made);
    }
    println!("durable batches at 64 writers, against a bare group-commit loop (medians):");
    println!("  {:.2} of one whose rows are ready-made", median(ready_made));
    println!("  {:.2} of one whose writers turn the same batches into rows", median(made_there));
    Ok(())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
