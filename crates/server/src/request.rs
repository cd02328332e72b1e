//! What stands around every request: its span, its number in the metrics, the guard against panics, the gate.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument as _;

use crate::app::Shared;
use crate::auth;
use crate::metrics::REQUESTS;
use crate::problem::Refusal;

/// Puts everything around the routes; the last layer is the outermost.
pub(crate) fn layered(router: Router<Shared>, app: &Shared) -> Router {
    router
        .layer(middleware::from_fn_with_state(app.clone(), auth::authenticate))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(observe))
        .with_state(app.clone())
}

/// One span per request. The route, not the path, so that keys and ids do not become labels.
async fn observe(request: Request, next: Next) -> Response {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_owned();
    let method = method(request.method());
    let span = tracing::info_span!("request", number, method, route, input = tracing::field::Empty);
    async move {
        let mut response = next.run(request).await;
        let status = response.status();
        metrics::counter!(REQUESTS, "method" => method, "route" => route, "status" => status.as_str().to_owned())
            .increment(1);
        tracing::debug!(status = status.as_u16(), "answered");
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
    .instrument(span)
    .await
}

/// A method's name as a label; the ones that nobody serves share one.
fn method(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("unknown"), "a request panicked");
    Refusal::new(
        "internal",
        "something broke in the daemon",
        "see the daemon's log; nothing that was acknowledged is lost",
    )
    .into_response()
}
