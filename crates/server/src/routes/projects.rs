//! Projects: the list, and a new one.

use axum::extract::State;
use http::StatusCode;
use throughline_api::project::{AddProject, Project, ProjectList};

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Refusal;
use crate::wire;

/// All projects, by name.
#[utoipa::path(get, path = "/api/v1/projects", tag = "projects",
    responses((status = 200, description = "All of them", body = ProjectList)))]
pub(super) async fn list(State(app): State<Shared>, _caller: Caller) -> Result<axum::Json<ProjectList>, Refusal> {
    let mut projects: Vec<Project> = app.projects().await?.iter().map(wire::project).collect();
    projects.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(axum::Json(ProjectList { projects }))
}

/// Makes a folder a project. Adding one that is there gives that one.
#[utoipa::path(post, path = "/api/v1/projects", tag = "projects", request_body = AddProject,
    responses((status = 201, description = "It is there", body = Project)))]
pub(super) async fn add(
    State(app): State<Shared>,
    caller: Caller,
    Json(add): Json<AddProject>,
) -> Result<(StatusCode, axum::Json<Project>), Refusal> {
    let root = std::path::Path::new(&add.root);
    if !root.is_absolute() {
        // The daemon's own folder means nothing to whoever calls.
        return Err(Refusal::new("bad_path", format!("`{}` is not an absolute path", add.root), "name the whole path"));
    }
    let row = app.engine.add_project(caller.person, root, add.name, add.agent).await?;
    Ok((StatusCode::CREATED, axum::Json(wire::project(&row))))
}
