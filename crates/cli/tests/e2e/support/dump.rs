//! All that a home keeps, as text, to see that nothing changed.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// Every row of every table, and the names of all blobs, as they are now. The daemon may be running.
pub fn dump(home: &Path) -> BTreeMap<String, Vec<String>> {
    let database = throughline_store::OpenOptions::new(home).database();
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database");
    // One state of all of them.
    connection.execute_batch("BEGIN").expect("a transaction");
    let mut tables = BTreeMap::new();
    for table in strings(&connection, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
        let rows = strings(&connection, &format!("SELECT * FROM \"{table}\" ORDER BY 1"));
        tables.insert(table, rows);
    }
    let blobs = walk(&home.join("blobs"));
    tables.insert("(blobs)".into(), blobs);
    tables
}

/// The rows of a query, each as one text.
fn strings(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).expect(sql);
    let columns = statement.column_count();
    let shown = |value: ValueRef<'_>| match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let rows = statement.query_map([], |row| {
        let values: rusqlite::Result<Vec<String>> = (0..columns).map(|nth| row.get_ref(nth).map(shown)).collect();
        Ok(values?.join(" | "))
    });
    rows.expect(sql).collect::<rusqlite::Result<_>>().expect(sql)
}

fn walk(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut found: Vec<String> = entries
        .map(|entry| entry.expect("an entry").path())
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path.display().to_string()] })
        .collect();
    found.sort();
    found
}
