//! HTTP and Server-Sent Events on top of the engine: authentication, routes, the event feed.
//!
//! **Invariant:** nothing is decided about a task in here, and no model type leaves: handlers translate between
//! [`throughline_api`] and the engine. Nothing happens without an authenticated person (P10), within bounds (P11).
//!
//! [`Server::bind`] takes the addresses, so that they can be told; [`Server::run`] serves until the end.

mod app;
mod auth;
mod connection;
mod encode;
mod export;
mod extract;
mod feed;
mod listen;
mod login;
mod metrics;
mod page;
mod problem;
mod push;
mod reader;
mod request;
mod ring;
mod routes;
mod sse;
mod stall;
mod timeline;
mod tls;
mod token;
mod wire;
mod ws;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use throughline_api::daemon::{Keepers, Version};
use throughline_engine::{Engine, Home, Reach, Shutdown};
use throughline_model::event::Seq;
use throughline_store::StoreError;
use throughline_store::port::{Answer, Ask};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use listen::ListenError;
pub use push::PushOptions;
pub use token::Token;

use crate::app::{App, Room, Shared};
use crate::auth::Gate;
use crate::connection::Connections;
use crate::feed::Feed;
use crate::listen::Socket;
use crate::login::Logins;
use crate::push::Pusher;
use crate::tls::Tls;

/// How long open requests may take to end once the daemon stops.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// How many files the daemon would like to have open: each connection is one.
const FILES_WANTED: u64 = 16_384;

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The state directory.
    pub home: PathBuf,
    /// The Unix socket.
    pub socket: PathBuf,
    /// The TCP address, loopback only; none for no TCP at all.
    pub listen: Option<SocketAddr>,
    /// How other machines get here.
    pub reach: Reach,
    /// The file of the bearer token; made if it is not there.
    pub token_file: PathBuf,
    /// The file of the browsers that are let in.
    pub logins_file: PathBuf,
    /// What web push needs.
    pub push: PushOptions,
    /// A connection whose socket takes no byte for so long while something waits to be written is dropped.
    pub write_stall: Duration,
    /// How many connections may be open at once.
    pub max_connections: usize,
}

impl ServeOptions {
    /// The usual places in a home.
    #[must_use]
    pub fn new(home: &Home) -> Self {
        ServeOptions {
            home: home.path().to_owned(),
            socket: home.socket(),
            listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            reach: Reach::default(),
            token_file: home.token_file(),
            logins_file: home.logins_file(),
            push: PushOptions { key_file: home.path().join("push.key"), ca: None },
            write_stall: Duration::from_secs(10),
            max_connections: 4096,
        }
    }
}

/// Why the daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The token cannot be read or made.
    #[error("the token in {} cannot be used: {source}", path.display())]
    Token {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The list of browsers cannot be read.
    #[error("the logins in {} cannot be used: {source}", path.display())]
    Logins {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The key that messages are pushed with cannot be used, or the certificates that are trusted for it.
    #[error("web push cannot be set up: {0}")]
    Push(io::Error),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServeError {
    /// The stable code, the same in the CLI and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ServeError::Listen(error) => error.code(),
            ServeError::Token { .. } => "token_unusable",
            ServeError::Logins { .. } => "logins_unusable",
            ServeError::Push(_) => "push_unusable",
            ServeError::Store(error) => error.code(),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            ServeError::Listen(error) => error.hint(),
            ServeError::Token { .. } => "make the file readable by you alone, or remove it to get a new token",
            ServeError::Logins { .. } => "make the file readable by you alone, or remove it and log in again",
            ServeError::Push(_) => {
                "make `push.key` in the home readable by you alone, or remove it and let devices subscribe again"
            }
            ServeError::Store(error) => error.hint(),
        }
    }
}

/// Why serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The caller cancelled it.
    Cancelled,
    /// A client asked for it, and this is to become of the keepers.
    Asked(Shutdown),
}

/// A daemon that has its addresses and is about to serve.
pub struct Server {
    app: Shared,
    connections: Connections,
    socket: Socket,
    tcp: Option<TcpListener>,
    tls: Option<(TcpListener, Tls)>,
    token: Token,
    stop: watch::Receiver<Option<Keepers>>,
    ending: CancellationToken,
}

impl Server {
    /// Takes the addresses. Clients that connect now are answered as soon as [`Server::run`] is.
    ///
    /// # Errors
    /// If an address cannot be had, the token cannot be used, or the store cannot be read.
    pub async fn bind(engine: Engine, options: ServeOptions) -> Result<Self, ServeError> {
        raise_file_limit();
        let ending = CancellationToken::new();
        metrics::recorder();
        let token = Token::load_or_create(&options.token_file)
            .map_err(|source| ServeError::Token { path: options.token_file.clone(), source })?;
        let logins = Logins::load(&options.logins_file)
            .map_err(|source| ServeError::Logins { path: options.logins_file.clone(), source })?;
        let logins = Arc::new(logins);
        let contact = options.reach.public_url.as_ref().filter(|url| url.is_secure()).map(ToString::to_string);
        let owner = rustix::process::getuid().as_raw();
        let push = Pusher::load(engine.clone(), owner, Arc::clone(&logins), &options.push, contact);
        let push = Arc::new(push.map_err(ServeError::Push)?);
        tokio::spawn(Arc::clone(&push).run(engine.hub().subscribe(), ending.clone()));
        let socket = listen::unix(&options.socket).await?;
        let tcp = match options.listen {
            Some(address) => Some(listen::tcp(address, &options.home).await?),
            None => None,
        };
        let tls = match &options.reach.tls {
            Some(settings) => Some(listen::tls(settings).await?),
            None => None,
        };
        let bound = tcp.as_ref().map(|(_, bound)| *bound);
        let incarnation: Arc<str> = incarnation(&engine).await?.into();
        // Listened to first, so that nothing falls between the place and the first event.
        let news = engine.hub().subscribe();
        let head = head(&engine).await?;
        let feed = Feed::start(&engine, news, head, Arc::clone(&incarnation), ending.clone());
        let (router, document) = routes::all();
        let (stop, stopped) = watch::channel(None);
        let app = Arc::new(App {
            engine,
            feed,
            gate: Gate::new(owner, token.clone(), bound, options.reach.public_url.clone()),
            logins,
            push,
            incarnation,
            version: version(&options, bound),
            openapi: document.to_json().unwrap_or_default().into(),
            room: Room::default(),
            stop,
            ending: ending.clone(),
        });
        let router = request::layered(router, &app);
        let connections = Connections::new(router, options.write_stall, options.max_connections, ending.clone());
        let tcp = tcp.map(|(listener, _)| listener);
        Ok(Server { app, connections, socket, tcp, tls, token, stop: stopped, ending })
    }

    /// The URL of the TCP listener, if there is one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.app.version.url.as_deref()
    }

    /// Where other machines get here through TLS, if they do.
    #[must_use]
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }

    /// The path of the Unix socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket.path
    }

    /// The bearer token of the TCP listener.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// A link that lets the first browser in; none once there is one, or where no browser gets to.
    #[must_use]
    pub fn first_link(&self) -> Option<String> {
        let url = self.url().filter(|_| self.app.logins.list().is_empty())?;
        self.app.logins.link(url).ok().map(|link| link.url)
    }

    /// Serves until the token is cancelled or a client asks for the end. The engine still runs then: the caller
    /// stops it, as [`Ended`] says.
    pub async fn run(mut self, shutdown: CancellationToken) -> Ended {
        let running = self.connections.running.clone();
        running.spawn(self.connections.clone().accept_unix(self.socket));
        if let Some(listener) = self.tcp {
            running.spawn(self.connections.clone().accept_tcp(listener));
        }
        if let Some((listener, tls)) = self.tls {
            running.spawn(self.connections.clone().accept_tls(listener, tls));
        }
        let ended = tokio::select! {
            () = shutdown.cancelled() => Ended::Cancelled,
            keepers = asked(&mut self.stop) => Ended::Asked(match keepers {
                Keepers::Leave => Shutdown::LeaveKeepers,
                Keepers::Stop => Shutdown::StopKeepers,
            }),
        };
        self.ending.cancel();
        running.close();
        if tokio::time::timeout(END_PATIENCE, running.wait()).await.is_err() {
            tracing::warn!(open = running.len(), "requests that did not end were dropped");
        }
        ended
    }
}

async fn asked(stop: &mut watch::Receiver<Option<Keepers>>) -> Keepers {
    loop {
        if let Some(keepers) = *stop.borrow_and_update() {
            return keepers;
        }
        if stop.changed().await.is_err() {
            // Nobody is left who could ask.
            std::future::pending::<()>().await;
        }
    }
}

fn version(options: &ServeOptions, bound: Option<SocketAddr>) -> Version {
    Version {
        version: env!("CARGO_PKG_VERSION").into(),
        protocol: throughline_api::PROTOCOL,
        pid: std::process::id(),
        home: options.home.display().to_string(),
        url: bound.map(|address| format!("http://{address}")),
        public_url: options.reach.public_url.as_ref().map(ToString::to_string),
    }
}

async fn head(engine: &Engine) -> Result<Seq, StoreError> {
    match engine.store().ask(Ask::Head).await? {
        Answer::Head(head) => Ok(head),
        _ => Err(StoreError::Failed("the store answered another question".into())),
    }
}

async fn incarnation(engine: &Engine) -> Result<String, StoreError> {
    match engine.store().ask(Ask::Incarnation).await? {
        Answer::Incarnation(name) => Ok(name),
        _ => Err(StoreError::Failed("the store answered another question".into())),
    }
}

/// Many shells allow 1,024 open files, and a thousand clients are a thousand files.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(FILES_WANTED, |most| most.min(FILES_WANTED));
    if now.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: now.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the number of open files cannot be raised");
        }
    }
}
