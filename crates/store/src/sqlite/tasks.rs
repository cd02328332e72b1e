//! The list of tasks: most urgent first, then most recent, by index alone.
//!
//! Open tasks and the rest, and each project, are ranges of an index of their own; a list over several of them
//! is merged here, so that its cost is that of the page, however many tasks there are.

use rusqlite::{Connection, params};
use throughline_model::ids::Id as _;
use throughline_model::view::TaskRow;

use super::encode::{Key, recency};
use super::query::{from_json, rows};
use crate::port::{StoreError, TaskQuery};

/// The last rank that needs a person; see `Activity::needs_person`.
const RANK_NEEDS_PERSON: u8 = 3;

pub(super) const OF_ALL: &str = "SELECT rank, recency, id, data FROM tasks INDEXED BY tasks_listed \
     WHERE open = ?1 AND rank <= ?2 AND (rank, recency, id) > (?3, ?4, ?5) ORDER BY rank, recency, id LIMIT ?6";
pub(super) const OF_PROJECT: &str = "SELECT rank, recency, id, data FROM tasks INDEXED BY tasks_of_project \
     WHERE project = ?7 AND open = ?1 AND rank <= ?2 AND (rank, recency, id) > (?3, ?4, ?5) ORDER BY rank, recency, id LIMIT ?6";

type Place = (i64, i64, Key);
type Listed = (Place, String);

pub(super) fn list(connection: &mut Connection, query: &TaskQuery) -> Result<Vec<TaskRow>, StoreError> {
    let states: &[bool] = if query.all { &[true, false] } else { &[true] };
    // One snapshot for all ranges: a task that moves between two of them must not be seen twice.
    let snapshot = connection.transaction()?;
    let mut found = Vec::new();
    for open in states {
        if query.projects.is_empty() {
            found.extend(range(&snapshot, query, *open, None)?);
        }
        for project in &query.projects {
            found.extend(range(&snapshot, query, *open, Some(project.uuid().into_bytes()))?);
        }
    }
    found.sort_unstable_by_key(|found| found.0);
    found.dedup_by(|one, other| one.0 == other.0);
    found.truncate(query.limit);
    found.iter().map(|(place, data)| from_json(data, || format!("task {}", hex::encode(place.2)))).collect()
}

fn range(
    connection: &Connection,
    query: &TaskQuery,
    open: bool,
    project: Option<Key>,
) -> Result<Vec<Listed>, StoreError> {
    let rank_max = if query.needs_person { RANK_NEEDS_PERSON } else { u8::MAX };
    let after = query
        .after
        .map(|place| (i64::from(place.rank), recency(place.updated_at.millis()), place.id.uuid().into_bytes()));
    let (rank, recency, id) = after.unwrap_or((-1, 0, Key::default()));
    let listed = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?));
    match project {
        None => rows(connection, OF_ALL, params![open, rank_max, rank, recency, id, query.limit], listed),
        Some(project) => {
            rows(connection, OF_PROJECT, params![open, rank_max, rank, recency, id, query.limit, project], listed)
        }
    }
}
