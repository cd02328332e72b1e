//! What only the embedded store can be asked: files, crashes, full disks, other versions.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;
use throughline_model::event::{Event, Seq};
use throughline_model::execution::Activity;
use throughline_model::person::Person;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::Row;
use throughline_store::conformance::Fixture;
use throughline_store::port::{Answer, Append, Ask, Batch, DeliveryQuery, Feed, PageQuery, TaskQuery};
use throughline_store::sqlite::{MIGRATIONS, Migration};
use throughline_store::{CommitError, OpenOptions, SqliteStore, Store, StoreError};

mod child;

fn home() -> TempDir {
    tempfile::tempdir().expect("a home")
}

fn open(home: &TempDir) -> SqliteStore {
    SqliteStore::open(&OpenOptions::new(home.path())).expect("the store opens")
}

fn database(home: &TempDir) -> PathBuf {
    OpenOptions::new(home.path()).database()
}

fn refusal(options: &OpenOptions) -> StoreError {
    SqliteStore::open(options).expect_err("the store must not open")
}

fn appending(stream: StreamId, expected: u64, events: Vec<Event>) -> Batch {
    let append = Append { stream, expected, events, snapshot: None };
    Batch { at: Timestamp::from_millis(1), appends: vec![append], ..Batch::default() }
}

async fn head(store: &dyn Store) -> u64 {
    match store.ask(Ask::Head).await.expect("the head") {
        Answer::Head(seq) => seq.0,
        other => panic!("{other:?}"),
    }
}

async fn commit_notes(store: &dyn Store, make: &mut Fixture, count: u64) -> StreamId {
    let stream = make.stream();
    for version in 0..count {
        store.commit(appending(stream, version, vec![make.note("kept")])).await.expect("a batch");
    }
    stream
}

#[tokio::test]
async fn what_was_committed_is_there_after_reopening_and_the_log_is_gone() {
    let (home, mut make) = (home(), Fixture::new(1));
    let store = open(&home);
    commit_notes(&store, &mut make, 20).await;
    drop(store);
    assert!(!home.path().join("throughline.db-wal").exists(), "a clean end leaves one file");
    let store = open(&home);
    assert_eq!(head(&store).await, 20);
}

#[tokio::test]
async fn dropping_the_store_commits_what_is_in_line() {
    let (home, mut make) = (home(), Fixture::new(2));
    let store = Arc::new(open(&home));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (store, batch) = (Arc::clone(&store), appending(make.stream(), 0, vec![make.note("queued")]));
        callers.spawn(async move { store.commit(batch).await.expect("a batch") });
    }
    drop(store);
    assert_eq!(callers.join_all().await.len(), 50);
    assert_eq!(head(&open(&home)).await, 50);
}

#[test]
fn one_process_has_a_home_at_a_time() {
    let home = home();
    let first = open(&home);
    let second = refusal(&OpenOptions::new(home.path()));
    assert_eq!(second.code(), "store_busy");
    drop(first);
    open(&home);
}

#[test]
fn the_files_are_for_their_owner_alone() {
    let parent = home();
    let dir = parent.path().join("home");
    let _store = SqliteStore::open(&OpenOptions::new(&dir)).expect("the store opens");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("throughline.db")), 0o600);
    assert_eq!(mode(&dir.join("throughline.db-wal")), 0o600);
}

/// Kills a process that commits as fast as it can, and holds what it had acknowledged against what is there.
#[tokio::test]
async fn kill_9_in_the_middle_of_commits_loses_nothing_acknowledged() {
    for _ in 0..5 {
        let home = home();
        let acknowledged = child::killed_after_acknowledging(home.path(), 200);
        let store = open(&home);
        let all = store.read(Feed { stream: None, after: Seq(0), limit: 1_000_000 }).await.expect("all events");
        let there = all.iter().map(|event| event.seq.0).collect::<Vec<_>>();
        assert_eq!(there, (1..=there.len() as u64).collect::<Vec<_>>(), "no gaps");
        assert!(acknowledged.len() >= 200);
        for (seq, stream) in &acknowledged {
            let event = &all[usize::try_from(*seq).expect("a number") - 1];
            assert_eq!(event.stream.uuid().to_string(), *stream, "event {seq}");
        }
        let pairs = all.chunks(2).filter(|pair| pair.len() == 2 && pair[0].stream == pair[1].stream).count();
        assert_eq!(pairs * 2, all.len(), "whole batches of two, or nothing");
    }
}

/// As a person who may not write there. Root may always, so root's test asks nobody to try.
#[test]
fn a_home_that_cannot_be_written_is_said_to_be_so() {
    let home = home();
    let dir = home.path().join("locked");
    fs::create_dir(&dir).expect("a folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).expect("read-only");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("passable");
    assert_eq!(child::code_of_opening_as_nobody(&dir, home.path()), "store_read_only");
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let home = home();
    drop(open(&home));
    let path = database(&home);
    let connection = Connection::open(&path).expect("the file");
    connection.pragma_update(None, "user_version", 99).expect("a later version");
    drop(connection);
    let before = fs::read(&path).expect("the file");
    let files = || fs::read_dir(home.path()).expect("the home").count();
    let count = files();
    let error = refusal(&OpenOptions::new(home.path()));
    assert!(matches!(error, StoreError::Newer { found: 99, known: 4 }), "{error:?}");
    assert!(fs::read(&path).expect("the file") == before, "not a byte changed");
    assert_eq!(files(), count);
}

#[test]
fn a_newer_version_that_is_only_in_the_log_is_refused_too() {
    let (home, crashed) = (home(), home());
    let store = open(&home);
    let connection = Connection::open(database(&home)).expect("the file");
    connection.pragma_update(None, "user_version", 99).expect("a later version");
    // As a crash leaves it: the header on disk is old, the log has the new one.
    for name in ["throughline.db", "throughline.db-wal"] {
        fs::copy(home.path().join(name), crashed.path().join(name)).expect("a copy");
    }
    drop((store, connection));
    let before = fs::read(database(&crashed)).expect("the file");
    let error = refusal(&OpenOptions::new(crashed.path()));
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(fs::read(database(&crashed)).expect("the file") == before, "not a byte changed");
}

#[test]
fn what_is_not_our_database_is_refused_and_left_alone() {
    let foreign = home();
    let connection = Connection::open(database(&foreign)).expect("a file");
    connection.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").expect("a table");
    drop(connection);
    let foreign_bytes = fs::read(database(&foreign)).expect("the file");
    for content in [
        b"this is not a database, but it is long enough to hold the header of one. ".repeat(9),
        b"short".to_vec(),
        foreign_bytes,
    ] {
        let home = home();
        fs::write(database(&home), &content).expect("a file");
        let error = refusal(&OpenOptions::new(home.path()));
        assert_eq!(error.code(), "store_corrupt", "{error}");
        assert!(fs::read(database(&home)).expect("the file") == content, "not a byte changed");
    }
}

#[test]
fn an_empty_file_becomes_a_database() {
    let home = home();
    fs::write(database(&home), b"").expect("a file");
    open(&home);
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full_and_the_store_goes_on_when_there_is_room() {
    let (home, mut make) = (home(), Fixture::new(3));
    let options = OpenOptions { max_bytes: Some(600 * 1024), ..OpenOptions::new(home.path()) };
    let store = SqliteStore::open(&options).expect("the store opens");
    let mut keys = vec![];
    let full = loop {
        let timer = make.timer(&format!("{:0>500}", keys.len()), Timestamp::from_millis(5));
        let key = timer.key();
        match store.commit(Batch { effects: vec![timer], ..Batch::default() }).await {
            Ok(_) => keys.push(key),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, CommitError::Store(StoreError::DiskFull(_))), "{full:?}");
    // What does not fit fails alone, and again; what was there stays; reading goes on.
    let stream = make.stream();
    let big = appending(stream, 0, vec![make.message(&"x".repeat(60_000))]);
    let outcome = store.commit(big.clone()).await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::DiskFull(_)))), "{outcome:?}");
    assert_eq!(head(&store).await, 0);
    let kept = store.due(Timestamp::from_millis(9), keys.len() + 1).await.expect("effects");
    assert_eq!(kept.effects.len(), keys.len());
    store.commit(Batch { settled: keys, ..Batch::default() }).await.expect("making room needs none");
    let done = store.commit(big).await.expect("there is room again");
    assert_eq!(done.events[0].seq, Seq(1));
}

#[tokio::test]
async fn a_batch_that_cannot_be_written_fails_alone() {
    let (home, mut make) = (home(), Fixture::new(4));
    let store = Arc::new(open(&home));
    let project = make.id();
    let mut callers = tokio::task::JoinSet::new();
    for nr in 0..40 {
        let stream = make.stream();
        // Every fourth wants a key that another task has by then.
        let mut task = make.task(project, Activity::Working, Timestamp::from_millis(nr));
        if nr % 4 == 0 {
            task.key = "shop-1".into();
        }
        let batch = Batch { rows: vec![Row::Task(Box::new(task))], ..appending(stream, 0, vec![make.note("one")]) };
        let store = Arc::clone(&store);
        callers.spawn(async move { store.commit(batch).await.is_ok() });
    }
    let outcomes = callers.join_all().await;
    assert_eq!(outcomes.iter().filter(|done| **done).count(), 31);
    assert_eq!(head(&*store).await, 31);
    let query = TaskQuery { limit: 99, ..TaskQuery::default() };
    assert_eq!(store.tasks(query).await.expect("a list").len(), 31);
}

/// What this version has, and one step more.
const NEXT: &[Migration] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    MIGRATIONS[3],
    Migration {
        sql: "CREATE TABLE extras (id INTEGER PRIMARY KEY, note TEXT) STRICT; INSERT INTO extras VALUES (1, 'new')",
    },
];
const BROKEN: &[Migration] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    MIGRATIONS[3],
    Migration { sql: "CREATE TABLE extras (id); INSERT INTO nowhere VALUES (1)" },
];

fn backups(home: &TempDir) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.path().join("backups")) else { return vec![] };
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[tokio::test]
async fn a_database_is_copied_aside_before_it_is_migrated() {
    let (home, mut make) = (home(), Fixture::new(5));
    let store = open(&home);
    commit_notes(&store, &mut make, 3).await;
    let name = store.ask(Ask::Incarnation).await.expect("a name");
    drop(store);
    assert_eq!(backups(&home), [] as [PathBuf; 0], "a new database needs no copy");
    let newer = OpenOptions { migrations: NEXT, ..OpenOptions::new(home.path()) };
    let store = SqliteStore::open(&newer).expect("the store opens");
    assert_eq!((head(&store).await, store.ask(Ask::Incarnation).await.expect("a name")), (3, name));
    drop(store);
    let copies = backups(&home);
    assert_eq!(copies.len(), 1);
    let file = copies[0].file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(file.starts_with("throughline-v4-") && file.ends_with("Z.db"), "{file}");
    let error = refusal(&OpenOptions::new(home.path()));
    assert!(matches!(error, StoreError::Newer { found: 5, known: 4 }), "{error:?}");
    // The hint says to restore the copy: that must work.
    fs::copy(&copies[0], database(&home)).expect("restored");
    assert_eq!(head(&open(&home)).await, 3);
    SqliteStore::open(&newer).expect("and migrated again");
    assert_eq!(backups(&home).len(), 2);
    SqliteStore::open(&newer).expect("opened as it is");
    assert_eq!(backups(&home).len(), 2);
}

#[tokio::test]
async fn deliveries_of_an_older_version_are_found_by_their_task() {
    let (home, mut make) = (home(), Fixture::new(6));
    let older = OpenOptions { migrations: &MIGRATIONS[..3], ..OpenOptions::new(home.path()) };
    let (wanted, other) = (make.delivery(Timestamp::from_millis(1)), make.delivery(Timestamp::from_millis(2)));
    let rows = vec![Row::Delivery(wanted.clone()), Row::Delivery(other)];
    let store = SqliteStore::open(&older).expect("the store opens");
    store.commit(Batch { rows, ..Batch::default() }).await.expect("rows");
    drop(store);
    let query = DeliveryQuery { task: wanted.task, limit: 9, ..DeliveryQuery::default() };
    assert_eq!(open(&home).ask(Ask::Deliveries(query)).await.expect("rows"), Answer::Deliveries(vec![wanted]));
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let (home, mut make) = (home(), Fixture::new(6));
    let store = open(&home);
    commit_notes(&store, &mut make, 3).await;
    drop(store);
    let error = refusal(&OpenOptions { migrations: BROKEN, ..OpenOptions::new(home.path()) });
    assert_eq!(error.code(), "store_failed");
    assert_eq!(head(&open(&home)).await, 3);
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'extras'";
    let connection = Connection::open(database(&home)).expect("the file");
    assert_eq!(connection.query_row(tables, [], |row| row.get::<_, i64>(0)).expect("a count"), 0);
}

/// From some 600 bytes on; what is shorter than its own ids costs more than itself wherever it is kept.
#[tokio::test]
async fn a_finished_message_costs_one_row_and_at_most_twice_its_size() {
    const BATCHES: u64 = 100;
    const MESSAGES: u64 = 10 * BATCHES;
    for bytes in [600, 1000, 1024, 2000, 2048, 4096, 10_000] {
        let (home, mut make) = (home(), Fixture::new(7));
        drop(open(&home));
        let empty = fs::metadata(database(&home)).expect("the file").len();
        let store = open(&home);
        let stream = make.stream();
        for batch in 0..BATCHES {
            let messages = (0..10).map(|_| make.message(&"x".repeat(bytes))).collect();
            store.commit(appending(stream, batch * 10, messages)).await.expect("messages");
        }
        drop(store);
        let grown = fs::metadata(database(&home)).expect("the file").len() - empty;
        let ratio = grown as f64 / (MESSAGES * bytes as u64) as f64;
        println!("{bytes} bytes: {ratio:.2}");
        assert!(ratio <= 2.0, "{bytes} bytes cost {ratio:.2} times as much");
        let connection = Connection::open(database(&home)).expect("the file");
        let rows: u64 = connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).expect("a count");
        assert_eq!(rows, MESSAGES);
    }
}

#[tokio::test]
async fn the_last_page_of_a_long_stream_is_read_from_its_end() {
    let (home, mut make) = (home(), Fixture::new(8));
    let store = open(&home);
    let (long, noise) = (make.stream(), make.stream());
    for part in 0..20 {
        let events = |make: &mut Fixture| (0..1000).map(|_| make.note("one of many")).collect::<Vec<_>>();
        store.commit(appending(long, part * 1000, events(&mut make))).await.expect("a thousand");
        store.commit(appending(noise, part * 1000, events(&mut make))).await.expect("a thousand others");
    }
    let page = store.page(PageQuery { stream: long, before: None, limit: 50 }).await.expect("a page");
    assert_eq!(page.iter().map(|event| event.version).collect::<Vec<_>>(), (19_951..=20_000).rev().collect::<Vec<_>>());
    let page = store.page(PageQuery { stream: long, before: Some(Seq(2)), limit: 50 }).await.expect("the first page");
    assert_eq!(page.iter().map(|event| event.version).collect::<Vec<_>>(), [1]);
}

/// Every list and feed must be a walk along an index: neither a scan nor a sort.
#[test]
fn nothing_that_is_asked_often_scans_or_sorts() {
    let home = home();
    drop(open(&home));
    let connection = Connection::open(database(&home)).expect("the file");
    for sql in throughline_store::sqlite::FREQUENT_QUERIES {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect(sql);
        for nr in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(nr, 1).expect("a parameter");
        }
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().expect("a plan") {
            let step: String = row.get(3).expect("a step");
            let walk = step.starts_with("SEARCH") || step == "SCAN effects USING INDEX effects_due";
            assert!(walk, "{sql}: {step}");
        }
    }
}

/// Rewrites something behind the store's back.
fn tamper(home: &TempDir, sql: &str) {
    Connection::open(database(home)).expect("the file").execute_batch(sql).expect(sql);
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_named_and_never_skipped() {
    let (home, mut make) = (home(), Fixture::new(9));
    let store = open(&home);
    let stream = commit_notes(&store, &mut make, 5).await;
    drop(store);
    tamper(&home, "UPDATE events SET data = '{\"type\":\"from_the_future\"}' WHERE seq = 3");
    let store = open(&home);
    let errors = [
        store.read(Feed { stream: None, after: Seq(0), limit: 9 }).await.expect_err("a feed"),
        store.page(PageQuery { stream, before: None, limit: 9 }).await.expect_err("a page"),
        store.load(stream).await.expect_err("a stream"),
    ];
    for error in errors {
        assert!(matches!(&error, StoreError::Corrupt(words) if words.contains("event 3")), "{error}");
    }
    assert_eq!(store.read(Feed { stream: None, after: Seq(3), limit: 9 }).await.expect("what comes after").len(), 2);
}

#[tokio::test]
async fn snapshots_of_other_formats_are_replayed_over_or_refused() {
    let (home, mut make) = (home(), Fixture::new(10));
    let person = make.id();
    let stream = StreamId::Person(person);
    let state = State::Person(Some(Person {
        id: person,
        name: "Ada".into(),
        locale: "en".into(),
        identities: vec![],
        offers: vec![],
        chats: vec![],
        groups: vec![],
        notices: Default::default(),
    }));
    let append = Append { stream, expected: 0, events: vec![make.enrolled("Ada")], snapshot: Some(Arc::new(state)) };
    let store = open(&home);
    store.commit(Batch { appends: vec![append], ..Batch::default() }).await.expect("a snapshot");
    drop(store);
    let loaded = async |sql: &str| {
        tamper(&home, sql);
        open(&home).load(stream).await
    };
    let older = loaded("UPDATE snapshots SET format = 0, data = 'of another age'").await.expect("replayed over");
    assert_eq!((older.state, older.version, older.tail.len()), (State::Person(None), 0, 1));
    let newer = loaded("UPDATE snapshots SET format = 7").await;
    assert!(matches!(newer, Err(StoreError::Newer { found: 7, .. })), "{newer:?}");
    let damaged = loaded("UPDATE snapshots SET format = 1").await;
    assert!(matches!(damaged, Err(StoreError::Corrupt(_))), "{damaged:?}");
    let other_kind = loaded("UPDATE snapshots SET data = '{\"of\":\"task\",\"state\":null}'").await;
    assert!(matches!(other_kind, Err(StoreError::Corrupt(_))), "{other_kind:?}");
}

#[tokio::test]
async fn a_blob_that_was_changed_is_not_served_and_leftovers_are_removed() {
    let home = home();
    let store = open(&home);
    let blob = store.put_blob(b"the output".to_vec()).await.expect("a blob");
    let (first, rest) = blob.sha256.split_at(2);
    let path = home.path().join("blobs").join(first).join(rest);
    // The file itself stays; that its time is new keeps it from being put away.
    let file = || fs::metadata(&path).expect("a file").ino();
    let written = file();
    store.put_blob(b"the output".to_vec()).await.expect("the same again");
    assert_eq!(file(), written, "not written again");
    fs::write(&path, b"the 0utput").expect("damage");
    let error = store.blob(&blob.sha256).await.expect_err("a damaged blob");
    assert_eq!(error.code(), "store_corrupt");
    let leftover = home.path().join("blobs/unfinished/7");
    fs::write(&leftover, b"half").expect("a leftover");
    drop(store);
    let store = open(&home);
    assert!(!leftover.exists());
    fs::remove_file(&path).expect("gone");
    assert_eq!(store.blob(&blob.sha256).await.expect("an answer"), None);
}
