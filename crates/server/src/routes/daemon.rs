//! The daemon itself: where things stand, who answers, how to stop it.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use throughline_api::daemon::{RunningKeeper, Status, StopDaemon, Stopping, Version};
use throughline_model::ids::{Id as _, TaskId};
use throughline_model::time::Timestamp;
use throughline_model::view::TaskRow;
use throughline_store::port::{TaskPlace, TaskQuery};

use super::{approvals, tasks};
use crate::app::Shared;
use crate::auth::{Caller, Peer};
use crate::extract::Json;
use crate::problem::Refusal;

const URGENT: usize = 50;
const RESTING: usize = 10;
/// The last rank that needs a person, and the last that runs or waits in line.
const NEEDS: u8 = 3;
const RUNS: u8 = 5;

/// Where things stand.
#[utoipa::path(get, path = "/api/v1/status", tag = "daemon",
    responses((status = 200, description = "What needs a person, what runs, what rests", body = Status)))]
pub(super) async fn status(State(app): State<Shared>, _caller: Caller) -> Result<axum::Json<Status>, Refusal> {
    // Read before the rest: following from here may repeat what is shown, and never misses anything.
    let cursor = app.cursor(app.head().await?);
    let needs =
        app.engine.store().tasks(TaskQuery { needs_person: true, limit: URGENT, ..TaskQuery::default() }).await?;
    let mut running = after(&app, NEEDS, URGENT).await?;
    running.retain(|row| row.activity.rank() <= RUNS);
    let resting = after(&app, RUNS, RESTING).await?;
    Ok(axum::Json(Status {
        needs_me: tasks::summaries(&app, &needs).await?,
        running: tasks::summaries(&app, &running).await?,
        resting: tasks::summaries(&app, &resting).await?,
        approvals: approvals::pending(&app).await?,
        projects: app.projects().await?.len(),
        cursor,
    }))
}

/// Tasks after all of this rank.
async fn after(app: &Shared, rank: u8, limit: usize) -> Result<Vec<TaskRow>, Refusal> {
    let end =
        TaskPlace { rank, updated_at: Timestamp::from_millis(i64::MIN), id: TaskId::from_uuid(uuid::Uuid::nil()) };
    Ok(app.engine.store().tasks(TaskQuery { after: Some(end), limit, ..TaskQuery::default() }).await?)
}

/// Who answers.
#[utoipa::path(get, path = "/api/v1/version", tag = "daemon",
    responses((status = 200, description = "The daemon's version and process", body = Version)))]
pub(super) async fn version(State(app): State<Shared>, _caller: Caller) -> axum::Json<Version> {
    axum::Json(app.version.clone())
}

/// Stops the daemon. Only over the Unix socket.
#[utoipa::path(post, path = "/api/v1/daemon/stop", tag = "daemon", request_body = StopDaemon,
    responses((status = 200, description = "It is stopping", body = Stopping)))]
pub(super) async fn stop(
    State(app): State<Shared>,
    caller: Caller,
    Json(stop): Json<StopDaemon>,
) -> Result<axum::Json<Stopping>, Refusal> {
    if caller.peer == Peer::Tcp {
        return Err(Refusal::new(
            "local_only",
            "the daemon is only stopped over its Unix socket",
            "use `tl down` on its machine",
        ));
    }
    let running = app
        .engine
        .running()
        .await
        .into_iter()
        .map(|keeper| RunningKeeper { pid: keeper.pid, task: keeper.task })
        .collect();
    app.stop.send_replace(Some(stop.keepers));
    Ok(axum::Json(Stopping { pid: app.version.pid, running }))
}

/// This document.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "daemon",
    responses((status = 200, description = "The OpenAPI document", content_type = "application/json")))]
pub(super) async fn openapi(State(app): State<Shared>, _caller: Caller) -> Response {
    let mut response = app.openapi.clone().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
