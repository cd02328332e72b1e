//! The HTTP side: tokens, messages, files, and where the long connection is made.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, patch, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::messages::{self, Refusal, bad};
use super::state::{Call, Platform};
use super::{frame, socket};
use crate::fault::Fault;
use crate::watched::Watched;

type Shared = Arc<Watched<Platform>>;
type Asked = Query<HashMap<String, String>>;

pub(super) fn router(platform: Shared) -> Router {
    Router::new()
        .route("/open-apis/auth/v3/tenant_access_token/internal", post(token))
        .route("/callback/ws/endpoint", post(endpoint))
        .route("/ws/v2", any(connect))
        .route("/open-apis/im/v1/messages", post(send))
        .route("/open-apis/im/v1/messages/{id}/reply", post(reply))
        .route("/open-apis/im/v1/messages/{id}", patch(change))
        .route("/open-apis/im/v1/messages/{id}/resources/{key}", get(resource))
        .route("/open-apis/im/v1/files", post(upload))
        .layer(DefaultBodyLimit::max(32 << 20))
        .with_state(platform)
}

/// Makes a call, with the fault that is planned for it.
async fn answer(
    platform: &Shared,
    name: &str,
    body: Value,
    work: impl FnOnce(&mut Platform, &Value) -> Result<Response, Refusal>,
) -> Response {
    let fault = platform.change(|known| {
        known.calls.push(Call { name: name.to_owned(), body: body.clone() });
        known.faults.next(name)
    });
    if let Some(response) = fault.as_ref().and_then(Fault::instead) {
        return response;
    }
    let response = match platform.change(|known| work(known, &body)) {
        Ok(response) => response,
        Err(refusal) => refused(&refusal),
    };
    match fault {
        Some(fault) => fault.spoil(response).await,
        None => response,
    }
}

fn refused(Refusal { status, code, why }: &Refusal) -> Response {
    let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, Json(json!({"code": code, "msg": why, "error": {"log_id": "stub"}}))).into_response()
}

fn parsed(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// A call that needs the app's token.
fn admitted(platform: &Platform, headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match given {
        None => bad(99_991_661, "Missing access token for authorization. Please make a request with token attached."),
        Some(token) if platform.app.tokens.contains(token) => Ok(()),
        Some(_) => bad(99_991_663, "Invalid access token for authorization. Please make a test attempt with another."),
    }
}

fn wrapped(data: Value) -> Response {
    said(json!({"code": 0, "msg": "success", "data": data}))
}

fn said(answer: Value) -> Response {
    Json(answer).into_response()
}

async fn token(State(platform): State<Shared>, body: Bytes) -> Response {
    let work = |known: &mut Platform, body: &Value| {
        if body["app_id"] != super::APP_ID {
            return Ok(said(json!({"code": 10_003, "msg": "invalid param"})));
        }
        if body["app_secret"] != super::APP_SECRET || known.app.secret_revoked {
            return Ok(said(json!({"code": 10_014, "msg": "app secret invalid"})));
        }
        let token = known.name("t");
        known.app.tokens.insert(token.clone());
        Ok(said(json!({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": known.app.token_life_secs})))
    };
    answer(&platform, "token", parsed(&body), work).await
}

async fn endpoint(State(platform): State<Shared>, body: Bytes) -> Response {
    let work = |known: &mut Platform, body: &Value| {
        let app = (&body["AppID"], &body["AppSecret"]) == (&json!(super::APP_ID), &json!(super::APP_SECRET));
        if !app || known.app.secret_revoked {
            return Ok(said(json!({"code": 514, "msg": "auth failed", "data": {}})));
        }
        let (address, service, ticket) = (&known.address, frame::SERVICE, super::TICKET);
        let url = format!(
            "ws://{address}/ws/v2?fpid=493&aid=552564&device_id=7000000000000000001&access_key=stub\
             &service_id={service}&ticket={ticket}"
        );
        Ok(wrapped(json!({"URL": url, "ClientConfig": known.client_config()})))
    };
    answer(&platform, "endpoint", parsed(&body), work).await
}

async fn connect(State(platform): State<Shared>, Query(asked): Asked, upgrade: WebSocketUpgrade) -> Response {
    if asked.get("ticket").map(String::as_str) != Some(super::TICKET) {
        let headers = [("handshake-status", "514"), ("handshake-msg", "auth failed")];
        return (StatusCode::FORBIDDEN, headers).into_response();
    }
    upgrade.on_upgrade(move |socket| socket::serve(socket, platform))
}

async fn send(State(platform): State<Shared>, Query(asked): Asked, headers: HeaderMap, body: Bytes) -> Response {
    let kind = asked.get("receive_id_type").cloned().unwrap_or_default();
    let work = |known: &mut Platform, body: &Value| {
        admitted(known, &headers)?;
        messages::send(known, &kind, body).map(wrapped)
    };
    answer(&platform, "send", parsed(&body), work).await
}

async fn reply(State(platform): State<Shared>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let work = |known: &mut Platform, body: &Value| {
        admitted(known, &headers)?;
        messages::reply(known, &id, body).map(wrapped)
    };
    answer(&platform, "reply", parsed(&body), work).await
}

async fn change(State(platform): State<Shared>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let work = |known: &mut Platform, body: &Value| {
        admitted(known, &headers)?;
        messages::patch(known, &id, body).map(wrapped)
    };
    answer(&platform, "patch", parsed(&body), work).await
}

async fn resource(
    State(platform): State<Shared>,
    Path((id, key)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let asked = json!({"message_id": id, "file_key": key});
    let work = |known: &mut Platform, _: &Value| {
        admitted(known, &headers)?;
        match known.files.get(&key).filter(|_| known.known.contains_key(&id)) {
            Some(bytes) => Ok(Body::from(bytes.clone()).into_response()),
            None => bad(234_003, "File not in msg."),
        }
    };
    answer(&platform, "resource", asked, work).await
}

async fn upload(State(platform): State<Shared>, headers: HeaderMap, request: Request) -> Response {
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let (mut body, mut bytes) = (json!({}), None);
    while let Ok(Some(field)) = form.next_field().await {
        let name = field.name().unwrap_or_default().to_owned();
        let value = field.bytes().await.unwrap_or_default();
        match name.as_str() {
            "file" => bytes = Some(value.to_vec()),
            _ => body[name] = json!(String::from_utf8_lossy(&value)),
        }
    }
    let work = |known: &mut Platform, body: &Value| {
        admitted(known, &headers)?;
        let named = body["file_type"].is_string() && body["file_name"].is_string();
        let Some(bytes) = bytes.filter(|bytes| named && !bytes.is_empty()) else {
            return bad(234_001, "Invalid request param.");
        };
        let key = known.name("file_v3");
        known.files.insert(key.clone(), bytes);
        Ok(wrapped(json!({ "file_key": key })))
    };
    answer(&platform, "upload", body, work).await
}
