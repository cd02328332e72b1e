//! Approvals end to end, with an agent that asks for whatever a test wants: what policies allow, and what they must not;
//! what comes too late, twice, too often, too large, or as a lie.

use crate::support::World;

/// A world whose agent is `support/asking-agent`.
fn world_with(settings: &str) -> World {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/support/asking-agent");
    let agent =
        format!("default_agent = \"asking\"\n{settings}\n[agents.asking]\ncommand = [\"bash\", \"{script}\"]\n");
    World::with_settings(&agent)
}

fn world() -> World {
    world_with("")
}

/// How the agent was answered, a line each.
fn answers(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.project.join("answers.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Says something to the task and is asked; gives the id of the request.
fn asked(world: &World, words: &str) -> String {
    let said = world.ok(&["say", "--task", "shop-1", words]);
    assert!(said.stdout.contains("needs approval"), "{said}");
    let task = world.task("shop-1");
    task["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("it waits: {task:#}")).to_owned()
}

#[test]
fn edits_inside_the_workspace_are_allowed_and_no_others() {
    let world = world();
    world.ok(&["policy", "set", "--role", "editor", "edits"]);
    let said = world.ok(&["say", "ASK:edit:inside.txt"]);
    assert!(said.stdout.contains("edits are allowed here, as set from the terminal on "), "{said}");
    let inside = std::fs::read_to_string(world.project.join("inside.txt"));
    assert_eq!(inside.expect("nobody was asked"), "new");
    // A link out of the workspace, the way up, an absolute path, and a file that decides what other programs run.
    let outside = world.folder("outside");
    std::os::unix::fs::symlink(&outside, world.project.join("link")).expect("a link");
    let absolute = outside.join("far.txt").display().to_string();
    for (turn, path) in ["link/far.txt", "../outside/far.txt", &absolute, ".git/hooks/pre-commit"].iter().enumerate() {
        let id = asked(&world, &format!("ASK:edit:{path}"));
        world.ok(&["deny", &id]);
        world.wait_for_turns("shop-1", turn + 2);
    }
    assert!(std::fs::read_dir(&outside).expect("a folder").next().is_none(), "nothing was written there");
    // What may be edited may not be read without asking: each is allowed for itself.
    asked(&world, "ASK:read:inside.txt");
}

#[test]
fn reads_of_the_workspace_are_allowed_and_no_others() {
    let world = world();
    world.ok(&["policy", "set", "reads"]);
    std::fs::write(world.project.join("notes.txt"), "x").expect("a file");
    let said = world.ok(&["say", "ASK:read:notes.txt"]);
    assert!(said.stdout.contains("reads are allowed here, as set from the terminal on "), "{said}");
    assert!(answers(&world)[0].contains(r#""yes""#), "{:?}", answers(&world));
    let id = asked(&world, "ASK:read:/etc/passwd");
    world.ok(&["deny", &id]);
    world.wait_for_turns("shop-1", 2);
    // In the person's language.
    world.ok(&["locale", "zh"]);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("已批准：此处允许读取"), "{shown}");
    let said = world.ok(&["say", "--task", "shop-1", "ASK:read:notes.txt"]);
    assert!(said.stdout.contains("此处允许读取"), "{said}");
}

#[test]
fn what_expired_cannot_be_approved_and_nothing_ran() {
    let world = world_with("approval_expires_secs = 1");
    world.ok(&["say", "--detach", "ASK:twice"]);
    let id = world.wait_for_entry("shop-1", |entry| entry["type"] == "approval")["approval"]["id"].clone();
    let id = id.as_str().expect("an id").to_owned();
    world.wait_for_entry("shop-1", |entry| entry["type"] == "approval_settled" && entry["state"] == "expired");
    let late = world.fails(&["approve", &id], 1, "approval_settled");
    assert!(late.stderr.contains("expired"), "{late}");
    world.wait_for_turns("shop-1", 1);
    assert!(answers(&world)[0].contains(r#""no""#), "no decision means no: {:?}", answers(&world));
    let shown = world.ok(&["approvals", "--all"]);
    assert!(shown.stdout.contains("expired"), "{shown}");
}

#[test]
fn the_same_request_twice_is_asked_and_answered_once() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:twice"]);
    let id = world.wait_for_approval("shop-1");
    assert_eq!(world.json(&["approvals"])["approvals"].as_array().map(Vec::len), Some(1));
    world.ok(&["approve", &id]);
    world.fails(&["approve", &id], 1, "approval_settled");
    world.wait_for_turns("shop-1", 1);
    assert_eq!(answers(&world).len(), 1, "{:?}", answers(&world));
}

#[test]
fn options_that_lie_cannot_be_approved() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:lie"]);
    let id = world.wait_for_approval("shop-1");
    world.fails(&["approve", &id], 1, "no_such_option");
    assert!(answers(&world).is_empty(), "nothing was decided");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-1", 1);
    assert!(answers(&world)[0].contains("cancelled"), "{:?}", answers(&world));
}

#[test]
fn a_command_of_five_megabytes_can_be_denied_and_not_approved() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:huge"]);
    let id = world.wait_for_approval("shop-1");
    let refused = world.fails(&["approve", &id], 1, "not_shown");
    assert!(refused.stdout.len() + refused.stderr.len() < 10_000, "and it is not poured over the terminal");
    world.ok(&["deny", &id]);
    world.wait_for_turns("shop-1", 1);
    assert!(answers(&world)[0].contains(r#""no""#), "{:?}", answers(&world));
}

#[test]
fn a_flood_of_requests_is_answered_and_few_are_asked() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:flood"]);
    world.wait_for_file(&world.project.join("enough"));
    assert_eq!(world.json(&["approvals"])["approvals"].as_array().map(Vec::len), Some(32));
    let refused = world.json(&["show", "shop-1", "--limit", "5000"])["entries"].clone();
    let refused = refused.as_array().expect("a list").iter().filter(|entry| entry["type"] == "approvals_refused");
    assert_eq!(refused.count(), 1, "it is said once");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-1", 1);
    let answers = answers(&world);
    assert_eq!(answers.len(), 2_000);
    assert!(answers.iter().all(|answer| !answer.contains(r#""yes""#)), "nobody said yes to any of them");
}
