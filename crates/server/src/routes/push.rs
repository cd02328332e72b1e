//! Web push: the key to subscribe with, and the subscription of the browser that asks.

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use http::StatusCode;
use throughline_api::push::{PushKey, Subscribe};

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{self, Limit};
use crate::login::{LoginId, Subscription};
use crate::problem::Refusal;
use crate::push::seal::Reader;

const BODY: Limit =
    Limit { bytes: 8 * 1024, code: "body_too_large", hint: "send what the browser's subscription says" };
const ENDPOINT_BYTES: usize = 2_048;

/// The key that a browser subscribes with.
#[utoipa::path(get, path = "/api/v1/push", tag = "push",
    responses((status = 200, description = "The key", body = PushKey)))]
pub(super) async fn key(State(app): State<Shared>, _caller: Caller) -> axum::Json<PushKey> {
    axum::Json(PushKey { key: app.push.key() })
}

/// Tells the browser that asks from now on: needs a yes, asks something, done, failed.
#[utoipa::path(put, path = "/api/v1/login/push", tag = "push", request_body = Subscribe,
    responses((status = 204, description = "It is told")))]
pub(super) async fn subscribe(
    State(app): State<Shared>,
    caller: Caller,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let login = browser(caller)?;
    let wanted: Subscribe = extract::json(request, BODY).await?;
    let Subscribe { endpoint, keys, locale } = wanted;
    let secure = endpoint.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    if !secure || endpoint.len() > ENDPOINT_BYTES || Reader::parse(&keys.p256dh, &keys.auth).is_none() {
        let detail = "the subscription has no https address, or its keys are no keys";
        return Err(Refusal::new("invalid_subscription", detail, "send what the browser's `PushSubscription` says"));
    }
    let locale = locale.chars().take(35).collect();
    let subscription = Subscription { endpoint, p256dh: keys.p256dh, auth: keys.auth, locale };
    change(&app, login, Some(subscription)).await
}

/// Tells the browser that asks no more.
#[utoipa::path(delete, path = "/api/v1/login/push", tag = "push",
    responses((status = 204, description = "It is told no more")))]
pub(super) async fn unsubscribe(State(app): State<Shared>, caller: Caller) -> Result<StatusCode, Refusal> {
    change(&app, browser(caller)?, None).await
}

fn browser(caller: Caller) -> Result<LoginId, Refusal> {
    let hint = "subscribe on the page, in the browser that is to be told";
    caller.login.ok_or_else(|| Refusal::new("not_a_browser", "only a browser that is logged in can be told", hint))
}

async fn change(app: &Shared, login: LoginId, to: Option<Subscription>) -> Result<StatusCode, Refusal> {
    let (logins, now) = (Arc::clone(&app.logins), app.head().await?);
    let done = tokio::task::spawn_blocking(move || logins.subscribe(login, to, now)).await;
    done.map_err(io::Error::other).flatten().map_err(|error| super::logins::unkept(&error))?;
    Ok(StatusCode::NO_CONTENT)
}
