//! The event stream.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Refusal;
use crate::reader::Live;
use crate::sse::{self, Wish};
use crate::ws;

/// Where to start, and of which task.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Everything after this cursor; from now on if left out.
    after: Option<String>,
    /// Only of this task: its key or id.
    task: Option<String>,
    /// `false` leaves out text that is still being written.
    live: Option<bool>,
}

/// Server-Sent Events: `entry` with a cursor as its id, `live` without one, `ready` once at the start.
#[utoipa::path(get, path = "/api/v1/events", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<String>, Header, description = "The last cursor that was seen; wins over `after`")),
    responses((status = 200, description = "The stream", content_type = "text/event-stream", body = String)))]
pub(super) async fn stream(
    State(app): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Refusal> {
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let wish = wish(&app, caller, query, last).await?;
    let mut response = Response::new(sse::body(app, wish));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The same over WebSocket: each message is one event of that stream, as its text. What cannot be done is said by an
/// event `problem`, because a page does not see why a handshake failed.
#[utoipa::path(get, path = "/api/v1/events/ws", tag = "events", params(EventsQuery),
    responses((status = 101, description = "The stream")))]
pub(super) async fn socket(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade.map_err(|rejection| {
        Refusal::new("upgrade_required", rejection.body_text(), "connect with a WebSocket, or use GET /api/v1/events")
    })?;
    let place = Arc::clone(&app.room.sockets).try_acquire_owned().map_err(|_| {
        Refusal::new("too_many_sockets", "too many WebSockets are open", "close some pages, and try again")
    })?;
    let wish = wish(&app, caller, query, None).await;
    Ok(ws::serve(upgrade, app, wish, place))
}

async fn wish(app: &Shared, caller: Caller, query: EventsQuery, last: Option<String>) -> Result<Wish, Refusal> {
    let task = match &query.task {
        Some(name) => Some(app.row_for(caller.person, name).await?.id),
        None => None,
    };
    let after = match last.filter(|id| !id.is_empty()).or(query.after) {
        Some(cursor) => app.place(&cursor).await?,
        None => app.head().await?,
    };
    let live = if query.live == Some(false) { Live::Without } else { Live::With };
    Ok(Wish { after, task, live, login: caller.login })
}
