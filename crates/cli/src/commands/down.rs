//! `tl down`: stop the daemon; with `--all` the keepers too.
//!
//! Without `--all` the agents go on working under their keepers, and the next daemon reads on where this
//! one left off. If no daemon runs, `--all` still ends the keepers that one left behind.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use throughline_api::client::Client;
use throughline_api::daemon::{Keepers, StopDaemon};
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

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let wish = if args.all { Keepers::Stop } else { Keepers::Leave };
    let running = daemon::look(&context.home)?;
    let (stopped, tasks) = match &running {
        Some(running) => (true, stop_daemon(running, wish).await?),
        None => (false, Vec::new()),
    };
    let mut left = living(&context)?;
    if wish == Keepers::Stop && !left.is_empty() {
        end_keepers(&context, &left).await?;
        left.clear();
    }
    let document = json!({ "stopped": stopped, "keepers": left, "running": tasks });
    context.output.document(&document, || {
        let mut text = match stopped {
            true => "the daemon is stopped\n".to_owned(),
            false => "no daemon was running\n".to_owned(),
        };
        match left.len() {
            0 => {}
            1 => text.push_str("one agent lives on; tl down --all ends it\n"),
            count => text.push_str(&format!("{count} agents live on; tl down --all ends them\n")),
        }
        if !left.is_empty() {
            for task in &tasks {
                let key = safe_line(&task.key);
                text.push_str(&format!("  {key} is at work: {}\n", safe_glance(&task.title, 60)));
            }
        }
        text
    })
}

/// Stops it, and gives the tasks that were being worked on.
async fn stop_daemon(running: &Running, keepers: Keepers) -> Outcome<Vec<TaskSummary>> {
    let hold = Hold::of(running)?;
    let client = Client::unix(&running.socket);
    let tasks = match client.status().await {
        Ok(status) => status.running,
        Err(_) => Vec::new(),
    };
    match client.stop(StopDaemon { keepers }).await {
        Ok(_) => hold.wait()?,
        // A daemon that does not answer is still asked the way every process is.
        Err(_) => hold.stop()?,
    }
    Ok(tasks)
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
