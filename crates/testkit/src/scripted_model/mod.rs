//! A model server on loopback that does what the words of the last user message say, so that real agents can
//! be driven without a network, an account, or chance.
//!
//! It speaks OpenAI Responses and chat completions, Anthropic Messages and Gemini, streaming and not. A
//! message's lines are its script:
//!
//! | line | what the model does |
//! | --- | --- |
//! | `SAY text` | says it |
//! | `STREAM n` | says n words, each a delta of its own |
//! | `SLOW ms` | pauses that long after each delta from here on |
//! | `HOLD name` | says no more until the test calls [`ScriptedModel::release`] with the name |
//! | `RUN command` | has the agent's shell tool run it; the lines below follow its result |
//! | `ESCALATE command` | the same, asking for more rights than the agent's sandbox gives |
//! | `RECALL` | lists the user's earlier messages of this conversation, as the request has them |
//! | `NOW` | the message begins here: what is above came before, and the agent has only put it in front |
//! | `FAIL status [hours]` | the request fails with this HTTP status, for so many hours if that is said |
//!
//! Without such a line it says *Understood.*, or what the last tool said. A request for a title or the like
//! gets one, whatever the message says.
//!
//! *Invariant:* it listens on loopback only, and it waits for nothing but what the test releases (`SLOW` is
//! for people who watch).

mod answer;
mod asked;
mod chat;
mod gemini;
mod ledger;
mod messages;
mod responses;
mod script;
mod server;
mod shell_tool;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub use asked::{Api, Asked, Delivery, Tool};
use ledger::{Known, Ledger};

/// How long a test waits here before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server, until it is dropped. Its methods block: it is meant for tests without a runtime of their own.
pub struct ScriptedModel {
    ledger: Arc<Ledger>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl ScriptedModel {
    /// Listens on a free port of the loopback address.
    ///
    /// # Panics
    /// If the machine has none to give.
    #[must_use]
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        let address = listener.local_addr().expect("an address");
        let ledger = Arc::new(Ledger::default());
        let router = server::router(Arc::clone(&ledger));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { ledger, address, runtime: Some(runtime) }
    }

    /// Where it listens, such as `http://127.0.0.1:41233`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, those beside the conversation left out.
    #[must_use]
    pub fn requests(&self) -> Vec<Asked> {
        self.ledger.known().asked.iter().filter(|asked| !asked.is_aside()).cloned().collect()
    }

    /// All requests whose last user message contains this.
    #[must_use]
    pub fn requests_about(&self, words: &str) -> Vec<Asked> {
        self.requests().into_iter().filter(|asked| asked.last().contains(words)).collect()
    }

    /// Waits for the first request like this, which may have come before.
    ///
    /// # Panics
    /// If it does not come.
    pub fn wait_for(&self, wanted: impl Fn(&Asked) -> bool) -> Asked {
        self.wait("the request", |known| known.asked.iter().find(|asked| !asked.is_aside() && wanted(asked)).cloned())
    }

    /// Waits until a response is held open at this name.
    ///
    /// # Panics
    /// If none is.
    pub fn wait_for_hold(&self, name: &str) {
        self.wait(&format!("the hold {name}"), |known| known.reached.contains(name).then_some(()));
    }

    /// Lets responses go on that are held at this name, now and later.
    pub fn release(&self, name: &str) {
        self.ledger.change(|known| known.released.insert(name.to_owned()));
    }

    /// Waits until an agent hung up on a response that was held at this name.
    ///
    /// # Panics
    /// If none does.
    pub fn wait_for_hang_up(&self, name: &str) {
        self.wait(&format!("the end of the hold {name}"), |known| known.abandoned.contains(name).then_some(()));
    }

    /// All requests in few words, for a failure's message.
    #[must_use]
    pub fn summary(&self) -> String {
        let line = |asked: &Asked| {
            let Asked { number, api, model, results, .. } = asked;
            let aside = if asked.is_aside() { ", aside" } else { "" };
            format!("{number} {api:?} {model} {:?}, {} results{aside}\n", asked.last(), results.len())
        };
        self.ledger.known().asked.iter().map(line).collect()
    }

    fn wait<T>(&self, what: &str, look: impl FnMut(&Known) -> Option<T>) -> T {
        self.ledger
            .wait_for(PATIENCE, look)
            .unwrap_or_else(|| panic!("{what} does not come; what came:\n{}", self.summary()))
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
