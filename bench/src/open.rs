//! Opening a task: the last page of its timeline, however long the task is.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use throughline_api::client::{Client, TimelineQuery};

use crate::Size;
use crate::archive::Archive;
use crate::daemon::Daemon;
use crate::measure::{median, millis};
use crate::table::{Figure, Goal};

const PAGE: usize = 50;

pub(crate) async fn run(archive: &Archive, size: Size) -> Result<Vec<Figure>> {
    let daemon = Daemon::start(&archive.home())?;
    let client = daemon.client();
    let cold = open(&client, archive.long.key).await?;
    let mut pairs = vec![];
    for _ in 0..size.pick(20, 300) {
        let short = open(&client, archive.short.key).await?;
        let long = open(&client, archive.long.key).await?;
        pairs.push((millis(short), millis(long)));
    }
    daemon.stop()?;
    let long = median(pairs.iter().map(|(_, long)| *long));
    let short = median(pairs.iter().map(|(short, _)| *short));
    let ratio = median(pairs.iter().map(|(short, long)| long / short));
    let (few, many) = (archive.short.events, archive.long.events);
    let cold = format!("first hit {:.2} ms", millis(cold));
    Ok(vec![
        Figure::new("open", format!("last page of {many} events"), long, "ms").goal(Goal::Below(20.0)).beside(cold),
        Figure::new("open", format!("{many} events ÷ {few} events"), ratio, "")
            .goal(Goal::AtMost(2.0))
            .beside(format!("{few} events {short:.2} ms")),
    ])
}

async fn open(client: &Client, key: &str) -> Result<Duration> {
    let start = Instant::now();
    let page = client.timeline(key, &TimelineQuery { before: None, limit: Some(PAGE) }).await?;
    let took = start.elapsed();
    ensure!(page.entries.len() == PAGE && page.before.is_some(), "{key} has a page of {} entries", page.entries.len());
    Ok(took)
}
