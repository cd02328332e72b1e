//! The web page: its files, and the rules that a browser holds it to.
//!
//! The files are the same for everybody and hold no secret, so they are given to whoever may connect. Invariants: no
//! script, style or picture of another origin, none inline; nobody frames it; a file whose name holds its digest is
//! kept for ever, any other is asked for again.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use throughline_web::Asset;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; \
     connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types throughline";

/// The answer, if the request is for the page or one of its files. Any other path that a person opens in a browser is
/// the page, which knows its own places.
pub(crate) fn answer(request: &Request) -> Option<Response> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return None;
    }
    let path = request.uri().path().trim_start_matches('/');
    let navigates = accepts(request.headers(), header::ACCEPT, "text/html");
    let asset = match path {
        "" => throughline_web::asset("index.html"),
        "healthz" | "readyz" | "metrics" => None,
        _ if path.starts_with("api/") => None,
        _ => throughline_web::asset(path).or_else(|| throughline_web::asset("index.html").filter(|_| navigates)),
    };
    asset.map(|asset| file(asset, request.headers()))
}

fn file(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == asset.etag.as_bytes());
    let squeezed = asset.gzip.filter(|_| accepts(asked, header::ACCEPT_ENCODING, "gzip"));
    let body = match (known, squeezed) {
        (true, _) => Body::empty(),
        (false, Some(gzip)) => Body::from(gzip),
        (false, None) => Body::from(asset.bytes),
    };
    let mut response = Response::new(body);
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    if squeezed.is_some() && !known {
        set(header::CONTENT_ENCODING, "gzip");
    }
    set(header::CONTENT_TYPE, asset.mime);
    set(header::ETAG, asset.etag);
    set(header::VARY, "accept-encoding");
    set(header::CACHE_CONTROL, if asset.immutable() { "public, max-age=31536000, immutable" } else { "no-cache" });
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()");
    response
}

fn accepts(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(word)))
}
