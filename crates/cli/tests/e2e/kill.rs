//! The daemon is killed at random moments while turns go on: no acknowledged input is lost, no turn is
//! run twice, and all of them complete.
//!
//! The seed is printed; `TL_SEED=… TL_TURNS=200 cargo nextest run -p throughline-cli kill::` plays the
//! same moments again, for as many turns as are wanted.
#![allow(clippy::disallowed_methods, reason = "the seed of a run that nobody chose comes from the clock")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::{World, kill_and_wait};
use rustix::process::Signal;

/// Enough to catch a gross mistake on every run.
const TURNS: u64 = 20;
/// The daemon lives between nothing and this long, if `TL_MAX_LIFE_MS` does not say otherwise.
const MAX_LIFE_MS: u64 = 400;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Xorshift: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Kills whatever daemon has the home, again and again, until it is told to stop. `tl` gives up on a daemon
/// that dies at every start, so after a few of those in a row one is let through.
fn kill_at_random(world: &World, dice: &mut Dice, done: &AtomicBool, kills: &AtomicUsize) {
    const STARTS_KILLED: usize = 3;
    let max_life_ms = number("TL_MAX_LIFE_MS").unwrap_or(MAX_LIFE_MS);
    let mut starts_killed = 0;
    while !done.load(Ordering::Relaxed) {
        // tidy: the moment of the kill is what this test varies
        std::thread::sleep(Duration::from_millis(dice.roll(max_life_ms)));
        let lock = std::fs::read_to_string(world.home.join("daemon.lock"));
        let Some(pid) = lock.ok().and_then(|text| text.trim().parse().ok()) else {
            continue;
        };
        let listens = listens(world, pid);
        if !listens && starts_killed >= STARTS_KILLED {
            continue;
        }
        if is_daemon(pid) && kill_and_wait(pid, Signal::KILL) {
            kills.fetch_add(1, Ordering::Relaxed);
            starts_killed = if listens { 0 } else { starts_killed + 1 };
        }
    }
}

/// Whether this daemon came as far as to put up its notice.
fn listens(world: &World, pid: i32) -> bool {
    let notice = std::fs::read(world.home.join("daemon.json")).unwrap_or_default();
    serde_json::from_slice::<serde_json::Value>(&notice).is_ok_and(|notice| notice["pid"] == pid)
}

/// A process id may have gone to somebody else since it was written down.
fn is_daemon(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    words.get(1) == Some(&&b"serve"[..])
}

#[test]
fn killing_the_daemon_at_any_moment_loses_and_repeats_nothing() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let by_clock = u64::from(since.expect("after 1970").subsec_nanos()) | 1;
    let seed = number("TL_SEED").unwrap_or(by_clock);
    let turns = number("TL_TURNS").unwrap_or(TURNS);
    println!("TL_SEED={seed} TL_TURNS={turns}");
    let world = World::new();
    world.ok(&["say", "say first"]);
    let (done, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_at_random(&world, &mut Dice(seed | 1), &done, &kills));
        for turn in 0..turns {
            let said = world.tl(&["say", &format!("append log.txt line-{turn}\nsay done-{turn}")]);
            if said.code != Some(0) || !said.stdout.contains(&format!("done-{turn}")) {
                done.store(true, Ordering::Relaxed);
                killer.join().expect("it ends");
                panic!("TL_SEED={seed}, turn {turn}: {said}{}", world.log());
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let kills = kills.load(Ordering::Relaxed);
    println!("the daemon was killed {kills} times");
    assert!(kills > 0, "it was killed at all");
    let execution = world.task("shop-1")["executions"][0].clone();
    assert_eq!(world.keys(), ["shop-1"]);
    assert_eq!(execution["turns"], turns + 1, "TL_SEED={seed}: {execution:#}");
    assert_eq!(execution["queue"], serde_json::json!([]), "TL_SEED={seed}");
    let log = std::fs::read_to_string(world.project.join("log.txt")).expect("lines");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log.lines() {
        *counts.entry(line).or_default() += 1;
    }
    for turn in 0..turns {
        let line = format!("line-{turn}");
        assert_eq!(counts.get(line.as_str()), Some(&1), "TL_SEED={seed}: {line} in\n{log}");
    }
}
