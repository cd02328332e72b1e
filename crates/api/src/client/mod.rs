//! The typed client: one method per route, over the Unix socket or over TCP with a token.
//!
//! Owns the transport and the errors; `routes` has the methods, `events` reads the event stream. Refuses to
//! retry, to cache and to start a daemon: the caller decides those. One connection per request, so that a daemon
//! that was restarted in between is never noticed.

mod events;
mod export;
mod routes;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpStream, UnixStream};

pub use events::{EventStream, EventsQuery};
pub use export::Transcript;
pub use routes::{DeliveryListQuery, TaskListQuery, TimelineQuery};

use crate::problem::Problem;
use crate::socket::ShortPath;

/// Where the daemon is.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Its Unix socket: who calls is known by the kernel.
    Unix(PathBuf),
    /// Its TCP listener: who calls has the token.
    Tcp {
        /// Where it listens.
        address: SocketAddr,
        /// The bearer token of the home.
        token: String,
    },
}

impl std::fmt::Debug for Endpoint {
    /// The token is a secret and stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Tcp { address, .. } => write!(f, "http://{address}"),
        }
    }
}

/// Why a call did not work.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers there.
    #[error("no daemon answers at {endpoint}")]
    Unreachable {
        /// Where.
        endpoint: Endpoint,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The daemon said no.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// What came back is not what this protocol says.
    #[error("the daemon's answer makes no sense: {0}")]
    Protocol(String),
    /// No answer came in time.
    #[error("the daemon did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
}

impl ClientError {
    /// The stable code, the same as the daemon's where it is the daemon's.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            ClientError::Unreachable { .. } => "daemon_unreachable",
            ClientError::Problem(problem) => &problem.code,
            ClientError::Protocol(_) => "protocol",
            ClientError::Timeout(_) => "daemon_timeout",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            ClientError::Unreachable { .. } => "`tl up` starts the daemon",
            ClientError::Problem(problem) => &problem.hint,
            ClientError::Protocol(_) => "the daemon may be of another version: `tl down`, then `tl up`",
            ClientError::Timeout(_) => "see the daemon's log; `tl down`, then `tl up` starts it anew and loses nothing",
        }
    }
}

/// A handle on the daemon. Cheap to clone; holds no connection.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    patience: Duration,
    /// The language tag that answers are liked in.
    language: Option<String>,
}

/// Something to ask.
struct Call<'a> {
    method: Method,
    path: &'a str,
    body: Body,
    headers: Vec<(HeaderName, String)>,
}

/// What a request carries.
enum Body {
    Nothing,
    Json(Bytes),
    Raw(Bytes),
}

/// What came back, whole.
struct Answer {
    headers: http::HeaderMap,
    body: Bytes,
}

impl Client {
    /// How long an answer may take unless [`Client::with_patience`] says otherwise.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// A client for the daemon at this Unix socket.
    #[must_use]
    pub fn unix(socket: impl Into<PathBuf>) -> Self {
        Self::new(Endpoint::Unix(socket.into()))
    }

    /// A client for the daemon at this address.
    #[must_use]
    pub fn tcp(address: SocketAddr, token: impl Into<String>) -> Self {
        Self::new(Endpoint::Tcp { address, token: token.into() })
    }

    /// A client for the daemon there.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Client { endpoint, patience: Self::PATIENCE, language: None }
    }

    /// The same client, waiting this long for an answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same client, liking its answers in this language: a tag such as `zh-CN`.
    #[must_use]
    pub fn with_language(mut self, tag: impl Into<String>) -> Self {
        self.language = Some(tag.into());
        self
    }

    /// Where it calls.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    async fn json<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ClientError> {
        let answer = self.whole(call).await?;
        decode(&answer.body)
    }

    /// Sends a call and reads the whole answer; a problem document comes back as an error.
    async fn whole(&self, call: Call<'_>) -> Result<Answer, ClientError> {
        let exchange = async {
            let response = self.open(call).await?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(broken)?.to_bytes();
            Ok(Answer { headers: parts.headers, body })
        };
        match tokio::time::timeout(self.patience, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(ClientError::Timeout(self.patience)),
        }
    }

    /// Sends a call and hands the answer over as soon as its head is there.
    async fn open(&self, call: Call<'_>) -> Result<Response<Incoming>, ClientError> {
        let request = self.request(call)?;
        let unreachable = |source| ClientError::Unreachable { endpoint: self.endpoint.clone(), source };
        let response = match &self.endpoint {
            Endpoint::Unix(path) => {
                let short = ShortPath::of(path).map_err(unreachable)?;
                let stream = UnixStream::connect(short.path()).await.map_err(unreachable)?;
                exchange(TokioIo::new(stream), request).await?
            }
            Endpoint::Tcp { address, .. } => {
                let stream = TcpStream::connect(address).await.map_err(unreachable)?;
                stream.set_nodelay(true).map_err(unreachable)?;
                exchange(TokioIo::new(stream), request).await?
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broken)?.to_bytes();
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(ClientError::Problem(Box::new(problem))),
            Err(_) => Err(ClientError::Protocol(format!("status {status} without a problem document"))),
        }
    }

    fn request(&self, call: Call<'_>) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder().method(call.method).uri(call.path);
        request = match &self.endpoint {
            Endpoint::Unix(_) => request.header(header::HOST, "localhost"),
            Endpoint::Tcp { address, token } => request
                .header(header::HOST, address.to_string())
                .header(header::AUTHORIZATION, format!("Bearer {token}")),
        };
        if let Some(tag) = &self.language {
            request = request.header(header::ACCEPT_LANGUAGE, tag);
        }
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        let (kind, bytes) = match call.body {
            Body::Nothing => (None, Bytes::new()),
            Body::Json(bytes) => (Some("application/json"), bytes),
            Body::Raw(bytes) => (Some("application/octet-stream"), bytes),
        };
        if let Some(kind) = kind {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        request.body(Full::new(bytes)).map_err(|error| ClientError::Protocol(error.to_string()))
    }
}

impl Call<'_> {
    fn get(path: &str) -> Call<'_> {
        Call { method: Method::GET, path, body: Body::Nothing, headers: vec![] }
    }

    fn post(path: &str) -> Call<'_> {
        Call { method: Method::POST, path, body: Body::Nothing, headers: vec![] }
    }

    fn with_json<T: Serialize>(mut self, body: &T) -> Result<Self, ClientError> {
        let bytes = serde_json::to_vec(body).map_err(|error| ClientError::Protocol(error.to_string()))?;
        self.body = Body::Json(bytes.into());
        Ok(self)
    }
}

async fn exchange<T>(io: T, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError>
where
    T: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(io).await.map_err(broken)?;
    // Carries the bytes until the answer's body is dropped; its errors show there.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(broken)
}

fn broken(error: hyper::Error) -> ClientError {
    ClientError::Protocol(format!("the connection broke: {error}"))
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(body).map_err(|error| ClientError::Protocol(error.to_string()))
}

/// A part of a path or query, so that it stays one part whatever is in it.
fn escaped(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A query string of the pairs that have a value.
fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            out.push(if out.is_empty() { '?' } else { '&' });
            out.push_str(name);
            out.push('=');
            out.push_str(&escaped(value));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_cannot_leave_their_place() {
        assert_eq!(escaped("../a b/ü?#"), "..%2Fa%20b%2F%C3%BC%3F%23");
    }

    #[test]
    fn a_query_has_only_what_was_given() {
        assert_eq!(query(&[("a", None), ("b", Some("1&2")), ("c", Some("x"))]), "?b=1%262&c=x");
        assert_eq!(query(&[("a", None)]), "");
    }

    #[tokio::test]
    async fn where_nobody_listens_the_daemon_is_unreachable() {
        let home = tempfile::tempdir().unwrap();
        let error = Client::unix(home.path().join("tl.sock")).version().await.unwrap_err();
        assert_eq!(error.code(), "daemon_unreachable");
    }
}
