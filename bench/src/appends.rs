//! Durable appends per second at 64 concurrent writers, against a bare SQLite group-commit loop that writes the same rows.
//!
//! Two sorts of batches: what a recorded item costs (an event, its task's row, the mark), and what a message costs (events
//! of two aggregates, both snapshots, rows, an inbox entry, an effect).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use throughline_model::ids::{Mint, PersonId};
use throughline_model::time::Timestamp;
use throughline_store::port::{Answer, Ask, Batch, Store as _};
use throughline_store::{OpenOptions, SqliteStore};
use tokio::task::JoinSet;

use crate::Size;
use crate::baseline::{self, BareBatch};
use crate::history::{History, Setting};
use crate::measure::median;
use crate::table::{Figure, Goal};

const WRITERS: u64 = 64;

/// What a batch holds.
#[derive(Clone, Copy)]
enum Sort {
    Item,
    Message,
}

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    let batches = size.pick(10, 500);
    let rounds = size.pick(1, 5);
    let mut figures = vec![];
    for (sort, what) in [(Sort::Item, "an item's batches"), (Sort::Message, "a message's batches")] {
        let mut measured = vec![];
        for round in 0..rounds {
            let folder = tempfile::tempdir()?;
            let scripts = scripts(sort, batches);
            let bare: Vec<Vec<BareBatch>> =
                scripts.iter().map(|script| script.iter().map(BareBatch::of).collect()).collect::<Result<_>>()?;
            // Who goes first may find a quieter disk, so they take turns.
            let (store, bare) = if round % 2 == 0 {
                let bare = baseline::group_commit(folder.path(), bare).await?;
                (through_the_store(folder.path(), scripts).await?, bare)
            } else {
                let store = through_the_store(folder.path(), scripts).await?;
                (store, baseline::group_commit(folder.path(), bare).await?)
            };
            measured.push((store, bare));
        }
        let ratio = median(measured.iter().map(|(store, bare)| store / bare));
        let store = median(measured.iter().map(|(store, _)| *store));
        let bare = median(measured.iter().map(|(_, bare)| *bare));
        let beside = format!("store {store:.0}/s, bare loop {bare:.0}/s, {WRITERS} writers");
        let figure = Figure::new("appends", format!("{what}, store ÷ bare loop"), ratio, "");
        figures.push(figure.goal(Goal::AtLeast(0.7)).beside(beside));
    }
    Ok(figures)
}

fn scripts(sort: Sort, batches: usize) -> Vec<Vec<Batch>> {
    let mut mint = Mint::new(Timestamp::from_millis(0), 7);
    let (project, person): (_, PersonId) = (mint.id(), mint.id());
    let script = |writer: u64| {
        let setting = Setting { project, person, conversation: mint.id() };
        let mut history = History::begin(setting, writer, &format!("append-{writer}"));
        let mut script = vec![history.batch()];
        script.extend((0..batches).map(|_| match sort {
            Sort::Item => {
                history.speak();
                Batch { mark: Some(history.mark()), ..history.batch() }
            }
            Sort::Message => {
                let inbox = Some(history.converse());
                Batch { inbox, ..history.batch() }
            }
        }));
        script
    };
    (0..WRITERS).map(script).collect()
}

async fn through_the_store(home: &Path, scripts: Vec<Vec<Batch>>) -> Result<f64> {
    let store = Arc::new(SqliteStore::open(&OpenOptions::new(home))?);
    let total: usize = scripts.iter().map(Vec::len).sum();
    let events: usize =
        scripts.iter().flatten().flat_map(|batch| &batch.appends).map(|append| append.events.len()).sum();
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for script in scripts {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for batch in script {
                store.commit(batch).await?;
            }
            anyhow::Ok(())
        });
    }
    for writer in writers.join_all().await {
        writer?;
    }
    let took = start.elapsed();
    let head = store.ask(Ask::Head).await?;
    ensure!(
        matches!(head, Answer::Head(head) if head.0 == events as u64),
        "{events} events were written, not {head:?}"
    );
    Ok(total as f64 / took.as_secs_f64())
}
