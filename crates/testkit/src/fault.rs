//! What can go wrong between a client and a platform, one call at a time.

use std::collections::{BTreeMap, VecDeque};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

/// What goes wrong with a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The platform says no, in its own words, and does nothing.
    Refuse {
        /// The HTTP status.
        status: u16,
        /// What it says.
        body: Value,
        /// A header that comes along.
        header: Option<(String, String)>,
    },
    /// What stands before the platform says no in words of its own; nothing is done.
    Proxy(u16),
    /// It answers with something that is no JSON, though all is well; nothing is done.
    Nonsense,
    /// The connection breaks before anything is done.
    HangUp,
    /// It is done, and then the connection breaks in the middle of the answer.
    LoseAnswer,
    /// It is done, and the answer never comes.
    NeverAnswer,
}

/// Which calls go wrong, and how: each fault is for one call, the first for the first.
#[derive(Default)]
pub(crate) struct Faults(BTreeMap<String, VecDeque<Fault>>);

impl Faults {
    pub(crate) fn plan(&mut self, call: &str, fault: Fault) {
        self.0.entry(call.to_owned()).or_default().push_back(fault);
    }

    pub(crate) fn next(&mut self, call: &str) -> Option<Fault> {
        self.0.get_mut(call)?.pop_front()
    }
}

impl Fault {
    /// The answer where nothing is done, else none.
    pub(crate) fn instead(&self) -> Option<Response> {
        match self {
            Fault::Refuse { status, body, header } => {
                let mut headers = HeaderMap::new();
                if let Some((name, value)) = header {
                    let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
                    headers.insert(name, HeaderValue::from_str(value).expect("a header's value"));
                }
                Some((code(*status), headers, axum::Json(body.clone())).into_response())
            }
            Fault::Proxy(status) => Some((code(*status), "<html><h1>nginx</h1></html>").into_response()),
            Fault::Nonsense => Some("<html>hello</html>".into_response()),
            Fault::HangUp => Some(broken(Bytes::new())),
            Fault::LoseAnswer | Fault::NeverAnswer => None,
        }
    }

    /// What becomes of the answer to a call that was done.
    pub(crate) async fn spoil(self, answer: Response) -> Response {
        match self {
            Fault::LoseAnswer => broken(Bytes::from_static(b"{\"")),
            Fault::NeverAnswer => std::future::pending().await,
            Fault::Refuse { .. } | Fault::Proxy(_) | Fault::Nonsense | Fault::HangUp => answer,
        }
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("a status")
}

/// An answer that breaks off after these bytes, and the connection with it.
pub(crate) fn broken(bytes: Bytes) -> Response {
    let first = stream::iter((!bytes.is_empty()).then_some(Ok(bytes)));
    let rest = stream::once(async { Err(std::io::Error::other("the connection breaks")) });
    Body::from_stream(first.chain(rest)).into_response()
}
