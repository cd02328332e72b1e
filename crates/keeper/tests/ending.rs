//! Every way in which an agent ends, and that nothing of it is left.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and these are about processes"
)]

mod support;

use std::io::Write as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::{Home, attach, bounded, end, is_running, keeper_pid, kill_9, line, pid, try_keeper_pid, wait_gone};
use throughline_keeper::client::{self, AttachError, Delivery, ReadError};
use throughline_keeper::{Activity, AgentStatus, Bounds, Exit, ExitReason, Frame, FrameState, TreeEnd};

/// Says its own pid and those of a child and of a child in a session of its own, then does `$1`.
fn family(then: &str) -> String {
    format!("echo $$; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; {then}")
}

async fn family_pids(reader: &mut client::Reader) -> [i32; 3] {
    [pid(reader).await, pid(reader).await, pid(reader).await]
}

fn assert_all_gone(pids: &[i32]) {
    let left: Vec<_> = pids.iter().filter(|pid| is_running(**pid)).collect();
    assert!(left.is_empty(), "{left:?} still run");
}

/// Waits until the keeper's process is gone, as the daemon would by attaching.
async fn wait_for_keeper(dir: &std::path::Path) {
    if let Some(pid) = try_keeper_pid(dir) {
        wait_gone(pid);
    }
    let gone = bounded(client::attach(dir, u64::MAX, 0)).await.err();
    assert!(matches!(gone, Some(AttachError::Gone)), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agents_death_takes_its_tree_along() {
    let home = Home::new();
    let dir = home.launch("a", &family("read x; printf 'last words'; exit 3")).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    writer.write("die", "die").await.unwrap();
    let (exit, lines) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(lines, ["last words"]);
    assert_eq!(exit.reason, ExitReason::AgentExited);
    assert_eq!(exit.status, AgentStatus::Code(3));
    assert_eq!(exit.tree, TreeEnd::Confirmed);
    let left = client::post_mortem(&dir).unwrap();
    assert_eq!(left.exit, Some(exit));
    client::remove_ended(&dir).await.unwrap();
    assert!(!dir.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_agent_is_reported_with_its_signal() {
    let home = Home::new();
    let dir = home.launch("a", &family("read x")).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    assert_eq!(pids[0], writer.agent_pid());
    kill_9(pids[0]);
    let (exit, _) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(exit.status, AgentStatus::Signal(9));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stop_leaves_time_to_say_goodbye() {
    let home = Home::new();
    let script = family("trap 'echo bye; exit 7' TERM; echo ready; while :; do wait; done");
    let dir = home.launch("a", &script).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    assert_eq!(line(&mut reader).await.0, "ready");
    writer.stop(Duration::from_secs(20)).await.unwrap();
    let (exit, lines) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(lines, ["bye"]);
    assert_eq!((exit.reason, exit.status), (ExitReason::Stopped, AgentStatus::Code(7)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stop_ends_what_ignores_it() {
    let home = Home::new();
    let script = format!("trap '' TERM; {}", family("while :; do wait; done"));
    let dir = home.launch("a", &script).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    writer.stop(Duration::from_millis(50)).await.unwrap();
    let (exit, _) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(exit.status, AgentStatus::Signal(9));
    assert_eq!(exit.tree, TreeEnd::Confirmed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tree_that_keeps_growing_is_ended() {
    let home = Home::new();
    let grow = "grow() { while :; do setsid sleep 1000 & sleep 0.002; done; }; grow & read x";
    let dir = home.launch("a", &family(grow)).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    writer.stop(Duration::ZERO).await.unwrap();
    let (exit, _) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(exit.tree, TreeEnd::Confirmed);
    assert_eq!(client::sweep(&home.root()).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_lease_runs_while_no_daemon_is_there() {
    let home = Home::new();
    let bounds = Bounds { idle_lease_secs: 1, ..support::sh("").bounds };
    let dir = home.launch_within("a", &family("read x"), bounds).await;
    wait_for_keeper(&dir).await;
    let left = client::post_mortem(&dir).unwrap();
    let text = |frame: Frame| String::from_utf8(frame.bytes.to_vec()).unwrap();
    let frames = left.frames_from(0).unwrap();
    let pids: Vec<i32> = frames.map(|frame| text(frame.unwrap()).parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    assert_all_gone(&pids);
    let reason = left.exit.unwrap().reason;
    assert_eq!(reason, ExitReason::LeaseExpired { lease_secs: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_busy_agent_has_a_lease_of_its_own() {
    let home = Home::new();
    let bounds = Bounds { idle_lease_secs: 3600, busy_lease_secs: 1, ..support::sh("").bounds };
    let dir = home.launch_within("a", "read x", bounds).await;
    let (writer, reader) = attach(&dir, 1, 0).await;
    writer.set_busy(Activity::Busy).await.unwrap();
    let keeper = keeper_pid(&dir);
    drop((writer, reader));
    wait_gone(keeper);
    let exit = client::post_mortem(&dir).unwrap().exit.unwrap();
    assert_eq!(exit.reason, ExitReason::LeaseExpired { lease_secs: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_line_without_end_ends_the_agent() {
    let home = Home::new();
    let bounds = Bounds { max_frame_bytes: 100_000, ..Bounds::default() };
    let script = family("read go; echo fine; head -c 10000000 /dev/zero; read x");
    let dir = home.launch_within("a", &script, bounds).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    writer.write("go", "go").await.unwrap();
    let (exit, lines) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(lines, ["fine"]);
    let limit_bytes = 100_000;
    assert_eq!(exit.reason, ExitReason::FrameTooLong { limit_bytes });
    let left = client::post_mortem(&dir).unwrap();
    let frames: Vec<_> = left.frames_from(0).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.last().unwrap().offset_end, exit.spool_end);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_that_closes_its_stdout_is_of_no_more_use() {
    let home = Home::new();
    let dir = home.launch("a", "read go; exec >&-; exec sleep 1000").await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("go", "go").await.unwrap();
    let (exit, _) = end(&mut reader).await;
    assert_eq!(exit.reason, ExitReason::StdoutClosed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_keeper_that_is_asked_to_terminate_does_so_in_order() {
    let home = Home::new();
    let dir = home.launch("a", &family("read x")).await;
    let (_writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    let keeper = Pid::from_raw(keeper_pid(&dir)).unwrap();
    kill_process(keeper, Signal::HUP).unwrap();
    kill_process(keeper, Signal::TERM).unwrap();
    let (exit, _) = end(&mut reader).await;
    assert_all_gone(&pids);
    assert_eq!(exit.reason, ExitReason::KeeperTerminated { signal: 15 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_end_that_nobody_saw_is_all_in_the_directory() {
    let home = Home::new();
    let dir = home.launch("a", "read x; seq 1 1000; echo oops >&2; exit 4").await;
    let keeper = keeper_pid(&dir);
    let (writer, reader) = attach(&dir, 1, 0).await;
    assert_eq!(writer.write("go", "go").await, Ok(Delivery::Written));
    drop((writer, reader));
    wait_gone(keeper);
    wait_for_keeper(&dir).await;
    assert!(!client::is_live(&dir).unwrap());
    let left = client::post_mortem(&dir).unwrap();
    let exit: &Exit = left.exit.as_ref().unwrap();
    assert_eq!(exit.status, AgentStatus::Code(4));
    assert_eq!(left.stderr.last_text(10), "oops\n");
    let frames: Vec<_> = left.frames_from(0).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.len(), 1000);
    assert_eq!(frames[999].offset_end, exit.spool_end);
    let rest: Vec<_> = left.frames_from(frames[989].offset_end).unwrap().collect();
    assert_eq!(rest.len(), 10);
    assert_eq!(left.frame_state("go").unwrap(), FrameState::Written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_keepers_orphans_are_found_by_their_marker() {
    let home = Home::new();
    let (bystander, other_home) = (Home::new(), Home::new());
    let living = home.launch("living", &family("read x")).await;
    let elsewhere = other_home.launch("a", &family("read x")).await;
    let dir = home.launch("a", &family("echo 'was said'; while read x; do :; done")).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let pids = family_pids(&mut reader).await;
    line(&mut reader).await;
    writer.write("turn:1", "x").await.unwrap();
    let keeper = keeper_pid(&dir);
    kill_9(keeper);
    wait_gone(keeper);
    let lost = loop {
        match bounded(reader.next()).await {
            Some(Ok(_)) => {}
            other => break other,
        }
    };
    assert_eq!(lost, Some(Err(ReadError::Lost)));
    wait_for_keeper(&dir).await;
    assert_eq!(client::sweep(&bystander.root()).await.unwrap(), []);

    let swept = bounded(client::sweep(&home.root())).await.unwrap();
    assert_all_gone(&pids);
    assert_eq!(swept.len(), 1);
    assert_eq!(swept[0].dir, dir.canonicalize().unwrap());
    assert!(swept[0].survivors.is_empty());
    assert!(pids[1..].iter().all(|pid| swept[0].pids.contains(pid)));
    assert_eq!(client::sweep_dir(&dir).await.unwrap(), None);
    for spared in [living, elsewhere] {
        let (_writer, mut reader) = attach(&spared, 1, 0).await;
        let pids = family_pids(&mut reader).await;
        assert!(pids.iter().all(|pid| is_running(*pid)));
    }
    read_what_it_left(&dir);
}

/// With a tail as if the keeper had been killed in the middle of a record.
fn read_what_it_left(dir: &std::path::Path) {
    let segment = dir.join("spool/00000000000000000000");
    let mut torn = std::fs::OpenOptions::new().append(true).open(segment).unwrap();
    torn.write_all(b"\x10\0\0\0\xde\xad\xbe\xefhalf a rec").unwrap();
    let left = client::post_mortem(dir).unwrap();
    assert_eq!(left.exit, None);
    let frames: Vec<_> = left.frames_from(0).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.len(), 4);
    assert_eq!(&frames[3].bytes[..], b"was said");
    assert_eq!(left.frame_state("turn:1").unwrap(), FrameState::Written);
    assert_eq!(left.frame_states().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_runs_can_be_named() {
    let home = Home::new();
    assert_eq!(client::list(&home.root()).unwrap().len(), 0);
    let dir = home.launch("b", "read x").await;
    let dead = home.launch("a", "read x").await;
    let (writer, mut reader) = attach(&dead, 1, 0).await;
    writer.stop(Duration::ZERO).await.unwrap();
    end(&mut reader).await;
    wait_for_keeper(&dead).await;
    let kept = client::list(&home.root()).unwrap();
    assert_eq!(kept.len(), 2);
    assert!(kept[0].keeper_pid.is_none() && kept[0].exit.is_some());
    assert!(kept[1].keeper_pid.is_some() && kept[1].exit.is_none());
    assert!(client::is_live(&dir).unwrap());
    assert!(matches!(client::remove(&dir), Err(client::RemoveError::Live)));
    let refused = client::remove_ended(&dir).await;
    assert!(matches!(refused, Err(client::RemoveError::Live)));
}
