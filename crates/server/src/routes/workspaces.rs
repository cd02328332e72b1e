//! What can be done to a task's workspace outside of turns.

use axum::extract::State;
use throughline_api::workspace::{RestoreTo, Restored, TurnList};
use throughline_engine::RestorePoint;
use throughline_model::checkpoint::CheckpointSide;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path, Query};
use crate::problem::Refusal;
use crate::wire;

/// The turns of a task, and which of their checkpoints stand.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/turns", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The turns, oldest first", body = TurnList)))]
pub(super) async fn turns(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TurnList>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let turns = app.engine.turns(row.id).await?;
    Ok(axum::Json(TurnList { turns: turns.iter().map(wire::past_turn).collect() }))
}

/// What a restore would do. It changes nothing.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/restore", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), RestoreTo),
    responses((status = 200, description = "What would change", body = Restored)))]
pub(super) async fn preview_restore(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(to): Query<RestoreTo>,
) -> Result<axum::Json<Restored>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let restoration = app.engine.preview_restore(row.id, point(&to)?).await?;
    Ok(axum::Json(wire::restored(&restoration, false)))
}

/// Brings the workspace back to a checkpoint. The present is kept first; `undo` brings it back.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/restore", tag = "tasks", request_body = RestoreTo,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It is done", body = Restored)))]
pub(super) async fn restore(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(to): Json<RestoreTo>,
) -> Result<axum::Json<Restored>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let restoration = app.engine.restore(row.id, caller.person, point(&to)?).await?;
    Ok(axum::Json(wire::restored(&restoration, true)))
}

fn point(to: &RestoreTo) -> Result<RestorePoint, Refusal> {
    if to.undo {
        if to.turn.is_some() || to.before {
            return Err(Refusal::invalid("invalid_query", "`undo` goes with no turn"));
        }
        return Ok(RestorePoint::Undo);
    }
    let turn = to.turn.as_deref().map(str::parse).transpose()?;
    let side = if to.before { CheckpointSide::Before } else { CheckpointSide::After };
    Ok(RestorePoint::Turn { turn, side })
}
