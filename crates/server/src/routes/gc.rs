//! Retention: applied now, or only looked at. It is applied only over the Unix socket, as stopping the daemon is.

use axum::extract::State;
use throughline_api::gc::{Freed, FreedKind, RunGc};
use throughline_engine as engine;
use throughline_store::port::SweepMode;

use crate::app::Shared;
use crate::auth::{Caller, Peer};
use crate::extract::Json;
use crate::problem::Refusal;

/// Applies retention, and says what it freed.
#[utoipa::path(post, path = "/api/v1/gc", tag = "daemon", request_body = RunGc,
    responses((status = 200, description = "What was freed, or would be", body = Freed)))]
pub(super) async fn run(
    State(app): State<Shared>,
    caller: Caller,
    Json(gc): Json<RunGc>,
) -> Result<axum::Json<Freed>, Refusal> {
    if caller.peer == Peer::Tcp && !gc.dry_run {
        let hint = "use `tl gc` on its machine";
        return Err(Refusal::new("local_only", "retention is only applied over the Unix socket", hint));
    }
    let mode = if gc.dry_run { SweepMode::Look } else { SweepMode::Remove };
    let word = |kind| match kind {
        engine::FreedKind::Keepers => "keepers",
        engine::FreedKind::Checkpoints => "checkpoints",
        engine::FreedKind::Blobs => "blobs",
    };
    let freed = app.engine.gc(mode).await?;
    let freed =
        freed.iter().map(|freed| FreedKind { kind: word(freed.kind).into(), count: freed.count, bytes: freed.bytes });
    Ok(axum::Json(Freed { dry_run: gc.dry_run, freed: freed.collect() }))
}
