//! What can be done to a task's workspace outside of turns, and forks.

use axum::extract::State;
use serde::Deserialize;
use throughline_api::task::{TaskChange, TaskRef};
use throughline_api::workspace::{Comparison, Discarded, ForkTask, RestoreTo, Restored, Taken, TurnList};
use throughline_engine::{EngineError, ForkWish, Message, RestorePoint};
use throughline_model::checkpoint::CheckpointSide;
use throughline_model::content::ContentBlock;
use throughline_model::execution::{Execution, ExecutionEnd};
use throughline_model::ids::{ExecutionId, Id as _, TaskId};
use throughline_model::input::Urgency;
use throughline_model::rejection::Rejection;
use throughline_model::route::Stated;
use throughline_model::task::Lifecycle;
use utoipa::IntoParams;

use super::tasks;
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

/// Tries another way from where a task stands, or stood after a turn: a new task with a workspace of its own.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/fork", tag = "tasks", request_body = ForkTask,
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 200, description = "The fork; its workspace is being prepared", body = TaskChange)))]
pub(super) async fn fork(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Json(wanted): Json<ForkTask>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let head = app.head().await?;
    let wish = ForkWish {
        person: caller.person,
        source: row.id,
        turn: wanted.turn.as_deref().map(str::parse).transpose()?,
        agent: wanted.agent,
        title: wanted.text.clone(),
    };
    let fork = app.engine.fork(&wish, None).await?;
    if let Some(text) = wanted.text {
        say(&app, caller, fork, text).await?;
    }
    let row = app.row(&fork.to_string()).await?;
    let task = tasks::whole(&app, caller.locale, &row).await?;
    Ok(axum::Json(TaskChange { task, cursor: app.cursor(head), read_only: None }))
}

/// The first words to a fork, in the conversation that its source is talked about in.
async fn say(app: &Shared, caller: Caller, fork: TaskId, text: String) -> Result<(), Refusal> {
    let state = app.engine.task(fork).await?.ok_or_else(|| Refusal::not_found("task", &fork.to_string()))?;
    let Some(conversation) = state.conversations.first().copied() else {
        return Err(Refusal::not_found("conversation", &fork.to_string()));
    };
    let message = Message {
        person: caller.person,
        conversation,
        content: vec![ContentBlock::text(text)],
        stated: Stated { task: Some(fork), ..Stated::default() },
        reply_to: None,
        project: None,
        urgency: Urgency::InTurn,
        idempotency: None,
        brought: None,
    };
    app.engine.say(message).await?;
    Ok(())
}

/// Whose worktree.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhoseQuery {
    /// The agent that works there; needed where several executions have one.
    agent: Option<String>,
}

impl WhoseQuery {
    /// The execution of this agent that has a worktree of its own.
    async fn execution(&self, app: &Shared, task: TaskId) -> Result<Option<ExecutionId>, Refusal> {
        let Some(agent) = &self.agent else { return Ok(None) };
        let agent = app.engine.agent_name(agent)?;
        let task = app.engine.task(task).await?.ok_or_else(|| Refusal::not_found("task", &task.to_string()))?;
        // What somebody did who was dismissed can still be taken.
        let there = |known: &&Execution| matches!(known.ended, None | Some(ExecutionEnd::Cancelled));
        let known = task.executions.iter().rev().filter(there).filter(|known| known.agent == agent);
        let found = known.map(|known| known.id).find(|id| task.site.own(*id).is_some());
        found.map(Some).ok_or_else(|| EngineError::from(Rejection::NotAFork).into())
    }
}

/// Brings the changes of a fork, or of an execution's worktree, into the workspace that it comes from.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/take", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), WhoseQuery),
    responses((status = 200, description = "The changes are there; a fork is closed", body = Taken)))]
pub(super) async fn take(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(whose): Query<WhoseQuery>,
) -> Result<axum::Json<Taken>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let execution = whose.execution(&app, row.id).await?;
    let (into, taken) = app.engine.take(row.id, caller.person, execution).await?;
    let report = wire::restored(&taken, true);
    let into = TaskRef { id: into.uuid(), key: app.row(&into.to_string()).await?.key };
    Ok(axum::Json(Taken { into, files: report.files, kept: report.kept }))
}

/// Removes the folder of a fork, or of an execution's worktree. What was in it is kept, and comes back when it goes on.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/discard", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), WhoseQuery),
    responses((status = 200, description = "It is done with", body = Discarded)))]
pub(super) async fn discard(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(whose): Query<WhoseQuery>,
) -> Result<axum::Json<Discarded>, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let execution = whose.execution(&app, row.id).await?;
    let stays = app.engine.discard(row.id, caller.person, execution).await?;
    let state = app.engine.task(row.id).await?;
    Ok(axum::Json(Discarded {
        task: TaskRef { id: row.id.uuid(), key: row.key },
        closed: state.is_some_and(|task| task.lifecycle != Lifecycle::Open),
        removed: stays.is_none(),
        hint: stays.as_ref().and_then(|failure| failure.hint.clone()),
        stays: stays.map(|failure| failure.message),
    }))
}

/// The other task.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CompareQuery {
    /// Its key or id.
    with: String,
}

/// Two forks of one task, or a fork and its source, side by side.
#[utoipa::path(get, path = "/api/v1/tasks/{key}/compare", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id"), CompareQuery),
    responses((status = 200, description = "What each changed, and what differs", body = Comparison)))]
pub(super) async fn compare(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
    Query(query): Query<CompareQuery>,
) -> Result<axum::Json<Comparison>, Refusal> {
    let left = app.row_for(caller.person, &key).await?;
    let right = app.row_for(caller.person, &query.with).await?;
    Ok(axum::Json(wire::comparison(app.engine.compare(left.id, right.id).await?)))
}
