//! Deciding on exactly what was shown, once.

mod support;

use support::Daemon;
use throughline_api::approval::{ApprovalState, DecideApproval};
use throughline_api::client::TimelineQuery;
use throughline_api::task::{AddExecution, PinNote, Role};
use throughline_api::timeline::EntryBody;
use throughline_model::ids::Id as _;

fn decision(option: &str, digest: &str) -> DecideApproval {
    DecideApproval { option: option.into(), digest: digest.into(), reason: None }
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
    let path = format!("/api/v1/approvals/{id}/decision");
    let stale = daemon.authed("POST", &path, br#"{"option":"allow","digest":"00"}"#).await;
    assert_eq!((stale.status, stale.code().as_str()), (412, "digest_mismatch"));
    let always = daemon.client.decide_approval(id, &decision("always", &shown.digest)).await.unwrap_err();
    assert_eq!(always.code(), "no_such_option");
    let decided = daemon.client.decide_approval(id, &decision("allow", &shown.digest)).await.unwrap();
    assert_eq!(decided.state, ApprovalState::Approved);
    let body = serde_json::to_vec(&decision("deny", &shown.digest)).unwrap();
    let again = daemon.authed("POST", &path, &body).await;
    assert_eq!((again.status, again.code().as_str()), (409, "approval_settled"));
    assert!(daemon.client.approvals().await.unwrap().approvals.is_empty());
    assert_eq!(daemon.client.approval(id).await.unwrap().state, ApprovalState::Approved);
}

#[tokio::test]
async fn the_agents_own_word_for_no_is_a_no() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let id = daemon.ask(&working, "one").await.uuid();
    let digest = daemon.client.approval(id).await.unwrap().digest;
    let reason = DecideApproval { reason: Some("not on a Friday".into()), ..decision("no", &digest) };
    let decided = daemon.client.decide_approval(id, &reason).await.unwrap();
    assert_eq!(decided.state, ApprovalState::Denied);
    let page = daemon.client.timeline(&working.key, &TimelineQuery::default()).await.unwrap();
    let why = page.entries.iter().find_map(|entry| match &entry.body {
        EntryBody::ApprovalSettled { reason, .. } => reason.clone(),
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("not on a Friday"));
    let unknown = daemon.client.decide_approval(uuid::Uuid::nil(), &decision("allow", &digest)).await.unwrap_err();
    assert_eq!(unknown.code(), "not_found");
    let states = daemon.authed("GET", "/api/v1/approvals?state=denied", b"").await;
    assert_eq!((states.status, states.code().as_str()), (400, "invalid_query"));
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
    let add = |agent: &str| AddExecution { agent: agent.into(), role: Role::Reviewer };
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
