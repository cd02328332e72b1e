//! Transcripts: the whole record, each item once, whatever was going on when it was asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use support::{Daemon, within};
use throughline_api::client::TimelineQuery;
use throughline_api::export::ExportFormat;
use throughline_api::timeline::TimelineEntry;
use throughline_model::approval::{Decision, Source, Verdict};
use throughline_model::channel::Channel;
use throughline_model::content::Text;
use throughline_model::ids::{Id as _, ItemId};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::plan::{PlanEntry, PlanPriority, PlanStatus};
use throughline_model::task::{Report, TaskCommand, TurnAnswer};
use throughline_model::turn::{StopReason, Usage};

async fn export(daemon: &Daemon, key: &str, format: ExportFormat) -> String {
    let mut transcript = daemon.client.export(key, format).await.unwrap();
    let mut bytes = vec![];
    while let Some(piece) = within("the next piece", transcript.next()).await.unwrap() {
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).unwrap()
}

fn step(content: &str, status: PlanStatus) -> PlanEntry {
    PlanEntry { content: content.into(), priority: PlanPriority::Medium, status }
}

#[tokio::test]
async fn the_document_tells_the_whole_task() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let plan = vec![step("look", PlanStatus::Completed), step("*mend*", PlanStatus::InProgress)];
    daemon.report(&working, Report::PlanRevised { entries: plan }).await;
    daemon.tool_call(&working, "build", ToolStatus::Pending).await;
    daemon.message(&working, "# not a heading\n\n```\nnot closed").await;
    let approval = daemon.ask(&working, "one").await;
    let decide = TaskCommand::DecideApproval {
        approval,
        decision: Box::new(Decision {
            verdict: Verdict::Deny,
            by: daemon.person,
            source: Source { surface: Channel::Cli, identity: None, conversation: None },
            digest: None,
            option: None,
            reason: Some("not today".into()),
        }),
    };
    daemon.tell(working.task, decide).await;
    daemon.tool_call(&working, "build", ToolStatus::Completed).await;
    let sly = Item {
        id: ItemId::derive(working.turn.uuid(), "sly"),
        turn: Some(working.turn),
        body: ItemBody::ToolCall(ToolCall {
            call: "sly".into(),
            title: "cat `notes`".into(),
            tool: "read".into(),
            status: ToolStatus::Failed,
            input: None,
            output: Some(Text::from("````\n# out of the fence?\n\u{1b}[2J")),
            exit_code: None,
            changes: vec![],
            locations: vec![],
            unasked: false,
        }),
    };
    daemon.report(&working, Report::Recorded(Box::new(sly))).await;
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    daemon.report(&working, Report::TurnAnswered { turn: working.turn, answer, usage: Usage::default() }).await;
    let text = export(&daemon, &working.key, ExportFormat::Md).await;
    let name = std::env::var("USER").unwrap_or_else(|_| format!("user {}", rustix::process::getuid().as_raw()));
    let text = text.replace(&daemon.folder.path().display().to_string(), "/work").replace(&name, "ada");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "[at]");
    settings.add_filter(r"in \d+\.\d s", "in [time]");
    settings.bind(|| insta::assert_snapshot!(text));
}

#[tokio::test]
async fn lines_are_the_timelines_entries() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    for round in 0..400 {
        let status = if round % 2 == 0 { ToolStatus::Pending } else { ToolStatus::InProgress };
        daemon.tool_call(&working, "watch", status).await;
        if round % 3 == 0 {
            daemon.message(&working, &format!("word {round}")).await;
        }
    }
    daemon.tool_call(&working, "watch", ToolStatus::Completed).await;
    let lines = export(&daemon, &working.key, ExportFormat::Jsonl).await;
    let entries: Vec<TimelineEntry> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let page = TimelineQuery { before: None, limit: Some(200) };
    let page = daemon.client.timeline(&working.key, &page).await.unwrap();
    assert_eq!(page.before, None, "the whole task is on one page");
    assert_eq!(entries, page.entries);
}

#[tokio::test]
async fn a_format_that_there_is_not_is_refused() {
    let daemon = Daemon::start().await;
    let (_, key) = daemon.task(1).await;
    let raw = daemon.authed("GET", &format!("/api/v1/tasks/{key}/export?format=pdf"), b"").await;
    assert_eq!((raw.status, raw.code().as_str()), (400, "invalid_query"));
    let raw = daemon.authed("GET", "/api/v1/tasks/shop-77/export", b"").await;
    assert_eq!(raw.code(), "not_found");
}
