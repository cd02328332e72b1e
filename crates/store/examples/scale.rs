//! What a large store costs: how long it takes to open, to show the end of its longest task and the head of its
//! list, and how much private memory it holds after many requests.
//!
//! `cargo run --release -p throughline-store --example scale [tasks] [events of the long task]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::path::Path;
use std::time::{Duration, Instant};

use throughline_model::event::Seq;
use throughline_model::execution::Activity;
use throughline_model::ids::ProjectId;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::Row;
use throughline_store::conformance::Fixture;
use throughline_store::port::{Append, Ask, Batch, Feed, PageQuery, Store, TaskQuery};
use throughline_store::{OpenOptions, SqliteStore};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

async fn fill_tasks(store: &SqliteStore, count: usize) -> Outcome<Vec<ProjectId>> {
    let mut make = Fixture::new(1);
    let projects: Vec<ProjectId> = (0..10).map(|_| make.id()).collect();
    for start in (0..count).step_by(1000) {
        let mut batch = Batch::default();
        for nr in start..count.min(start + 1000) {
            let at = Timestamp::from_millis(i64::try_from(nr)?);
            let make = &mut Fixture::made_at(at, nr as u128);
            let activity = if nr % 100 == 0 { Activity::WaitingAnswer } else { Activity::Resting };
            let mut task = make.task(projects[nr % 10], activity, at);
            task.key = format!("shop-{nr}");
            let events = vec![make.note("made")];
            batch.appends.push(Append { stream: StreamId::Task(task.id), expected: 0, events, snapshot: None });
            batch.rows.push(Row::Task(Box::new(task)));
        }
        store.commit(batch).await?;
    }
    Ok(projects)
}

async fn fill_stream(store: &SqliteStore, stream: StreamId, count: u64) -> Outcome<()> {
    let mut make = Fixture::new(2);
    for expected in (0..count).step_by(1000) {
        let events = (expected..count.min(expected + 1000)).map(|_| make.message(&"lorem ipsum ".repeat(25))).collect();
        let append = Append { stream, expected, events, snapshot: None };
        store.commit(Batch { appends: vec![append], ..Batch::default() }).await?;
    }
    Ok(())
}

/// The median of some attempts.
async fn timed<T>(mut attempt: impl AsyncFnMut() -> Outcome<T>) -> Outcome<Duration> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        attempt().await?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

fn private_kib() -> Outcome<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let of = |line: &str| line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    Ok(rollup.lines().filter(|line| line.starts_with("Private_")).filter_map(of).sum())
}

async fn measure(home: &Path, short: StreamId, long: StreamId, projects: &[ProjectId]) -> Outcome<()> {
    let start = Instant::now();
    let store = SqliteStore::open(&OpenOptions::new(home))?;
    println!("open: {:?}", start.elapsed());
    for (name, stream) in [("1,000-event", short), ("long", long)] {
        let first = Instant::now();
        let query = PageQuery { stream, before: None, limit: 50 };
        store.page(query).await?;
        let first = first.elapsed();
        println!(
            "last page of the {name} task: first {first:?}, median {:?}",
            timed(async || Ok(store.page(query).await?)).await?
        );
    }
    let list =
        |projects: &[ProjectId], all| TaskQuery { projects: projects.to_vec(), all, limit: 50, ..TaskQuery::default() };
    for (name, query) in
        [("all", list(&[], false)), ("closed too", list(&[], true)), ("three projects", list(&projects[..3], true))]
    {
        println!("first page of tasks, {name}: {:?}", timed(async || Ok(store.tasks(query.clone()).await?)).await?);
    }
    for nr in 0..10_000_u64 {
        store.ask(Ask::TaskByKey(format!("shop-{}", nr * 7))).await?;
        store.read(Feed { stream: Some(long), after: Seq(nr * 90), limit: 50 }).await?;
        store.tasks(list(&[], false)).await?;
    }
    println!("private memory after 30,000 requests: {:.1} MiB", private_kib()? as f64 / 1024.0);
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let tasks = arguments.next().transpose()?.unwrap_or(100_000);
    let events = arguments.next().transpose()?.unwrap_or(1_000_000);
    let home = tempfile::tempdir()?;
    let mut make = Fixture::new(3);
    let (short, long) = (make.stream(), make.stream());
    let store = SqliteStore::open(&OpenOptions::new(home.path()))?;
    let projects = fill_tasks(&store, tasks).await?;
    fill_stream(&store, short, 1000).await?;
    fill_stream(&store, long, events as u64).await?;
    drop(store);
    let size = std::fs::metadata(home.path().join("throughline.db"))?.len();
    println!("{tasks} tasks and {events} events: {} MiB", size >> 20);
    measure(home.path(), short, long, &projects).await
}
