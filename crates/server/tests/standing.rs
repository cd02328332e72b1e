//! How things stand: answered from the record, in the caller's language, at once, and without waking an agent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::time::Duration;

use support::Daemon;
use throughline_api::client::{TaskListQuery, TimelineQuery};
use throughline_api::message::{Action, Choice};
use throughline_api::person::ChangeMe;
use throughline_model::ids::PersonId;
use throughline_model::item::ToolStatus;
use throughline_model::present::Locale;

#[tokio::test]
async fn a_status_rests_on_events_that_can_be_looked_up_and_wakes_nobody() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    daemon.message(&working, "half of it is done").await;
    daemon.ask(&working, "cargo test").await;
    let before = daemon.client.status().await.unwrap().cursor;
    let status = daemon.client.status_of(&working.key).await.unwrap();
    let reply = status.reply.unwrap();
    assert!(reply.text.contains("is waiting for approval"), "{reply:?}");
    assert!(reply.text.contains("half of it is done"), "{reply:?}");
    assert_eq!(status.approvals.len(), 1);
    let page = daemon.client.timeline(&working.key, &TimelineQuery::default()).await.unwrap();
    let linked: Vec<&str> = reply.links.iter().filter_map(|link| link.cursor.as_deref()).collect();
    assert_eq!(linked.len(), 2, "the request and the words: {reply:?}");
    for cursor in linked {
        assert!(page.entries.iter().any(|entry| entry.cursor == cursor), "{cursor}");
    }
    let decides = |choice: &Choice| matches!(choice.action, Action::Decide { .. });
    assert!(!reply.choices.iter().any(decides), "a request is decided where its exact bytes are shown");
    let card = daemon.client.task(&working.key).await.unwrap().card;
    assert!(card.buttons.iter().any(decides), "{card:?}");
    assert_eq!(daemon.client.status().await.unwrap().cursor, before, "asking changes nothing and starts nothing");
}

#[tokio::test]
async fn everybody_is_told_of_their_own_projects() {
    let daemon = Daemon::start().await;
    let mine = daemon.working(1).await;
    // Somebody else on this machine, with a project and a task of their own.
    let uid = 4_242;
    let other = daemon.engine.owner(uid).await.unwrap();
    assert_eq!(other, PersonId::of_os_user(uid));
    let root = daemon.folder.path().join("garden");
    std::fs::create_dir(&root).unwrap();
    let project = daemon.engine.add_project(other, &root, Some("garden".into()), Some("demo".into())).await.unwrap().id;
    let (theirs, their_key) = daemon.task_of(project, other, 2).await;

    let all = daemon.engine.standing(daemon.person, Locale::En, None).await.unwrap().text;
    assert!(all.contains(&mine.key) && !all.contains(&their_key), "{all}");
    let all = daemon.engine.standing(other, Locale::En, None).await.unwrap().text;
    assert!(all.contains(&their_key) && !all.contains(&mine.key), "{all}");
    assert!(daemon.engine.standing(other, Locale::En, Some(mine.task)).await.is_err());
    assert!(daemon.engine.standing(daemon.person, Locale::En, Some(theirs)).await.is_err());
    assert!(daemon.engine.standing(other, Locale::En, Some(theirs)).await.is_ok());
    let nobody = daemon.engine.owner(uid + 1).await.unwrap();
    let all = daemon.engine.standing(nobody, Locale::En, None).await.unwrap().text;
    assert!(!all.contains(&mine.key) && !all.contains(&their_key), "{all}");

    // Over HTTP the caller is the daemon's own person.
    let status = daemon.client.status().await.unwrap();
    let shown: Vec<String> =
        [status.needs_me, status.running, status.resting].concat().into_iter().map(|task| task.key).collect();
    assert_eq!(shown, std::slice::from_ref(&mine.key));
    let listed = daemon.client.tasks(&TaskListQuery::default()).await.unwrap().tasks;
    assert_eq!(listed.into_iter().map(|task| task.key).collect::<Vec<_>>(), [mine.key]);
    let query = TaskListQuery { project: Some("garden".into()), ..TaskListQuery::default() };
    assert_eq!(daemon.client.tasks(&query).await.unwrap().tasks.len(), 0);
}

#[tokio::test]
async fn a_status_is_quick_however_long_the_task_is() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    for number in 0..400 {
        daemon.tool_call(&working, &format!("call {number}"), ToolStatus::Completed).await;
    }
    // Once is enough: other tests share the machine.
    let mut quick = false;
    for _ in 0..5 {
        let answer = tokio::time::timeout(Duration::from_millis(50), daemon.client.status_of(&working.key)).await;
        quick |= answer.is_ok_and(|status| status.is_ok());
    }
    assert!(quick, "five answers took longer than 50 ms each");
}

#[tokio::test]
async fn what_is_rendered_is_in_the_callers_language() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    daemon.ask(&working, "cargo test").await;
    let chinese = daemon.client.clone().with_language("zh-CN");
    let glance = |client: throughline_api::client::Client| {
        let key = working.key.clone();
        async move { client.task(&key).await.unwrap().summary.glance }
    };
    assert!(glance(daemon.client.clone()).await.contains("is waiting for approval"));
    assert!(glance(chinese.clone()).await.contains("等待批准"));
    let listed = chinese.tasks(&TaskListQuery::default()).await.unwrap().tasks;
    assert_eq!(listed[0].state, "等待批准");
    let card = chinese.task(&working.key).await.unwrap().card;
    assert!(card.text.contains("状态"), "{card:?}");
    assert_eq!(card.buttons[0].label, "批准一次");

    let me = daemon.client.change_me(&ChangeMe { locale: Some("zh-CN".into()) }).await.unwrap();
    assert_eq!((me.locale.as_deref(), me.speaks.as_str()), (Some("zh-CN"), "zh"));
    assert!(glance(daemon.client.clone()).await.contains("等待批准"), "what was chosen holds for every client");
    let error = daemon.client.change_me(&ChangeMe { locale: Some("klingon!".into()) }).await.unwrap_err();
    assert_eq!(error.code(), "bad_locale");
    let me = daemon.client.change_me(&ChangeMe { locale: Some(String::new()) }).await.unwrap();
    assert_eq!(me.locale, None);
    assert!(glance(daemon.client.clone().with_language("en")).await.contains("is waiting"));
}
