//! What must hold with every real agent. Each function is one story; an agent's own test file says which of
//! them it can tell, and where it differs.

use std::io::Read as _;
use std::sync::mpsc::channel;

use rustix::process::Signal;
use serde_json::Value;

use super::{Agent, Real, TASK, processes};
use crate::support::{PATIENCE, kill_and_wait};

/// The first message of every story, to be recalled later.
pub(super) const FIRST: &str = "SAY first answer";

/// A first turn: it was answered, and asked of the model once.
pub(super) fn begin(agent: &Agent) -> Option<Real> {
    let real = Real::new(agent)?;
    let said = real.say(FIRST);
    assert!(said.contains("first answer"), "{said}{}", real.state());
    assert_eq!(real.times_said("first answer"), 1, "{}", real.state());
    assert_eq!(real.model.requests_about(FIRST).len(), 1, "the model was asked once: {}", real.model.summary());
    Some(real)
}

/// The agent still knows the first message, once, and goes on in the same execution and session.
fn recalls(real: &Real, before: &Value) {
    // Some agents make one message of this and the last one, if that got no answer.
    let said = real.say("NOW\nRECALL");
    assert_eq!(said.matches(&format!("1. {FIRST}")).count(), 1, "{said}{}", real.state());
    let asked = real.model.requests_about("RECALL");
    let users = &asked.last().expect("it was asked").users;
    let firsts = users.iter().filter(|text| text.as_str() == FIRST).count();
    assert_eq!(firsts, 1, "the history is there once: {users:#?}");
    let after = real.execution();
    for path in ["/id", "/runtime_session/id", "/runtime_session/native_id"] {
        assert_eq!(after.pointer(path), before.pointer(path), "{path}: {after:#}");
    }
    assert_eq!(real.entries_of("runtime_session_started").len(), 1, "{}", real.state());
    assert_eq!(real.times_said("first answer"), 1, "nothing is told twice: {}", real.state());
}

/// New, prompt, follow-up.
pub fn a_follow_up_has_the_context(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    recalls(&real, &before);
    assert_eq!(real.execution()["runtime_session"]["epoch"], before["runtime_session"]["epoch"]);
    real.finish();
}

/// One task all along: continued from another place, after a killed daemon too, and asked about without the agent.
pub fn the_work_is_remembered_elsewhere(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    let recalled = |real: &Real| {
        let said = real.world.ok(&["say", "--conversation", "phone", "NOW\nRECALL"]).stdout;
        assert_eq!(said.matches(&format!("1. {FIRST}")).count(), 1, "{said}{}", real.state());
    };
    recalled(&real);
    real.world.kill_daemon();
    recalled(&real);
    let asked = real.model.requests_about("RECALL").len();
    let said = real.world.ok(&["say", "--conversation", "chat", "what happened with that?"]).stdout;
    assert!(said.contains("from the record"), "{said}");
    assert_eq!(real.model.requests_about("RECALL").len(), asked, "no agent was woken");
    let after = real.execution();
    for path in ["/id", "/runtime_session/id", "/runtime_session/native_id"] {
        assert_eq!(after.pointer(path), before.pointer(path), "{path}: {after:#}");
    }
    real.finish();
}

/// A permission request, allowed by a word from another place.
pub fn a_yes_in_a_chat_runs_the_command(agent: &Agent) {
    let Some(real) = Real::new(agent) else { return };
    real.say_detached("ESCALATE echo ran > proof.txt\nSAY it is done");
    real.world.wait_for_approval(TASK);
    let said = real.world.ok(&["say", "--conversation", "chat", "yes"]).stdout;
    assert!(said.contains("→ approved once"), "{said}{}", real.state());
    let turn = real.ended_turn(1);
    assert_eq!(turn["outcome"], "completed", "{turn:#}{}", real.state());
    assert!(real.world.project.join("proof.txt").exists(), "it ran");
    real.finish();
}

/// A permission request, allowed.
pub fn a_yes_runs_the_command(agent: &Agent) {
    let Some(real) = Real::new(agent) else { return };
    real.say_detached("ESCALATE echo ran > proof.txt\nSAY it is done");
    let id = real.world.wait_for_approval(TASK);
    assert!(!real.world.project.join("proof.txt").exists(), "nobody said yes");
    let asked = &real.world.task(TASK)["approvals"][0];
    assert!(asked.to_string().contains("echo ran > proof.txt"), "the command is shown: {asked:#}");
    real.world.ok(&["approve", &id]);
    let turn = real.ended_turn(1);
    assert_eq!(turn["outcome"], "completed", "{turn:#}{}", real.state());
    let proof = std::fs::read_to_string(real.world.project.join("proof.txt"));
    assert_eq!(proof.expect("it ran"), "ran\n");
    assert_eq!(real.times_said("it is done"), 1, "{}", real.state());
    let calls = real.entries_of("tool_call");
    let last = calls.last().expect("the call is shown");
    assert_eq!(last["status"], "completed", "{last:#}");
    real.finish();
}

/// A permission request, denied.
pub fn a_no_keeps_it_from_running(agent: &Agent) {
    let Some(real) = Real::new(agent) else { return };
    real.say_detached("ESCALATE echo ran > proof.txt\nSAY so be it");
    let id = real.world.wait_for_approval(TASK);
    real.world.ok(&["deny", &id, "--reason", "not today"]);
    // The reason is a turn of its own, right after the one that was denied.
    real.ended_turn(2);
    let turns = real.entries_of("turn_ended");
    assert_eq!(turns[0]["outcome"], agent.denied_turn, "{}", real.state());
    assert!(!real.world.project.join("proof.txt").exists(), "nobody said yes");
    let said = real.say("NOW\nSAY still here");
    assert!(said.contains("still here"), "{said}{}", real.state());
    real.finish();
}

/// Cancel while the model speaks.
pub fn a_cancel_stops_the_stream(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    let mut said = real.world.start(&["say", "SAY begin\nHOLD gate\nSAY never said"]);
    said.wait_for_line(|line| line.contains("begin"));
    real.world.ok(&["cancel", TASK]);
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "cancelled", "{turn:#}{}", real.state());
    real.model.wait_for_hang_up("gate");
    drop(said);
    recalls(&real, &before);
    assert_eq!(real.times_said("never said"), 0, "{}", real.state());
    real.finish();
}

/// A command that says that it runs and then never ends.
struct HangingTool {
    started: std::path::PathBuf,
}

impl HangingTool {
    fn of(real: &Real) -> Self {
        let made = real.world.shell("mkfifo started.fifo hanging.fifo").output().expect("bash runs");
        assert!(made.status.success(), "{made:?}");
        Self { started: real.world.project.join("started.fifo") }
    }

    const COMMAND: &str = "echo started > started.fifo; cat hanging.fifo";

    /// Waits until the command runs.
    fn wait(&self) {
        let path = self.started.clone();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
            let _ = sender.send(read.map(|_| text));
        });
        let text = receiver.recv_timeout(PATIENCE).expect("the tool starts").expect("it says so");
        assert_eq!(text, "started\n");
    }
}

/// A turn whose tool runs and does not end.
fn hang_in_a_tool(real: &Real) {
    let tool = HangingTool::of(real);
    // Stated: to the router a bare command may well be work of its own.
    let script = format!("ESCALATE {}\nSAY never said", HangingTool::COMMAND);
    real.world.ok(&["say", "--detach", "--task", TASK, &script]);
    real.approve();
    tool.wait();
}

/// Cancel while a tool runs.
pub fn a_cancel_stops_the_tool(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    hang_in_a_tool(&real);
    real.world.ok(&["cancel", TASK]);
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "cancelled", "{turn:#}{}", real.state());
    recalls(&real, &before);
    assert_eq!(real.times_said("never said"), 0, "{}", real.state());
    real.finish();
}

/// `kill -9` of the agent's own process, which is the keeper's child.
fn kill_agent(real: &Real) {
    let keepers = real.world.keepers();
    assert_eq!(keepers.len(), 1, "one process carries the session");
    let agents = processes::children(keepers[0]);
    assert_eq!(agents.len(), 1, "{:?}", agents.iter().map(|pid| processes::command_line(*pid)).collect::<Vec<_>>());
    assert!(kill_and_wait(agents[0], Signal::KILL), "the agent was running");
}

/// The turn is interrupted, the session parked with a reason, and the next process of the same session goes on.
fn goes_on_after_a_crash(real: &Real, before: &Value) {
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "interrupted", "{turn:#}{}", real.state());
    let asked = real.model.requests_about("never said").len();
    recalls(real, before);
    let after = &real.execution()["runtime_session"];
    assert_eq!(after["epoch"], 2, "{after:#}");
    let resumed = real.entries_of("runtime_session_resumed");
    assert_eq!(resumed.len(), 1, "{}", real.state());
    assert!(resumed[0]["cause"] != Value::Null, "it says why: {}", resumed[0]);
    let now = real.model.requests_about("never said").len();
    assert_eq!(now, asked, "what was killed asked the model no more: {}", real.model.summary());
    assert_eq!(real.times_said("never said"), 0, "{}", real.state());
}

/// The agent is killed while the model speaks.
pub fn a_killed_agent_goes_on_with_its_context(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    real.say_detached("SAY begin\nHOLD gate\nSAY never said");
    real.model.wait_for_hold("gate");
    kill_agent(&real);
    real.model.wait_for_hang_up("gate");
    goes_on_after_a_crash(&real, &before);
    real.finish();
}

/// The agent is killed while its tool runs: nothing of the tool may go on.
pub fn a_killed_agent_takes_its_tools_along(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    hang_in_a_tool(&real);
    kill_agent(&real);
    goes_on_after_a_crash(&real, &before);
    real.finish();
}

/// The daemon is killed in mid-turn: the turn completes, and everything in it is told once.
pub fn a_turn_outlives_the_daemon(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    let mut said = real.world.start(&["say", "SAY before the kill\nHOLD gate\nSAY after the kill"]);
    said.wait_for_line(|line| line.contains("before the kill"));
    real.world.kill_daemon();
    real.model.release("gate");
    said.wait_for_line(|line| line.contains("after the kill"));
    let ran = said.finish();
    assert_eq!(ran.code, Some(0), "{ran}{}", real.state());
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "completed", "{turn:#}{}", real.state());
    for words in ["before the kill", "after the kill"] {
        assert_eq!(real.times_said(words), 1, "{words}: {}", real.state());
    }
    assert_eq!(real.model.requests_about("before the kill").len(), 1, "the prompt was handed on once");
    assert_eq!(real.execution()["runtime_session"]["epoch"], before["runtime_session"]["epoch"]);
    recalls(&real, &before);
    real.finish();
}

/// The daemon is killed while a permission is pending: the answer reaches the same turn.
pub fn a_permission_outlives_the_daemon(agent: &Agent) {
    let Some(real) = Real::new(agent) else { return };
    real.say_detached("ESCALATE echo ran >> proof.txt\nSAY it is done");
    let id = real.world.wait_for_approval(TASK);
    real.world.kill_daemon();
    real.world.ok(&["approve", &id]);
    let turn = real.ended_turn(1);
    assert_eq!(turn["outcome"], "completed", "{turn:#}{}", real.state());
    let proof = std::fs::read_to_string(real.world.project.join("proof.txt"));
    assert_eq!(proof.expect("it ran"), "ran\n", "it ran once");
    assert_eq!(real.times_said("it is done"), 1, "{}", real.state());
    real.finish();
}

/// The request is seen on one surface, the daemon is killed, and another surface says yes to exactly what was shown there.
pub fn a_yes_from_a_second_surface_after_a_kill_runs_it_once(agent: &Agent) {
    let Some(real) = Real::new(agent) else { return };
    real.say_detached("ESCALATE echo ran >> proof.txt\nSAY it is done");
    let id = real.world.wait_for_approval(TASK);
    let on_the_terminal = real.world.ok(&["approvals"]).stdout;
    assert!(on_the_terminal.contains("echo ran >> proof.txt"), "{on_the_terminal}");
    real.world.kill_daemon();
    real.world.ok(&["up"]);
    let (status, shown) = real.world.http("GET", &format!("/approvals/{id}"), "");
    assert_eq!(status, 200, "{shown:#}");
    let text = shown["shown"]["text"].as_str().unwrap_or_default();
    assert!(text.contains("echo ran >> proof.txt"), "{shown:#}");
    let digest = shown["digest"].as_str().expect("it is shown as a whole");
    let decision = format!("/approvals/{id}/decision");
    let (status, stale) = real.world.http("POST", &decision, r#"{"option":"allow","digest":"00"}"#);
    assert_eq!((status, &stale["code"]), (412, &"digest_mismatch".into()), "{stale:#}");
    let yes = format!(r#"{{"option":"allow","digest":"{digest}"}}"#);
    let (status, decided) = real.world.http("POST", &decision, &yes);
    assert_eq!(status, 200, "{decided:#}{}", real.state());
    // A second press, from either side, is too late.
    assert_eq!(real.world.http("POST", &decision, &yes).0, 409);
    real.world.fails(&["approve", &id], 1, "approval_settled");
    let turn = real.ended_turn(1);
    assert_eq!(turn["outcome"], "completed", "{turn:#}{}", real.state());
    let proof = std::fs::read_to_string(real.world.project.join("proof.txt"));
    assert_eq!(proof.expect("it ran"), "ran\n", "it ran once");
    let audit = real.world.ok(&["approvals", "--audit"]).stdout;
    let last: Value = serde_json::from_str(audit.lines().last().expect("a line")).expect("json");
    assert_eq!((&last["settled"]["source"]["surface"], &last["settled"]["digest"]), (&"api".into(), &digest.into()));
    real.finish();
}

/// Everything is stopped and comes back: the session is loaded without a doubled history.
pub fn a_session_is_loaded_without_doubling(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    real.world.ok(&["down", "--all"]);
    assert_eq!(real.world.keepers(), [0i32; 0], "nothing lives on");
    recalls(&real, &before);
    assert_eq!(real.execution()["runtime_session"]["epoch"], 2);
    assert_eq!(real.entries_of("user_message").len(), 2, "{}", real.state());
    real.finish();
}

/// The model answers 500: the turn failed, whatever the agent says, and the next one works.
pub fn a_failing_model_fails_the_turn(agent: &Agent) {
    fails(agent, "FAIL 500", "turn_failed");
}

/// The model answers 429: the turn failed for a limit.
pub fn a_limiting_model_limits_the_turn(agent: &Agent) {
    fails(agent, "FAIL 429", agent.limited_code);
}

/// The model says when its limit is lifted: the task is blocked until then, and says so.
pub fn a_limit_says_until_when(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    real.say_detached("FAIL 429 2");
    let turn = real.ended_turn(2);
    assert_eq!(turn["code"], "usage_limit", "{turn:#}{}", real.state());
    assert!(turn["until"].is_string(), "{turn:#}{}", real.state());
    let activity = &real.execution()["activity"];
    assert_eq!((&activity["word"], &activity["until"]), (&"blocked".into(), &turn["until"]), "{activity:#}");
    let listed = real.world.ok(&["tasks"]).stdout;
    assert!(listed.contains("blocked"), "{listed}");
    real.finish();
}

fn fails(agent: &Agent, script: &str, code: &str) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    real.say_detached(script);
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "failed", "{turn:#}{}", real.state());
    assert_eq!(turn["code"], code, "{turn:#}{}", real.state());
    recalls(&real, &before);
    real.finish();
}

/// The agent is killed and cannot have its session again: the next one is told what was done.
pub fn a_killed_agent_is_rebuilt(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    real.say_detached("SAY begin\nHOLD gate\nSAY never said");
    real.model.wait_for_hold("gate");
    kill_agent(&real);
    real.model.wait_for_hang_up("gate");
    let turn = real.ended_turn(2);
    assert_eq!(turn["outcome"], "interrupted", "{turn:#}{}", real.state());
    is_rebuilt(&real, &before);
    real.finish();
}

/// The agent was stopped and cannot have its session again: the next one is told what was done.
pub fn a_stopped_agent_is_rebuilt(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let before = real.execution();
    real.world.ok(&["down", "--all"]);
    is_rebuilt(&real, &before);
    real.finish();
}

/// Same execution, a new session that says why it is there, and a prompt that carries what was done.
fn is_rebuilt(real: &Real, before: &Value) {
    real.say("NOW\nRECALL");
    let asked = real.model.requests_about("RECALL");
    let prompt = asked.last().expect("it was asked").last().to_owned();
    assert!(prompt.contains(&format!("asked: {FIRST}")), "the brief is there: {prompt}{}", real.state());
    assert!(prompt.contains("first answer"), "{prompt}");
    let after = real.execution();
    assert_eq!(after["id"], before["id"], "one execution");
    assert_ne!(after["runtime_session"]["id"], before["runtime_session"]["id"], "{after:#}");
    assert_eq!(after["runtime_session"]["reason"], "lost", "{after:#}");
    assert_eq!(real.entries_of("runtime_session_lost").len(), 1, "{}", real.state());
    assert_eq!(real.entries_of("runtime_session_started").len(), 2, "{}", real.state());
    assert_eq!(real.times_said("first answer"), 1, "nothing is told twice: {}", real.state());
}
