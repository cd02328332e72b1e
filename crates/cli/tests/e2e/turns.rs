//! Turns as a person drives them: approve, deny, cancel, interrupt, queue, retry, detach.

use crate::support::World;
use rustix::process::Signal;
use serde_json::Value;

fn said_lines(world: &World, args: &[&str]) -> Vec<Value> {
    world.json_lines(args)
}

#[test]
fn an_approval_shows_the_exact_command_and_a_yes_runs_it() {
    let world = World::new();
    let said = world.ok(&["say", "run echo ran > proof.txt"]);
    assert!(said.stdout.contains("echo ran > proof.txt"), "{said}");
    assert!(said.stdout.contains(world.project.to_str().expect("text")), "{said}");
    assert!(!world.project.join("proof.txt").exists(), "nobody said yes");
    let id = world.wait_for_approval("shop-1");
    assert!(said.stdout.contains(&format!("tl approve {id}")), "{said}");
    let needs = world.ok(&["tasks", "--needs-me"]);
    assert!(needs.stdout.contains("waiting for approval"), "{needs}");
    // The beginning of the id is enough.
    world.ok(&["approve", &id[..8]]);
    world.wait_for_turns("shop-1", 1);
    let proof = std::fs::read_to_string(world.project.join("proof.txt"));
    assert_eq!(proof.expect("it ran"), "ran\n");
    world.fails(&["approve", &id], 1, "approval_settled");
    assert_eq!(world.ok(&["tasks", "--needs-me"]).stdout, "Nothing needs you.\n");
}

#[test]
fn a_no_keeps_it_from_running_and_the_reason_is_kept() {
    let world = World::new();
    world.ok(&["say", "run echo ran > proof.txt"]);
    let id = world.wait_for_approval("shop-1");
    world.ok(&["deny", &id, "--reason", "not today"]);
    world.wait_for_turns("shop-1", 1);
    assert!(!world.project.join("proof.txt").exists());
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("denied: not today"), "{shown}");
}

#[test]
fn an_approval_survives_the_daemon() {
    let world = World::new();
    world.ok(&["say", "run echo ran > proof.txt"]);
    let id = world.wait_for_approval("shop-1");
    world.kill_daemon();
    world.ok(&["approve", &id]);
    world.wait_for_turns("shop-1", 1);
    assert!(world.project.join("proof.txt").exists());
}

#[test]
fn approvals_that_are_not_there_are_named() {
    let world = World::new();
    world.fails(&["approve", "abc"], 1, "bad_id");
    world.fails(&["approve", "abcdef"], 1, "not_found");
    world.fails(&["deny", "00000000-0000-7000-8000-000000000000"], 1, "not_found");
}

#[test]
fn a_turn_that_hangs_is_cancelled_and_the_session_stays() {
    let world = World::new();
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    world.ok(&["cancel", "shop-1"]);
    let ended = world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
    assert_eq!(ended["outcome"], "cancelled", "{ended:#}");
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("hang"), "{said}");
    world.fails(&["cancel", "shop-1"], 1, "no_turn");
}

#[test]
fn a_message_that_interrupts_comes_first() {
    let world = World::new();
    let mut hanging = world.start(&["say", "hang"]);
    hanging.wait_for_line(|line| line.contains("→ new task shop-1"));
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    let said = world.ok(&["say", "--interrupt", "say instead"]);
    assert!(said.stdout.contains("instead"), "{said}");
    hanging.wait_for_line(|line| line.contains("error[turn_interrupted]"));
    assert_eq!(hanging.finish().code, Some(1));
}

#[test]
fn a_message_to_a_busy_agent_queues_and_says_so() {
    let world = World::new();
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    let queued = world.ok(&["say", "--detach", "say next"]);
    assert!(queued.stdout.contains("queued: demo is busy"), "{queued}");
    let status = world.ok(&["status", "shop-1"]);
    assert!(status.stdout.contains("Queued next: say next"), "{status}");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-1", 2);
    let execution = &world.task("shop-1")["executions"][0];
    assert_eq!(execution["last_said"], "next", "{execution:#}");
}

#[test]
fn a_second_task_in_the_same_root_waits_and_says_for_whom() {
    let world = World::new();
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    let second = world.ok(&["say", "--new", "--detach", "say mine"]);
    assert!(second.stdout.contains("→ new task shop-2"), "{second}");
    assert!(second.stdout.contains("queued: waits for "), "{second}");
    let task = world.task("shop-2");
    assert_eq!(task["activity"]["word"], "queued", "{task:#}");
    assert!(task["activity"]["reason"].as_str().expect("a reason").contains("shop-1"), "{task:#}");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-2", 1);
    assert_eq!(world.task("shop-2")["executions"][0]["last_said"], "mine");
}

#[test]
fn a_failed_turn_exits_with_one_and_is_run_again_on_request() {
    let world = World::new();
    let said = world.tl(&["say", "append tries.txt once\nfail"]);
    said.has_failed(1, "turn_failed");
    assert!(said.stderr.contains("tl retry shop-1"), "{said}");
    let again = world.tl(&["retry", "shop-1"]);
    again.has_failed(1, "turn_failed");
    let tries = std::fs::read_to_string(world.project.join("tries.txt"));
    assert_eq!(tries.expect("it ran"), "once\nonce\n");
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 2);
}

#[test]
fn ctrl_c_only_stops_the_watching() {
    let world = World::new();
    let mut said = world.start(&["say", "say begin\nsleep 1000\nwrite done.txt yes"]);
    said.wait_for_line(|line| line.contains("begin"));
    said.signal(Signal::INT);
    let ran = said.finish();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("the work goes on: tl show shop-1 --follow"), "{ran}");
    world.wait_for_turns("shop-1", 1);
    assert!(world.project.join("done.txt").exists());
}

#[test]
fn a_second_agent_joins_the_same_task() {
    let world = World::new();
    world.ok(&["say", "plan a; b"]);
    world.ok(&["add", "shop-1", "--agent", "demo", "--role", "reviewer"]);
    let said = world.ok(&["say", "--role", "reviewer", "say looks good"]);
    assert!(said.stdout.contains("looks good"), "{said}");
    let task = world.task("shop-1");
    assert_eq!(task["executions"].as_array().expect("a list").len(), 2, "{task:#}");
    assert_eq!(task["executions"][1]["role"], "reviewer");
}

#[test]
fn the_stream_as_json_has_the_decision_first_and_the_end_last() {
    let world = World::new();
    let lines = said_lines(&world, &["say", "stream 3"]);
    assert_eq!(lines[0]["type"], "sent");
    assert_eq!(lines[0]["decision"]["intent"], "new_task");
    let last = lines.last().expect("lines");
    assert_eq!(last["type"], "turn_ended");
    assert_eq!(last["outcome"], "completed");
}

#[test]
fn text_is_there_while_it_is_being_written() {
    let world = World::new();
    let mut saying = world.start(&["say", "--json", "stream 3\nhang"]);
    saying.wait_for_json(|line| line["type"] == "live" && line["kind"] == "message");
    world.ok(&["cancel", "shop-1"]);
    let end = saying.wait_for_json(|line| line["type"] == "turn_ended");
    assert_eq!(end["outcome"], "cancelled");
    assert_eq!(saying.finish().code, Some(1));
}

#[test]
fn notes_are_pinned_and_attachments_go_along() {
    let world = World::new();
    std::fs::write(world.project.join("notes.md"), "# hello\n").expect("a file");
    let said = world.ok(&["say", "say got it", "--attach", "notes.md"]);
    assert!(said.stdout.contains("got it"), "{said}");
    world.ok(&["note", "shop-1", "mind", "the", "gap"]);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("[file notes.md]"), "{shown}");
    assert!(shown.stdout.contains("note: mind the gap"), "{shown}");
}

#[test]
fn conversations_of_other_names_have_their_own_focus() {
    let world = World::new();
    world.ok(&["say", "say here"]);
    let said = world.ok(&["say", "--conversation", "desk", "--new", "say there"]);
    assert!(said.stdout.contains("→ new task shop-2"), "{said}");
    let said = world.ok(&["say", "--conversation", "desk", "recall"]);
    assert!(said.stdout.contains("→ continues *say there* (shop-2)"), "{said}");
    let id = "01890000-0000-7000-8000-000000000001";
    let elsewhere = world.folder("elsewhere");
    world.ok(&["say", "--conversation", id, "--task", "shop-1", "say by id"]);
    let said = world.tl_in(&elsewhere, &["say", "--conversation", id, "recall"]);
    assert!(said.stdout.contains("→ continues *say here* (shop-1)"), "{said}");
    let said = world.tl_in(&elsewhere, &["say", "--task", "shop-2", "recall"]);
    assert!(said.stdout.contains("→ continues *say there* (shop-2)"), "{said}");
    let said = world.tl_in(&elsewhere, &["say", "--project", "shop", "recall"]);
    assert_eq!(said.code, Some(0), "{said}");
}

#[test]
fn words_come_from_stdin_too() {
    let world = World::new();
    let said = world.tl_with_stdin(&["say", "-"], "say Grüße\nsay 你好\n".as_bytes());
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.stdout.contains("Grüße") && said.stdout.contains("你好"), "{said}");
}

#[test]
fn a_question_is_answered_by_the_next_message() {
    let world = World::new();
    let said = world.ok(&["say", "ask Which colour?"]);
    assert!(said.stdout.contains("Which colour?"), "{said}");
    let task = world.task("shop-1");
    assert_eq!(task["activity"]["word"], "waiting_answer", "{task:#}");
    assert!(world.ok(&["tasks", "--needs-me"]).stdout.contains("waiting for an answer"));
    world.ok(&["say", "green"]);
    assert_eq!(world.ok(&["tasks", "--needs-me"]).stdout, "Nothing needs you.\n");
}

#[test]
fn a_long_answer_comes_whole() {
    let world = World::new();
    let words = "word ".repeat(30_000);
    let said = world.tl_with_stdin(&["say", "-"], format!("say {words}").as_bytes());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let shown = said.stdout.matches("word").count();
    assert!(shown >= 30_000, "{shown} of 30000");
}
