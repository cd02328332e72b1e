//! Rules and policies: what a person allows once and for all, what they forbid, and how that is explained.

use crate::support::{Ran, World};

fn always(world: &World, key: &str) -> Ran {
    let id = world.wait_for_approval(key);
    world.ok(&["approve", &id, "--always"])
}

#[test]
fn always_allows_the_same_command_from_now_on_and_says_so() {
    let world = World::new();
    world.ok(&["say", "run echo hi"]);
    let approved = always(&world, "shop-1");
    assert!(approved.stdout.contains("rule 1: allow echo hi"), "{approved}");
    world.wait_for_turns("shop-1", 1);
    // A rule is a row like any other.
    world.kill_daemon();
    let said = world.ok(&["say", "run echo hi\nsay after"]);
    assert!(said.stdout.contains("after"), "nobody was asked: {said}");
    assert!(said.stdout.contains("allowed by rule 1, created from the terminal on "), "{said}");
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("allowed by rule 1, created from the terminal on "), "{shown}");
    let audit = world.ok(&["approvals", "--audit"]).stdout;
    let last: serde_json::Value = serde_json::from_str(audit.lines().last().expect("lines")).expect("json");
    assert_eq!((&last["state"], &last["settled"]["rule"]), (&"approved".into(), &1.into()), "{last:#}");
    assert!(last["settled"]["digest"].is_string(), "{last:#}");
    assert_eq!(world.json(&["rules"])[0]["uses"], 1);

    world.ok(&["rules", "revoke", "1"]);
    world.fails(&["rules", "revoke", "1"], 1, "not_found");
    let said = world.ok(&["say", "run echo hi"]);
    assert!(said.stdout.contains("needs approval: echo hi"), "{said}");
    let id = world.wait_for_approval("shop-1");
    world.ok(&["deny", &id]);
}

#[test]
fn a_shell_line_is_approved_once_and_told_why_there_is_no_rule() {
    let world = World::new();
    world.ok(&["say", "run echo ran > proof.txt"]);
    let approved = always(&world, "shop-1");
    assert!(approved.stdout.contains("approved this once: no rule can be made of this"), "{approved}");
    world.wait_for_turns("shop-1", 1);
    assert!(world.project.join("proof.txt").exists());
    assert_eq!(world.json(&["rules"]), serde_json::json!([]));
    let refused = world.fails(&["rules", "add", "--", "sudo", "ls"], 1, "no_rule");
    assert!(refused.stderr.contains("`sudo` runs what its arguments say"), "{refused}");
    world.fails(&["rules", "add", "--expires", "soon", "--", "ls"], 2, "usage");
}

#[test]
fn what_is_forbidden_is_denied_whatever_is_allowed() {
    let world = World::new();
    world.ok(&["rules", "add", "--", "touch", "proof.txt"]);
    world.ok(&["rules", "add", "--deny", "--expires", "7d", "--", "touch"]);
    let said = world.ok(&["say", "run touch proof.txt\nsay after"]);
    assert!(said.stdout.contains("denied by rule 2, created from the terminal on "), "{said}");
    assert!(!world.project.join("proof.txt").exists());
    let listed = world.ok(&["rules"]).stdout;
    assert!(listed.contains("touch …") && listed.contains("until "), "{listed}");
    // Something that begins otherwise is asked about.
    let said = world.ok(&["say", "run rm -f proof.txt"]);
    assert!(said.stdout.contains("needs approval: rm -f proof.txt"), "{said}");
}

#[test]
fn always_in_words_approves_once_and_offers_the_rule() {
    let world = World::new();
    world.ok(&["say", "run echo hi"]);
    let id = world.wait_for_approval("shop-1");
    let said = world.ok(&["say", "yes, always allow that"]);
    assert!(said.stdout.contains("From now on it can go without asking: `echo hi`"), "{said}");
    assert!(said.stdout.contains(&format!("Always allow echo hi: tl rules from {id}")), "{said}");
    world.wait_for_turns("shop-1", 1);
    assert_eq!(world.json(&["rules"]), serde_json::json!([]), "words make no rule");
    let made = world.ok(&["rules", "from", &id, "--expires", "12h"]);
    assert!(made.stdout.contains("rule 1: allow echo hi, until "), "{made}");
    let said = world.ok(&["say", "run echo hi\nsay after"]);
    assert!(said.stdout.contains("after"), "{said}");
}

#[test]
fn what_is_not_approved_makes_no_rule() {
    let world = World::new();
    world.ok(&["say", "run echo hi"]);
    let id = world.wait_for_approval("shop-1");
    world.fails(&["rules", "from", &id], 1, "no_rule");
    world.ok(&["deny", &id]);
    world.fails(&["rules", "from", &id], 1, "no_rule");
}

#[test]
fn a_policy_is_set_per_role_and_asks_about_everything_by_default() {
    let world = World::new();
    let shown = world.ok(&["policy"]);
    assert!(shown.stdout.contains("editor     ask"), "{shown}");
    world.ok(&["policy", "set", "--role", "editor", "reads", "edits"]);
    let policy = world.json(&["policy"]);
    let allowed: Vec<_> = policy["allowances"].as_array().expect("a list").iter().map(|known| &known["what"]).collect();
    assert_eq!(allowed, ["reads", "edits"]);
    world.ok(&["policy", "set", "reads"]);
    let shown = world.ok(&["policy", "show"]).stdout;
    assert_eq!(shown.matches("reads (from cli on ").count(), 4, "{shown}");
    assert!(!shown.contains("edits"), "{shown}");
    world.ok(&["policy", "set", "ask"]);
    assert_eq!(world.json(&["policy"])["allowances"], serde_json::json!([]));
    world.fails(&["policy", "set", "ask", "reads"], 2, "usage");
    world.fails(&["policy", "--project", "nope"], 1, "project_unknown");
}
