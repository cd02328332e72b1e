//! The help texts and the usage errors: what a person reads first.

use crate::support::World;

#[test]
fn the_overview_names_every_command() {
    let world = World::bare();
    insta::assert_snapshot!(world.ok(&["--help"]).stdout);
}

#[test]
fn every_command_explains_itself() {
    let world = World::bare();
    let commands = [
        "say",
        "status",
        "tasks",
        "show",
        "export",
        "approvals",
        "approve",
        "deny",
        "answer",
        "budget",
        "cancel",
        "correct",
        "undo",
        "retry",
        "close",
        "reopen",
        "fresh",
        "restore",
        "fork",
        "compare",
        "take",
        "discard",
        "add",
        "dismiss",
        "fix",
        "switch",
        "note",
        "locale",
        "pair",
        "identities",
        "notify",
        "digest",
        "deliveries",
        "project",
        "policy",
        "rules",
        "import",
        "agents",
        "route",
        "doctor",
        "open",
        "gc",
        "up",
        "down",
        "serve",
        "completions",
        "agent",
    ];
    for command in commands {
        let help = world.ok(&[command, "--help"]).stdout;
        insta::assert_snapshot!(format!("help_{command}"), help);
    }
    assert!(!world.home.exists(), "help needs no home");
}

#[test]
fn a_command_line_that_makes_no_sense_exits_with_two() {
    let world = World::bare();
    for args in [&["frobnicate"][..], &["say"], &["show"], &["say", "x", "--colour"]] {
        world.fails(args, 2, "usage");
    }
    let ran = world.fails(&["say", "hi", "--new", "--task", "shop-1"], 2, "usage");
    insta::assert_snapshot!(ran.stderr);
}

#[test]
fn completions_need_no_daemon_and_no_home() {
    let world = World::bare();
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.ok(&["completions", shell]).stdout.contains("approve"));
    }
    assert!(!world.home.exists());
}

#[test]
fn what_is_kept_from_people_is_not_in_the_help() {
    let world = World::bare();
    let help = world.ok(&["--help"]).stdout;
    assert!(!help.contains("keep "), "{help}");
    let help = world.ok(&["serve", "--help"]).stdout;
    assert!(!help.contains("detached"), "{help}");
}
