//! A task's timeline, by pages.

use axum::extract::State;
use serde::Deserialize;
use throughline_api::timeline::TimelinePage;
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Path, Query};
use crate::problem::Refusal;
use crate::timeline;

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
    let before = match &query.before {
        Some(cursor) => Some(app.place(cursor).await?),
        None => None,
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let page = timeline::page(app.engine.store().as_ref(), &app.feed.encoder, row.id, before, limit).await?;
    Ok(axum::Json(page))
}
