//! One test per fact rule: small contexts, real decisions.

use serde_json::json;

use super::input::{Context, Task};
use super::verdict::Verdict;
use super::*;

/// Two tasks, two agents; tests change what they need.
fn context(change: impl FnOnce(&mut serde_json::Value)) -> Context {
    let mut value = json!({
        "channel": "web", "reply_to": null, "focus": "T1", "default_agent": "claude-code", "current_project": "shop",
        "agents": [
            {"id": "claude-code", "aliases": ["cc", "claude"], "models": ["opus", "sonnet"]},
            {"id": "codex", "aliases": ["cx"], "models": ["gpt-5"]}
        ],
        "projects": [{"id": "shop", "name": "shop"}, {"id": "blog", "name": "company blog"}],
        "tasks": [
            {"id": "T1", "key": "shop-12", "title": "Checkout page redesign", "project": "shop", "state": "resting",
             "idle_minutes": 3, "executions": [{"id": "E1", "agent": "claude-code", "role": "editor", "state": "resting", "primary": true}]},
            {"id": "T2", "key": "shop-11", "title": "Rate limit the login endpoint", "project": "shop", "state": "working",
             "idle_minutes": 0, "executions": [{"id": "E2", "agent": "codex", "role": "editor", "state": "working", "primary": true}]}
        ],
        "approvals": []
    });
    change(&mut value);
    serde_json::from_value(value).expect("a context")
}

fn approval(id: &str, task: &str, what: &str) -> serde_json::Value {
    let execution = if task == "T1" { "E1" } else { "E2" };
    json!({"id": id, "task": task, "execution": execution, "what": what})
}

fn verdict(message: &str, context: &Context) -> serde_json::Value {
    serde_json::to_value(decide(message, context).verdict).expect("a verdict")
}

fn plain() -> Context {
    context(|_| {})
}

#[test]
fn a_message_without_a_signal_continues_the_focus() {
    assert_eq!(verdict("make the button green", &plain()), json!({"intent": "continue", "task": "T1"}));
}

#[test]
fn a_reply_outranks_the_focus() {
    let replied = context(|c| c["reply_to"] = json!({"execution": "E2"}));
    assert_eq!(
        verdict("also cover the empty list", &replied),
        json!({"intent": "continue", "task": "T2", "execution": "E2"})
    );
}

#[test]
fn a_key_is_an_address_or_a_comparison() {
    assert_eq!(verdict("shop-11: make it 10 per minute", &plain())["task"], "T2");
    assert_eq!(verdict("do it the same way as in shop-11", &plain())["task"], "T1");
}

#[test]
fn an_unknown_key_is_asked_about() {
    assert_eq!(verdict("what is the status of shop-99?", &plain())["intent"], "clarify");
}

#[test]
fn slash_commands_reach_the_agent_as_typed() {
    assert_eq!(verdict("/compact", &plain()), json!({"intent": "continue", "task": "T1"}));
}

#[test]
fn a_waiting_question_takes_a_plain_message() {
    let asked = context(|c| {
        c["tasks"][0]["state"] = json!("waiting_answer");
        c["tasks"][0]["last_said"] = json!("Keep, cancel or remind?");
    });
    assert_eq!(verdict("cancel", &asked)["intent"], "answer");
    assert_eq!(verdict("the second one", &asked)["intent"], "answer");
    assert_eq!(verdict("new task: write a readme for the sdk", &asked)["intent"], "new_task");
}

#[test]
fn yes_decides_the_only_approval_in_reach() {
    let one = context(|c| c["approvals"] = json!([approval("A1", "T1", "npm install left-pad")]));
    assert_eq!(verdict("yes", &one), json!({"intent": "approve", "approval": "A1", "scope": "once"}));
    assert_eq!(verdict("always allow npm install", &one)["scope"], "always");
    assert_eq!(verdict("no, we use pnpm", &one), json!({"intent": "deny", "approval": "A1"}));
}

#[test]
fn a_condition_or_go_on_is_no_consent() {
    let one = context(|c| c["approvals"] = json!([approval("A1", "T1", "npm install left-pad")]));
    for message in
        ["yes but only on staging", "continue", "ok, after the tests pass", "好的，先备份", "ja, aber ohne sudo"]
    {
        assert_ne!(verdict(message, &one)["intent"], "approve", "{message}");
    }
}

#[test]
fn yes_with_two_pending_asks_unless_one_is_meant() {
    let two = context(|c| {
        c["focus"] = json!(null);
        c["approvals"] =
            json!([approval("A1", "T1", "terraform apply"), approval("A2", "T2", "kubectl rollout restart")]);
    });
    assert_eq!(verdict("yes", &two), json!({"intent": "clarify", "candidates": ["A1", "A2"]}));
    assert_eq!(verdict("approve the terraform one", &two)["approval"], "A1");
    assert_eq!(verdict("approve both", &two)["intent"], "clarify");
    let replied = context(|c| {
        c["reply_to"] = json!({"approval": "A2"});
        c["approvals"] =
            json!([approval("A1", "T1", "terraform apply"), approval("A2", "T2", "kubectl rollout restart")]);
    });
    assert_eq!(verdict("go ahead", &replied)["approval"], "A2");
}

#[test]
fn a_question_that_the_focus_agent_asked_outranks_an_approval_elsewhere() {
    let asked = context(|c| {
        c["tasks"][0]["last_said"] = json!("Shall I update the snapshots too?");
        c["approvals"] = json!([approval("A2", "T2", "npm install left-pad")]);
    });
    assert_eq!(verdict("yes", &asked), json!({"intent": "continue", "task": "T1"}));
}

#[test]
fn agents_are_added_switched_or_named_in_passing() {
    let added = verdict("use codex to review it too", &plain());
    assert_eq!(added, json!({"intent": "add_execution", "task": "T1", "agent": "codex", "role": "reviewer"}));
    assert_eq!(verdict("use codex instead", &plain())["intent"], "switch_agent");
    assert_eq!(verdict("switch to opus", &plain())["model"], "opus");
    assert_eq!(verdict("the codex docs say that flag is deprecated", &plain())["intent"], "continue");
}

#[test]
fn an_agent_that_is_not_installed_is_asked_about() {
    assert_eq!(verdict("let aider take over", &plain())["intent"], "clarify");
}

#[test]
fn words_that_fit_one_title_name_that_task() {
    assert_eq!(verdict("how is the login limit going?", &plain()), json!({"intent": "status", "task": "T2"}));
    assert_eq!(verdict("back to the login endpoint", &plain()), json!({"intent": "focus", "task": "T2"}));
}

#[test]
fn another_project_is_a_place_for_a_new_task() {
    let started = verdict("new task: add an rss feed to the blog", &plain());
    assert_eq!(started, json!({"intent": "new_task", "project": "blog"}));
}

#[test]
fn every_decision_says_why() {
    for message in ["yes", "stop", "make it bigger", "status?", "thanks", "help", "use codex instead"] {
        let decision = decide(message, &plain());
        assert!(!decision.evidence.is_empty(), "{message}");
        assert!((0.0..=1.0).contains(&decision.confidence), "{message}");
    }
}

#[test]
fn nothing_at_all_is_survived() {
    for message in ["", " ", "?", "🙂", "-", "@", "\u{0}", "/", "a-1"] {
        let _decision = decide(message, &Context::default());
        let _decision = decide(message, &plain());
    }
    assert_eq!(
        decide("write a readme", &Context::default()).verdict,
        Verdict::NewTask { project: String::new(), agent: None }
    );
}

fn two_tasks() -> Context {
    let task = |id: &str, key: &str, title: &str| Task {
        id: id.into(),
        key: key.into(),
        title: title.into(),
        project: "shop".into(),
        ..Task::default()
    };
    Context {
        focus: Some("T2".into()),
        current_project: "shop".into(),
        tasks: vec![task("T2", "shop-12", "Rate limit the login endpoint"), task("T1", "shop-11", "Checkout redesign")],
        ..Context::default()
    }
}

#[test]
fn a_message_that_opens_a_subject_and_names_none_corrects_the_one_before() {
    let context = two_tasks();
    for message in [
        "no, that's a new task",
        "that's a new task",
        "不对，这是新任务",
        "nein, das ist eine neue Aufgabe",
        "non, c'est une nouvelle tâche",
        "いや、新しいタスクです",
    ] {
        assert_eq!(amend(message, &context), Some(Amended::New), "{message}");
    }
    for message in
        ["I meant shop-11", "no, I meant shop-11", "no, continue shop-11", "no, the checkout one", "我说的是 shop-11"]
    {
        assert_eq!(amend(message, &context), Some(Amended::Task("T1".into())), "{message}");
    }
}

#[test]
fn what_has_something_to_say_of_its_own_corrects_nothing() {
    let context = two_tasks();
    for message in [
        "new task: fix the footer",
        "back to shop-11",
        "how is shop-11?",
        "stop shop-11",
        "shop-11",
        "no, use blue instead",
        "I meant the green button",
        "shop-11 add a test for the empty cart",
        "reopen shop-11 please",
        "reopen shop-11",
        "archive shop-11",
        "show me shop-11",
        "open shop-11",
        "delete shop-11",
        "deploy shop-11",
        "no",
    ] {
        assert_eq!(amend(message, &context), None, "{message}");
    }
}
