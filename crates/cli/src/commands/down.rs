//! `tl down`: stop the daemon; with `--all` the keepers too.
//!
//! Without `--all` the agents go on working under their keepers, and the next daemon reads on where this
//! one left off. If no daemon runs, `--all` still ends the keepers that one left behind.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::json;
use throughline_api::client::Client;
use throughline_api::daemon::{Keepers, RunningKeeper, StopDaemon};
use throughline_api::task::TaskSummary;
use throughline_keeper::client as keepers;

use super::Context;
use crate::daemon;
use crate::daemon::process::{Hold, Running};
use crate::failure::{Failure, Outcome};
use crate::safe_text::{safe_glance, safe_line};

/// How often keepers without a daemon are looked at while they end, and how long in all.
const LOOK: Duration = Duration::from_millis(25);
const LOOKS: usize = 600;

/// Stop the daemon; agents go on working, and the next daemon takes them up again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop the agents too
    #[arg(long)]
    all: bool,
}

/// An agent that lives on.
#[derive(Debug, Serialize)]
struct Survivor {
    /// Its keeper's process.
    pid: i32,
    /// The task that it works for, where that is known.
    task: Option<String>,
    /// What that task is doing.
    glance: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let wish = if args.all { Keepers::Stop } else { Keepers::Leave };
    let running = daemon::look(&context.home)?;
    let known = match &running {
        Some(running) => stop_daemon(running, wish).await?,
        None => Vec::new(),
    };
    let mut pids = living(&context)?;
    if wish == Keepers::Stop && !pids.is_empty() {
        end_keepers(&context, &pids).await?;
        pids.clear();
    }
    let left = survivors(&pids, known);
    let document = json!({ "stopped": running.is_some(), "left": left });
    context.output.document(&document, || text(running.is_some(), &left))
}

fn text(stopped: bool, left: &[Survivor]) -> String {
    let mut text = String::from(match stopped {
        true => "the daemon is stopped\n",
        false => "no daemon was running\n",
    });
    match left.len() {
        0 => {}
        1 => text.push_str("one agent lives on; tl down --all ends it\n"),
        count => text.push_str(&format!("{count} agents live on; tl down --all ends them\n")),
    }
    for survivor in left {
        if let Some(task) = &survivor.task {
            let glance = survivor.glance.as_deref().unwrap_or_default();
            text.push_str(&format!("  {}  {}\n", safe_line(task), safe_glance(glance, 80)));
        }
    }
    text
}

/// The keepers that live, with what the daemon knew of them.
fn survivors(pids: &[i32], known: Vec<Survivor>) -> Vec<Survivor> {
    let mut known = known;
    pids.iter()
        .map(|pid| match known.iter().position(|survivor| survivor.pid == *pid) {
            Some(at) => known.swap_remove(at),
            None => Survivor { pid: *pid, task: None, glance: None },
        })
        .collect()
}

/// Stops it, and gives what ran under it.
async fn stop_daemon(running: &Running, keepers: Keepers) -> Outcome<Vec<Survivor>> {
    let hold = Hold::of(running)?;
    let client = Client::unix(&running.socket);
    let tasks: Vec<TaskSummary> = match client.status().await {
        Ok(status) => [status.needs_me, status.running, status.resting].concat(),
        Err(_) => Vec::new(),
    };
    let stopping = match client.stop(StopDaemon { keepers }).await {
        Ok(stopping) => stopping.running,
        // A daemon that does not answer is still asked the way every process is.
        Err(_) => {
            hold.stop()?;
            return Ok(Vec::new());
        }
    };
    hold.wait()?;
    let survivor = |keeper: RunningKeeper| {
        let task = tasks.iter().find(|task| Some(&task.key) == keeper.task.as_ref());
        Survivor { pid: keeper.pid, glance: task.map(|task| task.glance.clone()), task: keeper.task }
    };
    Ok(stopping.into_iter().map(survivor).collect())
}

/// The process ids of the keepers that live.
fn living(context: &Context) -> Outcome<Vec<i32>> {
    let kept = keepers::list(&context.home.keepers())
        .map_err(|error| Failure::new("keepers_unreadable", error.to_string()))?;
    Ok(kept.iter().filter_map(|kept| kept.keeper_pid).collect())
}

/// Ends keepers that no daemon speaks for: each ends its whole tree first.
async fn end_keepers(context: &Context, pids: &[i32]) -> Outcome {
    for pid in pids {
        if let Some(pid) = Pid::from_raw(*pid) {
            // One that is gone already is what is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
    for _ in 0..LOOKS {
        if living(context)?.is_empty() {
            let swept = keepers::sweep(&context.home.keepers()).await;
            return swept.map(drop).map_err(|error| Failure::new("sweep_failed", error.to_string()));
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Failure::new("keepers_stuck", "some agents do not end")
        .hint("`tl doctor` looks closer; `ps` shows them as `tl keep`"))
}
