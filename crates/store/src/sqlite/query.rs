//! Everything that is read but the list of tasks.
//!
//! Invariant: what cannot be decoded is [`StoreError::Corrupt`], with the place where it stands. Nothing is skipped.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params, params_from_iter};
use serde::de::DeserializeOwned;
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::ids::{Id as _, InputId, ItemId, PersonId, RuntimeSessionId, TaskId, TurnId};
use throughline_model::state::State;
use throughline_model::stream::{StreamId, StreamKind};
use throughline_model::time::Timestamp;
use throughline_model::view::{Addressed, DeliveryRow, InputRow, TaskRow};
use uuid::Uuid;

use super::encode::{Key, stream_key, stream_of};
use crate::port::{
    Answer, Ask, DeliveryQuery, Due, Feed, InboxEntry, Loaded, Lookup, Mark, PageQuery, PendingEffect, StoreError,
};

pub(super) const FEED: &str = "SELECT seq, stream, version, at, data FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
pub(super) const FEED_OF_STREAM: &str = "SELECT seq, stream, version, at, data FROM events INDEXED BY events_of_stream \
     WHERE stream = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
pub(super) const PAGE: &str = "SELECT seq, stream, version, at, data FROM events INDEXED BY events_of_stream \
     WHERE stream = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
pub(super) const LATEST_ITEM: &str = "SELECT seq, stream, version, at, data FROM events INDEXED BY events_of_item \
     WHERE item = ?1 AND stream = ?2 ORDER BY seq DESC LIMIT 1";
/// Newest first, because only the last few of a stream's events come after its snapshot.
pub(super) const TAIL: &str = "SELECT seq, stream, version, at, data FROM events INDEXED BY events_of_stream \
     WHERE stream = ?1 ORDER BY seq DESC";
pub(super) const DUE: &str =
    "SELECT key, due_at, data FROM effects INDEXED BY effects_due ORDER BY due_at, nr LIMIT ?1";

/// A scan, which its second bound keeps within a second or so: words of two Chinese characters are in no full-text index.
pub(super) const MENTIONS: &str = "SELECT seq, stream, version, at, data FROM events \
     WHERE seq > (SELECT coalesce(max(seq), 0) FROM events) - ?2 AND data LIKE ?1 ESCAPE '~' AND substr(stream, 1, 1) = ?3 \
     ORDER BY seq DESC LIMIT ?4";
/// How many events back a text is looked for.
const MENTIONS_WITHIN: i64 = 500_000;

/// All rows of a query, by a prepared statement.
pub(super) fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut map: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(map(row)?);
    }
    Ok(found)
}

/// Reads JSON of the database.
pub(super) fn from_json<T: DeserializeOwned>(data: &str, place: impl Fn() -> String) -> Result<T, StoreError> {
    serde_json::from_str(data).map_err(|error| StoreError::Corrupt(format!("{}: {error}", place())))
}

fn text<'r>(row: &'r Row<'_>, column: usize, place: impl Fn() -> String) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|error| StoreError::Corrupt(format!("{}: {error}", place())))
}

fn recorded(row: &Row<'_>) -> Result<Recorded, StoreError> {
    let seq: u64 = row.get(0)?;
    let place = || format!("event {seq}");
    let key = row.get_ref(1)?.as_blob().map_err(|error| StoreError::Corrupt(format!("{}: {error}", place())))?;
    let stream =
        stream_of(key).ok_or_else(|| StoreError::Corrupt(format!("{}: of no known kind of stream", place())))?;
    let event = Event::decode(stream.kind(), text(row, 4, place)?)
        .map_err(|error| StoreError::Corrupt(format!("{}: {error}", place())))?;
    Ok(Recorded { seq: Seq(seq), stream, version: row.get(2)?, at: Timestamp::from_millis(row.get(3)?), event })
}

pub(super) fn read(connection: &Connection, feed: Feed) -> Result<Vec<Recorded>, StoreError> {
    match feed.stream {
        None => rows(connection, FEED, params![bound(feed.after), feed.limit], recorded),
        Some(stream) => {
            rows(connection, FEED_OF_STREAM, params![stream_key(stream), bound(feed.after), feed.limit], recorded)
        }
    }
}

pub(super) fn page(connection: &Connection, query: PageQuery) -> Result<Vec<Recorded>, StoreError> {
    let before = query.before.map_or(i64::MAX, bound);
    rows(connection, PAGE, params![stream_key(query.stream), before, query.limit], recorded)
}

/// A place that a client named may lie beyond every column.
fn bound(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

pub(super) fn latest_items(
    connection: &mut Connection,
    stream: StreamId,
    items: &[ItemId],
) -> Result<Vec<Recorded>, StoreError> {
    let snapshot = connection.transaction()?;
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        found.extend(rows(&snapshot, LATEST_ITEM, params![item.uuid().into_bytes(), stream_key(stream)], recorded)?);
    }
    Ok(found)
}

pub(super) fn load(connection: &mut Connection, stream: StreamId) -> Result<Loaded, StoreError> {
    let snapshot = connection.transaction()?;
    let (state, version) = newest_snapshot(&snapshot, stream)?.unwrap_or((State::empty(stream.kind()), 0));
    let mut statement = snapshot.prepare_cached(TAIL)?;
    let mut newest_first = statement.query([stream_key(stream)])?;
    let mut tail = Vec::new();
    while let Some(row) = newest_first.next()? {
        if row.get::<_, u64>(2)? <= version {
            break;
        }
        tail.push(recorded(row)?);
    }
    tail.reverse();
    Ok(Loaded { state, version, tail })
}

/// A snapshot of an older format is left alone: the events say the same, in shapes that are decoded forever.
fn newest_snapshot(connection: &Connection, stream: StreamId) -> Result<Option<(State, u64)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT version, format, data FROM snapshots WHERE stream = ?1")?;
    let mut found = statement.query([stream_key(stream)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let format: i64 = row.get(1)?;
    let known = i64::from(State::FORMAT);
    if format > known {
        return Err(StoreError::Newer { found: format, known });
    }
    if format < known {
        return Ok(None);
    }
    let place = || format!("snapshot of {stream:?}");
    let state: State = from_json(text(row, 2, place)?, place)?;
    if kind_of(&state) != stream.kind() {
        return Err(StoreError::Corrupt(format!("{}: of another kind of stream", place())));
    }
    Ok(Some((state, row.get(0)?)))
}

fn kind_of(state: &State) -> StreamKind {
    match state {
        State::Person(_) => StreamKind::Person,
        State::Project(_) => StreamKind::Project,
        State::Conversation(_) => StreamKind::Conversation,
        State::Task(_) => StreamKind::Task,
        State::Workspace(_) => StreamKind::Workspace,
    }
}

pub(super) fn input(connection: &Connection, lookup: &Lookup) -> Result<Option<InputRow>, StoreError> {
    let (sql, key) = match lookup {
        Lookup::Input(id) => ("SELECT turn, data FROM inputs WHERE id = ?1", id.uuid()),
        Lookup::Decision(id) => {
            ("SELECT turn, data FROM inputs WHERE decision = ?1 ORDER BY rowid DESC LIMIT 1", id.uuid())
        }
    };
    let found = rows(connection, sql, [key.into_bytes()], |row| {
        let place = || format!("input of {key}");
        let mut input: InputRow = from_json(text(row, 1, place)?, place)?;
        // The column is newer than the JSON: moving an input rewrites only the column.
        input.turn = row.get::<_, Option<Key>>(0)?.map(|turn| TurnId::from_uuid(Uuid::from_bytes(turn)));
        Ok(input)
    });
    Ok(found?.pop())
}

pub(super) fn due(connection: &Connection, at: Timestamp, limit: usize) -> Result<Due, StoreError> {
    let one_more = limit.saturating_add(1);
    let mut effects = rows(connection, DUE, [one_more], |row| {
        let key: String = row.get(0)?;
        let place = || format!("effect {key}");
        let effect = from_json(text(row, 2, place)?, place)?;
        Ok(PendingEffect { due_at: Timestamp::from_millis(row.get(1)?), effect, key })
    })?;
    let now = effects.iter().take(limit).take_while(|effect| effect.due_at <= at).count();
    let next_at = effects.get(now).map(|effect| effect.due_at);
    effects.truncate(now);
    Ok(Due { effects, next_at })
}

pub(super) fn incarnation(connection: &Connection) -> Result<String, StoreError> {
    let found =
        connection.query_row("SELECT value FROM meta WHERE key = 'incarnation'", [], |row| row.get(0)).optional()?;
    found.ok_or_else(|| StoreError::Corrupt("the database does not say which one it is".into()))
}

pub(super) fn answer(connection: &Connection, ask: Ask) -> Result<Answer, StoreError> {
    Ok(match ask {
        // An empty key is that of a task which has none yet, and so nobody's.
        Ask::TaskByKey(key) => {
            Answer::Task(task(connection, "SELECT data FROM tasks WHERE key = ?1 AND key <> ''", [key])?)
        }
        Ask::Task(id) => {
            Answer::Task(task(connection, "SELECT data FROM tasks WHERE id = ?1", [id.uuid().into_bytes()])?)
        }
        Ask::Projects => Answer::Projects(decoded(connection, "SELECT data FROM projects ORDER BY name, id", [])?),
        Ask::PendingApprovals => Answer::Approvals(decoded(
            connection,
            "SELECT data FROM approvals WHERE state = 'pending' ORDER BY asked_at, rowid",
            [],
        )?),
        Ask::Approval(id) => Answer::Approvals(decoded(
            connection,
            "SELECT data FROM approvals WHERE id = ?1",
            [id.uuid().into_bytes()],
        )?),
        Ask::Approvals(query) => Answer::Approvals(decoded(
            connection,
            "SELECT data FROM approvals WHERE (?1 IS NULL OR state = ?1) \
             AND rowid > coalesce((SELECT rowid FROM approvals WHERE id = ?2), 0) ORDER BY rowid LIMIT ?3",
            params![query.state, query.after.map(|id| id.uuid().into_bytes()), query.limit],
        )?),
        Ask::Addressed(person, since, limit) => Answer::Addressed(addressed(connection, person, since, limit)?),
        Ask::Inbox(key) => Answer::Inbox(inbox(connection, key)?),
        Ask::Mark(session, epoch) => Answer::Mark(mark(connection, session, epoch)?),
        Ask::Deliveries(query) => Answer::Deliveries(deliveries(connection, query)?),
        Ask::Mentions { text, limit } => Answer::Events(mentions(connection, &text, limit)?),
        Ask::Delivery(id) => {
            Answer::Deliveries(decoded(connection, "SELECT data FROM outbox WHERE id = ?1", [id.uuid().into_bytes()])?)
        }
        Ask::Name(name) => Answer::Name(
            connection
                .prepare_cached("SELECT of FROM names WHERE name = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?,
        ),
        Ask::Head => Answer::Head(Seq(connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?
            .query_row([], |row| row.get(0))?)),
        Ask::Incarnation => Answer::Incarnation(incarnation(connection)?),
    })
}

/// Newest first by when they were queued: row ids are in that order.
fn deliveries(connection: &Connection, query: DeliveryQuery) -> Result<Vec<DeliveryRow>, StoreError> {
    let mut sql = String::from("SELECT data FROM outbox WHERE true");
    let mut values: Vec<Value> = vec![];
    let conversations = query.conversations.iter().map(ToString::to_string).collect();
    let wanted = [
        ("task", query.task.iter().map(ToString::to_string).collect()),
        ("conversation", conversations),
        ("state", query.states),
    ];
    // What is named first narrows it down most, so it is looked up; the others are only compared.
    let mut compared = "";
    for (column, words) in wanted.into_iter().filter(|(_, words): &(_, Vec<String>)| !words.is_empty()) {
        sql.push_str(&format!(" AND {compared}{column} IN ({})", vec!["?"; words.len()].join(", ")));
        values.extend(words.into_iter().map(Value::from));
        compared = "+";
    }
    if let Some(before) = query.before {
        sql.push_str(" AND rowid < (SELECT rowid FROM outbox WHERE id = ?)");
        values.push(Value::from(before.uuid().into_bytes().to_vec()));
    }
    sql.push_str(" ORDER BY rowid DESC LIMIT ?");
    values.push(Value::from(i64::try_from(query.limit).unwrap_or(i64::MAX)));
    decoded(connection, &sql, params_from_iter(values))
}

fn addressed(
    connection: &Connection,
    person: PersonId,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Addressed>, StoreError> {
    let sql = "SELECT task, at FROM addressed INDEXED BY addressed_lately WHERE person = ?1 AND at >= ?2 \
         ORDER BY at DESC LIMIT ?3";
    rows(connection, sql, params![person.uuid().into_bytes(), since.millis(), limit], |row| {
        let task = TaskId::from_uuid(Uuid::from_bytes(row.get::<_, Key>(0)?));
        Ok(Addressed { person, task, at: Timestamp::from_millis(row.get(1)?) })
    })
}

fn decoded<T: DeserializeOwned>(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<T>, StoreError> {
    let place = || format!("a row of \"{sql}\"");
    rows(connection, sql, params, |row| from_json(text(row, 0, place)?, place))
}

fn task(connection: &Connection, sql: &str, params: impl Params) -> Result<Option<Box<TaskRow>>, StoreError> {
    Ok(decoded(connection, sql, params)?.pop().map(Box::new))
}

/// The text is looked for as JSON writes it.
fn mentions(connection: &Connection, text: &str, limit: usize) -> Result<Vec<Recorded>, StoreError> {
    let written = serde_json::Value::from(text).to_string();
    let inner = written.get(1..written.len() - 1).unwrap_or_default();
    let pattern = format!("%{}%", inner.replace('~', "~~").replace('%', "~%").replace('_', "~_"));
    let task = stream_key(StreamId::Task(throughline_model::ids::TaskId::from_uuid(Uuid::nil())));
    let kind = task.get(..1).unwrap_or_default();
    rows(connection, MENTIONS, params![pattern, MENTIONS_WITHIN, kind, limit], recorded)
}

fn inbox(connection: &Connection, key: String) -> Result<Option<InboxEntry>, StoreError> {
    let found = connection
        .prepare_cached("SELECT digest, input, raw FROM inbox WHERE key = ?1")?
        .query_row([&key], |row| Ok((row.get(0)?, row.get::<_, Key>(1)?, row.get(2)?)))
        .optional()?;
    Ok(found.map(|(digest, input, raw)| InboxEntry {
        key,
        digest,
        input: InputId::from_uuid(Uuid::from_bytes(input)),
        raw,
    }))
}

fn mark(connection: &Connection, session: RuntimeSessionId, epoch: u64) -> Result<Option<Mark>, StoreError> {
    let found = connection
        .prepare_cached("SELECT safe, seen, not_json FROM marks WHERE session = ?1 AND epoch = ?2")?
        .query_row(params![session.uuid().into_bytes(), epoch], |row| {
            Ok(Mark { session, epoch, safe: row.get(0)?, seen: row.get(1)?, not_json: row.get(2)? })
        });
    Ok(found.optional()?)
}
