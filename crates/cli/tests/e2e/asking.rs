//! Approvals end to end, with an agent that asks for whatever a test wants: what policies allow, and what they must not;
//! what comes too late, twice, too often, too large, or as a lie.

use std::collections::BTreeSet;

use serde_json::Value;

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
    assert_eq!(waiting(&world), [id.as_str()]);
    // Another daemon reads both again.
    world.kill_daemon();
    assert_eq!(waiting(&world), [id.as_str()]);
    world.ok(&["approve", &id]);
    world.fails(&["approve", &id], 1, "approval_settled");
    world.wait_for_turns("shop-1", 1);
    assert_eq!(answers(&world).len(), 1, "{:?}", answers(&world));
}

/// The requests that wait.
fn waiting(world: &World) -> Vec<String> {
    let list = world.json(&["approvals"]);
    let list = list["approvals"].as_array().expect("a list");
    list.iter().map(|approval| approval["id"].as_str().expect("an id").to_owned()).collect()
}

/// Waits for a request that is none of these.
fn another(world: &World, known: &[String]) -> String {
    let id = |entry: &Value| entry["approval"]["id"].as_str().map(str::to_owned);
    let new = |entry: &Value| id(entry).is_some_and(|id| entry["type"] == "approval" && !known.contains(&id));
    id(&world.wait_for_entry("shop-1", new)).expect("an id")
}

#[test]
fn an_id_that_was_answered_is_another_request_also_after_a_crash() {
    let world = world();
    let mut known = vec![];
    world.ok(&["say", "--detach", "ASK:series:run,run"]);
    known.push(another(&world, &known));
    world.ok(&["approve", &known[0]]);
    // The same turn, the same id, the same name of the call.
    known.push(another(&world, &known));
    world.kill_daemon();
    assert_eq!(waiting(&world), known[1..], "what was answered is not asked again");
    world.fails(&["approve", &known[0]], 1, "approval_settled");
    world.ok(&["approve", &known[1]]);
    world.wait_for_turns("shop-1", 1);
    // The next turn of the same process.
    let keepers = world.keepers();
    world.ok(&["say", "--detach", "--task", "shop-1", "ASK:series:run"]);
    known.push(another(&world, &known));
    world.kill_daemon();
    assert_eq!(waiting(&world), known[2..]);
    world.ok(&["deny", &known[2]]);
    world.wait_for_turns("shop-1", 2);
    assert_eq!(world.keepers(), keepers, "it is the same agent all along");
    let told = answers(&world);
    assert!(told[0].contains(r#""yes""#) && told[1].contains(r#""yes""#) && told[2].contains(r#""no""#), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
    let ran = ["proof-1.txt", "proof-2.txt", "proof-3.txt"].map(|file| world.project.join(file).exists());
    assert_eq!(ran, [true, true, false]);
}

#[test]
fn questions_and_refusals_have_an_answer_each_under_one_id() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:series:odd,odd,form,run,form,odd"]);
    let asks = |entry: &Value| entry["type"] == "question_asked";
    world.wait_for_entry("shop-1", asks);
    world.ok(&["answer", "shop-1", "green"]);
    let run = another(&world, &[]);
    world.kill_daemon();
    world.ok(&["approve", &run]);
    // The second question comes after the approval.
    let mut live = world.start(&["show", "shop-1", "--follow", "--limit", "1000", "--json"]);
    live.wait_for_json(asks);
    live.wait_for_json(asks);
    world.ok(&["answer", "shop-1", "--decline"]);
    world.wait_for_turns("shop-1", 1);
    let told = answers(&world);
    let means = ["-32601", "-32601", "green", r#""yes""#, "decline", "-32601"];
    assert_eq!(told.len(), means.len(), "{told:?}");
    assert!(told.iter().zip(means).all(|(told, means)| told.contains(means)), "{told:?}");
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

/// What a person sees of a flood, and that the agent was answered every time.
fn flooded(world: &World) {
    world.wait_for_file(&world.project.join("enough"));
    assert_eq!(waiting(world).len(), 32);
    let shown = world.json(&["show", "shop-1", "--limit", "1000"]);
    let of_type = |wanted: &str| {
        let entries = shown["entries"].as_array().expect("a list").iter();
        entries.filter(|entry| entry["type"] == wanted).count()
    };
    assert_eq!(of_type("approvals_refused"), 1, "it is said once");
    assert_eq!((of_type("approval"), of_type("tool_call")), (32, 32), "and the rest is not listed");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-1", 1);
    let answers = answers(world);
    assert!(answers.iter().all(|answer| !answer.contains(r#""yes""#)), "nobody said yes to any of them");
    let ids: BTreeSet<_> =
        answers.iter().map(|answer| serde_json::from_str::<Value>(answer).expect("JSON")["id"].as_u64()).collect();
    assert_eq!((answers.len(), ids.len()), (10_000, 10_000), "each has one answer");
}

#[test]
fn a_flood_of_requests_is_answered_and_few_are_asked() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:flood"]);
    flooded(&world);
}

#[test]
fn a_flood_is_answered_also_by_the_daemon_that_comes_after_a_crash() {
    let world = world();
    world.ok(&["say", "--detach", "ASK:flood"]);
    world.wait_for_file(&world.project.join("some"));
    world.kill_daemon();
    world.ok(&["status"]);
    flooded(&world);
}
