//! Deciding on exactly what was shown, once.

mod support;

use support::Daemon;
use throughline_api::approval::{Approval, ApprovalState, DecideApproval};
use throughline_api::client::TimelineQuery;
use throughline_api::message::{Override, SendMessage};
use throughline_api::policy::MakeRule;
use throughline_api::project::{Channel, OpenConversation};
use throughline_api::task::{AddExecution, PinNote, Role};
use throughline_api::timeline::EntryBody;
use throughline_model::command::Command;
use throughline_model::content::Text;
use throughline_model::ids::{ApprovalId, Id as _, Mint, PersonId};
use throughline_model::project::ProjectCommand;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;

fn decision(option: &str, digest: &str) -> DecideApproval {
    DecideApproval { option: option.into(), digest: Some(digest.into()), ..DecideApproval::default() }
}

#[tokio::test]
async fn a_yes_is_bound_to_what_was_shown_and_given_once() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let listed = daemon.client.approvals().await.unwrap().approvals;
    assert_eq!(listed.len(), 1);
    let shown = &listed[0];
    assert_eq!((shown.id, shown.task.key.as_str()), (id, working.key.as_str()));
    assert_eq!(shown.request.input.as_deref(), Some(r#"{"command":["cargo","test"]}"#));
    assert_eq!(shown.state, ApprovalState::Pending);
    assert_eq!((shown.shown.text.as_str(), shown.shown.complete, shown.shown.description), ("cargo test", true, false));
    let digest = shown.digest.as_deref().unwrap();
    let path = format!("/api/v1/approvals/{id}/decision");
    let stale = daemon.authed("POST", &path, br#"{"option":"allow","digest":"00"}"#).await;
    assert_eq!((stale.status, stale.code().as_str()), (412, "digest_mismatch"));
    let always = daemon.client.decide_approval(id, &decision("always", digest)).await.unwrap_err();
    assert_eq!(always.code(), "no_such_option");
    let decided = daemon.client.decide_approval(id, &decision("allow", digest)).await.unwrap();
    assert_eq!(decided.approval.state, ApprovalState::Approved);
    let settled = decided.approval.settled.unwrap();
    assert_eq!(settled.digest.as_deref(), Some(digest));
    assert_eq!(settled.source.unwrap().surface, "cli");
    let body = serde_json::to_vec(&decision("deny", digest)).unwrap();
    let again = daemon.authed("POST", &path, &body).await;
    assert_eq!((again.status, again.code().as_str()), (409, "approval_settled"));
    assert!(daemon.client.approvals().await.unwrap().approvals.is_empty());
    assert_eq!(daemon.client.approval(id).await.unwrap().state, ApprovalState::Approved);
}

/// A channel that is not sure delivers again: the same message has one effect.
#[tokio::test]
async fn a_yes_that_is_delivered_twice_decides_once() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let open = OpenConversation { channel: Channel::Api, project: None, root: None };
    let conversation = daemon.client.open_conversation(&open).await.unwrap().id;
    let stated = Override { task: Some(working.key.clone()), ..Override::default() };
    let focus = SendMessage { text: Some("say hello".into()), stated: Some(stated), ..SendMessage::default() };
    daemon.client.send_message(conversation, &focus, "focus").await.unwrap();
    let yes = SendMessage { text: Some("yes".into()), ..SendMessage::default() };
    let first = daemon.client.send_message(conversation, &yes, "event-7").await.unwrap();
    assert_eq!(first.decision.aim.intent, "approve", "{first:?}");
    assert_eq!(daemon.client.approval(id).await.unwrap().state, ApprovalState::Approved);
    let second = daemon.ask(&working, "two").await.uuid();
    let again = daemon.client.send_message(conversation, &yes, "event-7").await.unwrap();
    assert!(again.repeated && again.input == first.input);
    assert_eq!(daemon.client.approval(second).await.unwrap().state, ApprovalState::Pending, "it was about the first");
}

#[tokio::test]
async fn a_policy_is_for_members_and_a_rule_for_what_was_approved() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let digest = daemon.client.approval(id).await.unwrap().digest.unwrap();
    let early = daemon.client.make_rule(id, &MakeRule::default()).await.unwrap_err();
    assert_eq!(early.code(), "no_rule");
    // Its folder is not there, so nobody can tell that it is inside.
    let always = DecideApproval { always: true, ..decision("allow", &digest) };
    let decided = daemon.client.decide_approval(id, &always).await.unwrap();
    assert_eq!((decided.approval.state, decided.rule), (ApprovalState::Approved, None));
    assert!(decided.no_rule.unwrap().contains("inside the project"));
    let stranger = PersonId::of_os_user(4_000_000);
    let project = Mint::new(Timestamp::from_millis(1), 99).id();
    let (name, root, agent) = ("theirs".to_owned(), "/theirs".to_owned(), "demo".to_owned());
    let add = ProjectCommand::Add { project, name, root, agent, member: stranger };
    daemon.engine.send(StreamId::Project(project), Command::Project(add)).await.unwrap();
    for (method, path, body) in [
        ("GET", "/api/v1/projects/theirs/policy", ""),
        ("PUT", "/api/v1/projects/theirs/policy", r#"{"allow":["edits"]}"#),
        ("POST", "/api/v1/projects/theirs/rules", r#"{"verdict":"allow","argv":["ls"]}"#),
        ("DELETE", "/api/v1/projects/theirs/rules/1", ""),
    ] {
        let answer = daemon.authed(method, path, body.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{method} {path}");
    }
}

#[tokio::test]
async fn the_agents_own_word_for_no_is_a_no() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let digest = daemon.client.approval(id).await.unwrap().digest.unwrap();
    let reason = DecideApproval { reason: Some("not on a Friday".into()), ..decision("no", &digest) };
    let decided = daemon.client.decide_approval(id, &reason).await.unwrap();
    assert_eq!(decided.approval.state, ApprovalState::Denied);
    let page = daemon.client.timeline(&working.key, &TimelineQuery::default()).await.unwrap();
    let why = page.entries.iter().find_map(|entry| match &entry.body {
        EntryBody::ApprovalSettled { reason, .. } => reason.clone(),
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("not on a Friday"));
    let unknown = daemon.client.decide_approval(uuid::Uuid::nil(), &decision("allow", &digest)).await.unwrap_err();
    assert_eq!(unknown.code(), "not_found");
    let denied = daemon.client.approvals_in("denied", None).await.unwrap().approvals;
    assert_eq!(denied.iter().map(|approval| approval.id).collect::<Vec<_>>(), [id]);
    assert!(daemon.client.approvals_in("all", Some(id)).await.unwrap().approvals.is_empty(), "there is no next page");
    let states = daemon.authed("GET", "/api/v1/approvals?state=perhaps", b"").await;
    assert_eq!((states.status, states.code().as_str()), (400, "invalid_query"));
}

#[tokio::test]
async fn an_approval_of_somebody_elses_project_is_not_there() {
    let mut daemon = Daemon::start().await;
    let stranger = PersonId::of_os_user(4_000_000);
    daemon.project = Mint::new(Timestamp::from_millis(1), 99).id();
    let add = ProjectCommand::Add {
        project: daemon.project,
        name: "theirs".into(),
        root: "/theirs".into(),
        agent: "demo".into(),
        member: stranger,
    };
    daemon.engine.send(StreamId::Project(daemon.project), Command::Project(add)).await.unwrap();
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let digest = daemon.state(working.task).await.approvals.pending[0].approval.digest();
    for (method, path, body) in [
        ("GET", format!("/api/v1/approvals/{id}"), String::new()),
        ("GET", format!("/api/v1/approvals/{id}/input"), String::new()),
        ("POST", format!("/api/v1/approvals/{id}/decision"), format!(r#"{{"option":"allow","digest":"{digest}"}}"#)),
        ("POST", format!("/api/v1/approvals/{id}/decision"), r#"{"option":"deny"}"#.to_owned()),
    ] {
        let answer = daemon.authed(method, &path, body.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{method} {path}");
    }
    assert!(daemon.client.approvals().await.unwrap().approvals.is_empty());
    assert!(daemon.client.approvals_in("all", None).await.unwrap().approvals.is_empty());
    assert!(daemon.client.status().await.unwrap().approvals.is_empty());
    assert!(!daemon.authed("GET", "/api/v1/approvals/audit", b"").await.body.contains('{'));
    assert_eq!(daemon.state(working.task).await.approvals.pending.len(), 1, "nobody decided it");
}

#[tokio::test]
async fn what_a_view_does_not_show_as_a_whole_has_no_digest_there() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let input = format!(r#"{{"command":"echo {}"}}"#, "x".repeat(10_000));
    let id = daemon.ask_for(&working, "long", Some(input.as_str().into())).await.uuid();
    let seen = |query: &str| format!("/api/v1/approvals/{id}{query}");
    let chat = daemon.authed("GET", &seen("?view=chat"), b"").await;
    let chat: Approval = serde_json::from_str(&chat.body).unwrap();
    assert!(!chat.shown.complete && chat.digest.is_none());
    assert_eq!(chat.shown.text.chars().count(), 4_000);
    assert_eq!(daemon.authed("GET", &seen("/input"), b"").await.body, input);
    let blind = daemon.authed("POST", &seen("/decision"), br#"{"option":"allow"}"#).await;
    assert_eq!((blind.status, blind.code().as_str()), (412, "digest_mismatch"));
    let full = daemon.client.approval(id).await.unwrap();
    assert!(full.shown.complete);
    daemon.client.decide_approval(id, &decision("allow", &full.digest.unwrap())).await.unwrap();

    let blob = daemon.store.put_blob(vec![b'x'; 5_000_000]).await.unwrap();
    let working = daemon.working(2).await;
    let five_megabytes = Text::Blob { blob, head: "xxx".into() };
    let id = daemon.ask_for(&working, "huge", Some(five_megabytes)).await;
    let seen = |query: &str| format!("/api/v1/approvals/{}{query}", id.uuid());
    assert!(daemon.client.approval(id.uuid()).await.unwrap().digest.is_none());
    assert_eq!(daemon.authed("GET", &seen("/input"), b"").await.body.len(), 5_000_000);
    let digest = daemon.state(working.task).await.approvals.pending[0].approval.digest();
    let guessed = format!(r#"{{"option":"allow","digest":"{digest}"}}"#);
    let guessed = daemon.authed("POST", &seen("/decision"), guessed.as_bytes()).await;
    assert_eq!((guessed.status, guessed.code().as_str()), (412, "not_shown"));
    let no = daemon.authed("POST", &seen("/decision"), br#"{"option":"deny"}"#).await;
    assert_eq!(no.status, 200, "a no needs no look");
}

#[tokio::test]
async fn who_decided_what_is_on_record() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let (first, second) = (daemon.ask(&working, "one").await, daemon.ask(&working, "two").await);
    let digest = daemon.client.approval(first.uuid()).await.unwrap().digest.unwrap();
    let path = format!("/api/v1/approvals/{}/decision", first.uuid());
    let body = serde_json::to_vec(&decision("allow", &digest)).unwrap();
    assert_eq!(daemon.authed("POST", &path, &body).await.status, 200);
    let again = daemon.authed("POST", &path, &body).await;
    assert_eq!((again.status, again.code().as_str()), (409, "approval_settled"), "a double press, a replayed request");
    let lines = daemon.authed("GET", "/api/v1/approvals/audit", b"").await.body;
    let lines: Vec<Approval> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.iter().map(|line| line.id).collect::<Vec<_>>(), [first.uuid(), second.uuid()]);
    let settled = lines[0].settled.as_ref().unwrap();
    assert_eq!((settled.by, settled.digest.as_ref()), (Some(daemon.person.uuid()), Some(&digest)));
    assert_eq!(settled.source.as_ref().unwrap().surface, "api");
    assert!(lines[1].settled.is_none());
}

#[tokio::test]
async fn an_agent_that_calls_a_no_allow_deceives_nobody() {
    use throughline_model::approval::{ApprovalOption, Ask as Asking, Asked, OptionKind};

    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let option = |id: &str, kind| ApprovalOption { id: id.into(), name: id.into(), kind };
    let approval = ApprovalId::derive(working.turn.uuid(), "lie");
    let ask = Asking { call: "c".into(), title: "t".into(), tool: "x".into(), input: None, cwd: "/tmp".into() };
    let options = vec![option("deny", OptionKind::AllowOnce), option("allow", OptionKind::RejectOnce)];
    let asked = Asked { approval, request: "1".into(), item: None, ask, options, expires_secs: 60, ruling: None };
    daemon.report(&working, throughline_model::task::Report::Asked(Box::new(asked))).await;
    let shown = daemon.client.approval(approval.uuid()).await.unwrap();
    assert!(shown.shown.description, "there is only the agent's word for it");
    let digest = shown.digest.unwrap();
    for word in ["allow", "deny"] {
        let refused = daemon.client.decide_approval(approval.uuid(), &decision(word, &digest)).await.unwrap_err();
        assert_eq!(refused.code(), "no_such_option", "{word}");
    }
}

#[tokio::test]
async fn a_task_is_closed_reopened_noted_and_joined() {
    let daemon = Daemon::start().await;
    let (_, key) = daemon.task(1).await;
    let closed = daemon.client.close(&key).await.unwrap();
    assert_eq!(closed.task.summary.lifecycle.word(), "closed");
    let open = daemon.client.reopen(&key).await.unwrap();
    assert_eq!(open.task.summary.lifecycle.word(), "open");
    let noted = daemon.client.pin_note(&key, &PinNote { text: "mind the tests".into() }).await.unwrap();
    assert_eq!(noted.task.notes, ["mind the tests"]);
    let add = |agent: &str| AddExecution { agent: agent.into(), role: Role::Reviewer, worktree: false };
    let joined = daemon.client.add_execution(&key, &add("demo")).await.unwrap();
    let roles: Vec<Role> = joined.task.executions.iter().map(|execution| execution.role).collect();
    assert_eq!(roles, [Role::Editor, Role::Reviewer]);
    assert_eq!(daemon.client.add_execution(&key, &add("nobody")).await.unwrap_err().code(), "agent_unknown");
    assert_eq!(daemon.client.cancel(&key).await.unwrap_err().code(), "no_turn");
    assert_eq!(daemon.client.retry(&key).await.unwrap_err().code(), "no_turn");
}

#[tokio::test]
async fn projects_and_agents_are_listed_and_bad_ones_refused() {
    use throughline_api::project::AddProject;

    let daemon = Daemon::start().await;
    let names: Vec<String> =
        daemon.client.projects().await.unwrap().projects.into_iter().map(|project| project.name).collect();
    assert_eq!(names, ["shop"]);
    let add = |root: String| AddProject { root, name: None, agent: None };
    let missing = daemon.client.add_project(&add("/nowhere/at/all".into())).await.unwrap_err();
    assert_eq!(missing.code(), "bad_path");
    let relative = daemon.client.add_project(&add("shop".into())).await.unwrap_err();
    assert_eq!(relative.code(), "bad_path");
    let agents = daemon.client.agents().await.unwrap().agents;
    assert!(agents.iter().any(|agent| agent.name == "demo"));
    assert_eq!(daemon.client.probe_agent("nobody").await.unwrap_err().code(), "agent_unknown");
}
