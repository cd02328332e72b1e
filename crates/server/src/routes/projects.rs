//! Projects: the list, a new one, and what is pinned to one.

use axum::extract::State;
use http::StatusCode;
use throughline_api::project::{AddProject, PinnedNotes, Project, ProjectList, ProjectRef};
use throughline_api::task::PinNote;
use throughline_model::command::Command;
use throughline_model::ids::Id as _;
use throughline_model::project::ProjectCommand;
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::{Json, Path};
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

/// Pins a note to a project: it is part of every handoff of its tasks.
#[utoipa::path(post, path = "/api/v1/projects/{project}/notes", tag = "projects", request_body = PinNote,
    params(("project" = String, Path, description = "The project's name or id")),
    responses((status = 200, description = "It is pinned", body = PinnedNotes)))]
pub(super) async fn pin_note(
    State(app): State<Shared>,
    caller: Caller,
    Path(project): Path<String>,
    Json(note): Json<PinNote>,
) -> Result<axum::Json<PinnedNotes>, Refusal> {
    let row = app.project(&project).await?;
    let stream = StreamId::Project(row.id);
    let member = |state: &throughline_model::state::State| {
        state.project().is_some_and(|project| project.members.contains(&caller.person))
    };
    if !member(&*app.engine.state(stream).await?) {
        return Err(throughline_engine::EngineError::from(Rejection::Forbidden).into());
    }
    let pin = ProjectCommand::PinNote { person: caller.person, text: note.text };
    app.engine.send(stream, Command::Project(pin)).await?;
    let state = app.engine.state(stream).await?;
    let notes = state.project().map(|project| project.notes.clone()).unwrap_or_default();
    Ok(axum::Json(PinnedNotes { project: ProjectRef { id: row.id.uuid(), name: row.name }, notes }))
}
