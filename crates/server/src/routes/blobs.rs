//! Blobs: bytes by their content.

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use throughline_api::content::Blob;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{self, Limit, Path};
use crate::problem::Refusal;

const BODY: Limit = Limit {
    bytes: 32 * 1024 * 1024,
    code: "blob_too_large",
    hint: "a blob has at most 32 MiB; send less, or a path in the workspace",
};

/// Puts bytes into the blob store. They are durable when the answer comes.
#[utoipa::path(post, path = "/api/v1/blobs", tag = "blobs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, description = "They are there", body = Blob)))]
pub(super) async fn put(
    State(app): State<Shared>,
    _caller: Caller,
    request: Request,
) -> Result<(StatusCode, axum::Json<Blob>), Refusal> {
    let stopping = |_| Refusal::new("stopping", "the daemon is stopping", "try again in a moment");
    let _turn = app.room.uploads.acquire().await.map_err(stopping)?;
    let bytes = extract::whole(request, BODY).await?;
    let blob = app.engine.store().put_blob(bytes).await?;
    Ok((StatusCode::CREATED, axum::Json(Blob { sha256: blob.sha256, bytes: blob.bytes })))
}

/// Bytes of the blob store.
#[utoipa::path(get, path = "/api/v1/blobs/{sha256}", tag = "blobs",
    params(("sha256" = String, Path, description = "SHA-256 of the bytes, in lower-case hex")),
    responses((status = 200, description = "The bytes", content_type = "application/octet-stream", body = Vec<u8>)))]
pub(super) async fn get(
    State(app): State<Shared>,
    _caller: Caller,
    Path(sha256): Path<String>,
) -> Result<Response, Refusal> {
    check_name(&sha256)?;
    let bytes = app.engine.store().blob(&sha256).await?.ok_or_else(|| Refusal::not_found("blob", &sha256))?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    // What somebody uploaded is never shown as a page of ours.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable"));
    Ok(response)
}

/// The name of a blob is also a file's name: anything but a digest is refused.
pub(super) fn check_name(sha256: &str) -> Result<(), Refusal> {
    let digest = sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digest { Ok(()) } else { Err(Refusal::not_found("blob", sha256)) }
}
