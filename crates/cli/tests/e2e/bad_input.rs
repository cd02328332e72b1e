//! Bad input: each kind has its own code and a hint, and loses nothing.

use std::ffi::OsString;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::{Ran, World};

/// Settings with one agent called `broken`.
fn broken(command: &str) -> String {
    format!("initialize_timeout_secs = 2\n[agents.broken]\ncommand = {command}\n")
}

/// Says something to an agent that does not work: the code is its own, the input stays, and the
/// conversation goes on with an agent that works.
fn agent_fails(settings: &str, code: &str) -> Ran {
    let world = World::with_settings(settings);
    let said = world.tl(&["say", "--agent", "broken", "hello there"]);
    said.has_failed(1, code);
    let shown = world.ok(&["show", "shop-1", "--limit", "1000"]);
    assert!(shown.stdout.contains("you: hello there"), "{shown}");
    let other = world.ok(&["say", "--agent", "demo", "--new", "say fine"]);
    assert!(other.stdout.contains("fine"), "{other}");
    said
}

#[test]
fn an_agent_that_is_not_installed() {
    let settings = "[agents.broken]\ncommand = [\"no-such-agent-anywhere\"]\ninstall = \"npm install -g broken\"\n";
    let world = World::with_settings(settings);
    let said = world.fails(&["say", "--agent", "broken", "hello there"], 1, "agent_not_installed");
    assert!(said.stderr.contains("hint: npm install -g broken"), "{said}");
    // A project's own agent is not named in each message: what was said stays.
    world.ok(&["project", "add", ".", "--agent", "broken"]);
    let said = world.fails(&["say", "--new", "hello there"], 1, "agent_not_installed");
    assert!(said.stderr.contains("hint: npm install -g broken"), "{said}");
    let shown = world.ok(&["show", "shop-1", "--limit", "1000"]);
    assert!(shown.stdout.contains("you: hello there"), "{shown}");
}

#[test]
fn an_agent_that_exits_at_once() {
    agent_fails(&broken(r#"["sh", "-c", "echo oops >&2; exit 3"]"#), "agent_exited");
}

#[test]
fn an_agent_that_writes_garbage() {
    agent_fails(&broken(r#"["sh", "-c", "yes garbage"]"#), "agent_garbage");
}

#[test]
fn an_agent_that_never_answers() {
    agent_fails(&broken(r#"["sh", "-c", "exec sleep 1000"]"#), "agent_timeout");
}

#[test]
fn an_agent_that_nobody_knows() {
    let world = World::new();
    let ran = world.fails(&["say", "--agent", "nobody", "hi"], 1, "agent_unknown");
    assert!(ran.stderr.contains("demo"), "{ran}");
    world.fails(&["project", "add", ".", "--agent", "nobody"], 1, "agent_unknown");
    assert_eq!(world.keys(), [""; 0], "nothing was started");
}

#[test]
fn a_wrong_path() {
    let world = World::bare();
    world.fails(&["project", "add", "no/such/folder"], 1, "bad_path");
    std::fs::write(world.project.join("file"), "x").expect("a file");
    world.fails(&["project", "add", "file"], 1, "bad_path");
    world.ok(&["project", "add", "."]);
    world.fails(&["say", "hi", "--attach", "missing.png"], 1, "bad_path");
    world.fails(&["say", "hi", "--attach", "."], 1, "bad_path");
}

#[test]
fn an_unknown_project() {
    let world = World::bare();
    let ran = world.fails(&["say", "hi"], 1, "project_unknown");
    let command = format!("hint: tl project add {}", world.project.display());
    assert!(ran.stderr.contains(&command), "{ran}");
    world.fails(&["say", "--project", "nope", "hi"], 1, "project_unknown");
}

#[test]
fn an_unknown_key() {
    let world = World::new();
    for command in ["status", "show", "cancel", "retry", "close", "reopen", "fresh"] {
        world.fails(&[command, "shop-99"], 1, "not_found");
    }
    world.fails(&["note", "shop-99", "x"], 1, "not_found");
    world.fails(&["say", "--task", "shop-99", "x"], 1, "not_found");
    world.fails(&["status", "../../etc/passwd"], 1, "not_found");
}

#[test]
fn with_json_errors_are_the_same_and_stdout_is_empty() {
    let world = World::new();
    let ran = world.fails(&["show", "shop-99", "--json"], 1, "not_found");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_message_of_ten_megabytes() {
    let world = World::new();
    let long = vec![b'a'; 10 << 20];
    let ran = world.tl_with_stdin(&["say", "-"], &long);
    ran.has_failed(1, "message_too_large");
    assert_eq!(world.keys(), [""; 0]);
    // The longest that is allowed goes through, and is kept whole.
    let longest = [b"say ".to_vec(), vec![b'a'; (1 << 20) - 4]].concat();
    let ran = world.tl_with_stdin(&["say", "-"], &longest);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stderr, world.log());
}

#[test]
fn an_empty_message() {
    let world = World::new();
    world.fails(&["say", ""], 1, "empty_message");
    world.fails(&["say", "  \n "], 1, "empty_message");
}

#[test]
fn invalid_utf8() {
    let world = World::new();
    let bytes = OsString::from_vec(vec![b'h', b'i', 0xff]);
    world.tl(&[OsString::from("say"), bytes.clone()]).has_failed(1, "invalid_utf8");
    world.tl(&[OsString::from("show"), bytes.clone()]).has_failed(1, "invalid_utf8");
    world.tl_with_stdin(&["say", "-"], &[0xc3, 0x28]).has_failed(1, "invalid_utf8");
    let file = world.project.join(&bytes);
    std::fs::write(&file, "x").expect("a file");
    let args = ["say", "hi", "--attach"].map(OsString::from);
    let args = [&args[..], &[file.into_os_string()]].concat();
    world.tl(&args).has_failed(1, "invalid_utf8");
    assert_eq!(world.keys(), [""; 0]);
    // Bytes of any kind are fine as a file.
    std::fs::write(world.project.join("raw.bin"), [0xff, 0x00]).expect("a file");
    world.ok(&["say", "say thanks", "--attach", "raw.bin"]);
}

#[test]
fn two_daemons_on_one_home() {
    let world = World::new();
    let pid = world.daemon_pid();
    let ran = world.fails(&["serve"], 1, "home_in_use");
    assert!(ran.stderr.contains(&pid.to_string()), "{ran}");
    assert_eq!(world.daemon_pid(), pid, "the first one goes on");
}

#[test]
fn a_home_that_cannot_be_written() {
    let world = World::bare();
    // Nobody can make folders there, not even root, who could write to any other.
    let nowhere = Path::new("/sys/throughline-test");
    let run = |args: &[&str]| {
        let mut command = world.command(args);
        command.env("THROUGHLINE_HOME", nowhere);
        let output = command.output().expect("tl runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    for (args, exit) in [(&["say", "hi"][..], 3), (&["up"], 3), (&["serve"], 1)] {
        let (code, stderr) = run(args);
        assert_eq!(code, Some(exit), "{args:?}: {stderr}");
        assert!(stderr.contains("error[home_unwritable]: "), "{stderr}");
        assert!(stderr.contains("\nhint: "), "{stderr}");
    }
    if rustix::process::geteuid().is_root() {
        return;
    }
    world.ok(&["project", "add", "."]);
    world.ok(&["down"]);
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&world.home, permissions).expect("it is ours");
    };
    mode(0o500);
    let ran = world.tl(&["up"]);
    mode(0o700);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(
        ran.stderr.contains("error[home_unwritable]: ") || ran.stderr.contains("error[store_read_only]: "),
        "{ran}"
    );
}

#[test]
fn a_database_of_a_newer_version() {
    let world = World::new();
    world.ok(&["say", "say kept"]);
    world.ok(&["down", "--all"]);
    let database = world.home.join("throughline.db");
    let version = |bytes: [u8; 4]| {
        // The schema's version is at this place of every SQLite file.
        let mut file = std::fs::File::options().write(true).open(&database).expect("a database");
        file.seek(SeekFrom::Start(60)).expect("seeks");
        file.write_all(&bytes).expect("writes");
    };
    let known = std::fs::read(&database).expect("a database")[60..64].to_vec();
    version(999u32.to_be_bytes());
    let ran = world.fails(&["tasks"], 3, "store_newer");
    assert!(ran.stderr.contains("999"), "{ran}");
    let ran = world.tl(&["serve"]);
    ran.has_failed(1, "store_newer");
    version(known.try_into().expect("four bytes"));
    assert_eq!(world.keys(), ["shop-1"], "nothing was lost");
}

#[test]
fn settings_that_are_not_right() {
    let world = World::bare();
    std::fs::create_dir_all(&world.home).expect("a home");
    std::fs::write(world.home.join("config.toml"), "defualt_agent = 1").expect("settings");
    let ran = world.fails(&["tasks"], 3, "config_invalid");
    assert!(ran.stderr.contains("defualt_agent"), "{ran}");
    std::fs::remove_file(world.home.join("config.toml")).expect("it is there");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::new();
    world.ok(&["say", "stream 200"]);
    let script = format!("'{}' show shop-1 --limit 1000 | head -n 1; echo ${{PIPESTATUS[0]}}", crate::support::TL);
    let mut shell = world.shell(&script);
    let output = shell.output().expect("bash runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "quiet");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout.lines().last(), Some("0"), "{stdout}");
}
