//! A task's timeline, by pages, and what its turns changed.

use axum::extract::State;
use serde::Deserialize;
use throughline_api::diff::{Changes, TurnDiff};
use throughline_api::timeline::TimelinePage;
use throughline_model::ids::{ExecutionId, TurnId};
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Path, Query};
use crate::problem::Refusal;
use crate::{timeline, wire};

const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// The last page's `before`; the newest page if left out.
    before: Option<String>,
    /// How many entries at most: 50 unless told, never more than 200.
    limit: Option<usize>,
}

/// A page of a task's timeline. The newest page comes first, its entries oldest first.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/timeline", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), PageQuery),
    responses((status = 200, description = "The page", body = TimelinePage)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<TimelinePage>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    app.engine.open_imported(row.id).await?;
    let before = match &query.before {
        Some(cursor) => Some(app.place(cursor).await?),
        None => None,
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let page = timeline::page(app.engine.store().as_ref(), &app.feed.encoder, row.id, before, limit).await?;
    Ok(axum::Json(page))
}

/// Whose changes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ChangesQuery {
    /// The id of one execution; the whole task if left out.
    execution: Option<String>,
}

/// What the task, or one execution of it, changed in its workspace from its first turn to its last.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/changes", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), ChangesQuery),
    responses((status = 200, description = "The diff", body = Changes)))]
pub(super) async fn changes(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(query): Query<ChangesQuery>,
) -> Result<axum::Json<Changes>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let wrong = |_| Refusal::invalid("invalid_query", "`execution` is not an id");
    let execution: Option<ExecutionId> = query.execution.as_deref().map(str::parse).transpose().map_err(wrong)?;
    let changes = app.engine.changes(row.id, execution).await?;
    Ok(axum::Json(wire::changes(changes)))
}

/// Which turn.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    /// The turn's id; the newest one that ended if left out.
    turn: Option<String>,
}

/// What a turn changed in its workspace.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/diff", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), DiffQuery),
    responses((status = 200, description = "The diff", body = TurnDiff)))]
pub(super) async fn diff(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(query): Query<DiffQuery>,
) -> Result<axum::Json<TurnDiff>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let turn: TurnId = match &query.turn {
        Some(turn) => turn.parse().map_err(|_| Refusal::invalid("invalid_query", "`turn` is not an id"))?,
        None => app.engine.last_turn(row.id).await?,
    };
    let diff = app.engine.turn_diff(row.id, turn).await?;
    Ok(axum::Json(wire::turn_diff(diff)))
}
