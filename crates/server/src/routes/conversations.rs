//! Conversations: places to talk. Opening one that is there changes nothing.

use std::path::Path as Folder;

use axum::extract::State;
use throughline_api::project::{Channel, Conversation, OpenConversation};
use throughline_engine::{Clock as _, SystemClock};
use throughline_model::channel;
use throughline_model::ids::{ConversationId, Id as _, PersonId, ProjectId};

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path};
use crate::problem::Refusal;

/// The longest name of a conversation.
const NAME_BYTES: usize = 200;

/// Opens a conversation: a terminal's own for its root, else a new one.
#[utoipa::path(post, path = "/api/v1/conversations", tag = "conversations", request_body = OpenConversation,
    responses((status = 200, description = "It is open", body = Conversation)))]
pub(super) async fn open(
    State(app): State<Shared>,
    caller: Caller,
    Json(open): Json<OpenConversation>,
) -> Result<axum::Json<Conversation>, Refusal> {
    let project = project(&app, &open).await?;
    let id = match &open.root {
        Some(root) => ConversationId::of_terminal(caller.person, root),
        None => SystemClock.now().mint().id(),
    };
    app.engine.open_conversation(id, channel(open.channel), caller.person, project).await?;
    Ok(axum::Json(Conversation { id: id.uuid() }))
}

/// Opens the conversation with this id or name.
#[utoipa::path(put, path = "/api/v1/conversations/{id}", tag = "conversations", request_body = OpenConversation,
    params(("id" = String, Path, description = "A UUID, or a name of your own")),
    responses((status = 200, description = "It is open", body = Conversation)))]
pub(super) async fn put(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(open): Json<OpenConversation>,
) -> Result<axum::Json<Conversation>, Refusal> {
    let id = named(caller.person, &id)?;
    let project = project(&app, &open).await?;
    app.engine.open_conversation(id, channel(open.channel), caller.person, project).await?;
    Ok(axum::Json(Conversation { id: id.uuid() }))
}

/// The conversation that a person calls by this: its id, or a name of their own.
pub(super) fn named(person: PersonId, name: &str) -> Result<ConversationId, Refusal> {
    if let Ok(id) = name.parse::<ConversationId>() {
        return Ok(id);
    }
    if name.is_empty() || name.len() > NAME_BYTES || name.chars().any(char::is_control) {
        return Err(Refusal::invalid("invalid_path", "a conversation is named by a UUID or by a short name"));
    }
    Ok(ConversationId::derive(person.uuid(), &format!("named:{name}")))
}

/// The project that was named, or the one that holds the root.
async fn project(app: &Shared, open: &OpenConversation) -> Result<Option<ProjectId>, Refusal> {
    if let Some(name) = &open.project {
        return app.project(name).await.map(|project| Some(project.id));
    }
    let Some(root) = &open.root else { return Ok(None) };
    let known = app.projects().await?;
    Ok(known.iter().find(|project| Folder::new(&project.root) == Folder::new(root)).map(|project| project.id))
}

fn channel(channel: Channel) -> channel::Channel {
    match channel {
        Channel::Web => channel::Channel::Web,
        Channel::Cli => channel::Channel::Cli,
        Channel::Ide => channel::Channel::Ide,
        Channel::Api => channel::Channel::Api,
    }
}
