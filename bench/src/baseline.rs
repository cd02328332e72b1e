//! The bare group-commit loop that appends are compared with: the same rows into the same tables with the same pragmas,
//! encoded beforehand, and nothing else. No checks, no versions, no answers but "done".

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rusqlite::{Connection, params};
use throughline_model::ids::Id as _;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::task::Lifecycle;
use throughline_model::view::{Row, TaskRow};
use throughline_store::port::{Batch, InboxEntry, Mark};
use throughline_store::sqlite::MIGRATIONS;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// The store's own.
const QUEUE: usize = 512;

/// A batch as text and bytes.
pub(crate) struct BareBatch {
    at: i64,
    appends: Vec<BareAppend>,
    rows: Vec<BareRow>,
    effects: Vec<(String, String)>,
    settled: Vec<String>,
    inbox: Option<InboxEntry>,
    mark: Option<Mark>,
}

struct BareAppend {
    stream: Vec<u8>,
    expected: u64,
    /// The item and the event.
    events: Vec<(Option<Vec<u8>>, String)>,
    snapshot: Option<String>,
}

enum BareRow {
    Task(Box<TaskRow>, String),
    Input { id: Vec<u8>, decision: Vec<u8>, data: String },
    InputMoved { id: Vec<u8>, turn: Option<Vec<u8>> },
}

impl BareBatch {
    /// Encodes what the store would.
    pub(crate) fn of(batch: &Batch) -> Result<Self> {
        let appends = batch.appends.iter().map(|append| {
            let events = append.events.iter().map(|event| {
                let item = event.revisable_item().map(|item| item.uuid().as_bytes().to_vec());
                Ok((item, event.encode()?))
            });
            Ok(BareAppend {
                stream: stream_key(append.stream),
                expected: append.expected,
                events: events.collect::<Result<_>>()?,
                snapshot: append.snapshot.as_deref().map(serde_json::to_string).transpose()?,
            })
        });
        let effects = batch.effects.iter().map(|effect| Ok((effect.key(), serde_json::to_string(effect)?)));
        Ok(BareBatch {
            at: batch.at.millis(),
            appends: appends.collect::<Result<_>>()?,
            rows: batch
                .rows
                .iter()
                .filter(|row| !matches!(row, Row::Addressed(_)))
                .map(bare_row)
                .collect::<Result<_>>()?,
            effects: effects.collect::<Result<_>>()?,
            settled: batch.settled.clone(),
            inbox: batch.inbox.clone(),
            mark: batch.mark,
        })
    }
}

fn stream_key(stream: StreamId) -> Vec<u8> {
    [&[stream.kind().number()], &stream.uuid().as_bytes()[..]].concat()
}

fn bare_row(row: &Row) -> Result<BareRow> {
    let bytes = |id: uuid::Uuid| id.as_bytes().to_vec();
    Ok(match row {
        Row::Task(task) => BareRow::Task(task.clone(), serde_json::to_string(task)?),
        Row::Input(input) => BareRow::Input {
            id: bytes(input.id.uuid()),
            decision: bytes(input.decision_id().uuid()),
            data: serde_json::to_string(input)?,
        },
        Row::InputMoved(moved) => {
            BareRow::InputMoved { id: bytes(moved.id.uuid()), turn: moved.turn.map(|turn| bytes(turn.uuid())) }
        }
        Row::Project(_) | Row::Approval(_) | Row::Delivery(_) | Row::Name(_) | Row::Addressed(_) => {
            bail!("no benchmark writes such a row")
        }
    })
}

/// Batches per second of as many writers as there are scripts, each waiting until its batch is durable.
pub(crate) async fn group_commit(folder: &Path, scripts: Vec<Vec<BareBatch>>) -> Result<f64> {
    let connection = open(&folder.join("bare.db"))?;
    let total: usize = scripts.iter().map(Vec::len).sum();
    let (send, receive) = mpsc::channel::<(BareBatch, oneshot::Sender<()>)>(QUEUE);
    let start = std::time::Instant::now();
    let writer = std::thread::spawn(move || commit_all(&connection, receive));
    let mut producers = JoinSet::new();
    for script in scripts {
        let send = send.clone();
        producers.spawn(async move {
            for batch in script {
                let (done, wait) = oneshot::channel();
                if send.send((batch, done)).await.is_err() || wait.await.is_err() {
                    return;
                }
            }
        });
    }
    drop(send);
    producers.join_all().await;
    let took = start.elapsed();
    let written = writer.join().ok().context("the bare loop panicked")??;
    anyhow::ensure!(written == total, "the bare loop wrote {written} of {total} batches");
    Ok(total as f64 / took.as_secs_f64())
}

fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -4096)?;
    // As long as the store's: with SQLite's own default the loop would copy the log four times as often.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 4000, |_| Ok(()))?;
    for migration in MIGRATIONS {
        connection.execute_batch(migration.sql)?;
    }
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn commit_all(connection: &Connection, mut receive: mpsc::Receiver<(BareBatch, oneshot::Sender<()>)>) -> Result<usize> {
    let mut group = Vec::with_capacity(QUEUE);
    let (mut seq, mut written) = (0, 0);
    while receive.blocking_recv_many(&mut group, QUEUE) > 0 {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (batch, _) in &group {
            seq = write(connection, seq, batch)?;
        }
        connection.execute_batch("COMMIT")?;
        written += group.len();
        for (_, done) in group.drain(..) {
            let _ = done.send(());
        }
    }
    Ok(written)
}

fn write(connection: &Connection, mut seq: u64, batch: &BareBatch) -> Result<u64> {
    let sql = |text| connection.prepare_cached(text);
    for append in &batch.appends {
        let mut version = append.expected;
        let mut insert = sql("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (item, data) in &append.events {
            (seq, version) = (seq + 1, version + 1);
            insert.execute(params![seq, append.stream, version, batch.at, item, data])?;
        }
        if let Some(data) = &append.snapshot {
            sql("INSERT INTO snapshots VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (stream) DO UPDATE SET version = ?2, format = ?3, data = ?4")?
            .execute(params![append.stream, version, State::FORMAT, data])?;
        }
    }
    for row in &batch.rows {
        write_row(connection, row)?;
    }
    if let Some(entry) = &batch.inbox {
        sql("INSERT INTO inbox (key, digest, input, at) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
            entry.key,
            entry.digest,
            entry.input.uuid().as_bytes(),
            batch.at
        ])?;
    }
    for key in &batch.settled {
        sql("DELETE FROM effects WHERE key = ?1")?.execute([key])?;
    }
    for (key, data) in &batch.effects {
        sql("INSERT INTO effects (key, due_at, data) VALUES (?1, ?2, ?3)")?.execute(params![key, batch.at, data])?;
    }
    if let Some(mark) = &batch.mark {
        sql("INSERT INTO marks VALUES (?1, ?2, ?3, ?4, 0) ON CONFLICT DO UPDATE SET safe = ?3, seen = ?4")?
            .execute(params![mark.session.uuid().as_bytes(), mark.epoch, mark.safe, mark.seen])?;
    }
    Ok(seq)
}

fn write_row(connection: &Connection, row: &BareRow) -> Result<()> {
    let sql = |text| connection.prepare_cached(text);
    match row {
        BareRow::Task(task, data) => {
            let (id, project) = (task.id.uuid(), task.project.uuid());
            let open = task.lifecycle == Lifecycle::Open;
            let recency = -task.updated_at.millis();
            sql("INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (id) DO UPDATE SET open = ?4, rank = ?5, recency = ?6, data = ?7")?
            .execute(params![id.as_bytes(), task.key, project.as_bytes(), open, task.activity.rank(), recency, data])?;
        }
        BareRow::Input { id, decision, data } => {
            sql("INSERT INTO inputs VALUES (?1, ?2, NULL, 'received', ?3)")?.execute(params![id, decision, data])?;
        }
        BareRow::InputMoved { id, turn } => {
            sql("UPDATE inputs SET turn = ?2, state = 'dispatched' WHERE id = ?1")?.execute(params![id, turn])?;
        }
    }
    Ok(())
}
