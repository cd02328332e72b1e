//! What happens within a turn: each line, permissions, cancelling.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Agent, Client};

struct Fixture {
    client: Client,
    agent: Agent,
    session: String,
    work: tempfile::TempDir,
    _state: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let state = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let (mut client, agent) = Client::connect(state.path()).await;
    let session = client.open(work.path()).await;
    Fixture { client, agent, session, work, _state: state }
}

#[tokio::test]
async fn lines_are_done_in_order() {
    let mut it = fixture().await;
    let prompt = "say 你好\nwrite a/b.txt one\nappend a/b.txt two\nread a/b.txt\nmodel\nstream 3";
    let turn = it.client.whole_turn(&it.session, prompt).await;
    assert_eq!(turn.stop_reason(), "end_turn");
    assert_eq!(turn.call_ends(), ["completed", "completed", "completed"]);

    let file = it.work.path().canonicalize().unwrap().join("a/b.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    let diffs: Vec<&Value> = turn
        .of_kind("tool_call_update")
        .map(|update| &update["content"][0])
        .filter(|content| content["type"] == "diff")
        .collect();
    assert_eq!(diffs[0]["oldText"], Value::Null);
    assert_eq!(diffs[1]["oldText"], "one\n");
    assert_eq!(diffs[1]["newText"], "one\ntwo\n");
    assert_eq!(diffs[1]["path"], file.to_str().unwrap());

    let said = turn.said();
    assert!(said.starts_with("你好\n"), "{said}");
    assert!(said.contains("demo-small"), "{said}");
    assert!(said.ends_with("\n1 2 3 "), "{said}");
    let usage = turn.updates.last().unwrap();
    assert_eq!(usage["sessionUpdate"], "usage_update");
    assert!(usage["used"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn an_allowed_command_runs_once_and_its_output_is_shown() {
    let mut it = fixture().await;
    let command = "echo out; echo err >&2; echo x >> ran; exit 3";
    it.client.prompt("abc", &it.session, &format!("run {command}")).await;
    let request = it.client.permission_request().await;
    let call = &request["params"]["toolCall"];
    assert_eq!(call["kind"], "execute");
    assert_eq!(call["rawInput"]["command"], json!(["sh", "-c", command]));
    assert_eq!(call["rawInput"]["cwd"], it.work.path().to_str().unwrap());
    let kinds: Vec<&Value> =
        request["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
    assert!(!it.work.path().join("ran").exists());

    it.client.choose(&request, "allow_once").await;
    let turn = it.client.turn("abc").await;
    assert_eq!(turn.stop_reason(), "end_turn");
    let last = turn.of_kind("tool_call_update").last().unwrap();
    assert_eq!(last["status"], "failed");
    assert_eq!(last["rawOutput"]["exitCode"], 3);
    assert_eq!(last["content"][0]["content"]["text"], "out\nerr\n");
    assert_eq!(read(it.work.path(), "ran"), "x\n");
}

#[tokio::test]
async fn a_rejected_command_does_not_run_and_the_next_line_is_done() {
    let mut it = fixture().await;
    it.client.prompt("no", &it.session, "run touch ran\nsay next").await;
    let request = it.client.permission_request().await;
    it.client.choose(&request, "reject_once").await;
    let turn = it.client.turn("no").await;
    assert_eq!(turn.call_ends(), ["failed"]);
    assert!(turn.said().contains("was not run: you rejected it"));
    assert!(turn.said().ends_with("next"));
    assert!(!it.work.path().join("ran").exists());
}

#[tokio::test]
async fn always_and_auto_do_not_ask_again() {
    let mut it = fixture().await;
    it.client.prompt("first", &it.session, "run echo a").await;
    let request = it.client.permission_request().await;
    it.client.choose(&request, "allow_always").await;
    it.client.turn("first").await;
    let again = it.client.whole_turn(&it.session, "run echo a").await;
    assert_eq!(again.call_ends(), ["completed"]);

    let params = json!({ "sessionId": it.session, "modeId": "auto" });
    let set = it.client.call("session/set_mode", params).await;
    assert!(set.get("result").is_some(), "{set}");
    let unasked = it.client.whole_turn(&it.session, "run echo b").await;
    assert_eq!(unasked.call_ends(), ["completed"]);

    let params = json!({ "sessionId": it.session, "modeId": "yolo" });
    let refused = it.client.call("session/set_mode", params).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn the_model_can_be_switched() {
    let mut it = fixture().await;
    let params = json!({ "sessionId": it.session, "configId": "model", "value": "demo-large" });
    let set = it.client.call("session/set_config_option", params).await;
    assert_eq!(set["result"]["configOptions"][0]["currentValue"], "demo-large");
    let turn = it.client.whole_turn(&it.session, "/model").await;
    assert_eq!(turn.said(), "The model is demo-large.");
}

#[tokio::test]
async fn a_plan_is_worked_through() {
    let mut it = fixture().await;
    let turn = it.client.whole_turn(&it.session, "plan look; fix").await;
    let statuses: Vec<String> = turn
        .of_kind("plan")
        .map(|plan| {
            let entries = plan["entries"].as_array().unwrap().iter();
            let statuses = entries.map(|entry| entry["status"].as_str().unwrap());
            statuses.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        statuses,
        ["pending pending", "in_progress pending", "completed pending", "completed in_progress", "completed completed",]
    );
}

#[tokio::test]
async fn a_question_ends_the_turn_and_the_next_prompt_answers_it() {
    let mut it = fixture().await;
    let turn = it.client.whole_turn(&it.session, "ask Which colour?\nsay done").await;
    assert_eq!(turn.stop_reason(), "end_turn");
    assert_eq!(turn.answer["result"]["_meta"]["throughline"]["question"], true);
    let question = turn.of_kind("agent_message_chunk").last().unwrap();
    assert_eq!(question["content"]["text"], "Which colour?");
    assert_eq!(question["_meta"]["throughline"]["question"], true);
    assert!(turn.said().contains("Not done after the question: 1"));

    let answered = it.client.whole_turn(&it.session, "green").await;
    assert_eq!(answered.said(), "You answered “green” to “Which colour?”.");
    let later = it.client.whole_turn(&it.session, "green").await;
    assert!(later.said().contains("I did nothing about “green”"));
}

#[tokio::test]
async fn a_client_with_forms_is_asked_by_a_form() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, _agent) = Client::connect_silently(state.path());
    client.initialize(json!({ "elicitation": { "form": {} } })).await;
    let session = client.open(state.path()).await;
    client.prompt("form", &session, "form Which colour?\nsay next").await;
    let request = client.until(|frame| frame["method"] == "elicitation/create").await;
    assert_eq!(request["params"]["message"], "Which colour?");
    let result = json!({ "action": "accept", "content": { "answer": "green" } });
    client.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    let turn = client.turn("form").await;
    assert_eq!(turn.said(), "You answered “green” to “Which colour?”.\nnext");
}

#[tokio::test]
async fn prose_and_nothing_are_answered_with_what_it_would_take() {
    let mut it = fixture().await;
    for prompt in ["make the button green\nplease", "", " \n", "stream many", "/help"] {
        let turn = it.client.whole_turn(&it.session, prompt).await;
        assert_eq!(turn.stop_reason(), "end_turn", "{prompt}");
        assert_eq!(turn.of_kind("agent_message_chunk").count(), 1, "{prompt}");
        assert_eq!(turn.of_kind("tool_call").count(), 0, "{prompt}");
    }
}

#[tokio::test]
async fn what_is_not_text_is_acknowledged() {
    let mut it = fixture().await;
    let prompt = json!([
        { "type": "image", "mimeType": "image/png", "data": "aGVsbG8=" },
        { "type": "resource", "resource": { "uri": "file:///a", "mimeType": "text/plain", "text": "héllo" } },
    ]);
    let params = json!({ "sessionId": it.session, "prompt": prompt });
    it.client.request("turn:image", "session/prompt", params).await;
    let turn = it.client.turn("image").await;
    assert_eq!(turn.said(), "Received: image, image/png, 5 bytes.\nReceived: resource file:///a, text/plain, 6 bytes.");
}

#[tokio::test]
async fn failing_is_an_error_and_the_session_goes_on() {
    let mut it = fixture().await;
    let turn = it.client.whole_turn(&it.session, "say before\nfail\nsay after").await;
    assert_eq!(turn.answer["error"]["code"], -32603);
    assert_eq!(turn.answer["error"]["data"]["errorKind"], "demo_fail");
    assert_eq!(turn.said(), "before");
    assert_eq!(it.client.whole_turn(&it.session, "say on").await.said(), "on");
}

#[tokio::test]
async fn files_outside_the_workspace_are_not_touched() {
    let mut it = fixture().await;
    let turn = it.client.whole_turn(&it.session, "write ../evil.txt x\nread /etc/hostname\nread missing").await;
    assert_eq!(turn.call_ends(), ["failed", "failed", "failed"]);
    assert!(!it.work.path().parent().unwrap().join("evil.txt").exists());
}

#[tokio::test]
async fn a_flood_is_one_update() {
    let mut it = fixture().await;
    let turn = it.client.whole_turn(&it.session, "flood 3000000").await;
    let ends: Vec<&Value> = turn.of_kind("tool_call_update").collect();
    assert_eq!(ends.len(), 1);
    let text = ends[0]["content"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(text.len(), 3_000_000);
}

#[tokio::test]
async fn cancelling_stops_a_hang_and_a_pending_permission() {
    let mut it = fixture().await;
    it.client.prompt("hang", &it.session, "say here\nhang").await;
    it.client.until(|frame| frame["params"]["update"]["content"]["text"] == "here").await;
    cancel(&mut it).await;
    assert_eq!(it.client.turn("hang").await.stop_reason(), "cancelled");

    it.client.prompt("ask", &it.session, "run touch ran").await;
    let request = it.client.permission_request().await;
    cancel(&mut it).await;
    let turn = it.client.turn("ask").await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(turn.call_ends(), ["failed"]);
    // A yes that comes too late changes nothing.
    it.client.choose(&request, "allow_once").await;
    let next = it.client.whole_turn(&it.session, "say still here").await;
    assert_eq!(next.said(), "still here");
    assert!(!it.work.path().join("ran").exists());
}

#[tokio::test]
async fn cancelling_kills_the_command_and_its_children() {
    let mut it = fixture().await;
    let pid = start_endless_command(&mut it, "kill").await;
    cancel(&mut it).await;
    let turn = it.client.turn("kill").await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(turn.call_ends(), ["failed"]);
    wait_for_death(&pid).await;
}

#[tokio::test]
async fn endless_output_is_shown_in_part_and_can_be_cancelled() {
    let mut it = fixture().await;
    let params = json!({ "sessionId": it.session, "modeId": "auto" });
    it.client.call("session/set_mode", params).await;
    it.client.prompt("much", &it.session, "run yes | head -c 1000000").await;
    let turn = it.client.turn("much").await;
    let last = turn.of_kind("tool_call_update").last().unwrap();
    let text = last["content"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("… 737856 more bytes are not shown"));
    assert!(turn.of_kind("tool_call_update").count() < 40);

    it.client.prompt("endless", &it.session, "run yes").await;
    it.client.until(|frame| frame["params"]["update"]["status"] == "in_progress").await;
    cancel(&mut it).await;
    assert_eq!(it.client.turn("endless").await.stop_reason(), "cancelled");
}

#[tokio::test]
async fn a_sleep_can_be_cancelled_and_its_session_is_not_loaded_meanwhile() {
    let mut it = fixture().await;
    it.client.prompt("sleep", &it.session, "sleep 86400000\nsay too late").await;
    let work = it.work.path().to_owned();
    let busy = it.client.reopen("session/load", &it.session, &work).await;
    assert_eq!(busy["error"]["code"], -32600);
    cancel(&mut it).await;
    let turn = it.client.turn("sleep").await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(turn.said(), "");
}

#[tokio::test]
async fn the_end_of_input_ends_the_agent_and_its_commands() {
    let mut it = fixture().await;
    let pid = start_endless_command(&mut it, "eof").await;
    it.client.hang_up().await;
    it.agent.await.unwrap().unwrap();
    wait_for_death(&pid).await;
}

#[tokio::test]
async fn a_second_prompt_is_refused_and_the_first_goes_on() {
    let mut it = fixture().await;
    it.client.prompt("first", &it.session, "run echo hi").await;
    let request = it.client.permission_request().await;
    it.client.prompt("second", &it.session, "say me too").await;
    let refused = it.client.turn("second").await.answer;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused["error"]["message"], "a turn is already running in this session");
    it.client.choose(&request, "allow_once").await;
    assert_eq!(it.client.turn("first").await.stop_reason(), "end_turn");
    let recalled = it.client.whole_turn(&it.session, "recall").await;
    assert_eq!(recalled.said(), "1. run echo hi");
}

async fn cancel(it: &mut Fixture) {
    let params = json!({ "sessionId": it.session });
    it.client.notify("session/cancel", params).await;
}

/// A shell whose child waits; returns the child's pid once it runs.
async fn start_endless_command(it: &mut Fixture, name: &str) -> String {
    let line = "run sleep 1000 & echo $!; wait";
    it.client.prompt(name, &it.session, line).await;
    let request = it.client.permission_request().await;
    it.client.choose(&request, "allow_once").await;
    let output = it
        .client
        .until(|frame| {
            let shown = &frame["params"]["update"]["content"][0]["content"]["text"];
            shown.as_str().is_some_and(|text| text.ends_with('\n'))
        })
        .await;
    let shown = &output["params"]["update"]["content"][0]["content"]["text"];
    shown.as_str().unwrap().trim().to_owned()
}

/// Death is no event for one who is not the parent, so this looks until it sees it.
async fn wait_for_death(pid: &str) {
    let stat = format!("/proc/{pid}/stat");
    let looking = async {
        // A zombie is dead; who reaps it is not the agent's affair.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(10);
    tokio::time::timeout(patience, looking).await.expect("the command's child dies");
}

fn read(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join(file)).unwrap()
}
