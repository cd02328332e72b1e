//! While keeper and agent live: frames both ways, daemons that come and go.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and these are about processes"
)]

mod support;

use std::process::Command;

use support::{Home, attach, bounded, end, exe, keeper_pid, line, memory_kib, sh};
use throughline_keeper::client::{
    self, AttachError, CallError, Delivery, Happening, LaunchError, ReadError, WriteError,
};
use throughline_keeper::protocol::Refusal;
use throughline_keeper::{Activity, Bounds, FrameState, LaunchSpec, frame_state};

const ECHO: &str = "while read line; do echo \"heard $line\"; done";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_frame_comes_once_across_daemons() {
    let home = Home::new();
    let dir = home.launch("a", ECHO).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    assert_eq!(writer.write("1", "one").await, Ok(Delivery::Written));
    assert_eq!(writer.write("2", "two\n").await, Ok(Delivery::Written));
    let (first, mark) = line(&mut reader).await;
    assert_eq!(first, "heard one");
    // The daemon dies with a frame read but not marked, and one more on its way.
    writer.write("3", "three").await.unwrap();
    drop((writer, reader));
    let (_writer, mut reader) = attach(&dir, 2, mark).await;
    assert_eq!(line(&mut reader).await.0, "heard two");
    assert_eq!(line(&mut reader).await.0, "heard three");
    let (_writer, mut reader) = attach(&dir, 3, 0).await;
    assert_eq!(line(&mut reader).await.0, "heard one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_goes_on_without_a_daemon() {
    let home = Home::new();
    let script = "read go; seq 1 5000; echo done; read never";
    let dir = home.launch("a", script).await;
    let (writer, reader) = attach(&dir, 1, 0).await;
    writer.write("go", "go").await.unwrap();
    drop((writer, reader));
    let (_writer, mut reader) = attach(&dir, 1, 0).await;
    for number in 1..=5000 {
        assert_eq!(line(&mut reader).await.0, number.to_string());
    }
    assert_eq!(line(&mut reader).await.0, "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_frame_id_is_written_once() {
    let home = Home::new();
    let dir = home.launch("a", ECHO).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    assert_eq!(writer.write("turn:1", "x").await, Ok(Delivery::Written));
    assert_eq!(writer.write("turn:1", "x").await, Ok(Delivery::Duplicate));
    drop(writer);
    line(&mut reader).await;
    let (writer, _) = attach(&dir, 2, 0).await;
    assert_eq!(writer.write("turn:1", "x").await, Ok(Delivery::Duplicate));
    assert_eq!(writer.write("turn:2", "y").await, Ok(Delivery::Written));
    let (_writer, mut reader) = attach(&dir, 3, 0).await;
    assert_eq!(line(&mut reader).await.0, "heard x");
    assert_eq!(line(&mut reader).await.0, "heard y");
    assert_eq!(frame_state(&dir, "turn:1").unwrap(), FrameState::Written);
    assert_eq!(frame_state(&dir, "turn:9").unwrap(), FrameState::Absent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn older_daemons_are_refused_and_newer_ones_displace() {
    let home = Home::new();
    let dir = home.launch("a", ECHO).await;
    let (old, mut old_reader) = attach(&dir, 5, 0).await;
    let refused = client::attach(&dir, 4, 0).await.err().unwrap();
    let stale = AttachError::StaleFence { offered: 4, highest: 5 };
    assert_eq!(refused.to_string(), stale.to_string());
    old.ack(0).await.unwrap();
    let (new, _reader) = attach(&dir, 6, 0).await;
    let displaced = bounded(old_reader.next()).await.unwrap().unwrap_err();
    assert_eq!(displaced, ReadError::Displaced { fence: 6 });
    let displaced = old.write("late", "late").await.unwrap_err();
    assert_eq!(displaced, WriteError::Displaced { fence: 6 });
    assert_eq!(old.ack(0).await, Err(CallError::Displaced { fence: 6 }));
    assert_eq!(frame_state(&dir, "late").unwrap(), FrameState::Absent);
    new.write("now", "now").await.unwrap();
    let (_, mut same) = attach(&dir, 6, 0).await;
    assert_eq!(line(&mut same).await.0, "heard now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_frame_that_is_no_frame_is_refused() {
    let home = Home::new();
    let bounds = Bounds { max_frame_bytes: 100, ..Bounds::default() };
    let dir = home.launch_within("a", ECHO, bounds).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    let malformed = Err(WriteError::NotSent(Refusal::MalformedFrame));
    assert_eq!(writer.write("a", "two\nlines").await, malformed);
    assert_eq!(writer.write("a", "").await, malformed);
    assert_eq!(writer.write("", "x").await, malformed);
    assert_eq!(writer.write("a\nb", "x").await, malformed);
    let long = Err(WriteError::NotSent(Refusal::FrameTooLong { limit_bytes: 100 }));
    assert_eq!(writer.write("b", vec![b'x'; 101]).await, long);
    assert_eq!(writer.write("b", vec![b'x'; 1000]).await, long);
    assert_eq!(writer.write("a", "fine").await, Ok(Delivery::Written));
    assert_eq!(line(&mut reader).await.0, "heard fine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_frame_on_its_way_is_waited_for_and_its_failure_is_exact() {
    let home = Home::new();
    let dir = home.launch("a", "exec sleep 1000").await;
    let (writer, reader) = attach(&dir, 1, 0).await;
    let big = vec![b'x'; 1 << 20];
    let stuck = tokio::spawn({
        let (writer, big) = (writer.clone(), big.clone());
        async move { writer.write("turn:1", big).await }
    });
    // The keeper answers in order, so after this it has the frame.
    while frame_state(&dir, "turn:1").unwrap() == FrameState::Absent {
        writer.set_busy(Activity::Busy).await.unwrap();
    }
    drop((writer, reader));
    let (writer, mut reader) = attach(&dir, 2, 0).await;
    assert_eq!(bounded(stuck).await.unwrap(), Err(WriteError::Displaced { fence: 2 }));
    let again = writer.write("turn:1", big);
    let stop = async {
        writer.stop(std::time::Duration::ZERO).await.unwrap();
        end(&mut reader).await
    };
    let (again, _) = bounded(async { tokio::join!(again, stop) }).await;
    assert_eq!(again, Err(WriteError::NotSent(Refusal::AgentGone)));
    assert_eq!(frame_state(&dir, "turn:1").unwrap(), FrameState::Failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_daemon_loses_nothing_and_costs_nothing() {
    let home = Home::new();
    let bounds = Bounds { max_frame_bytes: 1 << 10, max_spool_bytes: 256 << 10, ..Bounds::default() };
    let dir = home.launch_within("a", "seq 1 300000; read never", bounds).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    for number in 1..=300_000 {
        let (text, mark) = line(&mut reader).await;
        assert_eq!(text, number.to_string());
        if number % 5_000 == 0 {
            writer.ack(mark).await.unwrap();
            assert!(spool_bytes(&dir) < 512 << 10, "{}", spool_bytes(&dir));
        }
    }
    let memory = memory_kib(keeper_pid(&dir));
    assert!(memory.anonymous < 1 << 10, "{memory:?}");
    // What was trimmed is refused, not made up.
    let (_writer, mut reader) = attach(&dir, 1, 0).await;
    let trimmed = bounded(reader.next()).await.unwrap().unwrap_err();
    assert!(matches!(trimmed, ReadError::Refused(Refusal::Trimmed { first }) if first > 0));
}

fn spool_bytes(dir: &std::path::Path) -> u64 {
    let segments = std::fs::read_dir(dir.join("spool")).unwrap();
    let sizes = segments.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    sizes.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancelled_read_loses_nothing() {
    let home = Home::new();
    let dir = home.launch("a", ECHO).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    for turn in 0..50 {
        tokio::select! {
            biased;
            heard = reader.next() => panic!("{heard:?}"),
            () = tokio::task::yield_now() => {}
        }
        writer.write(&turn.to_string(), turn.to_string()).await.unwrap();
        assert_eq!(line(&mut reader).await.0, format!("heard {turn}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_keeper_outlives_the_daemon_that_launched_it() {
    let home = Home::new();
    let dir = home.dir("a");
    let mut daemon = Command::new(exe()).arg("crash").arg(&dir).spawn().unwrap();
    assert!(!daemon.wait().unwrap().success());
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("1", "you").await.unwrap();
    assert_eq!(line(&mut reader).await.0, "heard you");
    let keeper = keeper_pid(&dir);
    let session = rustix::process::getsid(rustix::process::Pid::from_raw(keeper)).unwrap();
    assert_eq!(session.as_raw_nonzero().get(), keeper, "a session of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_live_keeper_is_small() {
    let home = Home::new();
    let dir = home.launch("a", "cat").await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    for turn in 0..20 {
        let frame = vec![b'x'; 1 << 20];
        assert_eq!(writer.write(&turn.to_string(), frame).await, Ok(Delivery::Written));
        assert_eq!(line(&mut reader).await.0.len(), 1 << 20);
    }
    let memory = memory_kib(keeper_pid(&dir));
    println!("a live keeper, in KiB: {memory:?}");
    assert!(memory.anonymous < 1 << 10, "{memory:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_agent_gets_exactly_the_environment_it_was_given() {
    let home = Home::new();
    let dir = home.dir("a");
    let spec = LaunchSpec {
        program: "env".into(),
        args: vec![],
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("TOKEN".into(), "s3cret".into())],
        ..sh("")
    };
    client::launch(&exe(), &dir, &spec).await.unwrap();
    let (_, mut lines) = match client::attach(&dir, 1, 0).await {
        Ok((_writer, mut reader)) => end(&mut reader).await,
        Err(AttachError::Gone) => {
            let left = client::post_mortem(&dir).unwrap();
            let text = |frame: throughline_keeper::Frame| String::from_utf8(frame.bytes.to_vec()).unwrap();
            let frames = left.frames_from(0).unwrap();
            let lines = frames.map(|frame| text(frame.unwrap())).collect();
            (left.exit.unwrap(), lines)
        }
        Err(error) => panic!("{error}"),
    };
    let marker = format!("THROUGHLINE_KEEPER={}", dir.canonicalize().unwrap().display());
    lines.sort();
    assert_eq!(lines, ["PATH=/usr/bin:/bin", marker.as_str(), "TOKEN=s3cret"]);
    let spec = std::fs::read_to_string(dir.join("spec.json")).unwrap();
    assert!(!spec.contains("s3cret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn homes_with_long_names_work() {
    let home = Home::new();
    let name = format!("{}/{}", "n".repeat(200), "m".repeat(200));
    let dir = home.launch(&name, ECHO).await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("1", "you").await.unwrap();
    assert_eq!(line(&mut reader).await.0, "heard you");
    writer.stop(std::time::Duration::ZERO).await.unwrap();
    end(&mut reader).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_start_says_why_and_may_be_tried_again() {
    let home = Home::new();
    let dir = home.dir("a");
    let attempt = |spec: LaunchSpec| {
        let dir = dir.clone();
        async move { client::launch(&exe(), &dir, &spec).await }
    };
    let missing = LaunchSpec { program: "no-such-agent".into(), ..sh("") };
    let outcome = attempt(missing).await;
    assert!(matches!(outcome, Err(LaunchError::ProgramNotFound { .. })), "{outcome:?}");
    let nowhere = LaunchSpec { cwd: "/no/such/folder".into(), ..sh("") };
    let outcome = attempt(nowhere).await;
    assert!(matches!(outcome, Err(LaunchError::CwdMissing { .. })), "{outcome:?}");
    let forbidden = LaunchSpec { program: "/etc/passwd".into(), ..sh("") };
    let outcome = attempt(forbidden).await;
    assert!(matches!(outcome, Err(LaunchError::PermissionDenied { .. })), "{outcome:?}");
    assert!(!dir.exists());
    attempt(sh("read x")).await.unwrap();
    let outcome = attempt(sh("read x")).await;
    assert!(matches!(outcome, Err(LaunchError::AlreadyRunning)), "{outcome:?}");
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("x", "x").await.unwrap();
    end(&mut reader).await;
    support::wait_gone(support::try_keeper_pid(&dir).unwrap_or(i32::MAX));
    let outcome = attempt(sh("read x")).await;
    assert!(matches!(outcome, Err(LaunchError::Used)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stderr_is_kept_apart() {
    let home = Home::new();
    let dir = home.launch("a", "echo oops >&2; echo fine; read never").await;
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    assert_eq!(line(&mut reader).await.0, "fine");
    writer.stop(std::time::Duration::ZERO).await.unwrap();
    let happening = bounded(reader.next()).await;
    assert!(matches!(happening, Some(Ok(Happening::Exited(_)))));
    assert_eq!(writer.stderr_tail().await.unwrap().last_text(100), "oops\n");
}
