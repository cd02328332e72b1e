//! The event stream.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Refusal;
use crate::sse::{self, Wish};

/// Where to start, and of which task.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Everything after this cursor; from now on if left out.
    after: Option<String>,
    /// Only of this task: its key or id.
    task: Option<String>,
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
    let task = match &query.task {
        Some(name) => Some(app.row_for(caller.person, name).await?.id),
        None => None,
    };
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let after = match last.filter(|id| !id.is_empty()).or(query.after) {
        Some(cursor) => app.place(&cursor).await?,
        None => app.head().await?,
    };
    let mut response = Response::new(sse::body(app, Wish { after, task }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
