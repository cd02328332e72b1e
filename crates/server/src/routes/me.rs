//! Whoever calls, and the language that they are spoken to in.

use axum::extract::State;
use throughline_api::person::{ChangeMe, Me};
use throughline_model::command::Command;
use throughline_model::ids::Id as _;
use throughline_model::person::PersonCommand;
use throughline_model::present::Locale;
use throughline_model::stream::StreamId;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Refusal;

/// Whoever calls.
#[utoipa::path(get, path = "/api/v1/me", tag = "people",
    responses((status = 200, description = "The person, and what they are spoken to in", body = Me)))]
pub(super) async fn get(State(app): State<Shared>, caller: Caller) -> Result<axum::Json<Me>, Refusal> {
    let state = app.engine.state(StreamId::Person(caller.person)).await?;
    let person = state.person().ok_or_else(|| Refusal::not_found("person", &caller.person.to_string()))?;
    Ok(axum::Json(Me {
        id: person.id.uuid(),
        name: person.name.clone(),
        locale: Some(person.locale.clone()).filter(|locale| !locale.is_empty()),
        speaks: caller.locale.tag().into(),
    }))
}

/// Chooses the language for whoever calls, on every channel.
#[utoipa::path(put, path = "/api/v1/me", tag = "people", request_body = ChangeMe,
    responses((status = 200, description = "As it is now", body = Me)))]
pub(super) async fn put(
    State(app): State<Shared>,
    mut caller: Caller,
    Json(change): Json<ChangeMe>,
) -> Result<axum::Json<Me>, Refusal> {
    if let Some(locale) = change.locale {
        if !locale.is_empty() && !Locale::well_formed(&locale) {
            let detail = format!("`{locale}` is not a language tag");
            return Err(Refusal::new("bad_locale", detail, "use a BCP-47 tag such as `en` or `zh-CN`"));
        }
        if !locale.is_empty() {
            caller.locale = Locale::of(&locale);
        }
        let command = PersonCommand::ChooseLocale { locale };
        app.engine.send(StreamId::Person(caller.person), Command::Person(command)).await?;
    }
    get(State(app), caller).await
}
