//! Who calls: checked on every request, at the time of use, before anything is read from its body.
//!
//! Over the Unix socket the kernel says who it is: the daemon's own user, or root, who could become that user. Over TCP
//! it is whoever has the token, and the `Host` and `Origin` have to be exactly ours, so that no web page can use
//! somebody's browser to get here. There is no CORS: no other origin is ever answered.

use std::net::SocketAddr;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, header};
use throughline_model::ids::PersonId;

use crate::app::Shared;
use crate::problem::Refusal;
use crate::token::Token;

/// Where a connection comes from, as the listener saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The Unix socket, and the user at its other end.
    Unix { uid: u32 },
    /// The TCP listener.
    Tcp,
}

/// An authenticated person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) person: PersonId,
    pub(crate) peer: Peer,
}

/// What has to be right to get in.
#[derive(Debug)]
pub(crate) struct Gate {
    owner: u32,
    token: Token,
    hosts: Vec<String>,
}

impl Gate {
    pub(crate) fn new(owner: u32, token: Token, bound: Option<SocketAddr>) -> Self {
        let hosts = bound.map(|address| vec![address.to_string(), format!("localhost:{}", address.port())]);
        Gate { owner, token, hosts: hosts.unwrap_or_default() }
    }

    /// The user whose daemon this is, if the caller may act for them.
    fn admit(&self, peer: Peer, headers: &HeaderMap) -> Result<u32, Refusal> {
        match peer {
            Peer::Unix { uid } if uid == self.owner || uid == 0 => Ok(self.owner),
            Peer::Unix { uid } => {
                let detail = format!("user {uid} may not use the daemon of user {}", self.owner);
                Err(Refusal::new("forbidden", detail, "start your own daemon with `tl up`"))
            }
            Peer::Tcp => match bearer(headers) {
                Some(token) if self.token.is(token) => Ok(self.owner),
                _ => {
                    let hint = "send `Authorization: Bearer TOKEN`; the token is in the home's `token` file";
                    Err(Refusal::new("unauthenticated", "a bearer token is needed", hint))
                }
            },
        }
    }

    /// Refuses what a browser was tricked into sending.
    fn check_source(&self, peer: Peer, request: &Request) -> Result<(), Refusal> {
        // No browser reaches a Unix socket.
        if peer != Peer::Tcp {
            return Ok(());
        }
        let headers = request.headers();
        let ours = |host: &str| self.hosts.iter().any(|known| known == host);
        let hint = || format!("call http://{}", self.hosts.first().map_or("the daemon's own address", String::as_str));
        let hosts: Vec<&[u8]> = headers.get_all(header::HOST).iter().map(|host| host.as_bytes()).collect();
        let named = match hosts.as_slice() {
            [host] => std::str::from_utf8(host).is_ok_and(ours),
            _ => false,
        };
        if !named || request.uri().authority().is_some_and(|authority| !ours(authority.as_str())) {
            return Err(Refusal::new("forbidden_host", "the Host header is not this daemon's address", hint()));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let same = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")).is_some_and(ours);
            if !same {
                return Err(Refusal::new("forbidden_origin", "the request comes from another origin", hint()));
            }
        }
        Ok(())
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The middleware in front of every route. `/healthz` is the only one that needs no person.
pub(crate) async fn authenticate(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return Refusal::new("unauthenticated", "the connection has no peer", "this is a bug: see the log")
            .into_response();
    };
    if let Err(refusal) = app.gate.check_source(peer, &request) {
        return refusal.into_response();
    }
    if request.uri().path() == "/healthz" {
        return next.run(request).await;
    }
    let uid = match app.gate.admit(peer, request.headers()) {
        Ok(uid) => uid,
        Err(refusal) => return refusal.into_response(),
    };
    match app.engine.owner(uid).await {
        Ok(person) => {
            request.extensions_mut().insert(Caller { person, peer });
            next.run(request).await
        }
        Err(error) => Refusal::from(error).into_response(),
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Caller>().copied();
        caller.ok_or_else(|| Refusal::new("unauthenticated", "nobody is in scope", "this is a bug: see the log"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn gate() -> Gate {
        let home = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(&home.path().join("token")).unwrap();
        Gate::new(1000, token, Some("127.0.0.1:4711".parse().unwrap()))
    }

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request {
        let builder =
            headers.iter().fold(Request::builder().uri(uri), |builder, (name, value)| builder.header(*name, *value));
        builder.body(Body::empty()).unwrap()
    }

    fn source(uri: &str, headers: &[(&str, &str)]) -> bool {
        gate().check_source(Peer::Tcp, &request(uri, headers)).is_ok()
    }

    #[test]
    fn only_our_own_host_is_answered() {
        assert!(source("/", &[("host", "127.0.0.1:4711")]));
        assert!(source("/", &[("host", "localhost:4711")]));
        for host in [
            "127.0.0.1",
            "localhost",
            "127.0.0.1:80",
            "evil.example:4711",
            "localhost:4711.evil.example",
            "LOCALHOST.:4711",
        ] {
            assert!(!source("/", &[("host", host)]), "{host}");
        }
        assert!(!source("/", &[]));
        assert!(!source("/", &[("host", "localhost:4711"), ("host", "evil.example")]));
        assert!(!source("http://evil.example/", &[("host", "localhost:4711")]));
    }

    #[test]
    fn only_our_own_origin_is_answered() {
        let with = |origin| source("/", &[("host", "localhost:4711"), ("origin", origin)]);
        assert!(with("http://localhost:4711"));
        for origin in
            ["null", "http://evil.example", "https://localhost:4711", "http://localhost:4712", "http://localhost"]
        {
            assert!(!with(origin), "{origin}");
        }
    }

    #[test]
    fn the_kernel_or_the_token_says_who_it_is() {
        let gate = gate();
        assert_eq!(gate.admit(Peer::Unix { uid: 1000 }, &HeaderMap::new()).unwrap(), 1000);
        assert_eq!(gate.admit(Peer::Unix { uid: 0 }, &HeaderMap::new()).unwrap(), 1000);
        assert!(gate.admit(Peer::Unix { uid: 1001 }, &HeaderMap::new()).is_err());
        assert!(gate.admit(Peer::Tcp, &HeaderMap::new()).is_err());
        let with = |value: String| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        assert!(gate.admit(Peer::Tcp, &with(format!("Bearer {}", gate.token.reveal()))).is_ok());
        assert!(gate.admit(Peer::Tcp, &with(format!("Basic {}", gate.token.reveal()))).is_err());
        assert!(gate.admit(Peer::Tcp, &with(format!("Bearer {}0", gate.token.reveal()))).is_err());
    }
}
