//! What the caller is told unasked, where and when not; and what happened lately.

use std::io;
use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use throughline_api::notice::{
    BrowserNotices, ChatNotices, ChooseMain, ChooseReasons, Digest, NoticeReason, Notices, QuietHours,
};
use throughline_engine::Readers;
use throughline_model::ids::{ConversationId, Id as _};
use throughline_model::notice::{Reason, Reasons};
use utoipa::IntoParams;
use uuid::Uuid;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path, Query};
use crate::login::Login;
use crate::problem::Refusal;
use crate::wire;

/// How far back a digest looks at most: a month.
const MOST_HOURS: u64 = 31 * 24;

/// How far back to look.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DigestQuery {
    /// So many hours; a day if left out.
    hours: Option<u64>,
    /// The language of the words: a BCP-47 tag.
    locale: Option<String>,
}

/// What the caller is told, and where.
#[utoipa::path(get, path = "/api/v1/notices", tag = "people",
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn get(State(app): State<Shared>, caller: Caller) -> Result<axum::Json<Notices>, Refusal> {
    let known = app.engine.notices(caller.person).await?;
    let chat = |chat: &throughline_engine::ChatNotices| ChatNotices {
        conversation: chat.conversation.uuid(),
        identity: chat.name.clone(),
        channel: chat.channel.word().to_owned(),
        group: chat.readers == Readers::Group,
        reasons: shown(&chat.reasons),
        held: chat.held,
    };
    let browser = |login: Login| BrowserNotices {
        login: login.id,
        current: caller.login == Some(login.id),
        reasons: shown(&login.reasons),
        browser: login.browser,
    };
    Ok(axum::Json(Notices {
        quiet: known.quiet.map(|quiet| QuietHours {
            from: quiet.from.to_string(),
            until: quiet.until.to_string(),
            except: Some(shown(&quiet.except)),
            zone: Some(quiet.zone),
        }),
        quiet_until: known.quiet_until.map(wire::moment),
        main: known.main.map(|chat| chat.uuid()),
        told_in: known.told_in.map(|chat| chat.uuid()),
        chats: known.chats.iter().map(chat).collect(),
        browsers: app.logins.list().into_iter().filter(|login| login.push.is_some()).map(browser).collect(),
    }))
}

/// Tells a chat of the caller for these reasons, and for no other.
#[utoipa::path(put, path = "/api/v1/notices/chats/{conversation}", tag = "people", request_body = ChooseReasons,
    params(("conversation" = Uuid, Path, description = "The chat")),
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn reasons(
    State(app): State<Shared>,
    caller: Caller,
    Path(conversation): Path<Uuid>,
    Json(body): Json<ChooseReasons>,
) -> Result<axum::Json<Notices>, Refusal> {
    let chat = ConversationId::from_uuid(conversation);
    app.engine.choose_reasons(caller.person, chat, meant(&body.reasons)).await?;
    get(State(app), caller).await
}

/// Tells a browser of the caller by push for these reasons, and for no other.
#[utoipa::path(put, path = "/api/v1/notices/browsers/{login}", tag = "people", request_body = ChooseReasons,
    params(("login" = Uuid, Path, description = "The browser's login")),
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn browser(
    State(app): State<Shared>,
    caller: Caller,
    Path(login): Path<Uuid>,
    Json(body): Json<ChooseReasons>,
) -> Result<axum::Json<Notices>, Refusal> {
    let (logins, reasons) = (Arc::clone(&app.logins), meant(&body.reasons));
    let chosen = tokio::task::spawn_blocking(move || logins.choose(login, reasons)).await;
    match chosen.map_err(io::Error::other).flatten() {
        Ok(true) => get(State(app), caller).await,
        Ok(false) => Err(Refusal::not_found("browser", &login.to_string())),
        Err(error) => Err(super::logins::unkept(&error)),
    }
}

/// Chooses the chat in which the caller hears of tasks that none of their chats takes part in.
#[utoipa::path(put, path = "/api/v1/notices/main", tag = "people", request_body = ChooseMain,
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn main(
    State(app): State<Shared>,
    caller: Caller,
    Json(body): Json<ChooseMain>,
) -> Result<axum::Json<Notices>, Refusal> {
    app.engine.choose_main(caller.person, body.conversation.map(ConversationId::from_uuid)).await?;
    get(State(app), caller).await
}

/// Keeps quiet for the caller at these hours.
#[utoipa::path(put, path = "/api/v1/notices/quiet", tag = "people", request_body = QuietHours,
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn quiet(
    State(app): State<Shared>,
    caller: Caller,
    Json(body): Json<QuietHours>,
) -> Result<axum::Json<Notices>, Refusal> {
    let hours = format!("{}-{}", body.from, body.until);
    let except = body.except.as_deref().map(meant);
    app.engine.choose_quiet(caller.person, &hours, body.zone.as_deref(), except).await?;
    get(State(app), caller).await
}

/// Keeps quiet for the caller no longer; what was held is told at once.
#[utoipa::path(delete, path = "/api/v1/notices/quiet", tag = "people",
    responses((status = 200, description = "As it is now", body = Notices)))]
pub(super) async fn no_quiet(State(app): State<Shared>, caller: Caller) -> Result<axum::Json<Notices>, Refusal> {
    app.engine.end_quiet(caller.person).await?;
    get(State(app), caller).await
}

/// What happened lately, and what needs the caller.
#[utoipa::path(get, path = "/api/v1/digest", tag = "people", params(DigestQuery),
    responses((status = 200, description = "In the caller's language", body = Digest)))]
pub(super) async fn digest(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<DigestQuery>,
) -> Result<axum::Json<Digest>, Refusal> {
    // The language was taken up with who calls.
    let DigestQuery { hours, locale: _ } = query;
    let hours = hours.unwrap_or(24).clamp(1, MOST_HOURS);
    let digest = app.engine.digest(caller.person, caller.locale, hours).await?;
    Ok(axum::Json(Digest { text: digest.text, tasks: digest.links.into_iter().map(|link| link.key).collect() }))
}

fn shown(reasons: &Reasons) -> Vec<NoticeReason> {
    let word = |reason: &Reason| match reason {
        Reason::Approval => NoticeReason::Approval,
        Reason::Question => NoticeReason::Question,
        Reason::Completed => NoticeReason::Completed,
        Reason::Failed => NoticeReason::Failed,
    };
    reasons.0.iter().map(word).collect()
}

fn meant(reasons: &[NoticeReason]) -> Reasons {
    let reason = |word: &NoticeReason| match word {
        NoticeReason::Approval => Reason::Approval,
        NoticeReason::Question => Reason::Question,
        NoticeReason::Completed => Reason::Completed,
        NoticeReason::Failed => Reason::Failed,
    };
    Reasons(reasons.iter().map(reason).collect())
}
