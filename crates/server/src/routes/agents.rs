//! Agents: which are here, and which work.

use axum::extract::State;
use throughline_api::daemon::{Agent, AgentList, AgentProbe};

use crate::app::Shared;
use crate::auth::Caller;
use crate::extract::Path;
use crate::problem::Refusal;

/// All agents that tasks can be given to.
#[utoipa::path(get, path = "/api/v1/agents", tag = "agents",
    responses((status = 200, description = "All of them", body = AgentList)))]
pub(super) async fn list(State(app): State<Shared>, _caller: Caller) -> Result<axum::Json<AgentList>, Refusal> {
    let agents = app.engine.agents().await?.into_iter().map(|agent| Agent {
        name: agent.name,
        program: agent.program,
        found: agent.found.map(|path| path.display().to_string()),
        install: agent.install,
        has_login: agent.has_login,
        mode: agent.mode,
        runs_unasked: agent.runs_unasked,
        wants_login: agent.wants_login,
    });
    Ok(axum::Json(AgentList { agents: agents.collect() }))
}

/// Starts an agent to see whether it works, and stops it again.
#[utoipa::path(post, path = "/api/v1/agents/{name}/probe", tag = "agents",
    params(("name" = String, Path, description = "The agent's profile name")),
    responses((status = 200, description = "It works", body = AgentProbe)))]
pub(super) async fn probe(
    State(app): State<Shared>,
    _caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<AgentProbe>, Refusal> {
    let about = app.engine.probe_agent(&name).await?;
    Ok(axum::Json(AgentProbe { name: about.name, version: about.version }))
}
