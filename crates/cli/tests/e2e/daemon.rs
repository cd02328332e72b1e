//! The daemon's own life: serve, up, down, and a newer `tl` that takes an older daemon's place.
#![allow(clippy::disallowed_methods, reason = "a promise about time is measured, and an executable is dated")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use crate::support::{TL, World, kill_and_wait};
use rustix::process::Signal;

#[test]
fn serve_says_where_it_listens_and_stops_when_told() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::bare();
        let mut serve = world.start(&["serve", "--listen", "127.0.0.1:0"]);
        let line = serve.wait_for_line(|line| line.starts_with("listening on "));
        let address = line.strip_prefix("listening on http://").expect("a URL");
        let mut stream = TcpStream::connect(address.trim_end_matches('/')).expect("it listens");
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(world.daemon_pid(), serve.pid(), "commands use it");
        serve.signal(signal);
        let ran = serve.finish();
        assert_eq!(ran.code, Some(0), "{ran}");
    }
}

#[test]
fn serve_stops_in_time_while_a_turn_runs_and_streams_are_open() {
    let world = World::bare();
    let mut serve = world.start(&["serve", "--listen", "127.0.0.1:0"]);
    serve.wait_for_line(|line| line.starts_with("listening on "));
    world.ok(&["project", "add", "."]);
    let mut said = world.start(&["say", "say begin\nsleep 3000\nsay end"]);
    said.wait_for_line(|line| line.contains("begin"));
    let began = SystemTime::now();
    serve.signal(Signal::TERM);
    assert_eq!(serve.finish().code, Some(0));
    let took = began.elapsed().expect("time goes on");
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    // The one who watches starts a daemon, and sees the turn to its end.
    said.wait_for_line(|line| line.contains("end"));
    let ran = said.finish();
    assert_eq!(ran.code, Some(0), "{ran}{}", world.log());
}

#[test]
fn up_starts_one_daemon_and_down_names_what_lives_on() {
    let world = World::bare();
    assert!(world.ok(&["up"]).stdout.contains("the daemon started: process "));
    let pid = world.daemon_pid();
    assert!(world.ok(&["up"]).stdout.contains("the daemon was running: process "));
    assert_eq!(world.daemon_pid(), pid);
    world.ok(&["project", "add", "."]);
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    let down = world.ok(&["down"]);
    assert!(down.stdout.contains("one agent lives on"), "{down}");
    assert!(down.stdout.contains("shop-1  demo is working"), "{down}");
    assert_eq!(world.keepers().len(), 1);
    let down = world.ok(&["down"]);
    assert!(down.stdout.contains("no daemon was running"), "{down}");
    world.ok(&["down", "--all"]);
    assert_eq!(world.keepers(), [0i32; 0]);
}

#[test]
fn many_commands_at_once_start_one_daemon() {
    let world = World::bare();
    let runs: Vec<_> = (0..6).map(|_| world.start(&["up", "--json"])).collect();
    let pid = |ran: &crate::support::Ran| {
        let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        document["daemon"]["pid"].as_i64().expect("a process id")
    };
    let pids: Vec<i64> = runs
        .into_iter()
        .map(|run| {
            let ran = run.finish();
            assert_eq!(ran.code, Some(0), "{ran}{}", world.log());
            pid(&ran)
        })
        .collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
}

#[test]
fn a_newer_tl_takes_the_place_of_an_older_daemon_and_no_turn_is_lost() {
    let world = World::new();
    let newer = world.folder("bin").join("tl");
    std::fs::copy(TL, &newer).expect("a copy");
    let file = std::fs::File::options().write(true).open(&newer).expect("it is there");
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("it is ours");
    drop(file);
    let older = world.daemon_pid();
    let mut said = world.start(&["say", "say begin\nsleep 1500\nwrite end.txt yes\nsay end"]);
    said.wait_for_line(|line| line.contains("begin"));
    let output = world.program(&newer, &["up"]).output().expect("it runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("replaced an older one"), "{stdout}{}", world.log());
    let replaced = world.daemon_pid();
    assert_ne!(replaced, older);
    said.wait_for_line(|line| line.contains("end"));
    assert_eq!(said.finish().code, Some(0), "{}", world.log());
    assert!(world.project.join("end.txt").exists());
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 1);
    // The older tl talked to the newer daemon and left it alone.
    assert_eq!(world.daemon_pid(), replaced);
    world.ok(&["down", "--all"]);
}

#[test]
fn doctor_finds_nothing_wrong_with_a_fresh_home() {
    let world = World::bare();
    let ran = world.ok(&["doctor"]);
    for check in ["home", "disk", "settings", "daemon", "store", "socket", "token", "agent demo"] {
        let found = ran.stdout.lines().find(|line| line.contains(check));
        let line = found.unwrap_or_else(|| panic!("no {check} in {ran}"));
        assert!(line.starts_with("ok ") || check == "disk", "{line}");
    }
}

#[test]
fn doctor_names_what_is_wrong() {
    let world = World::with_settings("[agents.bad]\ncommand = [\"sh\", \"-c\", \"exit 1\"]\n");
    let ran = world.ok(&["doctor"]);
    let line = ran.stdout.lines().find(|line| line.contains("agent bad"));
    assert!(line.is_some_and(|line| line.starts_with("warn")), "{ran}");
    let token = world.home.join("token");
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("ours");
    let ran = world.tl(&["doctor"]);
    ran.has_failed(1, "doctor_failed");
    assert!(ran.stdout.contains("chmod 600"), "{ran}");
}

#[test]
fn a_daemon_that_cannot_start_says_why_and_exits_with_three() {
    let world = World::bare();
    std::fs::create_dir_all(world.home.join("throughline.db")).expect("a folder in the way");
    let ran = world.tl(&["tasks"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(ran.stderr.starts_with("error["), "{ran}");
    std::fs::remove_dir(world.home.join("throughline.db")).expect("it is there");
}

#[test]
fn a_home_deeper_than_a_socket_address_works() {
    let mut world = World::bare();
    world.home = world.home.join("d".repeat(100)).join("e".repeat(100));
    world.ok(&["project", "add", "."]);
    world.ok(&["say", "say deep"]);
}

#[test]
fn the_agents_that_are_shipped_are_listed() {
    let world = World::bare();
    let ran = world.ok(&["agents"]);
    for name in ["demo", "codex", "claude-code", "gemini", "opencode"] {
        assert!(ran.stdout.contains(name), "{ran}");
    }
    let demo = ran.stdout.lines().find(|line| line.starts_with("demo"));
    assert!(demo.is_some_and(|line| line.contains("found")), "{ran}");
}

#[test]
fn what_killed_keepers_left_is_ended_at_the_next_start() {
    let world = World::new();
    world.ok(&["say", "say here"]);
    let keepers = world.keepers();
    assert_eq!(keepers.len(), 1);
    world.ok(&["down"]);
    assert!(kill_and_wait(keepers[0], Signal::KILL));
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("say here"), "{said}");
}

#[test]
fn a_socket_elsewhere_is_found() {
    let world = World::bare();
    let socket = world.folder("run").join("other.sock");
    let mut serve = world.start(&["serve", "--socket", socket.to_str().expect("text")]);
    serve.wait_for_line(|line| line.starts_with("listening on "));
    assert_eq!(world.daemon_pid(), serve.pid());
    world.ok(&["down"]);
    assert_eq!(serve.finish().code, Some(0));
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let world = World::bare();
    world.fails(&["serve", "--listen", "0.0.0.0:0"], 1, "listen_not_loopback");
    world.fails(&["serve", "--listen", "nonsense"], 2, "usage");
}

#[test]
fn an_environment_that_is_no_text_hurts_nobody() {
    use std::os::unix::ffi::OsStringExt as _;
    let world = World::bare();
    let mut command = world.command(&["up"]);
    command.env("ODD", std::ffi::OsString::from_vec(vec![0xff]));
    assert!(command.output().expect("it runs").status.success(), "{}", world.log());
    world.ok(&["project", "add", "."]);
    assert!(world.ok(&["say", "say fine"]).stdout.contains("fine"));
}

#[test]
fn what_a_turn_left_running_ends_with_its_session() {
    let world = World::new();
    world.ok(&["say", "spawn 1000"]);
    assert_eq!(world.keepers().len(), 1);
    world.ok(&["down", "--all"]);
    let marker = world.home.join("keepers");
    let marker = marker.to_str().expect("text").as_bytes();
    let marked = |entry: &std::fs::DirEntry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.windows(marker.len()).any(|window| window == marker)
    };
    let left = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok).filter(marked).count();
    assert_eq!(left, 0, "processes are left");
}

/// A turn that ended while nobody listened: its end is in what the next daemon reads, after a lot else.
#[test]
fn a_turn_that_had_ended_is_not_stopped_by_the_end_of_everything() {
    let world = World::new();
    let floods = "flood 2000000\n".repeat(10);
    world.ok(&["say", "--detach", &format!("write begun.txt yes\nsleep 500\n{floods}say it is done")]);
    world.wait_for_file(&world.project.join("begun.txt"));
    world.kill_daemon();
    world.wait_for_last_words("\"stopReason\":\"end_turn\"");
    world.ok(&["up"]);
    world.ok(&["down", "--all"]);
    let ended = world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
    assert_eq!(ended["outcome"], "completed", "{ended:#}");
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("demo: it is done"), "{shown}");
    assert_eq!(world.keepers(), [0; 0]);
}
