//! What only a process of its own can show: a crash, and a process that is left behind.
//!
//! The agent's process is this very test binary, told by the environment to play the agent.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::client::Client;

const STATE_DIR: &str = "THROUGHLINE_TEST_DEMO_STATE";

/// Not a test unless asked: the entry of the agent's process.
#[tokio::test]
async fn plays_the_agent_when_told_to() {
    if let Some(state_dir) = std::env::var_os(STATE_DIR) {
        throughline_acp::demo::run(Path::new(&state_dir)).await.unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the process under test is started here")]
async fn start(state_dir: &Path) -> (Client, Child) {
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::plays_the_agent_when_told_to", "--nocapture"])
        .env(STATE_DIR, state_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (input, output) = (agent.stdin.take().unwrap(), agent.stdout.take().unwrap());
    let mut client = Client::new(input, output);
    client.initialize(serde_json::json!({})).await;
    (client, agent)
}

#[tokio::test]
async fn after_a_crash_the_prompt_and_all_that_was_sent_are_remembered() {
    use std::os::unix::process::ExitStatusExt as _;

    let state = tempfile::tempdir().unwrap();
    let (mut client, mut agent) = start(state.path()).await;
    let session = client.open(state.path()).await;
    client.prompt("fatal", &session, "stream 50\ncrash").await;
    while let Some(frame) = client.read().await {
        client.frames.push(frame);
    }
    assert_eq!(agent.wait().await.unwrap().signal(), Some(9));
    // Nothing that was sent before the crash is lost.
    let sent = client.take_updates();
    assert_eq!(sent.len(), 50);

    let (mut client, _agent) = start(state.path()).await;
    client.reopen("session/load", &session, state.path()).await;
    assert_eq!(client.take_updates()[1..], sent);
    let recalled = client.whole_turn(&session, "recall").await;
    assert_eq!(recalled.said(), "1. stream 50 ⏎ crash");
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_command_leaves_a_failed_call() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, mut agent) = start(state.path()).await;
    let session = client.open(state.path()).await;
    client.prompt("cut", &session, "run echo never").await;
    client.permission_request().await;
    agent.kill().await.unwrap();

    let (mut client, _agent) = start(state.path()).await;
    client.reopen("session/load", &session, state.path()).await;
    let replayed = client.take_updates();
    let last = replayed.last().unwrap();
    assert_eq!(last["sessionUpdate"], "tool_call_update");
    assert_eq!(last["status"], "failed");
}

#[tokio::test]
async fn a_spawned_process_outlives_the_agent() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, mut agent) = start(state.path()).await;
    let session = client.open(state.path()).await;
    let turn = client.whole_turn(&session, "spawn 600").await;
    let ended = turn.of_kind("tool_call_update").last().unwrap();
    let pid = ended["rawOutput"]["pid"].as_i64().unwrap();
    assert!(turn.said().contains(&pid.to_string()));
    client.hang_up().await;
    assert!(agent.wait().await.unwrap().success());

    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let own_session = rustix::process::getsid(Some(pid));
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(own_session, Ok(pid));
}
