//! Saying something: once per key, within bounds, and never with a part of it lost.

mod support;

use support::Daemon;
use throughline_api::content::{Blob, ContentBlock};
use throughline_api::message::{Override, SendMessage};
use throughline_api::project::{Channel, OpenConversation};

fn words(text: &str) -> SendMessage {
    let stated = Override { project: Some("shop".into()), ..Override::default() };
    SendMessage { text: Some(text.into()), stated: Some(stated), ..SendMessage::default() }
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer_and_another_body_a_conflict() {
    let daemon = Daemon::start().await;
    let path = "/api/v1/conversations/desk/messages";
    let (host, bearer) = (daemon.host(), daemon.bearer());
    let send = async |body: &str| {
        let headers = [("host", host.as_str()), ("authorization", &bearer), ("idempotency-key", "k1")];
        daemon.call("POST", path, &headers, body.as_bytes()).await
    };
    let body = r#"{"text":"fix routing","override":{"project":"shop"}}"#;
    let first = send(body).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = send(r#"{ "override": {"project": "shop"}, "text": "fix routing" }"#).await;
    assert_eq!(again.status, 201);
    let parsed = |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap();
    assert_eq!(parsed(&first.body), parsed(&again.body));
    assert_eq!(parsed(&first.body)["decision"]["intent"], "new_task");
    assert_eq!(parsed(&first.body)["task"]["key"], "shop-1");
    assert!(again.head.contains("idempotency-replayed"));
    let other = send(r#"{"text":"something else"}"#).await;
    assert_eq!((other.status, other.code().as_str()), (409, "idempotency_conflict"));
    assert_eq!(daemon.client.tasks(&Default::default()).await.unwrap().tasks.len(), 1);
}

#[tokio::test]
async fn the_next_message_of_a_conversation_continues_its_task() {
    let daemon = Daemon::start().await;
    let open = OpenConversation { channel: Channel::Api, project: Some("shop".into()), root: None };
    let conversation = daemon.client.open_conversation(&open).await.unwrap().id;
    let message = |text: &str| SendMessage { text: Some(text.into()), ..SendMessage::default() };
    let first = daemon.client.send_message(conversation, &message("plan a; b"), "1").await.unwrap();
    let second = daemon.client.send_message(conversation, &message("recall"), "2").await.unwrap();
    assert_eq!(first.decision.aim.intent, "new_task");
    assert_eq!(second.decision.aim.intent, "continue");
    assert_eq!(first.task, second.task);
    assert!(!first.repeated);
    let key = first.task.unwrap().key;
    let task = daemon.client.task(&key).await.unwrap();
    assert_eq!(task.summary.title, "plan a; b");
    assert_eq!(task.executions.len(), 1);
    let by_id = daemon.client.task(&task.summary.id.to_string()).await.unwrap();
    assert_eq!(by_id.summary.key, key);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_however_it_is_written() {
    let daemon = Daemon::start().await;
    // Over the text's limit, within the body's.
    let long = daemon.client.send_message("desk", &words(&"x".repeat(1_100_000)), "1").await.unwrap_err();
    assert_eq!(long.code(), "message_too_large");
    // Over the body's limit: it is read to its end, so that who sends it sees why.
    let huge = daemon.client.send_message("desk", &words(&"x".repeat(10_000_000)), "2").await.unwrap_err();
    assert_eq!(huge.code(), "message_too_large");
    // One that fits, though JSON writes each character as six.
    let control = daemon.client.send_message("desk", &words(&"\u{1}".repeat(1_000_000)), "3").await.unwrap();
    assert!(control.task.is_some());
}

#[tokio::test]
async fn a_message_comes_back_as_it_was_said() {
    let daemon = Daemon::start().await;
    let odd = "  tabs\tand \u{202e}bidi\u{202c}, \u{7}bells, 中文 and a trailing space \n";
    let sent = daemon.client.send_message("desk", &words(odd), "1").await.unwrap();
    let page = daemon.client.timeline(&sent.task.unwrap().key, &Default::default()).await.unwrap();
    let said = page.entries.iter().find_map(|entry| match &entry.body {
        throughline_api::timeline::EntryBody::UserMessage(message) => Some(message),
        _ => None,
    });
    let Some(message) = said else { panic!("it is in the timeline") };
    assert_eq!(message.content, [ContentBlock::Text(odd.to_owned().into())]);
    assert_eq!(message.decision.as_ref().map(|decision| decision.aim.intent.as_str()), Some("new_task"));
}

#[tokio::test]
async fn bad_bodies_have_codes_of_their_own() {
    let daemon = Daemon::start().await;
    let path = "/api/v1/conversations/desk/messages";
    let cases: [(&[u8], u16, &str); 7] = [
        (b"", 400, "empty_message"),
        (b"{\"text\":\"\xff\xfe\"}", 400, "invalid_utf8"),
        (b"{\"text\":", 400, "invalid_json"),
        (b"not json", 400, "invalid_json"),
        (b"{\"txet\":\"typo\"}", 400, "invalid_body"),
        (b"{\"text\":\"  \",\"override\":{\"project\":\"shop\"}}", 400, "empty_message"),
        (b"{\"text\":\"x\",\"override\":{\"task\":\"shop-77\"}}", 404, "not_found"),
    ];
    for (body, status, code) in cases {
        let refused = daemon.authed("POST", path, body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{}", String::from_utf8_lossy(body));
    }
    let strange = daemon.authed("POST", "/api/v1/conversations/a%07b/messages", b"{\"text\":\"x\"}").await;
    assert_eq!((strange.status, strange.code().as_str()), (400, "invalid_path"));
    assert!(daemon.client.tasks(&Default::default()).await.unwrap().tasks.is_empty());
}

#[tokio::test]
async fn the_only_project_is_meant_and_of_several_the_one_that_is_named() {
    let daemon = Daemon::start().await;
    let body = b"{\"text\":\"fix the login page\"}";
    let sent = daemon.authed("POST", "/api/v1/conversations/desk/messages", body).await;
    assert_eq!(sent.status, 201, "{sent:?}");
    let root = daemon.folder.path().join("docs");
    std::fs::create_dir(&root).unwrap();
    daemon.engine.add_project(daemon.person, &root, None, None).await.unwrap();
    let other = b"{\"text\":\"translate the manual into Welsh\"}";
    let refused = daemon.authed("POST", "/api/v1/conversations/sofa/messages", other).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "project_unknown"));
    assert!(refused.body.contains("docs, shop") || refused.body.contains("shop, docs"), "{refused:?}");
    // What was begun goes on without a word about its project.
    let again = daemon.authed("POST", "/api/v1/conversations/desk/messages", b"{\"text\":\"and the footer\"}").await;
    assert_eq!(again.status, 201, "{again:?}");
}

#[tokio::test]
async fn blobs_go_in_and_come_out_and_are_bounded() {
    let daemon = Daemon::start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let blob = daemon.client.put_blob(bytes.clone()).await.unwrap();
    assert_eq!(blob.bytes, 100_000);
    assert_eq!(daemon.client.blob(&blob.sha256).await.unwrap(), bytes);
    let file =
        ContentBlock::File { blob: blob.clone(), mime: "application/octet-stream".into(), name: "all.bin".into() };
    let message = SendMessage { content: vec![file], ..words("look at this") };
    assert!(daemon.client.send_message("desk", &message, "1").await.unwrap().task.is_some());
    let missing = Blob { sha256: "0".repeat(64), bytes: 1 };
    let file = ContentBlock::File { blob: missing, mime: "text/plain".into(), name: "none".into() };
    let message = SendMessage { content: vec![file], ..words("and this") };
    assert_eq!(daemon.client.send_message("desk", &message, "2").await.unwrap_err().code(), "blob_unknown");
    for name in ["0", "../../etc/passwd", &"0".repeat(64)] {
        assert_eq!(daemon.client.blob(name).await.unwrap_err().code(), "not_found", "{name}");
    }
    let large = daemon.client.put_blob(vec![0; 32 * 1024 * 1024 + 1]).await.unwrap_err();
    assert_eq!(large.code(), "blob_too_large");
}

#[tokio::test]
async fn a_message_that_waits_can_be_taken_back() {
    use throughline_model::ids::{Id as _, InputId, Mint};
    use throughline_model::time::Timestamp;

    let daemon = Daemon::start().await;
    // Its agent is busy for as long as the test takes, so what is said waits.
    let working = daemon.working(1).await;
    let stated = Override { task: Some(working.key.clone()), ..Override::default() };
    let message = SendMessage { stated: Some(stated), ..words("and then this") };
    let sent = daemon.client.send_message("desk", &message, "1").await.unwrap();
    assert_eq!(sent.turn, None);
    let waiting = daemon.client.task(&working.key).await.unwrap().executions[0].queue.clone();
    assert_eq!(waiting.iter().map(|queued| queued.input).collect::<Vec<_>>(), [sent.input.id]);
    let change = daemon.client.withdraw(sent.input.id).await.unwrap();
    assert!(change.task.executions[0].queue.is_empty());
    assert_eq!(daemon.client.withdraw(sent.input.id).await.unwrap_err().code(), "input_gone");
    let unknown = Mint::new(Timestamp::from_millis(1), 1).id::<InputId>();
    assert_eq!(daemon.client.withdraw(unknown.uuid()).await.unwrap_err().code(), "not_found");
}
