//! What sessions cost that rest: one whose process is parked costs no process and next to no memory, one that is live
//! costs its agent and a small keeper.
//!
//! With room for one process, each new task parks the session of the one before it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use throughline_api::client::TaskListQuery;
use throughline_api::task::RuntimePhase;
use throughline_keeper::client;

use crate::Size;
use crate::daemon::Daemon;
use crate::memory::Memory;
use crate::table::{Figure, Goal};

/// A keeper that was told to end needs a moment.
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(20);

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    // Caches of states and pages are filled first: what grows then grows with the sessions.
    let (warm, count) = size.pick((2, 5), (400, 200));
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home)?;
    std::fs::write(home.join("config.toml"), "max_live_sessions = 1\n")?;
    let daemon = Daemon::start(&home)?;
    daemon.add_project(&folder.path().join("project"), "demo").await?;
    daemon.open_conversation().await?;
    let fresh = Memory::of(daemon.pid())?.private();
    work(&daemon, 0, warm).await?;
    keepers(&home).await?;
    let before = Memory::of(daemon.pid())?.private();
    let last = work(&daemon, warm, warm + count).await?;
    let live = keepers(&home).await?;
    let after = Memory::of(daemon.pid())?.private();
    let keeper = Memory::of(*live.first().context("the last session has no keeper")?)?;
    let parked = parked(&daemon).await?;
    ensure!(parked == warm + count - 1, "{parked} sessions are parked, not all but that of {last}");
    daemon.stop()?;
    let daemon = Daemon::start(&home)?;
    let again = Memory::of(daemon.pid())?.private();
    daemon.stop()?;
    let beside = format!(
        "daemon {after:.1} MB, before {before:.1} MB with {warm} parked; alone: fresh {fresh:.1} MB, restarted {again:.1} MB"
    );
    let what = format!("private memory for {count} parked sessions");
    Ok(vec![
        Figure::new("parked", format!("keepers of {parked} parked sessions"), (live.len() - 1) as f64, "")
            .goal(Goal::AtMost(0.0)),
        Figure::new("parked", what, after - before, "MB").goal(Goal::Below(1.0)).beside(beside),
        Figure::new("parked", "private memory of a live keeper", keeper.private(), "MB")
            .goal(Goal::Below(3.0))
            .beside(keeper.beside()),
    ])
}

/// A task for each of these numbers, with a turn that has ended; gives the last one's key.
async fn work(daemon: &Daemon, from: u64, to: u64) -> Result<String> {
    let mut last = String::new();
    for number in from..to {
        let sent = daemon.say(None, "stream 20\nsay done", &format!("parked-{number}")).await?;
        last = daemon.turn_end(sent).await?;
    }
    Ok(last)
}

/// How many sessions are parked.
async fn parked(daemon: &Daemon) -> Result<u64> {
    let (mut parked, mut query) = (0, TaskListQuery::default());
    loop {
        let page = daemon.client().tasks(&query).await?;
        for summary in page.tasks {
            let task = daemon.client().task(&summary.key).await?;
            let sessions = task.executions.iter().filter_map(|execution| execution.runtime_session.as_ref());
            parked += sessions.filter(|session| session.phase == RuntimePhase::Parked).count() as u64;
        }
        match page.next {
            Some(after) => query.after = Some(after),
            None => return Ok(parked),
        }
    }
}

/// The processes of the keepers that live, once no more are left than there is room for; or those that do not go.
async fn keepers(home: &Path) -> Result<Vec<u32>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let kept = client::list(&home.join("keepers"))?;
        let live = kept.iter().filter_map(|kept| kept.keeper_pid).map(u32::try_from);
        let live = live.collect::<Result<Vec<u32>, _>>().context("a process id")?;
        if live.len() <= 1 || Instant::now() > deadline {
            return Ok(live);
        }
        tokio::time::sleep(RETRY).await;
    }
}
