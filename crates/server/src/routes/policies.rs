//! Policies: what a project allows without asking, and its rules. Only for its members.

use std::time::Duration;

use axum::extract::State;
use http::StatusCode;
use throughline_api::policy::{AddRule, Policy, Rule, RuleVerdict, SetPolicy};
use throughline_engine::Author;
use throughline_model::approval::Verdict;
use throughline_model::execution::Role;
use throughline_model::ids::ProjectId;
use throughline_model::policy::RuleDraft;
use throughline_model::stream::StreamId;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path};
use crate::problem::Refusal;
use crate::wire;

const ROLES: [Role; 4] = [Role::Editor, Role::Reviewer, Role::Tester, Role::Researcher];

/// What the project allows and forbids.
#[utoipa::path(get, path = "/api/v1/projects/{project}/policy", tag = "policies",
    params(("project" = String, Path, description = "The project's name or id")),
    responses((status = 200, description = "The policy", body = Policy)))]
pub(super) async fn get(
    State(app): State<Shared>,
    caller: Caller,
    Path(project): Path<String>,
) -> Result<axum::Json<Policy>, Refusal> {
    let project = member(&app, caller, &project).await?;
    shown(&app, project).await
}

/// Says what a role, or every role, may do without asking.
#[utoipa::path(put, path = "/api/v1/projects/{project}/policy", tag = "policies", request_body = SetPolicy,
    params(("project" = String, Path, description = "The project's name or id")),
    responses((status = 200, description = "The policy as it is now", body = Policy)))]
pub(super) async fn put(
    State(app): State<Shared>,
    caller: Caller,
    Path(project): Path<String>,
    Json(set): Json<SetPolicy>,
) -> Result<axum::Json<Policy>, Refusal> {
    let project = member(&app, caller, &project).await?;
    let roles = set.role.map_or(ROLES.to_vec(), |role| vec![wire::role_of(role)]);
    let allowed: Vec<_> = set.allow.into_iter().map(wire::allowed_of).collect();
    app.engine.set_allowances(project, &roles, &allowed, author(caller)).await?;
    shown(&app, project).await
}

/// Makes a rule about one plain command. The same rule again is the same rule.
#[utoipa::path(post, path = "/api/v1/projects/{project}/rules", tag = "policies", request_body = AddRule,
    params(("project" = String, Path, description = "The project's name or id")),
    responses((status = 201, description = "It holds", body = Rule)))]
pub(super) async fn add_rule(
    State(app): State<Shared>,
    caller: Caller,
    Path(project): Path<String>,
    Json(add): Json<AddRule>,
) -> Result<(StatusCode, axum::Json<Rule>), Refusal> {
    let project = member(&app, caller, &project).await?;
    let allowing = RuleDraft::of(add.argv, None);
    let draft = match add.verdict {
        RuleVerdict::Allow => allowing,
        RuleVerdict::Deny => RuleDraft { verdict: Verdict::Deny, open: false, ..allowing },
    };
    let role = add.role.map(wire::role_of);
    let expires_at = add.expires_in_secs.map(|secs| app.engine.now().after(Duration::from_secs(secs)));
    let rule = app.engine.add_rule(project, RuleDraft { role, expires_at, ..draft }, author(caller)).await?;
    Ok((StatusCode::CREATED, axum::Json(wire::rule(&rule))))
}

/// Takes a rule back.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/rules/{number}", tag = "policies",
    params(("project" = String, Path, description = "The project's name or id"),
        ("number" = u64, Path, description = "The rule's number")),
    responses((status = 200, description = "It holds no more", body = Rule)))]
pub(super) async fn revoke_rule(
    State(app): State<Shared>,
    caller: Caller,
    Path((project, number)): Path<(String, u64)>,
) -> Result<axum::Json<Rule>, Refusal> {
    let project = member(&app, caller, &project).await?;
    let rule = app.engine.revoke_rule(project, number, author(caller)).await?;
    Ok(axum::Json(wire::rule(&rule)))
}

pub(super) fn author(caller: Caller) -> Author {
    Author { by: caller.person, source: caller.source() }
}

async fn member(app: &Shared, caller: Caller, project: &str) -> Result<ProjectId, Refusal> {
    let row = app.project(project).await?;
    app.check_member(caller.person, row.id).await?;
    Ok(row.id)
}

async fn shown(app: &Shared, project: ProjectId) -> Result<axum::Json<Policy>, Refusal> {
    let state = app.engine.state(StreamId::Project(project)).await?;
    let missing = || Refusal::not_found("project", &project.to_string());
    state.project().map(wire::policy).map(axum::Json).ok_or_else(missing)
}
