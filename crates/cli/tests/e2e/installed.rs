//! Whether an agent is installed has one answer, wherever it is asked: in the login shell's `PATH` it is, and who is nowhere
//! is refused before anything changes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::{Ran, TL, World};

/// A program that is the demo agent.
fn install(program: &Path) {
    std::fs::create_dir_all(program.parent().expect("a folder")).expect("a folder");
    std::fs::write(program, format!("#!/bin/sh\nexec '{TL}' agent demo\n")).expect("a program");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
}

/// A world whose daemon knows the person's shell, which finds more than the daemon itself does.
fn with_login_shell(settings: &str) -> World {
    let world = World::bare();
    std::fs::create_dir_all(&world.home).expect("a home");
    std::fs::write(world.home.join("config.toml"), settings).expect("settings");
    profile(&world, "export PATH=\"$HOME/versions/bin:$PATH\"\n");
    up(&world);
    world.ok(&["project", "add", "."]);
    world
}

/// What the person's shell does first.
fn profile(world: &World, text: &str) {
    std::fs::write(world.folder(".profile-of").with_file_name(".profile"), text).expect("a profile");
}

/// Starts a daemon that knows the person's shell.
fn up(world: &World) {
    let mut up = world.command(&["up"]);
    up.env("SHELL", "/bin/sh");
    let started = Ran::of(&["up"], up, b"");
    assert_eq!(started.code, Some(0), "{started}");
}

#[test]
fn an_agent_that_only_the_login_shell_finds_is_found_and_started_everywhere() {
    let world = with_login_shell("[agents.mine]\ncommand = [\"tl-e2e-mine\"]\nenv = [\"THROUGHLINE_HOME\"]\n");
    world.ok(&["say", "say one"]);
    world.fails(&["switch", "shop-1", "--agent", "mine"], 1, "agent_not_installed");
    // A version manager brings it in, while the daemon runs.
    let program = world.folder("versions").join("bin/tl-e2e-mine");
    install(&program);
    let agents = world.json(&["agents"]);
    let listed = agents["agents"].as_array().expect("a list");
    let mine = listed.iter().find(|agent| agent["name"] == "mine").expect("it is known");
    assert_eq!(mine["found"], program.display().to_string(), "{agents:#}");
    let doctor = world.tl(&["doctor"]);
    assert!(doctor.stdout.lines().any(|line| line.contains("agent mine") && line.contains("demo")), "{doctor}");
    world.ok(&["add", "shop-1", "--agent", "mine", "--role", "tester", "say tested"]);
    world.wait_for_turns("shop-1", 2);
    world.ok(&["switch", "shop-1", "--agent", "mine"]);
    let said = world.ok(&["say", "--new", "--agent", "mine", "say hello"]);
    assert!(said.stdout.contains("hello"), "{said}");
    // Words find it too.
    let explained = world.ok(&["route", "explain", "use mine to review shop-2"]);
    assert!(explained.stdout.contains("mine"), "{explained}");
}

#[test]
fn who_is_not_installed_is_refused_and_the_work_goes_on_where_it_was() {
    let world = World::bare();
    let program = world.folder("late").join("agent");
    std::fs::create_dir_all(&world.home).expect("a home");
    let agent = format!("command = [\"{}\"]\nenv = [\"THROUGHLINE_HOME\"]\ninstall = \"get it\"\n", program.display());
    std::fs::write(world.home.join("config.toml"), format!("[agents.absent]\n{agent}")).expect("settings");
    world.ok(&["project", "add", "."]);
    world.ok(&["say", "say one"]);
    for args in [
        &["switch", "shop-1", "--agent", "absent"][..],
        &["add", "shop-1", "--agent", "absent", "--role", "reviewer"],
        &["say", "--agent", "absent", "say two"],
        &["say", "--new", "--agent", "absent", "say two"],
        &["fork", "shop-1", "--agent", "absent"],
    ] {
        let refused = world.fails(args, 1, "agent_not_installed");
        assert!(refused.stderr.contains("hint: get it; `tl agents` shows which are here"), "{refused}");
    }
    assert_eq!(world.keys(), ["shop-1"], "nothing was started");
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("1. say one\ncompleted"), "only what was taken was told: {said}");
    let task = world.task("shop-1");
    let executions = task["executions"].as_array().expect("executions");
    assert_eq!(executions.len(), 1, "{task:#}");
    assert_eq!(executions[0]["runtime_session"]["epoch"], 1, "the session that ran goes on: {task:#}");
    // It is there as soon as it is installed.
    install(&program);
    world.ok(&["switch", "shop-1", "--agent", "absent"]);
    let said = world.ok(&["say", "--task", "shop-1", "say hello"]);
    assert!(said.stdout.contains("hello"), "{said}");
}

#[test]
fn a_projects_shell_is_asked_before_a_message_has_to_wait_for_it() {
    let world = World::bare();
    profile(&world, "touch \"asked-in-$(basename \"$PWD\")\"\n");
    let mark = world.project.join("asked-in-shop");
    up(&world);
    world.ok(&["project", "add", "."]);
    world.wait_for_file(&mark);
    world.ok(&["down", "--all"]);
    std::fs::remove_file(&mark).expect("it was there");
    up(&world);
    world.wait_for_file(&mark);
}
