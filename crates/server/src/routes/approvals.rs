//! Approvals: what waits for a yes, the yes or no, and who decided what.
//!
//! **Invariant:** an approval of a project that the caller is not a member of is not there.

use std::collections::HashMap;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{StatusCode, header};
use serde::Deserialize;
use throughline_api::approval::{Approval, ApprovalList, DecideApproval};
use throughline_api::policy::{Decided, MakeRule, Rule};
use throughline_api::task::TaskRef;
use throughline_engine::Always;
use throughline_model::approval::{Decision, OptionKind, Verdict};
use throughline_model::command::Command;
use throughline_model::content::Text;
use throughline_model::ids::{ApprovalId, Id as _, PersonId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::shown::View;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_model::view::ApprovalRow;
use throughline_store::port::{Answer, ApprovalQuery, Ask};
use utoipa::IntoParams;

use super::policies;
use crate::app::{Shared, mismatch, task_ref};
use crate::auth::Caller;
use crate::extract::{Json, Path, Query};
use crate::problem::Refusal;
use crate::wire;

/// How many approvals a page has.
const PAGE: usize = 200;
/// The states that can be asked for.
const STATES: [&str; 6] = ["pending", "approved", "denied", "expired", "void", "all"];

/// Which approvals, and how they are shown.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// `pending` (if left out), `approved`, `denied`, `expired`, `void` or `all`.
    state: Option<String>,
    /// Only those that were asked after this one: the last of the page before.
    after: Option<uuid::Uuid>,
    /// `full` (if left out) or `chat`: how much of a request is shown.
    view: Option<String>,
}

/// How one is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GetQuery {
    /// `full` (if left out) or `chat`: how much of a request is shown.
    view: Option<String>,
}

fn view(name: Option<&str>) -> Result<View, Refusal> {
    match name {
        None | Some("full") => Ok(View::FULL),
        Some("chat") => Ok(View::CHAT),
        Some(other) => Err(Refusal::invalid("invalid_query", format!("there is no view `{other}`"))),
    }
}

/// Approvals in the order in which they were asked, at most two hundred at once.
#[utoipa::path(get, path = "/api/v1/approvals", tag = "approvals", params(ListQuery),
    responses((status = 200, description = "A page of them", body = ApprovalList)))]
pub(super) async fn list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<ApprovalList>, Refusal> {
    let view = view(query.view.as_deref())?;
    let state = query.state.as_deref().unwrap_or("pending");
    if !STATES.contains(&state) {
        return Err(Refusal::invalid("invalid_query", format!("there is no state `{state}`")));
    }
    let state = (state != "all").then(|| state.to_owned());
    let mut page = Page::new(caller.person, view);
    let after = query.after.map(ApprovalId::from_uuid);
    Ok(axum::Json(ApprovalList { approvals: page.read(&app, state, after).await?.approvals }))
}

/// The pending ones that the caller may see, oldest first.
pub(super) async fn pending(app: &Shared, caller: Caller) -> Result<Vec<Approval>, Refusal> {
    let rows = match app.ask(Ask::PendingApprovals).await? {
        Answer::Approvals(rows) => rows,
        other => return Err(mismatch(&other)),
    };
    Page::new(caller.person, View::FULL).shown(app, &rows).await
}

/// Who decided what, when, from where and on which digest: every approval there was, one JSON document per line.
#[utoipa::path(get, path = "/api/v1/approvals/audit", tag = "approvals",
    responses((status = 200, description = "One approval per line", body = String,
        content_type = "application/jsonl")))]
pub(super) async fn audit(State(app): State<Shared>, caller: Caller) -> Response {
    let page = Page::new(caller.person, View::FULL);
    let lines = stream::try_unfold(Some((app, page, None)), |next| async move {
        let Some((app, mut page, after)) = next else { return Ok::<_, std::io::Error>(None) };
        let read =
            page.read(&app, None, after).await.map_err(|refusal| std::io::Error::other(format!("{refusal:?}")))?;
        let mut lines = vec![];
        for approval in &read.approvals {
            serde_json::to_writer(&mut lines, approval)?;
            lines.push(b'\n');
        }
        Ok(Some((lines, read.last.map(|last| (app, page, Some(last))))))
    });
    ([(header::CONTENT_TYPE, "application/jsonl")], Body::from_stream(lines)).into_response()
}

/// One approval, pending or settled.
#[utoipa::path(get, path = "/api/v1/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, description = "The approval's id"), GetQuery),
    responses((status = 200, description = "The approval", body = Approval)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<GetQuery>,
) -> Result<axum::Json<Approval>, Refusal> {
    let view = view(query.view.as_deref())?;
    let row = row_for(&app, caller, &id).await?;
    shown(&app, &row, view).await.map(axum::Json)
}

/// What the agent sent as the tool's input, byte for byte, however long.
#[utoipa::path(get, path = "/api/v1/approvals/{id}/input", tag = "approvals",
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, description = "As the agent wrote it", body = String, content_type = "text/plain")))]
pub(super) async fn input(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let row = row_for(&app, caller, &id).await?;
    let missing = || Refusal::not_found("input of approval", &id);
    let bytes = match row.approval.ask.input {
        None => return Err(missing()),
        Some(Text::Inline(input)) => input.into_bytes(),
        Some(Text::Blob { blob, .. }) => app.engine.store().blob(&blob.sha256).await?.ok_or_else(missing)?,
    };
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((headers, bytes).into_response())
}

/// Says yes or no to exactly what was shown.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/decision", tag = "approvals", request_body = DecideApproval,
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, description = "It is decided", body = Decided)))]
pub(super) async fn decide(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(decision): Json<DecideApproval>,
) -> Result<axum::Json<Decided>, Refusal> {
    let row = row_for(&app, caller, &id).await?;
    // An answer that does not fit a settled request is still an answer to a settled request.
    if row.state != "pending" {
        let detail = format!("the approval is settled: {}", row.state);
        return Err(Refusal::new("approval_settled", detail, "`tl status` shows what waits now"));
    }
    let (verdict, option) = verdict(&row, decision.option)?;
    if verdict == Verdict::Approve && decision.digest.is_none() {
        let detail = "a yes needs the digest of what was shown";
        return Err(Refusal::new(Rejection::DigestMismatch.code(), detail, "send the approval's `digest` with it"));
    }
    let always = decision.always && verdict == Verdict::Approve;
    let expires = decision.expires_in_secs.map(Duration::from_secs);
    let decision = Decision {
        verdict,
        by: caller.person,
        source: caller.source(),
        digest: decision.digest,
        option,
        reason: decision.reason.filter(|reason| !reason.trim().is_empty()),
    };
    let (rule, no_rule) = match always {
        true => match app.engine.approve_always(&row, decision, expires).await? {
            Always::Rule(rule) => (Some(wire::rule(&rule)), None),
            Always::No(why) => (None, Some(why.to_string())),
        },
        false => {
            let command = TaskCommand::DecideApproval { approval: row.id, decision: Box::new(decision) };
            app.engine.send(StreamId::Task(row.task), Command::Task(command)).await?;
            (None, None)
        }
    };
    let row = row_for(&app, caller, &id).await?;
    let approval = shown(&app, &row, View::FULL).await?;
    Ok(axum::Json(Decided { approval, rule, no_rule }))
}

/// Makes the rule that allows from now on what was approved: its exact words, and other names where that is the same
/// thing. The same rule again is the same rule.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/rule", tag = "approvals", request_body = MakeRule,
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 201, description = "It holds", body = Rule)))]
pub(super) async fn make_rule(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(make): Json<MakeRule>,
) -> Result<(StatusCode, axum::Json<Rule>), Refusal> {
    let row = row_for(&app, caller, &id).await?;
    let expires = make.expires_in_secs.map(Duration::from_secs);
    let rule = app.engine.rule_from(&row, policies::author(caller), expires).await?;
    Ok((StatusCode::CREATED, axum::Json(wire::rule(&rule))))
}

/// What an option means, and which of the agent's it is. The agent's *always* options are never given: rules are ours
/// (DESIGN §8).
fn verdict(row: &ApprovalRow, option: String) -> Result<(Verdict, Option<String>), Refusal> {
    let kind = row.approval.options.iter().find(|known| known.id == option).map(|known| known.kind);
    match (kind, option.as_str()) {
        (None | Some(OptionKind::AllowOnce), "allow") => Ok((Verdict::Approve, None)),
        (None | Some(OptionKind::RejectOnce), "deny") => Ok((Verdict::Deny, None)),
        // Our word for one thing as the agent's id of another: nobody can tell which was meant.
        (_, "allow" | "deny") => {
            let detail = format!("the agent calls something else `{option}`, so this is not clear");
            Err(Refusal::new(Rejection::NoSuchOption.code(), detail, "answer with the id of the agent's own option"))
        }
        (Some(OptionKind::AllowOnce), _) => Ok((Verdict::Approve, Some(option))),
        (Some(OptionKind::RejectOnce), _) => Ok((Verdict::Deny, Some(option))),
        (Some(OptionKind::AllowAlways | OptionKind::RejectAlways | OptionKind::Other) | None, _) => {
            let detail = format!("`{option}` does not mean yes or no, this once");
            Err(Refusal::new(Rejection::NoSuchOption.code(), detail, "answer with `allow` or `deny`"))
        }
    }
}

async fn row_for(app: &Shared, caller: Caller, id: &str) -> Result<ApprovalRow, Refusal> {
    let missing = || Refusal::not_found("approval", id);
    let approval: ApprovalId = id.parse().map_err(|_| missing())?;
    let row = match app.ask(Ask::Approval(approval)).await? {
        Answer::Approvals(rows) => rows.into_iter().next().ok_or_else(missing)?,
        other => return Err(mismatch(&other)),
    };
    match Page::new(caller.person, View::FULL).task(app, row.task).await? {
        Some(_) => Ok(row),
        None => Err(missing()),
    }
}

async fn shown(app: &Shared, row: &ApprovalRow, view: View) -> Result<Approval, Refusal> {
    let task = app.row(&row.task.to_string()).await?;
    Ok(wire::approval_row(row, task_ref(&task), view))
}

/// What one caller may see, task by task.
struct Page {
    person: PersonId,
    view: View,
    /// The tasks that were looked at; none if they are not the caller's.
    tasks: HashMap<TaskId, Option<TaskRef>>,
}

/// A page that was read.
struct Read {
    approvals: Vec<Approval>,
    /// Where to read on; none at the end.
    last: Option<ApprovalId>,
}

impl Page {
    fn new(person: PersonId, view: View) -> Self {
        Self { person, view, tasks: HashMap::new() }
    }

    /// Reads on until there is something to show, or nothing more.
    async fn read(&mut self, app: &Shared, state: Option<String>, after: Option<ApprovalId>) -> Result<Read, Refusal> {
        let mut last = after;
        loop {
            let query = ApprovalQuery { state: state.clone(), after: last, limit: PAGE };
            let rows = match app.ask(Ask::Approvals(query)).await? {
                Answer::Approvals(rows) => rows,
                other => return Err(mismatch(&other)),
            };
            let more = rows.len() == PAGE;
            last = rows.last().map(|row| row.id);
            let approvals = self.shown(app, &rows).await?;
            if !approvals.is_empty() || !more {
                return Ok(Read { approvals, last: last.filter(|_| more) });
            }
        }
    }

    async fn shown(&mut self, app: &Shared, rows: &[ApprovalRow]) -> Result<Vec<Approval>, Refusal> {
        let mut approvals = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(task) = self.task(app, row.task).await? {
                approvals.push(wire::approval_row(row, task, self.view));
            }
        }
        Ok(approvals)
    }

    async fn task(&mut self, app: &Shared, task: TaskId) -> Result<Option<TaskRef>, Refusal> {
        if let Some(known) = self.tasks.get(&task) {
            return Ok(known.clone());
        }
        let row = app.row(&task.to_string()).await?;
        let project = app.engine.state(StreamId::Project(row.project)).await?;
        let member = project.project().is_some_and(|project| project.members.contains(&self.person));
        let seen = member.then(|| task_ref(&row));
        self.tasks.insert(task, seen.clone());
        Ok(seen)
    }
}
