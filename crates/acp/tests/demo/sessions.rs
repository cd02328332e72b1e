//! The life of a session: opened, loaded, resumed, forked, listed, closed, unknown.

use serde_json::{Value, json};

use crate::client::{Client, of_kind, said};

#[tokio::test]
async fn the_agent_says_who_it_is_and_what_it_can_do() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, _agent) = Client::connect_silently(state.path());
    let early = client.call("session/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32600);

    let hello = client.initialize(json!({})).await;
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["agentInfo"]["name"], "demo");
    assert_eq!(hello["agentInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let can = &hello["agentCapabilities"];
    assert_eq!(can["loadSession"], true);
    assert_eq!(can["promptCapabilities"]["image"], true);
    assert_eq!(can["promptCapabilities"]["embeddedContext"], true);
    for capability in ["resume", "fork", "list", "close"] {
        assert!(can["sessionCapabilities"][capability].is_object(), "{capability}");
    }

    let params = json!({ "cwd": state.path(), "mcpServers": [] });
    let opened = client.call("session/new", params).await;
    assert_eq!(opened["result"]["modes"]["currentModeId"], "ask");
    assert_eq!(opened["result"]["configOptions"][0]["currentValue"], "demo-small");
    let offered = client.until(|frame| frame["params"]["update"]["sessionUpdate"] == "available_commands_update").await;
    let commands = offered["params"]["update"]["availableCommands"].as_array();
    let names: Vec<&Value> = commands.unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("recall")) && names.contains(&&json!("help")));
}

#[tokio::test]
async fn a_load_replays_exactly_what_happened_and_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let (mut client, agent) = Client::connect(state.path()).await;
    let session = client.open(work.path()).await;
    let params = json!({ "sessionId": session, "configId": "model", "value": "demo-large" });
    client.call("session/set_config_option", params).await;
    let first = client.whole_turn(&session, "say one\nplan a; b\nwrite f.txt x").await;
    client.hang_up().await;
    agent.await.unwrap().unwrap();

    let (mut client, _agent) = Client::connect(state.path()).await;
    let loaded = client.reopen("session/load", &session, work.path()).await;
    let options = &loaded["result"]["configOptions"];
    assert_eq!(options[0]["currentValue"], "demo-large");
    // The replay came before the answer: user message first, then the very same updates.
    let replayed = client.take_updates();
    assert_eq!(replayed[0]["sessionUpdate"], "user_message_chunk");
    assert_eq!(replayed[0]["messageId"], "user-1");
    assert_eq!(replayed[0]["content"]["text"], "say one\nplan a; b\nwrite f.txt x");
    assert_eq!(replayed[1..], first.updates);

    let recalled = client.whole_turn(&session, "say two\nrecall").await;
    assert_eq!(recalled.said(), "two\n1. say one ⏎ plan a; b ⏎ write f.txt x");
}

#[tokio::test]
async fn a_resume_replays_nothing_and_remembers_everything() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, agent) = Client::connect(state.path()).await;
    let session = client.open(state.path()).await;
    client.whole_turn(&session, "say one").await;
    client.whole_turn(&session, "fail").await;
    client.hang_up().await;
    agent.await.unwrap().unwrap();

    let (mut client, _agent) = Client::connect(state.path()).await;
    let resumed = client.reopen("session/resume", &session, state.path()).await;
    assert_eq!(resumed["result"]["modes"]["currentModeId"], "ask");
    assert_eq!(client.take_updates(), Vec::<Value>::new());
    let recalled = client.whole_turn(&session, "/recall").await;
    assert_eq!(recalled.said(), "1. say one\n2. fail");
}

#[tokio::test]
async fn a_fork_has_the_history_and_a_life_of_its_own() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, _agent) = Client::connect(state.path()).await;
    let session = client.open(state.path()).await;
    client.whole_turn(&session, "say shared").await;
    let forked = client.reopen("session/fork", &session, state.path()).await;
    let fork = forked["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(fork, session);

    client.whole_turn(&fork, "say only in the fork").await;
    let in_fork = client.whole_turn(&fork, "recall").await;
    assert_eq!(in_fork.said(), "1. say shared\n2. say only in the fork");
    let in_origin = client.whole_turn(&session, "recall").await;
    assert_eq!(in_origin.said(), "1. say shared");

    client.reopen("session/load", &fork, state.path()).await;
    let replayed = client.take_updates();
    assert_eq!(of_kind(&replayed, "user_message_chunk").count(), 3);
    assert!(said(&replayed).starts_with("shared\nonly in the fork\n"));
}

#[tokio::test]
async fn sessions_are_listed_closed_and_opened_again() {
    let state = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (mut client, _agent) = Client::connect(state.path()).await;
    let first = client.open(state.path()).await;
    let second = client.open(elsewhere.path()).await;
    client.whole_turn(&first, "say a title\nsay more").await;

    let all = client.call("session/list", json!({})).await;
    let listed = all["result"]["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    let here = client.call("session/list", json!({ "cwd": elsewhere.path() })).await;
    assert_eq!(here["result"]["sessions"][0]["sessionId"], second);
    let titled = listed.iter().find(|it| it["sessionId"] == first).unwrap();
    assert_eq!(titled["title"], "say a title ⏎ say more");
    assert!(titled["updatedAt"].as_str().unwrap().ends_with('Z'));

    // Closing stops a turn, and the session is free at once.
    client.prompt("hang", &first, "say here\nhang").await;
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "here").await;
    client.request("close", "session/close", json!({ "sessionId": first })).await;
    assert_eq!(client.turn("hang").await.stop_reason(), "cancelled");
    assert!(client.answer_to("close").await.get("result").is_some());
    client.prompt("closed", &first, "say no").await;
    assert_eq!(client.turn("closed").await.answer["error"]["code"], -32002);
    let resumed = client.reopen("session/resume", &first, state.path()).await;
    assert!(resumed.get("result").is_some(), "{resumed}");
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_found() {
    let state = tempfile::tempdir().unwrap();
    let (mut client, _agent) = Client::connect(state.path()).await;
    for id in ["0192b1a0-0000-7000-8000-000000000000", "../../etc/passwd", ""] {
        for method in ["session/load", "session/resume", "session/fork"] {
            let answer = client.reopen(method, id, state.path()).await;
            assert_eq!(answer["error"]["code"], -32002, "{method} {id}: {answer}");
            assert_eq!(answer["error"]["data"]["sessionId"], id);
        }
    }
    let bad_cwd = json!({ "cwd": "not/absolute", "mcpServers": [] });
    let refused = client.call("session/new", bad_cwd).await;
    assert_eq!(refused["error"]["code"], -32602);
    let unknown = client.call("session/teleport", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    client.send(json!("nonsense")).await;
    assert!(client.call("session/list", json!({})).await.get("result").is_some());
}

#[tokio::test]
async fn a_session_is_open_in_one_agent_at_a_time() {
    let state = tempfile::tempdir().unwrap();
    let (mut first, agent) = Client::connect(state.path()).await;
    let session = first.open(state.path()).await;
    let (mut second, _agent) = Client::connect(state.path()).await;
    let refused = second.reopen("session/load", &session, state.path()).await;
    assert_eq!(refused["error"]["data"]["errorKind"], "busy");
    first.hang_up().await;
    agent.await.unwrap().unwrap();
    let loaded = second.reopen("session/load", &session, state.path()).await;
    assert!(loaded.get("result").is_some(), "{loaded}");
}
