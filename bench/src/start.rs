//! From the start of the process to the first answer that says that it is ready, on a large store.

use anyhow::Result;

use crate::Size;
use crate::archive::Archive;
use crate::daemon::Daemon;
use crate::measure::{median, millis};
use crate::table::{Figure, Goal};

pub(crate) async fn run(archive: &Archive, size: Size) -> Result<Vec<Figure>> {
    let mut spans = vec![];
    for _ in 0..size.pick(2, 9) {
        let daemon = Daemon::start(&archive.home())?;
        spans.push((millis(daemon.listening_after), millis(daemon.ready_after)));
        daemon.stop()?;
    }
    let ready = median(spans.iter().map(|(_, ready)| *ready));
    let listening = median(spans.iter().map(|(listening, _)| *listening));
    let figure = Figure::new("start", format!("start to ready, {} tasks", archive.tasks), ready, "ms");
    Ok(vec![figure.goal(Goal::Below(300.0)).beside(format!("listening after {listening:.0} ms"))])
}
