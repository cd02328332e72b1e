//! A task's transcript, whole.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use serde::Deserialize;
use throughline_api::export::ExportFormat;
use utoipa::IntoParams;

use super::tasks;
use crate::app::Shared;
use crate::auth::Caller;
use crate::export::{Export, Sink};
use crate::extract::{Path, Query};
use crate::problem::Refusal;

/// What to write it in.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// `md` unless told.
    #[serde(default)]
    format: ExportFormat,
}

/// A task's whole timeline as one document, oldest entry first. What happens meanwhile is not part of it.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/export", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), ExportQuery),
    responses((status = 200, description = "The transcript, as it is read",
        content((String = "text/markdown"), (String = "application/x-ndjson")))))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    app.engine.open_imported(row.id).await?;
    let row = app.row(&row.id.to_string()).await?;
    let until = app.head().await?;
    let (sink, kind) = match query.format {
        ExportFormat::Md => {
            (Sink::markdown(tasks::whole(&app, caller.locale, &row).await?), "text/markdown; charset=utf-8")
        }
        ExportFormat::Jsonl => (Sink::Lines, "application/x-ndjson"),
    };
    let mut response = Response::new(Body::from_stream(Export::new(app, row.id, until, sink).into_stream()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
