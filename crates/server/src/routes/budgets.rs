//! Budgets: how much a task may use before a person is asked again.

use axum::extract::State;
use throughline_api::budget::{Budget, Caps};
use throughline_model::command::Command;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;

use crate::app::{Shared, task_ref};
use crate::auth::Caller;
use crate::extract::{Json, Path};
use crate::problem::Refusal;
use crate::wire;

/// How much the task may use, and has used.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/budget", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The budget", body = Budget)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<Budget>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &key))?;
    Ok(axum::Json(wire::budget(&task.budget, task_ref(&row))))
}

/// Says how much the task may use from now on; nothing means no bound. When it is used up, nothing more starts until a
/// person says so.
#[utoipa::path(put, path = "/api/v1/tasks/{key}/budget", tag = "tasks", request_body = Caps,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It counts from now on", body = Budget)))]
pub(super) async fn put(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(caps): Json<Caps>,
) -> Result<axum::Json<Budget>, Refusal> {
    if [caps.cost, caps.minutes].into_iter().flatten().any(|amount| !amount.is_finite() || amount <= 0.0) {
        return Err(Refusal::invalid("invalid_body", "cost and minutes have to be more than nothing"));
    }
    let command = TaskCommand::SetBudget { caps: wire::caps_of(caps), by: caller.person };
    change(app, caller, key, command).await
}

/// Goes on with as much again.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/budget/extend", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "What waited goes on", body = Budget)))]
pub(super) async fn extend(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<Budget>, Refusal> {
    change(app, caller, key, TaskCommand::ExtendBudget { by: caller.person }).await
}

async fn change(app: Shared, caller: Caller, key: String, command: TaskCommand) -> Result<axum::Json<Budget>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    app.engine.send(StreamId::Task(row.id), Command::Task(command)).await?;
    get(State(app), caller, Path(key)).await
}
