//! Liveness, readiness and numbers: where tools look for them, and under `/api/v1` like everything else.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderValue, header};
use throughline_api::daemon::Health;

use crate::app::Shared;
use crate::auth::Caller;
use crate::metrics::{KEEPERS, recorder};
use crate::problem::Refusal;

/// Where whoever asks needs to be nobody.
pub(crate) const ALIVE: [&str; 2] = ["/healthz", "/api/v1/healthz"];

/// The same under `/api/v1`.
pub(super) fn beside_the_others() -> Router<Shared> {
    Router::new()
        .route("/api/v1/healthz", get(alive))
        .route("/api/v1/readyz", get(ready))
        .route("/api/v1/metrics", get(metrics))
}

fn health() -> axum::Json<Health> {
    axum::Json(Health { status: "ok".into(), version: env!("CARGO_PKG_VERSION").into() })
}

/// Whether the daemon lives. Needs nobody.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "It lives", body = Health)))]
pub(super) async fn alive() -> axum::Json<Health> {
    health()
}

/// Whether it can work: the store answers.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, description = "It is ready", body = Health)))]
pub(super) async fn ready(State(app): State<Shared>, _caller: Caller) -> Result<axum::Json<Health>, Refusal> {
    if app.ending.is_cancelled() {
        return Err(Refusal::new("stopping", "the daemon is stopping", "try again in a moment"));
    }
    app.head().await?;
    Ok(health())
}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "Prometheus text", content_type = "text/plain", body = String)))]
pub(super) async fn metrics(State(app): State<Shared>, _caller: Caller) -> Response {
    let live = app.engine.running().await.len();
    metrics::gauge!(KEEPERS).set(u32::try_from(live).unwrap_or(u32::MAX));
    let mut response = recorder().render().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    response
}
