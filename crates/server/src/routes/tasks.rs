//! Tasks: the list, one with all that is under it, and what can be done to it.

use std::collections::HashMap;

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use throughline_api::task::{AddExecution, AnswerQuestion, PinNote, SwitchTo, Task, TaskChange, TaskPage, TaskSummary};
use throughline_model::command::Command;
use throughline_model::event::Seq;
use throughline_model::ids::{ExecutionId, Id as _, ProjectId, QuestionId};
use throughline_model::present::Locale;
use throughline_model::present::card::Around;
use throughline_model::question::Answer;
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_model::time::Timestamp;
use throughline_model::view::TaskRow;
use throughline_store::port::{TaskPlace, TaskQuery};
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path, Query};
use crate::problem::Refusal;
use crate::wire;

const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// Which tasks to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Closed and archived ones too.
    #[serde(default)]
    all: bool,
    /// Only those that wait for a person.
    #[serde(default)]
    needs_me: bool,
    /// Only of this project: its id or name.
    project: Option<String>,
    /// The last page's `next`.
    after: Option<String>,
    /// How many at most: 50 unless told, never more than 200.
    limit: Option<usize>,
}

/// A page of tasks, most urgent first, then most recent.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", params(ListQuery),
    responses((status = 200, description = "The page", body = TaskPage)))]
pub(super) async fn list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<TaskPage>, Refusal> {
    let projects = match &query.project {
        Some(name) => vec![app.project(name).await?.id],
        None => vec![],
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let after = query.after.as_deref().map(decode_place).transpose()?;
    let wanted = TaskQuery { projects, all: query.all, needs_person: query.needs_me, after, limit: limit + 1 };
    let mut rows = app.engine.tasks_of(caller.person, wanted).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(encode_place);
    Ok(axum::Json(TaskPage { tasks: summaries(&app, caller.locale, &rows).await?, next }))
}

/// Rows as clients see them, with the names of their projects.
pub(super) async fn summaries(app: &Shared, locale: Locale, rows: &[TaskRow]) -> Result<Vec<TaskSummary>, Refusal> {
    let names: HashMap<ProjectId, String> = match rows.is_empty() {
        true => HashMap::new(),
        false => app.projects().await?.into_iter().map(|project| (project.id, project.name)).collect(),
    };
    let name = |row: &TaskRow| names.get(&row.project).map_or("", String::as_str);
    Ok(rows.iter().map(|row| wire::summary(locale, row, name(row))).collect())
}

/// A task, by its key or id, with all that is under it.
#[utoipa::path(get, path = "/api/v1/tasks/{key}", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The task", body = Task)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<Task>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    app.engine.open_imported(row.id).await?;
    let row = app.row(&row.id.to_string()).await?;
    whole(&app, caller.locale, &row).await.map(axum::Json)
}

/// The task of a row.
pub(super) async fn whole(app: &Shared, locale: Locale, row: &TaskRow) -> Result<Task, Refusal> {
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &row.key))?;
    let projects = app.projects().await?;
    let name = projects.iter().find(|project| project.id == row.project).map_or("", |project| project.name.as_str());
    Ok(wire::task(locale, &task, row, Around { project: name, now: app.engine.now() }))
}

/// Sends a command to a task on behalf of the caller, and answers with what it is now.
pub(super) async fn change(
    app: &Shared,
    caller: Caller,
    key: &str,
    command: TaskCommand,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let row = app.row_for(caller.person, key).await?;
    let head = app.head().await?;
    let recorded = app.engine.send(StreamId::Task(row.id), Command::Task(command)).await?;
    // From just before it, so that who follows sees the change itself.
    let before = recorded.first().map_or(head, |first| Seq(first.seq.0.saturating_sub(1)));
    let row = app.row(&row.id.to_string()).await?;
    Ok(axum::Json(TaskChange {
        task: whole(app, caller.locale, &row).await?,
        cursor: app.cursor(before),
        read_only: None,
    }))
}

/// Stops what runs.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/cancel", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The running turn was asked to stop", body = TaskChange)))]
pub(super) async fn cancel(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Cancel).await
}

/// Runs the last turn again.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/retry", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It runs again, as a new turn", body = TaskChange)))]
pub(super) async fn retry(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Retry { person: caller.person, execution: None }).await
}

/// The person is done with it.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/close", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It is closed", body = TaskChange)))]
pub(super) async fn close(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Close { person: caller.person }).await
}

/// The person puts it away: retention may take what is large about it. Its record stays.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/archive", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It is archived", body = TaskChange)))]
pub(super) async fn archive(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Archive { person: caller.person }).await
}

/// The person goes on with it.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/reopen", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It is open", body = TaskChange)))]
pub(super) async fn reopen(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Reopen).await
}

/// Drops the provider's context: the next message starts a new runtime session that knows nothing of the old one.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/fresh", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The next message starts anew", body = TaskChange)))]
pub(super) async fn fresh(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    change(&app, caller, &key, TaskCommand::Fresh).await
}

/// Adds an agent in a role. It replaces nobody.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/executions", tag = "tasks", request_body = AddExecution,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It joined", body = TaskChange)))]
pub(super) async fn add_execution(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(add): Json<AddExecution>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &key))?;
    let agent = app.engine.installed_agent(&add.agent, task.project).await?;
    // Derived, so that two who add the same at the same moment add one.
    let execution =
        ExecutionId::derive(row.id.uuid(), &format!("added:{}:{agent}:{}", task.executions.len(), add.role.word()));
    let role = wire::role_of(add.role);
    let read_only = wire::read_only(app.engine.write_access(&agent, role));
    let worktree = match add.worktree {
        true => Some(app.engine.worktree((task.project, &task.site), execution, caller.person).await?),
        false => None,
    };
    let mut added = change(&app, caller, &key, TaskCommand::AddExecution { execution, agent, role, worktree }).await?;
    added.0.read_only = read_only;
    Ok(added)
}

/// Is done with one execution: its turn is stopped, its process ends, and the task goes on with whoever is left.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/executions/{id}/dismiss", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"),
        ("id" = String, Path, description = "The execution's id")),
    responses((status = 200, description = "It is dismissed, or will be when its turn has stopped", body = TaskChange)))]
pub(super) async fn dismiss(
    State(app): State<Shared>,
    caller: Caller,
    Path((key, id)): Path<(String, String)>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let execution: ExecutionId = id.parse().map_err(|_| Refusal::not_found("execution", &id))?;
    change(&app, caller, &key, TaskCommand::Dismiss { execution }).await
}

/// Goes on with another agent, which takes over with a brief, or with another model.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/switch", tag = "tasks", request_body = SwitchTo,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The next message goes there", body = TaskChange)))]
pub(super) async fn switch(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(to): Json<SwitchTo>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    if to.agent.is_none() && to.model.is_none() {
        return Err(Refusal::invalid("invalid_body", "neither an agent nor a model is named"));
    }
    let row = app.row_for(caller.person, &key).await?;
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &key))?;
    let agent = match to.agent {
        Some(agent) => Some(app.engine.installed_agent(&agent, task.project).await?),
        None => None,
    };
    let name = format!("switched:{}:{}", task.executions.len(), agent.as_deref().unwrap_or_default());
    let execution = ExecutionId::derive(row.id.uuid(), &name);
    change(&app, caller, &key, TaskCommand::Switch { execution, agent, model: to.model }).await
}

/// Answers the question that the running turn waits with, or declines to.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/answer", tag = "tasks", request_body = AnswerQuestion,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The agent is told", body = TaskChange)))]
pub(super) async fn answer(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(given): Json<AnswerQuestion>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let answer = match (given.text, given.content, given.decline) {
        (Some(text), None, false) => Answer::Words { text },
        (None, Some(content), false) => Answer::Form { content },
        (None, None, true) => Answer::Decline,
        _ => return Err(Refusal::invalid("invalid_body", "one of `text`, `content` and `decline` is needed")),
    };
    let row = app.row_for(caller.person, &key).await?;
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &key))?;
    let waiting = || task.executions.iter().find_map(|execution| execution.question()).map(|question| question.id);
    let question = given.question.map(QuestionId::from_uuid).or_else(waiting);
    let question = question.ok_or_else(|| throughline_engine::EngineError::from(Rejection::QuestionSettled))?;
    change(&app, caller, &key, TaskCommand::AnswerQuestion { question, answer, by: caller.person }).await
}

/// Pins a note: it is part of every handoff.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/notes", tag = "tasks", request_body = PinNote,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "It is pinned", body = TaskChange)))]
pub(super) async fn pin_note(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(note): Json<PinNote>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    if note.text.trim().is_empty() {
        return Err(Refusal::new("empty_message", "the note is empty", "write something"));
    }
    change(&app, caller, &key, TaskCommand::PinNote { person: caller.person, text: note.text }).await
}

/// The place of a row in the list, opaque to clients.
fn encode_place(row: &TaskRow) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}.{}.{}", row.activity.rank(), row.updated_at.millis(), row.id))
}

fn decode_place(text: &str) -> Result<TaskPlace, Refusal> {
    let parse = || {
        let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut parts = plain.splitn(3, '.');
        let rank = parts.next()?.parse().ok()?;
        let updated_at = Timestamp::from_millis(parts.next()?.parse().ok()?);
        let id = parts.next()?.parse().ok()?;
        Some(TaskPlace { rank, updated_at, id })
    };
    parse().ok_or_else(|| {
        Refusal::new("cursor_expired", "this is not a place in the list", "start again with the first page")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_nobody_gave_out_is_refused() {
        for text in ["", "!", "abc", "MS4y", "MS4yLng"] {
            assert!(decode_place(text).is_err(), "{text}");
        }
    }
}
