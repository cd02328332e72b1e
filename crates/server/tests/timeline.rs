//! Paging through a task's past: everything once, items where they began and as they are now.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use support::Daemon;
use throughline_api::client::{TaskListQuery, TimelineQuery};
use throughline_api::timeline::{EntryBody, TimelineEntry, ToolStatus as Status};
use throughline_model::item::ToolStatus;

async fn pages(daemon: &Daemon, key: &str, limit: usize) -> Vec<Vec<TimelineEntry>> {
    let mut pages = vec![];
    let mut before = None;
    loop {
        let query = TimelineQuery { before: before.clone(), limit: Some(limit) };
        let page = daemon.client.timeline(key, &query).await.unwrap();
        assert!(page.entries.len() <= limit);
        assert_eq!(page.after.is_some(), before.is_none());
        before = page.before;
        assert!(!page.entries.is_empty() || before.is_none());
        pages.push(page.entries);
        if before.is_none() {
            return pages;
        }
    }
}

fn words(entry: &TimelineEntry) -> String {
    match &entry.body {
        EntryBody::ToolCall(call) => format!("{} {:?}", call.title, call.status),
        EntryBody::Message(message) => message.text.text.clone(),
        other => serde_json::to_value(other).unwrap()["type"].as_str().unwrap().to_owned(),
    }
}

async fn busy(daemon: &Daemon) -> support::Working {
    let working = daemon.working(1).await;
    daemon.tool_call(&working, "build", ToolStatus::Pending).await;
    daemon.message(&working, "building").await;
    daemon.tool_call(&working, "test", ToolStatus::Pending).await;
    daemon.tool_call(&working, "build", ToolStatus::InProgress).await;
    daemon.message(&working, "still building").await;
    daemon.tool_call(&working, "build", ToolStatus::Completed).await;
    daemon.tool_call(&working, "test", ToolStatus::Failed).await;
    daemon.message(&working, "done").await;
    working
}

#[tokio::test]
async fn an_item_stands_where_it_began_as_it_is_now() {
    let daemon = Daemon::start().await;
    let working = busy(&daemon).await;
    let page = daemon.client.timeline(&working.key, &TimelineQuery::default()).await.unwrap();
    let said: Vec<String> = page.entries.iter().map(words).collect();
    let tail = &said[said.len() - 5..];
    assert_eq!(tail, ["build Completed", "building", "test Failed", "still building", "done"]);
    assert_eq!(page.before, None);
    let call = page.entries.iter().find_map(|entry| match &entry.body {
        EntryBody::ToolCall(call) if call.status == Status::Completed => Some(call),
        _ => None,
    });
    assert_eq!(call.unwrap().output.as_ref().unwrap().text, "done");
}

#[tokio::test]
async fn pages_of_any_size_add_up_to_the_whole() {
    let daemon = Daemon::start().await;
    let working = busy(&daemon).await;
    let whole: Vec<String> = pages(&daemon, &working.key, 200).await.remove(0).iter().map(words).collect();
    for limit in [1, 2, 3, 5, 7] {
        let mut read: Vec<String> = vec![];
        for page in pages(&daemon, &working.key, limit).await {
            read.splice(0..0, page.iter().map(words));
        }
        assert_eq!(read, whole, "pages of {limit}");
    }
}

#[tokio::test]
async fn a_call_that_changed_hundreds_of_times_is_one_entry() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    daemon.message(&working, "before").await;
    for round in 0..300 {
        let status = if round % 2 == 0 { ToolStatus::Pending } else { ToolStatus::InProgress };
        daemon.tool_call(&working, "watch", status).await;
    }
    let read = pages(&daemon, &working.key, 5).await;
    let calls = read.iter().flatten().filter(|entry| matches!(entry.body, EntryBody::ToolCall(_))).count();
    assert_eq!(calls, 1);
    assert!(read.iter().flatten().any(|entry| words(entry) == "before"));
}

#[tokio::test]
async fn the_list_of_tasks_is_paged_and_filtered() {
    let daemon = Daemon::start().await;
    for number in 0..7 {
        daemon.task(number).await;
    }
    let waiting = daemon.working(7).await;
    daemon.ask(&waiting, "one").await;
    let mut keys = vec![];
    let mut after = None;
    loop {
        let query = TaskListQuery { limit: Some(3), after, ..TaskListQuery::default() };
        let page = daemon.client.tasks(&query).await.unwrap();
        keys.extend(page.tasks.iter().map(|task| task.key.clone()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(keys.len(), 8);
    assert_eq!(keys[0], waiting.key, "what needs a person comes first");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 8);
    let mine = daemon.client.tasks(&TaskListQuery { needs_me: true, ..TaskListQuery::default() }).await.unwrap();
    assert_eq!(mine.tasks.len(), 1);
    assert_eq!(mine.tasks[0].project.name, "shop");
    let named =
        daemon.client.tasks(&TaskListQuery { project: Some("shop".into()), ..TaskListQuery::default() }).await.unwrap();
    assert_eq!(named.tasks.len(), 8);
    let unknown =
        daemon.client.tasks(&TaskListQuery { project: Some("none".into()), ..TaskListQuery::default() }).await;
    assert_eq!(unknown.unwrap_err().code(), "not_found");
    let garbage = daemon.client.tasks(&TaskListQuery { after: Some("x".into()), ..TaskListQuery::default() }).await;
    assert_eq!(garbage.unwrap_err().code(), "cursor_expired");
}

#[tokio::test]
async fn where_things_stand_is_sorted_by_who_has_to_act() {
    let daemon = Daemon::start().await;
    let (_, resting) = daemon.task(1).await;
    let running = daemon.working(2).await;
    let waiting = daemon.working(3).await;
    daemon.ask(&waiting, "one").await;
    let status = daemon.client.status().await.unwrap();
    let keys =
        |tasks: &[throughline_api::task::TaskSummary]| tasks.iter().map(|task| task.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&status.needs_me), [waiting.key]);
    assert_eq!(keys(&status.running), [running.key]);
    assert_eq!(keys(&status.resting), [resting]);
    assert_eq!(status.approvals.len(), 1);
    assert_eq!(status.projects, 1);
}

#[tokio::test]
async fn words_are_found_in_titles_and_in_what_was_said() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    daemon.message(&working, "把按钮改成绿色").await;
    daemon.message(&working, "The BUTTON is green").await;
    daemon.tool_call(&working, "green", ToolStatus::Completed).await;
    let search = async |query: &str| {
        let answer = daemon.authed("GET", &format!("/api/v1/search?q={query}"), b"").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str::<throughline_api::search::SearchResult>(&answer.body).unwrap()
    };
    let green = search("green").await;
    let excerpts: Vec<_> = green.messages.iter().map(|found| found.excerpt.as_str()).collect();
    assert_eq!(excerpts, ["The BUTTON is green"], "not what a tool was called");
    assert_eq!(green.messages[0].task.key, working.key);
    let chinese = search("%E6%8C%89%E9%92%AE").await;
    assert_eq!(chinese.messages.len(), 1);
    assert!(chinese.messages[0].item.is_some());
    let said = search("go%20on").await;
    assert!(said.messages[0].input.is_some(), "what a person said: {said:?}");
    assert_eq!(search("routing").await.tasks[0].title, "Fix routing");
    assert_eq!(daemon.authed("GET", "/api/v1/search?q=", b"").await.code(), "invalid_query");
}
