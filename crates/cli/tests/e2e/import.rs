//! Native sessions that agents left on this machine: listed, imported once, readable without the agent.

use std::path::PathBuf;

use crate::support::World;

const ID: &str = "cbb4015e-7ddb-471e-a85b-7182da0ba80c";

/// A session file as Claude Code writes it, of work in this folder.
fn session(world: &World, folder: &str) -> PathBuf {
    let written = include_str!("../../../engine/src/import/fixtures/claude.jsonl").replace("/home/ada/shop", folder);
    let place = world.project.parent().expect("it has one").join(".claude/projects/-shop");
    std::fs::create_dir_all(&place).expect("a folder");
    let path = place.join(format!("{ID}.jsonl"));
    std::fs::write(&path, written).expect("written");
    path
}

#[test]
fn a_session_is_listed_imported_once_and_read_when_it_is_opened() {
    let world = World::bare();
    let path = session(&world, world.project.to_str().expect("text"));
    let before = std::fs::read(&path).expect("there");
    assert_eq!(world.json(&["import"])["native_sessions"][0]["title"], "please write the hello file");
    let ran = world.ok(&["import", &ID[..8]]);
    assert!(ran.stdout.starts_with("shop-1 imported: please write the hello file (claude-code)"), "{ran}");
    assert!(ran.stdout.contains("careful: it was written to"), "{ran}");
    assert!(world.ok(&["import", "--all"]).stdout.contains("nothing to import"));
    assert!(world.ok(&["import", ID]).stdout.contains("was imported before"));
    assert_eq!(world.keys(), ["shop-1"]);
    let shown = world.ok(&["show", "shop-1"]).stdout;
    for words in ["you: please write the hello file", "echo hello-from-agent", "claude-code: Stopped quickly."] {
        assert_eq!(shown.matches(words).count(), 1, "{words}: {shown}");
    }
    assert_eq!(world.ok(&["show", "shop-1"]).stdout, shown, "opened again, nothing is added");
    world.kill_daemon();
    assert_eq!(world.ok(&["show", "shop-1"]).stdout, shown);
    assert!(world.ok(&["export", "shop-1"]).stdout.contains("> Stopped quickly."));
    assert_eq!(std::fs::read(&path).expect("there"), before, "the agent's file is only read");
}

#[test]
fn what_cannot_be_imported_is_said() {
    let world = World::bare();
    session(&world, "/nowhere/at/all");
    assert!(world.ok(&["import"]).stdout.contains("its folder is gone"));
    world.fails(&["import", ID], 1, "bad_path");
    world.fails(&["import", "ffff"], 1, "native_session_unknown");
    world.fails(&["import", "--agent", "demo"], 1, "not_importable");
    assert!(world.keys().is_empty());
}

#[test]
fn a_file_that_is_gone_when_the_task_is_opened_leaves_a_note() {
    let world = World::bare();
    let path = session(&world, world.project.to_str().expect("text"));
    world.ok(&["import", ID]);
    std::fs::remove_file(path).expect("removed");
    let shown = world.ok(&["show", "shop-1"]).stdout;
    assert!(shown.contains("not all was imported: the agent's file of the session is gone"), "{shown}");
}
