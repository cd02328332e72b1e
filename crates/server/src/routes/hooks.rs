//! Calls of platforms: the other way in for a channel, where there is a public address.
//!
//! No person is in scope, so nothing is believed but what the channel finds to be its platform's: a secret that was agreed
//! with it, or a signature. The `Host` has to be ours as everywhere. Browsers have no business here; an `Origin` that is
//! not ours is refused before. **Invariant:** success is answered only after what was brought is durable.

use axum::extract::{Request, State};
use serde_json::Value;
use throughline_engine::CallError;

use crate::app::Shared;
use crate::extract::{self, Limit, Path};
use crate::problem::Refusal;

/// Where they all are.
pub(crate) const PREFIX: &str = "/hooks/";
/// As the document names them.
pub(crate) const PATH: &str = "/hooks/{channel}";

const BODY: Limit = Limit {
    bytes: 512 * 1024,
    code: "body_too_large",
    hint: "no platform's update is so large; what it names is fetched from there",
};

/// Takes what a platform brings: what it calls a webhook, or a callback.
#[utoipa::path(post, path = "/hooks/{channel}", tag = "hooks",
    params(("channel" = String, Path, description = "Its name, such as `telegram`")),
    request_body(content = Value, description = "As the platform sends it"),
    responses((status = 200, description = "It is durable, or was known; or the challenge that the platform wants", body = Value)))]
pub(super) async fn call(
    State(app): State<Shared>,
    Path(channel): Path<String>,
    request: Request,
) -> Result<axum::Json<Value>, Refusal> {
    let busy = |_| Refusal::new("hook_not_taken", "too many calls at once", "call again in a moment");
    let _turn = app.room.calls.try_acquire().map_err(busy)?;
    let headers = request.headers().clone();
    let body = extract::strangers(request, BODY).await?;
    app.engine.called(&channel, headers, body).await.map(axum::Json).map_err(|error| refused(&channel, error))
}

fn refused(channel: &str, error: CallError) -> Refusal {
    match error {
        CallError::Unexpected => {
            let hint = "a platform calls only if its table under [channels] says so: docs/settings.md";
            Refusal::new("not_found", format!("{channel} does not call here"), hint)
        }
        CallError::Disbelieved(_) => {
            Refusal::new("hook_not_believed", error.to_string(), "only the platform itself can call here")
        }
        CallError::NotTaken(_) => Refusal::new("hook_not_taken", error.to_string(), "bring it again in a moment"),
    }
}
