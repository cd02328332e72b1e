//! The writer's side of the tables: checks a batch against what is there, then writes it.
//!
//! Invariants:
//! - a refused batch leaves nothing behind: all checks come before the first write that cannot be taken back;
//! - only a failure of SQLite itself can come between writes, and then the whole transaction is rolled back.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use throughline_model::ids::{Id as _, InputId};
use throughline_model::state::State;
use uuid::Uuid;

use super::encode::{Encoded, EncodedAppend, EncodedEffect, EncodedRow, EncodedTask, StreamKey};
use crate::port::{CommitError, InboxEntry, Mark, StoreError};

/// How many streams' versions are remembered; beyond it they are looked up again.
const VERSIONS_MAX: usize = 8192;

/// The tables as the writer sees them.
pub(super) struct Ledger<'c> {
    connection: &'c Connection,
    log: Log<'c>,
    lists: Lists<'c>,
    work: Work<'c>,
    /// The newest sequence number, this transaction's included.
    head: u64,
    /// The newest one that is committed.
    committed: u64,
    versions: HashMap<StreamKey, u64>,
}

/// Statements of events and snapshots.
struct Log<'c> {
    version: Statement<'c>,
    append: Statement<'c>,
    resnapshot: Statement<'c>,
    snapshot: Statement<'c>,
}

/// Statements of the lists.
struct Lists<'c> {
    move_task: Statement<'c>,
    task: Statement<'c>,
    project: Statement<'c>,
    input: Statement<'c>,
    move_input: Statement<'c>,
    approval: Statement<'c>,
    delivery: Statement<'c>,
    addressed: Statement<'c>,
    name: Statement<'c>,
    unname: Statement<'c>,
}

/// Statements of what came in and what is to be done.
struct Work<'c> {
    received: Statement<'c>,
    receive: Statement<'c>,
    unreceive: Statement<'c>,
    put: Statement<'c>,
    settle: Statement<'c>,
    mark: Statement<'c>,
}

impl<'c> Ledger<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        let head = connection.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0))?;
        Ok(Self {
            connection,
            log: Log::prepare(connection)?,
            lists: Lists::prepare(connection)?,
            work: Work::prepare(connection)?,
            head,
            committed: head,
            versions: HashMap::new(),
        })
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }

    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        if !self.connection.is_autocommit() {
            self.roll_back();
        }
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT")?;
        self.committed = self.head;
        Ok(())
    }

    /// Forgets the transaction. SQLite may have done so itself when it failed.
    pub(super) fn roll_back(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
        self.head = self.committed;
        self.versions.clear();
    }

    /// Checks and writes a batch; the answer is the sequence number before its first event.
    pub(super) fn apply(&mut self, batch: &Encoded) -> Result<u64, CommitError> {
        // First, because a message that came twice is one even if its streams have moved on since.
        if let Some(entry) = &batch.inbox {
            self.work.receive(entry, batch.at)?;
        }
        if let Err(conflict) = self.check(batch) {
            if let Some(entry) = &batch.inbox {
                self.work.unreceive.execute([&entry.key]).map_err(StoreError::from)?;
            }
            return Err(conflict);
        }
        Ok(self.write(batch)?)
    }

    fn check(&mut self, batch: &Encoded) -> Result<(), CommitError> {
        for (index, append) in batch.appends.iter().enumerate() {
            let earlier = batch.appends[..index].iter().rev().find(|other| other.key == append.key);
            let actual = match earlier {
                Some(other) => other.expected + other.events.len() as u64,
                None => self.version(&append.key)?,
            };
            if actual != append.expected {
                return Err(CommitError::Conflict { stream: append.stream, expected: append.expected, actual });
            }
        }
        Ok(())
    }

    fn version(&mut self, key: &StreamKey) -> Result<u64, StoreError> {
        if let Some(version) = self.versions.get(key) {
            return Ok(*version);
        }
        let version = self.log.version.query_row([key], |row| row.get(0)).optional()?.unwrap_or(0);
        self.remember(*key, version);
        Ok(version)
    }

    fn remember(&mut self, key: StreamKey, version: u64) {
        if self.versions.len() >= VERSIONS_MAX {
            self.versions.clear();
        }
        self.versions.insert(key, version);
    }

    fn write(&mut self, batch: &Encoded) -> Result<u64, StoreError> {
        let before = self.head;
        for append in &batch.appends {
            self.head = self.log.append(append, self.head, batch.at)?;
            self.remember(append.key, append.expected + append.events.len() as u64);
        }
        for row in &batch.rows {
            self.lists.write(row)?;
        }
        self.work.change(batch)?;
        if let Some(mark) = &batch.mark {
            self.work.advance(mark)?;
        }
        Ok(before)
    }
}

impl<'c> Log<'c> {
    fn prepare(connection: &'c Connection) -> Result<Self, StoreError> {
        Ok(Self {
            version: connection.prepare(
                "SELECT version FROM events INDEXED BY events_of_stream WHERE stream = ?1 ORDER BY seq DESC LIMIT 1",
            )?,
            append: connection
                .prepare("INSERT INTO events (seq, stream, version, at, item, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
            resnapshot: connection
                .prepare("UPDATE snapshots SET version = ?2, format = ?3, data = ?4 WHERE stream = ?1")?,
            snapshot: connection
                .prepare("INSERT INTO snapshots (stream, version, format, data) VALUES (?1, ?2, ?3, ?4)")?,
        })
    }

    /// Writes the events of one stream; the answer is the newest sequence number.
    fn append(&mut self, append: &EncodedAppend, head: u64, at: i64) -> Result<u64, StoreError> {
        let (mut seq, mut version) = (head, append.expected);
        for event in &append.events {
            seq += 1;
            version += 1;
            self.append.execute(params![seq, append.key, version, at, event.item, event.data])?;
        }
        if let Some(data) = &append.snapshot {
            let row = params![append.key, version, State::FORMAT, data];
            if self.resnapshot.execute(row)? == 0 {
                self.snapshot.execute(row)?;
            }
        }
        Ok(seq)
    }
}

impl<'c> Lists<'c> {
    fn prepare(connection: &'c Connection) -> Result<Self, StoreError> {
        Ok(Self {
            // Leaves the columns alone that hardly ever change, and so their index.
            move_task: connection.prepare(
                "UPDATE tasks SET open = ?4, rank = ?5, recency = ?6, data = ?7 WHERE id = ?1 AND key = ?2 AND project = ?3",
            )?,
            task: connection.prepare(
                "INSERT INTO tasks (id, key, project, open, rank, recency, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (id) DO UPDATE SET key = excluded.key, project = excluded.project, open = excluded.open, \
                 rank = excluded.rank, recency = excluded.recency, data = excluded.data",
            )?,
            project: connection.prepare(
                "INSERT INTO projects (id, name, data) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (id) DO UPDATE SET name = excluded.name, data = excluded.data",
            )?,
            input: connection.prepare(
                "INSERT INTO inputs (id, decision, turn, state, data) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (id) DO UPDATE SET decision = excluded.decision, turn = excluded.turn, \
                 state = excluded.state, data = excluded.data",
            )?,
            move_input: connection.prepare("UPDATE inputs SET turn = ?2, state = ?3 WHERE id = ?1")?,
            approval: connection.prepare(
                "INSERT INTO approvals (id, state, asked_at, data) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (id) DO UPDATE SET state = excluded.state, asked_at = excluded.asked_at, data = excluded.data",
            )?,
            delivery: connection.prepare(
                "INSERT INTO outbox (id, at, data) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (id) DO UPDATE SET at = excluded.at, data = excluded.data",
            )?,
            addressed: connection.prepare(
                "INSERT INTO addressed (person, task, at) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (person, task) DO UPDATE SET at = excluded.at",
            )?,
            name: connection.prepare(
                "INSERT INTO names (name, of) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET of = excluded.of",
            )?,
            unname: connection.prepare("DELETE FROM names WHERE name = ?1")?,
        })
    }

    fn write(&mut self, row: &EncodedRow) -> Result<(), StoreError> {
        match row {
            EncodedRow::Task(task) => return self.task(task),
            EncodedRow::Project { id, name, data } => self.project.execute(params![id, name, data])?,
            EncodedRow::Input { id, decision, turn, state, data } => {
                self.input.execute(params![id, decision, turn, state, data])?
            }
            EncodedRow::InputMoved { id, turn, state } => self.move_input.execute(params![id, turn, state])?,
            EncodedRow::Approval { id, state, asked_at, data } => {
                self.approval.execute(params![id, state, asked_at, data])?
            }
            EncodedRow::Delivery { id, at, data } => self.delivery.execute(params![id, at, data])?,
            EncodedRow::Addressed { person, task, at } => self.addressed.execute(params![person, task, at])?,
            EncodedRow::Name { name, of: Some(of) } => self.name.execute(params![name, of])?,
            EncodedRow::Name { name, of: None } => self.unname.execute(params![name])?,
        };
        Ok(())
    }

    fn task(&mut self, task: &EncodedTask) -> Result<(), StoreError> {
        let row = params![task.id, task.key, task.project, task.open, task.rank, task.recency, task.data];
        if self.move_task.execute(row)? == 0 {
            self.task.execute(row)?;
        }
        Ok(())
    }
}

impl<'c> Work<'c> {
    fn prepare(connection: &'c Connection) -> Result<Self, StoreError> {
        Ok(Self {
            received: connection.prepare("SELECT digest, input, raw FROM inbox WHERE key = ?1")?,
            receive: connection.prepare(
                "INSERT INTO inbox (key, digest, input, at, raw) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (key) DO NOTHING",
            )?,
            unreceive: connection.prepare("DELETE FROM inbox WHERE key = ?1")?,
            put: connection.prepare(
                "INSERT INTO effects (key, due_at, data) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at, data = excluded.data",
            )?,
            settle: connection.prepare("DELETE FROM effects WHERE key = ?1")?,
            mark: connection.prepare(
                "INSERT INTO marks (session, epoch, safe, seen, not_json) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (session, epoch) DO UPDATE SET safe = max(safe, excluded.safe), \
                 seen = max(seen, excluded.seen), not_json = max(not_json, excluded.not_json)",
            )?,
        })
    }

    fn receive(&mut self, entry: &InboxEntry, at: i64) -> Result<(), CommitError> {
        let input = entry.input.uuid().into_bytes();
        let received =
            self.receive.execute(params![entry.key, entry.digest, input, at, entry.raw]).map_err(StoreError::from)?;
        if received == 0 {
            return Err(CommitError::Duplicate(self.earlier(&entry.key)?));
        }
        Ok(())
    }

    fn earlier(&mut self, key: &str) -> Result<InboxEntry, StoreError> {
        let found = self.received.query_row([key], |row| Ok((row.get(0)?, row.get::<_, [u8; 16]>(1)?, row.get(2)?)));
        let (digest, input, raw) = found?;
        Ok(InboxEntry { key: key.to_owned(), digest, input: InputId::from_uuid(Uuid::from_bytes(input)), raw })
    }

    /// What is settled goes first: a timer that fired may be set again by the same batch.
    fn change(&mut self, batch: &Encoded) -> Result<(), StoreError> {
        for key in &batch.settled {
            self.settle.execute([key])?;
        }
        for effect in &batch.effects {
            match effect {
                EncodedEffect::Put { key, due_at, data } => self.put.execute(params![key, due_at, data])?,
                EncodedEffect::Drop { key } => self.settle.execute([key])?,
            };
        }
        Ok(())
    }

    fn advance(&mut self, mark: &Mark) -> Result<(), StoreError> {
        let session = mark.session.uuid().into_bytes();
        self.mark.execute(params![session, mark.epoch, mark.safe, mark.seen, mark.not_json])?;
        Ok(())
    }
}
