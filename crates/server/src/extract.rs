//! What a request carries, taken in within bounds: bodies, queries, path parts.
//!
//! Invariant: nothing is read without a limit in size and time. A body over its limit is read on and thrown away for a
//! while, so that a client that is still sending gets to see why it was refused.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;

use crate::problem::Refusal;

/// How much JSON a request may have, unless its route says otherwise.
const JSON_BYTES: usize = 256 * 1024;
/// How much is read on and thrown away after the limit.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
/// How long a body may take.
const BODY_PATIENCE: Duration = Duration::from_secs(60);
/// How long one may take that anybody can send.
const STRANGERS_PATIENCE: Duration = Duration::from_secs(5);

/// How large a body may be, and what to say when it is larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) bytes: usize,
    pub(crate) code: &'static str,
    pub(crate) hint: &'static str,
}

/// Reads a body, whole.
pub(crate) async fn whole(request: Request, limit: Limit) -> Result<Vec<u8>, Refusal> {
    within(BODY_PATIENCE, request, limit).await
}

/// Reads a body that anybody can send, as text.
pub(crate) async fn strangers(request: Request, limit: Limit) -> Result<String, Refusal> {
    let bytes = within(STRANGERS_PATIENCE, request, limit).await?;
    String::from_utf8(bytes).map_err(|error| Refusal::invalid("invalid_utf8", error.to_string()))
}

async fn within(patience: Duration, request: Request, limit: Limit) -> Result<Vec<u8>, Refusal> {
    match tokio::time::timeout(patience, collect(request, limit)).await {
        Ok(body) => body,
        Err(_) => Err(Refusal::new("body_timeout", "the body did not come in time", "send it again")),
    }
}

async fn collect(request: Request, limit: Limit) -> Result<Vec<u8>, Refusal> {
    let announced = content_length(request.headers()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(announced.min(limit.bytes));
    let mut seen = 0usize;
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::invalid("invalid_body", format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= limit.bytes {
            bytes.extend_from_slice(&data);
        } else if seen > limit.bytes + DISCARD_BYTES {
            break;
        }
    }
    if seen > limit.bytes {
        let detail = format!("the body has {} bytes, and {} are allowed", seen.max(announced), limit.bytes);
        return Err(Refusal::new(limit.code, detail, limit.hint));
    }
    Ok(bytes)
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads JSON of this shape.
pub(crate) async fn json<T: DeserializeOwned>(request: Request, limit: Limit) -> Result<T, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase());
    if kind.is_some_and(|kind| !kind.starts_with(b"application/json")) {
        return Err(Refusal::invalid("unsupported_media_type", "the body has to be application/json"));
    }
    parse(&whole(request, limit).await?)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Refusal::new(
            "invalid_utf8",
            format!("the body is not UTF-8: {error}"),
            "send text as UTF-8; send other bytes as a blob",
        )
    })?;
    // Nothing is the same as nothing in particular.
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Refusal::invalid("invalid_body", error.to_string()),
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof | serde_json::error::Category::Io => {
            Refusal::invalid("invalid_json", error.to_string())
        }
    })
}

/// A JSON body of ordinary size.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let limit =
            Limit { bytes: JSON_BYTES, code: "body_too_large", hint: "send less; files go through POST /api/v1/blobs" };
        json(request, limit).await.map(Json)
    }
}

/// The query, parsed.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Query(query)),
            Err(rejection) => Err(invalid_query(&rejection)),
        }
    }
}

fn invalid_query(rejection: &QueryRejection) -> Refusal {
    Refusal::invalid("invalid_query", rejection.body_text())
}

/// The parts of the path, parsed.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Path(path)),
            Err(rejection) => Err(invalid_path(&rejection)),
        }
    }
}

fn invalid_path(rejection: &PathRejection) -> Refusal {
    Refusal::invalid("invalid_path", rejection.body_text())
}
