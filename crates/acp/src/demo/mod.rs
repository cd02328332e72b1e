//! `demo`, the built-in agent: a real ACP agent with no model behind it.
//!
//! It does what each line of a prompt tells it (`line.rs` knows the lines), through the ordinary protocol:
//! tool calls, permission requests, plans, streamed messages, sessions that outlive the process. So a
//! fresh machine without any key can see everything work, and tests have an agent that always does the
//! same. It never claims work that it did not do.
//!
//! *Invariants.* It calls no network. Its sessions are files below its state directory, and nothing
//! else is written there. When the client goes away it exits, and the commands of `run` lines die
//! with it; the processes of `spawn` lines stay, since they are there to be found by a keeper.

mod agent;
mod files;
mod line;
mod offer;
mod open_session;
mod session_file;
mod shell;
mod steps;
mod tools;
mod turn;
mod wire;

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{CancelNotification, ClientRequest};
use agent_client_protocol::{Agent, on_receive_notification, on_receive_request};
use tokio::io::{AsyncRead, AsyncWrite};

use agent::DemoAgent;

/// Why the agent stopped other than by the client going away.
#[derive(Debug, thiserror::Error)]
#[error("the demo agent lost its client: {0}")]
pub struct DemoError(#[from] agent_client_protocol::Error);

/// Serves one client on standard input and output, until input ends. Sessions are kept below
/// `state_dir`, which is made if need be.
///
/// If this fails while input is still open, a thread of the runtime may be left waiting for it: leave
/// the process then, instead of waiting for the runtime to wind down.
pub async fn run(state_dir: &Path) -> Result<(), DemoError> {
    serve(state_dir, tokio::io::stdin(), tokio::io::stdout()).await
}

/// The same over any pair of streams.
pub async fn serve(
    state_dir: &Path,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), DemoError> {
    let ledger = Arc::default();
    let transport = wire::transport(input, output, Arc::clone(&ledger));
    let agent = Arc::new(DemoAgent::new(state_dir, ledger));
    let on_request = {
        let agent = Arc::clone(&agent);
        async move |request: ClientRequest, responder, connection| agent.answer(request, responder, &connection).await
    };
    let on_cancel = async move |notification: CancelNotification, _connection| {
        agent.cancel(&notification);
        Ok(())
    };
    // Turns are tasks of the connection: they end with it, and drop what they had running.
    Agent
        .v1()
        .name("demo")
        .on_receive_request(on_request, on_receive_request!())
        .on_receive_notification(on_cancel, on_receive_notification!())
        .connect_to(transport)
        .await?;
    Ok(())
}
