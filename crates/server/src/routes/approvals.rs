//! Approvals: what waits for a yes, and the yes or no.

use axum::extract::State;
use serde::Deserialize;
use throughline_api::approval::{Approval, ApprovalList, DecideApproval};
use throughline_api::task::TaskRef;
use throughline_model::approval::{OptionKind, Verdict};
use throughline_model::command::Command;
use throughline_model::ids::{ApprovalId, Id as _};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_model::view::ApprovalRow;
use throughline_store::port::{Answer, Ask};
use utoipa::IntoParams;

use crate::app::{Shared, mismatch, task_ref};
use crate::auth::Caller;
use crate::extract::{Json, Path, Query};
use crate::problem::Refusal;
use crate::wire;

/// Which approvals.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// `pending`, the only list there is.
    state: Option<String>,
}

/// What nobody has decided.
#[utoipa::path(get, path = "/api/v1/approvals", tag = "approvals", params(ListQuery),
    responses((status = 200, description = "The pending ones", body = ApprovalList)))]
pub(super) async fn list(
    State(app): State<Shared>,
    _caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<ApprovalList>, Refusal> {
    if query.state.as_deref().is_some_and(|state| state != "pending") {
        return Err(Refusal::invalid("invalid_query", "only `state=pending` can be listed"));
    }
    Ok(axum::Json(ApprovalList { approvals: pending(&app).await? }))
}

/// The pending ones, oldest first.
pub(super) async fn pending(app: &Shared) -> Result<Vec<Approval>, Refusal> {
    let rows = match app.ask(Ask::PendingApprovals).await? {
        Answer::Approvals(rows) => rows,
        other => return Err(mismatch(&other)),
    };
    let mut approvals = Vec::with_capacity(rows.len());
    for row in &rows {
        approvals.push(shown(app, row).await?);
    }
    Ok(approvals)
}

/// One approval, pending or settled.
#[utoipa::path(get, path = "/api/v1/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, description = "The approval", body = Approval)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Approval>, Refusal> {
    let row = row_for(&app, caller, &id).await?;
    shown(&app, &row).await.map(axum::Json)
}

/// Says yes or no to exactly what was shown.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/decision", tag = "approvals", request_body = DecideApproval,
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, description = "It is decided", body = Approval)))]
pub(super) async fn decide(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(decision): Json<DecideApproval>,
) -> Result<axum::Json<Approval>, Refusal> {
    let row = row_for(&app, caller, &id).await?;
    // An answer that does not fit a settled request is still an answer to a settled request.
    if row.state != "pending" {
        let detail = format!("the approval is settled: {}", row.state);
        return Err(Refusal::new("approval_settled", detail, "`tl status` shows what waits now"));
    }
    let command = TaskCommand::DecideApproval {
        approval: row.id,
        verdict: verdict(&row, &decision.option)?,
        by: caller.person,
        digest: Some(decision.digest),
        reason: decision.reason,
    };
    app.engine.send(StreamId::Task(row.task), Command::Task(command)).await?;
    let row = row_for(&app, caller, &id).await?;
    shown(&app, &row).await.map(axum::Json)
}

/// What an option means. The agent's *always* options are never given: rules are ours (DESIGN §8).
fn verdict(row: &ApprovalRow, option: &str) -> Result<Verdict, Refusal> {
    let kind = row.approval.options.iter().find(|known| known.id == option).map(|known| known.kind);
    match (kind, option) {
        (Some(OptionKind::AllowOnce), _) => Ok(Verdict::Approve),
        (Some(OptionKind::RejectOnce), _) => Ok(Verdict::Deny),
        (None, "allow") => Ok(Verdict::Approve),
        (None, "deny") => Ok(Verdict::Deny),
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
    app.row_for(caller.person, &row.task.to_string()).await?;
    Ok(row)
}

async fn shown(app: &Shared, row: &ApprovalRow) -> Result<Approval, Refusal> {
    let task = match app.ask(Ask::Task(row.task)).await? {
        Answer::Task(Some(task)) => task_ref(&task),
        Answer::Task(None) => TaskRef { id: row.task.uuid(), key: row.task.to_string() },
        other => return Err(mismatch(&other)),
    };
    Ok(wire::approval(&row.approval, task, &row.state, row.asked_at))
}
