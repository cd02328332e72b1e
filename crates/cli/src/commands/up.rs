//! `tl up`: a daemon in the background.

use serde_json::json;

use super::Context;
use crate::daemon::Arrival;
use crate::failure::Outcome;

/// Start the daemon in the background, if none runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) async fn run(context: Context, Args {}: Args) -> Outcome {
    let daemon = context.daemon().await?;
    let version = daemon.client.version().await?;
    let how = match daemon.arrival {
        Arrival::Found => "was running",
        Arrival::Started => "started",
        Arrival::Replaced => "replaced an older one",
    };
    let document = json!({ "daemon": version, "started": daemon.arrival != Arrival::Found });
    context.output.document(&document, || {
        let url = version.url.as_deref().unwrap_or("its Unix socket");
        format!("the daemon {how}: process {}, listening on {url}\n", version.pid)
    })
}
