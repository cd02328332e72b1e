//! The first page of all tasks, however many there are.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use throughline_api::client::{Client, TaskListQuery};

use crate::Size;
use crate::archive::Archive;
use crate::daemon::Daemon;
use crate::measure::{median, millis};
use crate::table::{Figure, Goal};

pub(crate) async fn run(archive: &Archive, size: Size) -> Result<Vec<Figure>> {
    let daemon = Daemon::start(&archive.home())?;
    let client = daemon.client();
    let cold = list(&client).await?;
    let mut spans = vec![];
    for _ in 0..size.pick(20, 300) {
        spans.push(millis(list(&client).await?));
    }
    daemon.stop()?;
    let figure = Figure::new("list", format!("first page of {} tasks", archive.tasks), median(spans), "ms");
    Ok(vec![figure.goal(Goal::Below(20.0)).beside(format!("first hit {:.2} ms", millis(cold)))])
}

async fn list(client: &Client) -> Result<Duration> {
    let start = Instant::now();
    let page = client.tasks(&TaskListQuery::default()).await?;
    let took = start.elapsed();
    ensure!(!page.tasks.is_empty() && page.next.is_some(), "the list has {} tasks and no next page", page.tasks.len());
    Ok(took)
}
