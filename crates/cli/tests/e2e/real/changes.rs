//! What changes about a real agent: its model, a fork of its session, the tools and the rights that it gets. Each function
//! is one story, as in `lifecycle`.

use super::lifecycle::{FIRST, begin};
use super::{Agent, Real, TASK};

/// The model that the newest request about these words was for.
fn asked_of(real: &Real, words: &str) -> String {
    let asked = real.model.requests_about(words);
    asked.last().unwrap_or_else(|| panic!("nobody asked: {}{}", real.model.summary(), real.state())).model.clone()
}

/// Another model: in the live session, and again when the session is loaded by another process.
pub fn another_model_stays_in_the_session_and_after_a_load(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let (other, seen_as) = agent.other_model.expect("it can switch");
    let before = real.execution();
    assert!(!asked_of(&real, FIRST).starts_with(seen_as), "{}", real.model.summary());
    real.world.ok(&["switch", TASK, "--model", other]);
    real.say("NOW\nSAY second answer");
    assert!(asked_of(&real, "second answer").starts_with(seen_as), "{}{}", real.model.summary(), real.state());
    let session = |path: &str| (real.execution().pointer(path).cloned(), before.pointer(path).cloned());
    for path in ["/id", "/runtime_session/id", "/runtime_session/native_id", "/runtime_session/epoch"] {
        let (now, then) = session(path);
        assert_eq!(now, then, "{path}: the session took it: {}", real.state());
    }
    real.world.ok(&["down", "--all"]);
    real.say("NOW\nSAY third answer");
    assert!(asked_of(&real, "third answer").starts_with(seen_as), "{}{}", real.model.summary(), real.state());
    let (now, then) = session("/runtime_session/native_id");
    assert_eq!(now, then, "it was loaded, not made anew: {}", real.state());
    real.finish();
}

/// An agent that does not give a session back has the chosen model in the next one too; one that is not offered is refused,
/// although the agent would say yes to any name.
pub fn another_model_stays_in_the_session_and_after_a_rebuild(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let (other, seen_as) = agent.other_model.expect("it can switch");
    let before = real.execution();
    let refused = real.world.fails(&["switch", TASK, "--model", "no-such-model"], 1, "model_unknown");
    assert!(refused.stderr.contains(other), "{refused}");
    real.world.ok(&["switch", TASK, "--model", other]);
    real.say("NOW\nSAY second answer");
    assert!(asked_of(&real, "second answer").starts_with(seen_as), "{}{}", real.model.summary(), real.state());
    assert_eq!(real.execution()["runtime_session"]["id"], before["runtime_session"]["id"], "{}", real.state());
    real.world.ok(&["down", "--all"]);
    real.say("NOW\nSAY third answer");
    assert!(asked_of(&real, "third answer").starts_with(seen_as), "{}{}", real.model.summary(), real.state());
    assert_eq!(real.execution()["runtime_session"]["reason"], "lost", "{}", real.state());
    real.finish();
}

/// An agent that takes a model only when it is started: another session, opened with a brief, and the record says why.
pub fn another_model_starts_another_session_with_a_brief(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let (other, seen_as) = agent.other_model.expect("it can switch");
    let before = real.execution();
    real.world.ok(&["switch", TASK, "--model", other]);
    real.say("NOW\nSAY second answer");
    assert!(asked_of(&real, "second answer").starts_with(seen_as), "{}{}", real.model.summary(), real.state());
    let asked = real.model.requests_about("second answer");
    let history = asked.last().map(|asked| asked.body.to_string()).unwrap_or_default();
    assert!(history.contains(FIRST), "the brief tells what was said: {:#?}", asked.last().map(|asked| &asked.users));
    let after = real.execution();
    assert_eq!(after["id"], before["id"], "one execution: {}", real.state());
    assert_ne!(after["runtime_session"]["id"], before["runtime_session"]["id"], "{}", real.state());
    assert_eq!(after["runtime_session"]["reason"], "changed", "{}", real.state());
    assert_eq!(after["runtime_session"]["model"], other, "{after:#}");
    real.finish();
}

/// A fork at the head knows what was said, in a folder of its own, and the task that it came from knows nothing of it.
pub fn a_fork_knows_what_was_said_and_leaves_the_task_alone(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let forked = real.world.ok(&["fork", TASK, "NOW\nRECALL"]).stdout;
    let asked = real.model.requests_about("RECALL");
    let knows = asked.iter().any(|asked| asked.body.to_string().contains(FIRST));
    assert!(knows, "it knows the first message: {forked}{}{}", real.model.summary(), real.state());
    let fork = real.world.task("shop-2");
    assert_eq!(fork["forked_from"]["task"]["key"], TASK, "{fork:#}");
    let root = fork["root"].as_str().map(std::path::PathBuf::from).expect("a folder");
    assert!(root.starts_with(real.world.home.join("worktrees")), "{}", root.display());
    real.world.ok(&["say", "--task", TASK, "NOW\nSAY still here"]);
    let asked = real.model.requests_about("still here");
    let users = &asked.last().expect("it was asked").users;
    assert!(users.iter().all(|text| !text.contains("RECALL")), "the fork is not in its history: {users:#?}");
    real.finish();
}

/// A server of tools in a few lines. Each time that it is asked for its tools it leaves one more file.
const TOOL_SERVER: &str = r#"
const { existsSync, writeFileSync } = require("node:fs");
const offer = { name: "weigh_tulips", description: "Weighs tulips.", inputSchema: { type: "object", properties: {} } };
const listed = () => {
  let count = 1;
  while (existsSync(`listed-${count}`)) count += 1;
  writeFileSync(`listed-${count}`, "");
  return { tools: [offer] };
};
const answers = {
  initialize: (asked) => ({ protocolVersion: asked.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "scales", version: "1" } }),
  "tools/list": listed,
  ping: () => ({}),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: "no such method" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...body }) + "\n");
});
"#;

/// The agent asks a project's server for its tools, in a new session and in one that is loaded again.
pub fn a_projects_tool_server_is_asked_for_its_tools(agent: &Agent) {
    let settings = "\n[projects.shop.mcp_servers.scales]\ncommand = \"node\"\nargs = [\"scales.cjs\"]\n";
    let Some(real) = Real::with_settings(agent, settings) else { return };
    std::fs::write(real.world.project.join("scales.cjs"), TOOL_SERVER).expect("a file");
    real.say("SAY first answer");
    real.world.wait_for_file(&real.world.project.join("listed-1"));
    real.world.ok(&["down", "--all"]);
    // What the first process asked more than once is not counted for the second.
    for entry in real.world.project.read_dir().expect("a folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("listed-") {
            std::fs::remove_file(entry.path()).expect("it was there");
        }
    }
    real.say("NOW\nSAY second answer");
    real.world.wait_for_file(&real.world.project.join("listed-1"));
    real.finish();
}

/// A reviewer only reads: what it runs cannot write, even if a person lets it run.
pub fn a_reviewer_cannot_write(agent: &Agent) {
    let Some(real) = begin(agent) else { return };
    let script = "NOW\nESCALATE echo ran > proof.txt\nSAY looked at it";
    real.world.ok(&["add", TASK, "--agent", agent.name, "--role", "reviewer", "--detach", script]);
    let stops = |entry: &serde_json::Value| entry["type"] == "approval" || entry["type"] == "turn_ended";
    let mut live = real.world.start(&["show", TASK, "--follow", "--limit", "1000", "--json"]);
    live.wait_for_json(|entry| entry["type"] == "turn_ended");
    if live.wait_for_json(stops)["type"] == "approval" {
        let id = real.world.task(TASK)["approvals"][0]["id"].as_str().expect("an id").to_owned();
        real.world.ok(&["approve", &id]);
        live.wait_for_json(|entry| entry["type"] == "turn_ended");
    }
    drop(live);
    assert!(!real.world.project.join("proof.txt").exists(), "it only reads: {}", real.state());
    let held = &real.world.task(TASK)["executions"][1]["runtime_session"]["read_only"];
    assert_eq!(held["enforced_by"], "landlock", "{held}{}", real.state());
    real.finish();
}
