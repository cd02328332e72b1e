//! Saying something, and taking it back.

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};
use throughline_api::content::{self as api, Blob};
use throughline_api::message::{Override, SendMessage, SentMessage};
use throughline_api::task::TaskChange;
use throughline_api::{CURSOR, IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED};
use throughline_engine::{EngineError, Idempotency, Message, Said};
use throughline_model::channel::Channel;
use throughline_model::content::{BlobRef, ContentBlock};
use throughline_model::context::ReplyTo;
use throughline_model::ids::{ApprovalId, ExecutionId, Id as _, InputId, ProjectId};
use throughline_model::input::Urgency;
use throughline_model::rejection::Rejection;
use throughline_model::route::Stated;
use throughline_model::task::TaskCommand;
use throughline_store::port::{Answer, Ask, Lookup};

use super::{conversations, tasks};
use crate::app::{Shared, task_ref};
use crate::auth::Caller;
use crate::extract::{self, Limit, Path};
use crate::problem::Refusal;
use crate::wire;

/// A message's text is at most 1 MiB, and JSON may write each byte as six.
const BODY: Limit = Limit {
    bytes: 8 * 1024 * 1024,
    code: "message_too_large",
    hint: "put it into a file and attach that: POST /api/v1/blobs, or tl say --attach FILE",
};
/// The longest key that is kept.
const KEY_BYTES: usize = 255;

/// Says something. It is durable, with what was made of it, when the answer comes.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/messages", tag = "conversations", request_body = SendMessage,
    params(("id" = String, Path, description = "A UUID, or a name of your own; opened if it is not there"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the same answer; with another body 409")),
    responses((status = 201, description = "It was received", body = SentMessage)))]
pub(super) async fn send(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let conversation = conversations::named(caller.person, &id)?;
    let key = idempotency_key(request.headers())?;
    let message: SendMessage = extract::json(request, BODY).await?;
    let idempotency = match key {
        Some(key) => Some(Idempotency { key, digest: digest(&message)? }),
        None => None,
    };
    let place = place(&app, &message).await?;
    let before = app.head().await?;
    let message = Message {
        person: caller.person,
        conversation,
        urgency: if message.interrupt { Urgency::Interrupt } else { Urgency::InTurn },
        content: content(message)?,
        stated: place.stated,
        reply_to: place.reply_to,
        project: place.project,
        idempotency,
        brought: None,
    };
    let said = say(&app, message).await?;
    tracing::Span::current().record("input", tracing::field::display(said.input.id));
    Ok(answer(&app, &said, &app.cursor(before)))
}

/// Says it; a conversation that nobody opened is opened by its first message that can be taken.
async fn say(app: &Shared, message: Message) -> Result<Said, EngineError> {
    match app.engine.say(message.clone()).await {
        Err(EngineError::Rejected(Rejection::NotFound { what: "conversation" })) => {
            let Message { conversation, person, project, .. } = message;
            app.engine.open_conversation(conversation, Channel::Api, person, project).await?;
            app.engine.say(message).await
        }
        said => said,
    }
}

/// What the editor is asked when it is sent the findings of others.
const MEND: &str = "Mend what was found. The findings are attached.";

/// Sends what others found to the editor, with a fixed text. The same findings are sent once.
#[utoipa::path(post, path = "/api/v1/tasks/{key}/findings", tag = "tasks",
    params(("key" = String, Path, description = "The task's key or id")),
    responses((status = 201, description = "They were sent", body = SentMessage)))]
pub(super) async fn send_findings(
    State(app): State<Shared>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<Response, Refusal> {
    let row = app.row_for(caller.person, &key).await?;
    let task = app.engine.task(row.id).await?.ok_or_else(|| Refusal::not_found("task", &key))?;
    let writing = task.executions.iter().filter(|known| known.ended.is_none() && known.role.writes());
    let Some(editor) = writing.max_by_key(|known| known.primary) else {
        return Err(Refusal::not_found("editor", &key));
    };
    let findings = task.findings_for(editor.id);
    let (Some(newest), Some(conversation)) = (findings.last(), task.conversations.first()) else {
        return Err(EngineError::from(Rejection::NoFindings).into());
    };
    let stated =
        Stated { task: Some(row.id), agent: Some(editor.agent.clone()), role: Some(editor.role), ..Stated::default() };
    let before = app.head().await?;
    let message = Message {
        person: caller.person,
        conversation: *conversation,
        content: vec![ContentBlock::text(MEND)],
        stated,
        reply_to: None,
        project: None,
        urgency: Urgency::InTurn,
        idempotency: Some(Idempotency { key: format!("findings:{}:{newest}", editor.id), digest: String::new() }),
        brought: None,
    };
    Ok(answer(&app, &app.engine.say(message).await?, &app.cursor(before)))
}

/// What became of a message, as its sender is told.
pub(super) fn answer(app: &Shared, said: &Said, cursor: &str) -> Response {
    let sent = SentMessage {
        input: wire::input(&said.input),
        decision: wire::decision(&said.input.decision),
        task: said.task.as_ref().map(task_ref),
        turn: said.input.turn.map(throughline_model::ids::Id::uuid),
        reply: said.input.reply.as_ref().map(|reply| wire::reply(reply, |seq| app.cursor(seq))),
        repeated: said.repeated,
        cursor: None,
    };
    let mut response = (StatusCode::CREATED, axum::Json(sent)).into_response();
    let headers = response.headers_mut();
    if said.repeated {
        headers.insert(HeaderName::from_static(IDEMPOTENCY_REPLAYED), HeaderValue::from_static("true"));
    }
    if let Ok(cursor) = HeaderValue::from_str(cursor) {
        headers.insert(HeaderName::from_static(CURSOR), cursor);
    }
    response
}

/// Where a message goes, as far as the person stated it.
struct Place {
    stated: Stated,
    reply_to: Option<ReplyTo>,
    project: Option<ProjectId>,
}

async fn place(app: &Shared, message: &SendMessage) -> Result<Place, Refusal> {
    let Override { task, new, agent, role, execution, project, worktree } = message.stated.clone().unwrap_or_default();
    if worktree && !new {
        return Err(Refusal::invalid(
            "invalid_body",
            "`worktree` goes with `new`; `POST /tasks/{key}/executions` adds an agent",
        ));
    }
    let task = match task {
        Some(name) => Some(app.row(&name).await?.id),
        None => None,
    };
    let reply_to = match &message.reply_to {
        Some(name) => Some(reply_to(app, name).await?),
        None => None,
    };
    let project = match project {
        Some(name) => Some(app.project(&name).await?.id),
        None => None,
    };
    let (role, execution) = (role.map(wire::role_of), execution.map(ExecutionId::from_uuid));
    Ok(Place { stated: Stated { task, new, agent, role, execution, worktree }, reply_to, project })
}

/// What a message replies to: a request for approval by its id, else a task by its key or id.
pub(super) async fn reply_to(app: &Shared, name: &str) -> Result<ReplyTo, Refusal> {
    if let Ok(id) = name.parse::<ApprovalId>()
        && let Answer::Approvals(known) = app.ask(Ask::Approval(id)).await?
        && !known.is_empty()
    {
        return Ok(ReplyTo::Approval(id));
    }
    Ok(ReplyTo::Task(app.row(name).await?.id))
}

/// The blocks of a message; nothing is stripped from its text.
fn content(message: SendMessage) -> Result<Vec<ContentBlock>, Refusal> {
    let shorthand = message.text.into_iter().map(|text| Ok(ContentBlock::text(text)));
    let blocks = message.content.into_iter().map(|block| match block {
        api::ContentBlock::Text(api::Text { text, blob: None }) => Ok(ContentBlock::text(text)),
        api::ContentBlock::Text(api::Text { blob: Some(_), .. }) => {
            Err(Refusal::invalid("invalid_body", "send text inline, or as a file"))
        }
        api::ContentBlock::Image { blob, mime, name } => Ok(ContentBlock::Image { blob: blob_ref(blob)?, mime, name }),
        api::ContentBlock::File { blob, mime, name } => Ok(ContentBlock::File { blob: blob_ref(blob)?, mime, name }),
    });
    shorthand.chain(blocks).collect()
}

fn blob_ref(blob: Blob) -> Result<BlobRef, Refusal> {
    super::blobs::check_name(&blob.sha256)?;
    Ok(BlobRef { sha256: blob.sha256, bytes: blob.bytes })
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= KEY_BYTES => Ok(Some(key.to_owned())),
        _ => {
            let detail = format!("an idempotency key has 1 to {KEY_BYTES} visible ASCII characters");
            Err(Refusal::invalid("invalid_header", detail))
        }
    }
}

/// Over what was meant, not over how it was written.
fn digest(message: &SendMessage) -> Result<String, Refusal> {
    let bytes = serde_json::to_vec(message).map_err(|error| Refusal::invalid("invalid_body", error.to_string()))?;
    Ok(hex::encode(Sha256::digest(bytes)))
}

/// Takes a message back that waits in the queue.
#[utoipa::path(delete, path = "/api/v1/inputs/{id}", tag = "conversations",
    params(("id" = String, Path, description = "The input's id")),
    responses((status = 200, description = "It was taken back", body = TaskChange)))]
pub(super) async fn withdraw(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<TaskChange>, Refusal> {
    let missing = || Refusal::not_found("input", &id);
    let input: InputId = id.parse().map_err(|_| missing())?;
    let row = app.engine.store().input(Lookup::Input(input)).await?.ok_or_else(missing)?;
    let task = row.task.ok_or_else(missing)?;
    tasks::change(&app, caller, &task.to_string(), TaskCommand::Withdraw { input }).await
}
