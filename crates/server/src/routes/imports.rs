//! Native sessions that were begun elsewhere: the list, and making one a task.

use axum::extract::State;
use serde::Deserialize;
use throughline_api::import::{ImportNative, ImportedTask, NativeSession, NativeSessionList};
use throughline_model::content::one_line;
use utoipa::IntoParams;

use crate::app::{Shared, task_ref};
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Refusal;
use crate::wire;

/// How much of what was said first a list shows.
const TITLE_CHARS: usize = 80;

/// Of which agent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only of this agent.
    agent: Option<String>,
}

/// Native sessions that can be imported, or were, newest first. Only the heads of their files are read.
#[utoipa::path(get, path = "/api/v1/native-sessions", tag = "imports", params(ListQuery),
    responses((status = 200, description = "The sessions", body = NativeSessionList)))]
pub(super) async fn list(
    State(app): State<Shared>,
    _caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<NativeSessionList>, Refusal> {
    let found = app.engine.native_sessions(query.agent.as_deref()).await?;
    let native_sessions = found
        .into_iter()
        .map(|session| NativeSession {
            agent: session.agent,
            id: session.id,
            title: one_line(&session.title, TITLE_CHARS),
            folder: session.folder.display().to_string(),
            updated_at: wire::moment(session.updated_at),
            task: session.task.as_ref().map(task_ref),
            warning: session.warning,
        })
        .collect();
    Ok(axum::Json(NativeSessionList { native_sessions }))
}

/// Makes a native session a task of the project that its folder is. The next message resumes it.
#[utoipa::path(post, path = "/api/v1/imports", tag = "imports", request_body = ImportNative,
    responses((status = 200, description = "The task", body = ImportedTask)))]
pub(super) async fn import(
    State(app): State<Shared>,
    caller: Caller,
    Json(import): Json<ImportNative>,
) -> Result<axum::Json<ImportedTask>, Refusal> {
    let imported = app.engine.import(caller.person, import.agent.as_deref(), &import.id).await?;
    Ok(axum::Json(ImportedTask {
        task: task_ref(&imported.task),
        title: imported.task.title,
        repeated: imported.repeated,
        warning: imported.warning,
    }))
}
