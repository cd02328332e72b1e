//! The HTTP side: the token in the path, faults, long polling, and files.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use super::methods::{self, Refusal};
use super::state::{Call, Document, Pending, Platform};
use crate::fault::{Fault, broken};
use crate::watched::Watched;

type Shared = Arc<Watched<Platform>>;

/// The most that a bot can send.
const MAX_BODY: usize = 50 << 20;

pub(super) fn router(platform: Shared) -> Router {
    Router::new()
        .route("/{bot}/{method}", get(call).post(call))
        .route("/file/{bot}/{*path}", get(download))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(platform)
}

async fn call(
    State(platform): State<Shared>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (body, file) = read(request).await;
    let fault = platform.change(|known| {
        known.calls.push(Call { method: method.clone(), body: body.clone() });
        known.faults.next(&method)
    });
    platform.until(|known| (known.held.as_ref() != Some(&method)).then_some(())).await;
    if let Some(response) = fault.as_ref().and_then(Fault::instead) {
        return response;
    }
    let done = match admitted(&platform.look(), &bot) {
        Err(refusal) => Err(refusal),
        Ok(()) if method == "getUpdates" => Ok(None),
        Ok(()) => Ok(Some(())),
    };
    let answer = match done {
        Err(refusal) => refused(refusal),
        Ok(None) => get_updates(&platform, &body, fault.as_ref()).await,
        Ok(Some(())) => match platform.change(|known| methods::call(known, &method, &body, file)) {
            Ok(result) => Json(json!({"ok": true, "result": result})).into_response(),
            Err(refusal) => refused(refusal),
        },
    };
    match fault {
        Some(fault) => fault.spoil(answer).await,
        None => answer,
    }
}

fn admitted(platform: &Platform, bot: &str) -> Result<(), Refusal> {
    match bot.strip_prefix("bot") {
        Some(token) if token == platform.token && !platform.revoked => Ok(()),
        Some(token) if token.contains(':') => Err(Refusal { code: 401, why: "Unauthorized".into() }),
        _ => Err(Refusal { code: 404, why: "Not Found".into() }),
    }
}

pub(super) fn refused(Refusal { code, why }: Refusal) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    (status, Json(json!({"ok": false, "error_code": code, "description": why}))).into_response()
}

/// A body in JSON, or a form with a file.
async fn read(request: Request) -> (Value, Option<Document>) {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/") {
        let bytes = Bytes::from_request(request, &()).await.unwrap_or_default();
        return (serde_json::from_slice(&bytes).unwrap_or_default(), None);
    }
    let Ok(mut form) = Multipart::from_request(request, &()).await else { return (Value::Null, None) };
    let (mut body, mut file) = (Map::new(), None);
    while let Ok(Some(field)) = form.next_field().await {
        let (name, file_name) = (field.name().unwrap_or_default().to_owned(), field.file_name().map(str::to_owned));
        let mime = field.content_type().unwrap_or("application/octet-stream").to_owned();
        let bytes = field.bytes().await.unwrap_or_default();
        match file_name {
            Some(name) => file = Some(Document { name, mime, bytes: bytes.to_vec() }),
            None => drop(body.insert(name, json!(String::from_utf8_lossy(&bytes)))),
        }
    }
    (Value::Object(body), file)
}

/// What comes of a question for updates.
enum News {
    Updates(Vec<Pending>),
    Superseded,
    Hooked,
}

async fn get_updates(platform: &Shared, body: &Value, fault: Option<&Fault>) -> Response {
    let hold = Duration::from_secs(body["timeout"].as_u64().unwrap_or_default());
    let poll = platform.change(|known| {
        known.feed.confirm(body["offset"].as_i64());
        known.feed.polls += 1;
        known.feed.polls
    });
    if fault == Some(&Fault::LoseAnswer) {
        // The news must be there before its answer can be lost.
        platform.until(|known| (!known.feed.pending.is_empty()).then_some(())).await;
        return broken(Bytes::from_static(b"{\"ok\":true,\"result\":[{\"upd"));
    }
    let news = platform.until(|known| known.feed.news(poll, body));
    let news = tokio::time::timeout(hold, news).await.unwrap_or(News::Updates(vec![]));
    match news {
        News::Superseded => {
            conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
        }
        News::Hooked => conflict(
            "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        ),
        News::Updates(mut updates) => {
            if platform.change(|known| std::mem::take(&mut known.feed.reversed)) {
                updates.reverse();
            }
            let bodies: Vec<_> = updates.into_iter().map(|update| update.body).collect();
            let text = format!(r#"{{"ok":true,"result":[{}]}}"#, bodies.join(","));
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
    }
}

fn conflict(why: &str) -> Response {
    refused(Refusal { code: 409, why: format!("Conflict: {why}") })
}

impl super::state::Feed {
    /// Forgets what is below the offset. A negative one counts from the end.
    fn confirm(&mut self, offset: Option<i64>) {
        let offset = match offset {
            None | Some(0) => return,
            Some(back) if back < 0 => {
                let keep = usize::try_from(back.unsigned_abs()).unwrap_or(usize::MAX);
                let first = self.pending.len().saturating_sub(keep);
                let Some(first) = self.pending.get(first) else { return };
                first.id
            }
            Some(offset) => offset,
        };
        self.confirmed = self.confirmed.max(offset);
        self.pending.retain(|update| update.id >= offset);
    }

    fn news(&self, poll: u64, body: &Value) -> Option<News> {
        if self.hook.is_some() {
            return Some(News::Hooked);
        }
        if poll != self.polls {
            return Some(News::Superseded);
        }
        let limit = body["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100).clamp(1, 100);
        let updates: Vec<_> = self.pending.iter().take(limit).cloned().collect();
        (!updates.is_empty()).then_some(News::Updates(updates))
    }
}

async fn download(State(platform): State<Shared>, Path((bot, path)): Path<(String, String)>) -> Response {
    let known = platform.look();
    if let Err(refusal) = admitted(&known, &bot) {
        return refused(refusal);
    }
    match known.files.get(path.rsplit('/').next().unwrap_or_default()) {
        Some(bytes) => Body::from(bytes.clone()).into_response(),
        None => refused(Refusal { code: 404, why: "Not Found".into() }),
    }
}
