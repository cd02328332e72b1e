//! Many lives in a row: whatever ends a tree, nothing of it is left. `KEEPER_CYCLES` asks for more.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use support::{Home, attach, bounded, end, is_running, keeper_pid, kill_9, pid, wait_gone};
use throughline_keeper::{TreeEnd, client};

/// A child, one in a session of its own, and one in a session of its own that lost its parent.
const FAMILY: &str = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; \
    (setsid sh -c 'sleep 1000 & echo $!') & read x";

fn cycles(default: u32) -> u32 {
    let asked = std::env::var("KEEPER_CYCLES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_process_outlives_its_purpose() {
    let home = Home::new();
    for cycle in 0..cycles(20) {
        let dir = home.launch(&cycle.to_string(), FAMILY).await;
        let (writer, mut reader) = attach(&dir, 1, 0).await;
        let pids = [pid(&mut reader).await, pid(&mut reader).await, pid(&mut reader).await];
        match cycle % 3 {
            0 => writer.stop(Duration::ZERO).await.unwrap(),
            1 => kill_9(writer.agent_pid()),
            _ => {
                writer.write("end", "end").await.unwrap();
            }
        }
        let (exit, _) = end(&mut reader).await;
        assert_eq!(exit.tree, TreeEnd::Confirmed);
        assert!(!pids.iter().any(|pid| is_running(*pid)), "cycle {cycle}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_orphan_outlives_a_sweep() {
    let home = Home::new();
    for cycle in 0..cycles(10) {
        let dir = home.launch(&cycle.to_string(), FAMILY).await;
        let (_writer, mut reader) = attach(&dir, 1, 0).await;
        let pids = [pid(&mut reader).await, pid(&mut reader).await, pid(&mut reader).await];
        let keeper = keeper_pid(&dir);
        kill_9(keeper);
        wait_gone(keeper);
        let swept = bounded(client::sweep(&home.root())).await.unwrap();
        assert_eq!(swept.len(), 1, "cycle {cycle}: {swept:?}");
        assert!(swept[0].survivors.is_empty());
        assert!(!pids.iter().any(|pid| is_running(*pid)), "cycle {cycle}");
    }
}

/// One that nothing of the tree is known by: a session of its own, no parent, and no environment.
const ESCAPED: &str = "env -i setsid sh -c 'sleep 1000 & echo $!' & wait; read x";

/// Where there are control groups, that is no way out of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_group_holds_what_shows_no_sign_of_its_keeper() {
    let home = Home::new();
    let dir = home.launch("escaped", ESCAPED).await;
    let (_writer, mut reader) = attach(&dir, 1, 0).await;
    let escaped = pid(&mut reader).await;
    let Ok(group) = std::fs::read_to_string(dir.join("cgroup")) else {
        println!("no control groups on this machine: skipped");
        kill_9(escaped);
        return;
    };
    let keeper = keeper_pid(&dir);
    kill_9(keeper);
    wait_gone(keeper);
    let swept = bounded(client::sweep(&home.root())).await.unwrap();
    assert!(swept.iter().any(|swept| swept.pids.contains(&escaped) && swept.survivors.is_empty()), "{swept:?}");
    assert!(!is_running(escaped));
    assert!(!std::path::Path::new(&group).exists(), "{group} is gone");
}
