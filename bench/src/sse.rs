//! A thousand clients of one task: each gets every durable event once, in order, and one that never reads is dropped and
//! slows nobody. The clients are a process of their own ([`crate::sse_load`]); this file judges what it reports.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::Size;
use crate::daemon::{self, Daemon};
use crate::emission::{Emission, Sort};
use crate::sse_load::{READY, Report};
use crate::table::{Figure, Goal};

const PER_SECOND: u64 = 50;
const BYTES: usize = 300;

/// Whether one more client is there that never reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Readers,
    ReadersAndOneThatSleeps,
}

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    let clients = size.pick(50, 1000);
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    daemon::write_settings(&home)?;
    let daemon = Daemon::start(&home)?;
    daemon.add_project(&folder.path().join("project"), daemon::NAME).await?;
    daemon.open_conversation().await?;
    let secs = |secs| Emission { sort: Sort::Tools, count: secs * PER_SECOND, per_second: PER_SECOND, bytes: BYTES };
    let task = daemon.say(None, "hello", "hello").await?.task.context("the message went to no task")?.key;
    let alone = phase(&daemon, &task, clients, secs(size.pick(2, 20)), Company::Readers).await?;
    let order = secs(size.pick(5, 60));
    let crowd = phase(&daemon, &task, clients, order, Company::ReadersAndOneThatSleeps).await?;
    daemon.stop()?;
    let dropped = crowd.dropped_after_secs.context("the client that never reads was not dropped")?;
    let spread = crowd.latency;
    let ratio = spread.p99_ms / alone.latency.p99_ms;
    let beside = format!("{} events to each of {clients} clients, once and in order", crowd.events);
    Ok(vec![
        Figure::new("sse", "durable events delivered", crowd.delivered as f64, "").beside(beside),
        Figure::new("sse", "delivery, p50", spread.p50_ms, "ms").beside(format!("max {:.0} ms", spread.max_ms)),
        Figure::new("sse", "delivery, p99", spread.p99_ms, "ms"),
        Figure::new("sse", "p99 with ÷ without one that never reads", ratio, "")
            .beside(format!("without: p50 {:.2} ms, p99 {:.2} ms", alone.latency.p50_ms, alone.latency.p99_ms)),
        Figure::new("sse", "one that never reads is dropped after", dropped, "s").goal(Goal::Below(60.0)),
    ])
}

/// Lets the clients come, then the events, and checks that everyone got everything.
async fn phase(daemon: &Daemon, task: &str, clients: u64, order: Emission, company: Company) -> Result<Report> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("sse-load")
        .args(["--address", &daemon.address.to_string(), "--token", &daemon.token, "--task", task])
        .args(["--clients", &clients.to_string(), "--stamps", &order.count.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if company == Company::ReadersAndOneThatSleeps {
        command.arg("--sleeper").arg(daemon.socket());
    }
    let mut load = command.spawn()?;
    let report = follow(&mut load, daemon, task, order).await;
    if report.is_err() {
        let _ = load.kill();
    }
    load.wait()?;
    let report = report?;
    ensure!(report.faults.is_empty(), "events were lost, doubled or out of order: {}", report.faults.join("; "));
    ensure!(
        report.delivered == clients * order.count,
        "{} of {} were delivered",
        report.delivered,
        clients * order.count
    );
    Ok(report)
}

async fn follow(load: &mut Child, daemon: &Daemon, task: &str, order: Emission) -> Result<Report> {
    let stdout = load.stdout.take().context("a pipe")?;
    let mut lines = BufReader::new(stdout).lines();
    let first = lines.next().context("the clients ended at once")??;
    ensure!(first == READY, "the clients are not ready: {first}");
    let key = format!("emit-{}", load.id());
    daemon.say(Some(task), &order.to_string(), &key).await?;
    let report = tokio::task::spawn_blocking(move || lines.next()).await?.context("the clients report nothing")??;
    Ok(serde_json::from_str(&report)?)
}
