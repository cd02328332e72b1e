//! Browsers: a link that lets one in, the way in and out, and who is in.

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use throughline_api::login::{EnterLogin, Login, LoginLink, LoginList, Place};
use utoipa::IntoParams;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{self, Limit, Path, Query};
use crate::login::{self, LoginId, Logins, Way};
use crate::problem::Refusal;
use crate::wire;

const BODY: Limit = Limit { bytes: 1024, code: "body_too_large", hint: "send the code of a link" };

/// Whom a link is for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LinkQuery {
    /// Where the browser is; on this machine if left out.
    #[param(inline)]
    place: Place,
}

/// A link that lets one browser in, once, within ten minutes.
#[utoipa::path(post, path = "/api/v1/login-links", tag = "logins", params(LinkQuery),
    responses((status = 201, description = "The link", body = LoginLink)))]
pub(super) async fn link(
    State(app): State<Shared>,
    _caller: Caller,
    Query(query): Query<LinkQuery>,
) -> Result<(StatusCode, axum::Json<LoginLink>), Refusal> {
    let url = match query.place {
        Place::Here => app.version.url.clone().ok_or_else(|| {
            Refusal::new("not_available", "the daemon listens on no address", "start it with `tl serve --listen ADDR`")
        })?,
        Place::Elsewhere => app.gate.public().map(ToString::to_string).ok_or_else(|| {
            let hint = "set `public_url` under `[web]` in config.toml to the address that a phone opens; docs/phone.md has the ways";
            Refusal::new("no_public_url", "no address is known that other machines reach", hint)
        })?,
    };
    let link = app.logins.link(&url).map_err(|error| unkept(&error))?;
    Ok((StatusCode::CREATED, axum::Json(link)))
}

/// Lets the browser in that shows the code of a link.
#[utoipa::path(post, path = "/api/v1/login", tag = "logins", request_body = EnterLogin,
    responses((status = 200, description = "It is in; the cookie says so from now on", body = Login)))]
pub(super) async fn enter(State(app): State<Shared>, request: Request) -> Result<Response, Refusal> {
    let agent = request.headers().get(header::USER_AGENT);
    let browser = agent.map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()).unwrap_or_default();
    let way = if app.gate.is_secure(request.headers()) { Way::Secure } else { Way::Plain };
    let given: EnterLogin = extract::json(request, BODY).await?;
    let entered = kept(&app, move |logins| logins.enter(&given.code, &browser, way)).await?;
    let Some((login, cookie)) = entered else {
        let detail = "the link was used before, or is too old";
        return Err(Refusal::new("login_code_used", detail, "`tl open` gives a new one"));
    };
    let current = Some(login.id);
    with_cookie(axum::Json(shown(&login, current)).into_response(), &cookie)
}

/// Logs the browser out that asks.
#[utoipa::path(delete, path = "/api/v1/login", tag = "logins",
    responses((status = 204, description = "It is out")))]
pub(super) async fn leave(State(app): State<Shared>, caller: Caller) -> Result<Response, Refusal> {
    if let Some(login) = caller.login {
        kept(&app, move |logins| logins.revoke(login)).await?;
    }
    with_cookie(StatusCode::NO_CONTENT.into_response(), &app.logins.forget_cookie())
}

/// The browsers that are let in.
#[utoipa::path(get, path = "/api/v1/logins", tag = "logins",
    responses((status = 200, description = "Newest first", body = LoginList)))]
pub(super) async fn list(State(app): State<Shared>, caller: Caller) -> axum::Json<LoginList> {
    let logins = app.logins.list().iter().map(|login| shown(login, caller.login)).collect();
    axum::Json(LoginList { logins })
}

/// Logs a browser out, at once.
#[utoipa::path(delete, path = "/api/v1/logins/{id}", tag = "logins",
    params(("id" = String, Path, description = "The login's id")),
    responses((status = 204, description = "It is out")))]
pub(super) async fn revoke(
    State(app): State<Shared>,
    _caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    let missing = || Refusal::not_found("login", &id);
    let login: LoginId = id.parse().map_err(|_| missing())?;
    let found = kept(&app, move |logins| logins.revoke(login)).await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
}

/// Does what waits for the disk, away from the threads that answer.
async fn kept<T: Send + 'static>(
    app: &Shared,
    change: impl FnOnce(&Logins) -> io::Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    let logins = Arc::clone(&app.logins);
    let done = tokio::task::spawn_blocking(move || change(&logins)).await;
    done.map_err(io::Error::other).flatten().map_err(|error| unkept(&error))
}

pub(super) fn unkept(error: &io::Error) -> Refusal {
    Refusal::new("logins_unusable", format!("the list of logins cannot be written: {error}"), "make the home writable")
}

fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, Refusal> {
    let cookie = HeaderValue::from_str(cookie).map_err(|error| unkept(&io::Error::other(error)))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

fn shown(login: &login::Login, current: Option<LoginId>) -> Login {
    Login {
        id: login.id,
        browser: login.browser.clone(),
        since: wire::moment(login.since()),
        until: wire::moment(login.until()),
        current: current == Some(login.id),
        push: login.push.is_some(),
    }
}
