//! From an agent's update to a client's receipt: keeper, engine, fsync, feed and socket, against a bare pipe → fsync →
//! socket relay that is fed with the same lines, in alternating rounds.

use anyhow::{Context as _, Result, ensure};

use crate::Size;
use crate::daemon::{self, Daemon};
use crate::emission::{Emission, Sort, find_stamp};
use crate::listener::{Listener, PATIENCE, ends_turn, has};
use crate::measure::{Readings, Spread, median};
use crate::relay;
use crate::table::{Figure, Goal};

/// What an update carries: a short message.
const BYTES: usize = 300;

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    daemon::write_settings(&home)?;
    let daemon = Daemon::start(&home)?;
    daemon.add_project(&folder.path().join("project"), daemon::NAME).await?;
    daemon.open_conversation().await?;
    let order = |sort| Emission { sort, count: size.pick(50, 600), per_second: 200, bytes: BYTES };
    // The first turn starts the agent, which is not what is measured.
    let warm = Emission { count: 20, ..order(Sort::Tools) };
    let task = daemon.say(None, &warm.to_string(), "warm").await?.task.context("the message went to no task")?.key;
    let mut client = Listener::open(&daemon, &task).await?;
    client.settle(&daemon).await?;
    let (mut durable, mut live, mut bare) = (vec![], vec![], vec![]);
    for round in 0..size.pick(1, 5) {
        bare.push(relay::measure(folder.path(), order(Sort::Tools)).await?);
        durable.push(updates(&mut client, &daemon, order(Sort::Tools), &format!("tools-{round}")).await?);
        live.push(updates(&mut client, &daemon, order(Sort::Words), &format!("words-{round}")).await?);
    }
    daemon.stop()?;
    let (durable, live, bare) = (Rounds::of(&durable)?, Rounds::of(&live)?, Rounds::of(&bare)?);
    let ratio = median(durable.each.iter().zip(&bare.each).map(|(durable, bare)| durable.p50_ms / bare.p50_ms));
    let beside =
        |of: &Spread| format!("bare p50 {:.2} ms, p99 {:.2} ms; own max {:.1} ms", bare.p50(), bare.p99(), of.max_ms);
    Ok(vec![
        Figure::new("latency", "durable event, p50 ÷ bare relay's", ratio, "×").goal(Goal::Below(3.0)),
        Figure::new("latency", "durable event, p50", durable.p50(), "ms")
            .goal(Goal::Below(3.0))
            .beside(beside(&durable.all)),
        Figure::new("latency", "durable event, p99", durable.p99(), "ms").goal(Goal::Below(15.0)),
        Figure::new("latency", "live text, p50", live.p50(), "ms").beside(format!("p99 {:.2} ms", live.p99())),
    ])
}

/// What the rounds came to, each and together.
struct Rounds {
    each: Vec<Spread>,
    all: Spread,
}

impl Rounds {
    fn of(rounds: &[Readings]) -> Result<Self> {
        let mut all = Readings::default();
        rounds.iter().for_each(|round| all.extend(round));
        Ok(Rounds { each: rounds.iter().map(Readings::spread).collect::<Result<_>>()?, all: all.spread()? })
    }

    fn p50(&self) -> f64 {
        median(self.each.iter().map(|spread| spread.p50_ms))
    }

    fn p99(&self) -> f64 {
        median(self.each.iter().map(|spread| spread.p99_ms))
    }
}

/// Orders an emission and takes the time of each of its updates.
async fn updates(client: &mut Listener, daemon: &Daemon, order: Emission, key: &str) -> Result<Readings> {
    daemon.say(Some(client.task()), &order.to_string(), key).await?;
    let name: &[u8] = match order.sort {
        Sort::Tools => b"entry",
        Sort::Words => b"live",
    };
    let mut readings = Readings::default();
    let mut next = 0;
    let follow = async {
        loop {
            let frame = client.next().await?;
            if ends_turn(&frame) && next == order.count {
                return anyhow::Ok(());
            }
            if frame.name() == name
                && let Some(stamp) = find_stamp(frame.data())
                && (order.sort == Sort::Words || has(&frame, b"tool_call"))
            {
                ensure!(stamp.number == next, "update {} came when {next} was due", stamp.number);
                next += 1;
                readings.add(client.arrived().saturating_sub(stamp.nanos));
            }
        }
    };
    tokio::time::timeout(PATIENCE, follow).await.context("the updates do not come")??;
    Ok(readings)
}
