//! Where the caller is recognised: pairing one more place, and revoking one.

use axum::extract::State;
use http::StatusCode;
use throughline_api::identity::{Identity, IdentityList, OfferPairing, Pairing};
use throughline_model::channel::MACHINE;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path};
use crate::problem::Refusal;
use crate::wire;

/// Gives out a one-time code, good for ten minutes.
#[utoipa::path(post, path = "/api/v1/pairings", tag = "people", request_body = OfferPairing,
    responses((status = 201, description = "The code; it is shown this once", body = Pairing)))]
pub(super) async fn pair(
    State(app): State<Shared>,
    caller: Caller,
    Json(body): Json<OfferPairing>,
) -> Result<(StatusCode, axum::Json<Pairing>), Refusal> {
    let offered = app.engine.offer_pairing(caller.person, &body.channel).await?;
    let pairing = Pairing {
        channel: offered.channel.word().to_owned(),
        say: format!("/start {}", offered.code),
        code: offered.code,
        link: offered.link,
        expires_at: wire::moment(offered.expires_at),
    };
    Ok((StatusCode::CREATED, axum::Json(pairing)))
}

/// Where the caller is recognised.
#[utoipa::path(get, path = "/api/v1/identities", tag = "people",
    responses((status = 200, description = "In the order in which they were linked", body = IdentityList)))]
pub(super) async fn list(State(app): State<Shared>, caller: Caller) -> Result<axum::Json<IdentityList>, Refusal> {
    let known = app.engine.identities(caller.person).await?;
    let identities = known.iter().map(shown).collect();
    let channels = app.engine.channels().map(|channel| channel.word().to_owned()).collect();
    Ok(axum::Json(IdentityList { identities, channels }))
}

/// Recognises the caller there no longer, at once.
#[utoipa::path(delete, path = "/api/v1/identities/{id}", tag = "people",
    params(("id" = String, Path, description = "Such as `telegram:4711`")),
    responses((status = 200, description = "It is nobody's from now on", body = Identity)))]
pub(super) async fn revoke(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Identity>, Refusal> {
    let revoked = app.engine.revoke(caller.person, &id).await?;
    Ok(axum::Json(shown(&revoked)))
}

fn shown(identity: &throughline_model::identity::Identity) -> Identity {
    let platform = identity.platform();
    let channel = platform.map_or_else(|| MACHINE.to_owned(), |platform| platform.to_string());
    Identity { id: identity.handle(), channel }
}
