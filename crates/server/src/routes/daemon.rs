//! The daemon itself: where things stand, who answers, how to stop it.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use serde::Deserialize;
use throughline_api::daemon::{RunningKeeper, Status, StopDaemon, Stopping, Version};
use throughline_api::message::Reply;
use throughline_model::ids::{Id as _, TaskId};
use throughline_model::time::Timestamp;
use throughline_model::view::TaskRow;
use throughline_store::port::{TaskPlace, TaskQuery};
use utoipa::IntoParams;

use super::{approvals, tasks};
use crate::app::Shared;
use crate::auth::{Caller, Peer};
use crate::extract::{Json, Query};
use crate::problem::Refusal;
use crate::wire;

const URGENT: usize = 50;
const RESTING: usize = 10;
/// The last rank that needs a person, and the last that runs or waits in line.
const NEEDS: u8 = 3;
const RUNS: u8 = 5;

/// Which task.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatusQuery {
    /// The task's key or id; all of them if left out.
    task: Option<String>,
}

/// Where things stand: all of them, or one task. From the record; no agent is woken.
#[utoipa::path(get, path = "/api/v1/status", tag = "daemon",
    params(StatusQuery, ("locale" = Option<String>, Query, description = "The language of what is rendered: a BCP-47 tag")),
    responses((status = 200, description = "What needs a person, what runs, what rests", body = Status)))]
pub(super) async fn status(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<StatusQuery>,
) -> Result<axum::Json<Status>, Refusal> {
    if let Some(key) = &query.task {
        return one(&app, caller, key).await.map(axum::Json);
    }
    // Read before the rest: following from here may repeat what is shown, and never misses anything.
    let cursor = app.cursor(app.head().await?);
    let urgent = TaskQuery { needs_person: true, limit: URGENT, ..TaskQuery::default() };
    let needs = app.engine.tasks_of(caller.person, urgent).await?;
    let mut running = after(&app, caller, NEEDS, URGENT).await?;
    running.retain(|row| row.activity.rank() <= RUNS);
    let resting = after(&app, caller, RUNS, RESTING).await?;
    Ok(axum::Json(Status {
        needs_me: tasks::summaries(&app, caller.locale, &needs).await?,
        running: tasks::summaries(&app, caller.locale, &running).await?,
        resting: tasks::summaries(&app, caller.locale, &resting).await?,
        approvals: approvals::pending(&app, caller).await?,
        reply: Some(standing(&app, caller, None).await?),
        projects: app.projects().await?.len(),
        cursor,
    }))
}

/// The same for one task.
async fn one(app: &Shared, caller: Caller, key: &str) -> Result<Status, Refusal> {
    let cursor = app.cursor(app.head().await?);
    let row = app.row_for(caller.person, key).await?;
    let here =
        |first: u8, last: u8| (first..=last).contains(&row.activity.rank()).then(|| row.clone()).into_iter().collect();
    let (needs, running, resting): (Vec<TaskRow>, Vec<_>, Vec<_>) =
        (here(0, NEEDS), here(NEEDS + 1, RUNS), here(RUNS + 1, u8::MAX));
    let mut pending = approvals::pending(app, caller).await?;
    pending.retain(|approval| approval.task.id == row.id.uuid());
    Ok(Status {
        needs_me: tasks::summaries(app, caller.locale, &needs).await?,
        running: tasks::summaries(app, caller.locale, &running).await?,
        resting: tasks::summaries(app, caller.locale, &resting).await?,
        approvals: pending,
        reply: Some(standing(app, caller, Some(row.id)).await?),
        projects: app.projects().await?.len(),
        cursor,
    })
}

async fn standing(app: &Shared, caller: Caller, task: Option<TaskId>) -> Result<Reply, Refusal> {
    let reply = app.engine.standing(caller.person, caller.locale, task).await?;
    Ok(wire::reply(&reply, |seq| app.cursor(seq)))
}

/// Tasks after all of this rank.
async fn after(app: &Shared, caller: Caller, rank: u8, limit: usize) -> Result<Vec<TaskRow>, Refusal> {
    let end =
        TaskPlace { rank, updated_at: Timestamp::from_millis(i64::MIN), id: TaskId::from_uuid(uuid::Uuid::nil()) };
    Ok(app.engine.tasks_of(caller.person, TaskQuery { after: Some(end), limit, ..TaskQuery::default() }).await?)
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
