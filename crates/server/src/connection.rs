//! Accepting connections and serving them, each within bounds, until the daemon stops.
//!
//! Invariants (P11): a bounded number of connections; a head that does not come, or a reader that does not read, ends
//! its own connection and nobody else's.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::auth::Peer;
use crate::listen::Socket;
use crate::metrics::{CONNECTIONS, CONNECTIONS_REFUSED, Gauged};
use crate::stall::Stall;
use crate::tls::Tls;

/// How long the head of a request may take, and an idle connection may stay.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// When accepting fails (no file descriptors left), it is tried again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections.
#[derive(Clone)]
pub(crate) struct Connections {
    router: Router,
    write_stall: Duration,
    places: Arc<Semaphore>,
    pub(crate) running: TaskTracker,
    ending: CancellationToken,
}

impl Connections {
    pub(crate) fn new(router: Router, write_stall: Duration, most: usize, ending: CancellationToken) -> Self {
        Connections { router, write_stall, places: Arc::new(Semaphore::new(most)), running: TaskTracker::new(), ending }
    }

    /// Accepts from the Unix socket until the daemon stops; then the socket's file goes.
    pub(crate) async fn accept_unix(self, socket: Socket) {
        loop {
            let accepted = tokio::select! {
                accepted = socket.listener.accept() => accepted,
                () = self.ending.cancelled() => return,
            };
            match accepted.and_then(|(stream, _)| Ok((user(&stream)?, stream))) {
                Ok((uid, stream)) => self.start(std::future::ready(Ok(stream)), Peer::Unix { uid }),
                Err(error) => self.pause(&error).await,
            }
        }
    }

    /// Accepts from TCP until the daemon stops.
    pub(crate) async fn accept_tcp(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.ending.cancelled() => return,
            };
            match accepted.and_then(|(stream, _)| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => self.start(std::future::ready(Ok(stream)), Peer::Tcp),
                Err(error) => self.pause(&error).await,
            }
        }
    }

    /// Accepts from other machines until the daemon stops.
    pub(crate) async fn accept_tls(self, listener: TcpListener, tls: Tls) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.ending.cancelled() => return,
            };
            match accepted.and_then(|(stream, _)| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => self.start(shaken(tls.acceptor(), stream), Peer::Tcp),
                Err(error) => self.pause(&error).await,
            }
        }
    }

    async fn pause(&self, error: &io::Error) {
        tracing::warn!(%error, "a connection cannot be accepted");
        tokio::select! {
            () = tokio::time::sleep(ACCEPT_PAUSE) => {}
            () = self.ending.cancelled() => {}
        }
    }

    fn start<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: impl Future<Output = io::Result<T>> + Send + 'static,
        peer: Peer,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            metrics::counter!(CONNECTIONS_REFUSED).increment(1);
            tracing::warn!("too many connections: one was refused");
            return;
        };
        let connections = self.clone();
        self.running.spawn(async move {
            let _place = place;
            let _counted = Gauged::new(CONNECTIONS);
            match stream.await {
                Ok(stream) => connections.serve(stream, peer).await,
                Err(error) => tracing::debug!(%error, ?peer, "a connection came to nothing"),
            }
        });
    }

    async fn serve<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: T, peer: Peer) {
        let router = self.router;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let router = router.clone();
            async move { Ok::<Response<Body>, Infallible>(answer(router, request.map(Body::new)).await) }
        });
        let io = TokioIo::new(Stall::new(stream, self.write_stall));
        let mut connection = std::pin::pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_PATIENCE)
                .serve_connection(io, service)
                .with_upgrades()
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.ending.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, ?peer, "a connection broke");
        }
    }
}

/// A stream once hands are shaken, within the patience that a head gets.
async fn shaken(tls: TlsAcceptor, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    tokio::time::timeout(HEAD_PATIENCE, tls.accept(stream)).await?
}

async fn answer(router: Router, request: Request<Body>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Who is at the other end, as the kernel says.
fn user(stream: &UnixStream) -> io::Result<u32> {
    stream.peer_cred().map(|credentials| credentials.uid())
}
