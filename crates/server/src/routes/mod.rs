//! The routes, one file per thing that they are about, and the document that describes them.
//!
//! Handlers only translate: parse what came, ask the engine or the store, and turn the answer into wire types.

mod agents;
mod approvals;
mod blobs;
mod budgets;
mod conversations;
mod daemon;
mod decisions;
mod deliveries;
mod events;
mod export;
mod gc;
pub(crate) mod health;
pub(crate) mod hooks;
mod identities;
mod imports;
mod logins;
mod me;
mod messages;
mod notices;
mod policies;
mod projects;
mod push;
mod search;
mod tasks;
mod timeline;
mod workspaces;

use axum::Router;
use axum::response::IntoResponse;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::Shared;
use crate::problem::Refusal;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Throughline",
        description = "A durable runtime for coding agents. Errors are RFC 9457 problem documents."
    ),
    components(schemas(
        throughline_api::problem::Problem,
        throughline_api::timeline::TimelineEntry,
        throughline_api::event::Ready,
        throughline_api::event::LiveText,
        throughline_api::export::ExportFormat
    ))
)]
struct Document;

/// All routes, and their description.
pub(crate) fn all() -> (Router<Shared>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(conversations::open))
        .routes(routes!(conversations::put))
        .routes(routes!(messages::send))
        .routes(routes!(messages::withdraw))
        .routes(routes!(decisions::correct))
        .routes(routes!(decisions::correct_last))
        .routes(routes!(decisions::explain))
        .routes(routes!(messages::send_findings))
        .routes(routes!(blobs::put))
        .routes(routes!(blobs::get))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::get))
        .routes(routes!(search::search))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::retry))
        .routes(routes!(tasks::close))
        .routes(routes!(tasks::archive))
        .routes(routes!(tasks::reopen))
        .routes(routes!(tasks::fresh))
        .routes(routes!(tasks::add_execution))
        .routes(routes!(tasks::dismiss))
        .routes(routes!(tasks::switch))
        .routes(routes!(tasks::pin_note))
        .routes(routes!(timeline::get))
        .routes(routes!(timeline::diff))
        .routes(routes!(timeline::changes))
        .routes(routes!(export::get))
        .routes(routes!(workspaces::turns))
        .routes(routes!(workspaces::fork))
        .routes(routes!(workspaces::take))
        .routes(routes!(workspaces::discard))
        .routes(routes!(workspaces::compare))
        .routes(routes!(workspaces::preview_restore, workspaces::restore))
        .merge(asking())
        .routes(routes!(imports::list))
        .routes(routes!(imports::import))
        .routes(routes!(projects::list, projects::add))
        .routes(routes!(projects::pin_note))
        .routes(routes!(agents::list))
        .routes(routes!(agents::probe))
        .routes(routes!(daemon::status))
        .routes(routes!(daemon::version))
        .routes(routes!(daemon::stop))
        .routes(routes!(gc::run))
        .routes(routes!(daemon::openapi))
        .routes(routes!(events::stream))
        .routes(routes!(events::socket))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .merge(people())
        .routes(routes!(hooks::call))
        .split_for_parts();
    name_operations(&mut document);
    describe_errors(&mut document);
    describe_security(&mut document);
    let router = router.merge(health::beside_the_others()).method_not_allowed_fallback(wrong_method).fallback(unknown);
    (router, document)
}

/// Who calls, where they are recognised, and which browsers are let in and told things.
fn people() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(me::get, me::put))
        .routes(routes!(identities::pair))
        .routes(routes!(identities::list))
        .routes(routes!(identities::revoke))
        .routes(routes!(notices::get))
        .routes(routes!(notices::reasons))
        .routes(routes!(notices::browser))
        .routes(routes!(notices::main))
        .routes(routes!(notices::quiet, notices::no_quiet))
        .routes(routes!(notices::digest))
        .routes(routes!(deliveries::list))
        .routes(routes!(logins::link))
        .routes(routes!(logins::enter, logins::leave))
        .routes(routes!(logins::list))
        .routes(routes!(logins::revoke))
        .routes(routes!(push::key))
        .routes(routes!(push::subscribe, push::unsubscribe))
}

/// What people are asked, and what they allow.
fn asking() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::audit))
        .routes(routes!(approvals::get))
        .routes(routes!(approvals::input))
        .routes(routes!(approvals::decide))
        .routes(routes!(approvals::make_rule))
        .routes(routes!(policies::get, policies::put))
        .routes(routes!(policies::add_rule))
        .routes(routes!(policies::revoke_rule))
        .routes(routes!(tasks::answer))
        .routes(routes!(budgets::get, budgets::put))
        .routes(routes!(budgets::extend))
}

async fn unknown(uri: http::Uri) -> impl IntoResponse {
    Refusal::new("not_found", format!("there is no route {}", uri.path()), "see /api/v1/openapi.json for all routes")
}

async fn wrong_method(method: http::Method, uri: http::Uri) -> impl IntoResponse {
    let detail = format!("{} does not take {method}", uri.path());
    Refusal::new("method_not_allowed", detail, "see /api/v1/openapi.json for all routes")
}

/// Handlers of different files may have the same name; generators of clients need one per operation.
fn name_operations(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let words: Vec<&str> = path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let name = words.join("_").replace("api_v1_", "");
        let operations =
            [("get", &mut item.get), ("put", &mut item.put), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{name}"));
            }
        }
    }
}

/// Whatever is not described as an answer is a problem document, on every route.
fn describe_errors(document: &mut utoipa::openapi::OpenApi) {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            let problem = Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem"))));
            let response = ResponseBuilder::new()
                .description("What went wrong, with a stable code and a hint")
                .content(throughline_api::problem::MEDIA_TYPE, problem)
                .build();
            operation.responses.responses.insert("default".into(), RefOr::T(response));
        }
    }
}

/// Every route but `/healthz`, the way in and the calls of platforms needs the token, a login, or the Unix socket.
fn describe_security(document: &mut utoipa::openapi::OpenApi) {
    let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    document.components.get_or_insert_default().add_security_scheme("token", scheme);
    document.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
    let paths = &mut document.paths.paths;
    if let Some(health) = paths.get_mut("/healthz").and_then(|item| item.get.as_mut()) {
        health.security = Some(vec![]);
    }
    for path in [crate::login::ENTRANCE, hooks::PATH] {
        if let Some(open) = paths.get_mut(path).and_then(|item| item.post.as_mut()) {
            open.security = Some(vec![]);
        }
    }
}
