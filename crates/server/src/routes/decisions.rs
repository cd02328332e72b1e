//! Putting right what was made of a message.

use axum::extract::State;
use axum::response::Response;
use throughline_api::message::{Correct, Explain, Explained, SentMessage};
use throughline_engine::{Explain as Question, Meant};
use throughline_model::ids::DecisionId;

use super::{conversations, messages};
use crate::app::{Shared, task_ref};
use crate::auth::Caller;
use crate::extract::{Json, Path};
use crate::problem::Refusal;
use crate::wire;

/// Moves the message that a decision was about to where it was meant. The same again changes nothing.
#[utoipa::path(post, path = "/api/v1/decisions/{id}/correct", tag = "conversations", request_body = Correct,
    params(("id" = String, Path, description = "The decision's id")),
    responses((status = 201, description = "It is there now", body = SentMessage)))]
pub(super) async fn correct(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<Correct>,
) -> Result<Response, Refusal> {
    let decision: DecisionId = id.parse().map_err(|_| Refusal::not_found("decision", &id))?;
    moved(&app, caller, decision, &body).await
}

/// The same for the last message of a conversation.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/correct", tag = "conversations", request_body = Correct,
    params(("id" = String, Path, description = "A UUID, or a name of your own")),
    responses((status = 201, description = "It is there now", body = SentMessage)))]
pub(super) async fn correct_last(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<Correct>,
) -> Result<Response, Refusal> {
    let conversation = conversations::named(caller.person, &id)?;
    let last = app.engine.last_input(conversation, caller.person).await?;
    let last = last.ok_or_else(|| Refusal::not_found("message of this conversation", "the last"))?;
    moved(&app, caller, last.decision_id(), &body).await
}

/// What would be made of a message, and why. Nothing happens.
#[utoipa::path(post, path = "/api/v1/route/explain", tag = "conversations", request_body = Explain,
    responses((status = 200, description = "What would be done", body = Explained)))]
pub(super) async fn explain(
    State(app): State<Shared>,
    caller: Caller,
    Json(body): Json<Explain>,
) -> Result<axum::Json<Explained>, Refusal> {
    let reply_to = match &body.reply_to {
        Some(name) => Some(messages::reply_to(&app, name).await?),
        None => None,
    };
    let project = match &body.project {
        Some(name) => Some(app.project(name).await?.id),
        None => None,
    };
    let conversation = conversations::named(caller.person, body.conversation.as_deref().unwrap_or("explain"))?;
    let question = Question { person: caller.person, conversation, project, reply_to, text: body.text };
    let explained = app.engine.explain(question).await?;
    Ok(axum::Json(Explained {
        decision: wire::decision(&explained.decision),
        title: explained.task.as_ref().map(|task| task.title.clone()),
        task: explained.task.as_ref().map(task_ref),
        reply: explained.reply.as_ref().map(|reply| wire::reply(reply, |seq| app.cursor(seq))),
    }))
}

async fn moved(app: &Shared, caller: Caller, decision: DecisionId, body: &Correct) -> Result<Response, Refusal> {
    let meant = match (&body.task, body.new, body.undo) {
        (Some(task), false, false) => Meant::Task(app.row_for(caller.person, task).await?.id),
        (None, true, false) => Meant::New,
        (None, false, true) => Meant::Otherwise,
        _ => return Err(Refusal::invalid("invalid_body", "say one of `task`, `new` or `undo`")),
    };
    let before = app.head().await?;
    let said = app.engine.correct(caller.person, decision, meant, body.interrupt).await?;
    Ok(messages::answer(app, &said, &app.cursor(before)))
}
