//! Who calls: checked on every request, at the time of use, before anything is read from its body.
//!
//! Over the Unix socket the kernel says who it is: the daemon's own user, or root, who could become that user. Over TCP
//! it is whoever has the token, or a browser that was let in ([`crate::login`]); the `Host` and `Origin` have to be
//! exactly ours, so that no web page can use somebody's browser to get here. There is no CORS: no other origin is ever
//! answered. A cookie counts only in requests that our own page made.

use std::net::SocketAddr;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, header};
use throughline_engine::PublicUrl;
use throughline_model::approval::Source;
use throughline_model::channel::Channel;
use throughline_model::identity::Identity;
use throughline_model::ids::PersonId;
use throughline_model::present::Locale;
use throughline_model::stream::StreamId;

use crate::app::Shared;
use crate::login::{self, LoginId, Logins};
use crate::page;
use crate::problem::Refusal;
use crate::routes::{health, hooks};
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
    /// The login that let them in, if one did.
    pub(crate) login: Option<LoginId>,
    /// What to speak to them.
    pub(crate) locale: Locale,
}

impl Caller {
    /// Where what they decide comes from.
    pub(crate) fn source(&self) -> Source {
        let (surface, identity) = match self.peer {
            Peer::Unix { uid } => (Channel::Cli, Some(Identity::OsUser { uid })),
            Peer::Tcp if self.login.is_some() => (Channel::Web, None),
            Peer::Tcp => (Channel::Api, None),
        };
        Source { surface, identity, conversation: None }
    }
}

/// What has to be right to get in.
#[derive(Debug)]
pub(crate) struct Gate {
    owner: u32,
    token: Token,
    /// Where we are, as browsers write it, the usual one first.
    origins: Vec<String>,
    public: Option<PublicUrl>,
}

impl Gate {
    pub(crate) fn new(owner: u32, token: Token, bound: Option<SocketAddr>, public: Option<PublicUrl>) -> Self {
        let here = bound.map(|address| [format!("http://{address}"), format!("http://localhost:{}", address.port())]);
        let elsewhere = public.as_ref().map(ToString::to_string);
        Gate { owner, token, origins: here.into_iter().flatten().chain(elsewhere).collect(), public }
    }

    /// Where browsers on other machines find us.
    pub(crate) fn public(&self) -> Option<&PublicUrl> {
        self.public.as_ref()
    }

    /// Whether a browser got here through TLS: then its cookie is for nothing else.
    pub(crate) fn is_secure(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).map(http::HeaderValue::as_bytes);
        self.public.as_ref().is_some_and(|url| url.is_secure() && Some(url.host().as_bytes()) == host)
    }

    /// Lets the caller act for the user whose daemon this is, or refuses.
    fn admit(&self, peer: Peer, request: &Request, logins: &Logins) -> Result<Option<LoginId>, Refusal> {
        match peer {
            Peer::Unix { uid } if uid == self.owner || uid == 0 => Ok(None),
            Peer::Unix { uid } => {
                let detail = format!("user {uid} may not use the daemon of user {}", self.owner);
                Err(Refusal::new("forbidden", detail, "start your own daemon with `tl up`"))
            }
            Peer::Tcp => match bearer(request.headers()) {
                Some(token) if self.token.is(token) => Ok(None),
                None if from_our_page(request) => logins.of(request.headers()).map(Some).ok_or_else(nobody),
                _ => Err(nobody()),
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
        let hosts_of = |origin: &String, host: &str| origin.split_once("://").is_some_and(|(_, known)| known == host);
        let ours = |host: &str| self.origins.iter().any(|origin| hosts_of(origin, host));
        let hint = || format!("call {}", self.origins.first().map_or("the daemon's own address", String::as_str));
        let hosts: Vec<&[u8]> = headers.get_all(header::HOST).iter().map(|host| host.as_bytes()).collect();
        let named = match hosts.as_slice() {
            [host] => std::str::from_utf8(host).is_ok_and(ours),
            _ => false,
        };
        if !named || request.uri().authority().is_some_and(|authority| !ours(authority.as_str())) {
            return Err(Refusal::new("forbidden_host", "the Host header is not this daemon's address", hint()));
        }
        for origin in headers.get_all(header::ORIGIN) {
            if !self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()) {
                return Err(Refusal::new("forbidden_origin", "the request comes from another origin", hint()));
            }
        }
        Ok(())
    }
}

fn nobody() -> Refusal {
    let hint = "in a browser: `tl open` gives a link; else send `Authorization: Bearer TOKEN`, the home's `token` file";
    Refusal::new("unauthenticated", "a login or a bearer token is needed", hint)
}

/// Whether our own page made the request. Browsers say so themselves; where one does not, only reading is believed
/// without an `Origin`, which [`Gate::check_source`] has seen to be ours.
fn from_our_page(request: &Request) -> bool {
    let headers = request.headers();
    match headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes) {
        Some(b"same-origin") => true,
        Some(b"none") => request.method().is_safe() && !headers.contains_key(header::UPGRADE),
        Some(_) => false,
        None => {
            headers.contains_key(header::ORIGIN)
                || (request.method().is_safe() && !headers.contains_key(header::UPGRADE))
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The middleware in front of every route. Only `/healthz`, the page itself, the way in and the calls of platforms, which
/// prove themselves by what they bring, need no person.
pub(crate) async fn authenticate(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return Refusal::new("unauthenticated", "the connection has no peer", "this is a bug: see the log")
            .into_response();
    };
    if let Err(refusal) = app.gate.check_source(peer, &request) {
        return refusal.into_response();
    }
    if let Some(page) = page::answer(&request) {
        return page;
    }
    let path = request.uri().path();
    let posted = request.method() == http::Method::POST;
    if health::ALIVE.contains(&path) || (posted && (path == login::ENTRANCE || path.starts_with(hooks::PREFIX))) {
        return next.run(request).await;
    }
    let login = match app.gate.admit(peer, &request, &app.logins) {
        Ok(login) => login,
        Err(refusal) => return refusal.into_response(),
    };
    match known(&app).await {
        Ok((person, own)) => {
            let locale = locale(&request, &own);
            request.extensions_mut().insert(Caller { person, peer, login, locale });
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Whose daemon this is, and the language that they chose.
async fn known(app: &Shared) -> Result<(PersonId, String), Refusal> {
    let person = app.engine.owner(app.gate.owner).await?;
    let state = app.engine.state(StreamId::Person(person)).await?;
    Ok((person, state.person().map(|person| person.locale.clone()).unwrap_or_default()))
}

/// The language that the request asks for; else the person's own; else the one that the client likes best.
fn locale(request: &Request, own: &str) -> Locale {
    let query = request.uri().query().unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("locale="));
    let own = Some(own).filter(|own| !own.is_empty());
    if let Some(tag) = asked.or(own) {
        return Locale::of(tag);
    }
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE).and_then(|header| header.to_str().ok());
    accepted.and_then(Locale::accepted).unwrap_or_default()
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
        gate_at(None)
    }

    fn gate_at(public: Option<&str>) -> Gate {
        let home = tempfile::tempdir().unwrap();
        let token = Token::load_or_create(&home.path().join("token")).unwrap();
        Gate::new(1000, token, Some("127.0.0.1:4711".parse().unwrap()), public.map(|url| url.parse().unwrap()))
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
    fn the_public_address_is_ours_too_with_its_own_scheme() {
        let gate = gate_at(Some("https://desk.example:8443"));
        let host = ("host", "desk.example:8443");
        let check = |headers: &[(&str, &str)]| gate.check_source(Peer::Tcp, &request("/", headers)).is_ok();
        assert!(check(&[host]) && check(&[("host", "localhost:4711")]));
        assert!(check(&[host, ("origin", "https://desk.example:8443")]));
        for origin in ["http://desk.example:8443", "https://desk.example", "https://desk.example:8443.evil.example"] {
            assert!(!check(&[host, ("origin", origin)]), "{origin}");
        }
        assert!(gate.is_secure(request("/", &[host]).headers()));
        assert!(!gate.is_secure(request("/", &[("host", "localhost:4711")]).headers()));
        let plain = gate_at(Some("http://desk.example:8443"));
        assert!(!plain.is_secure(request("/", &[host]).headers()));
    }

    #[test]
    fn what_was_asked_for_beats_what_was_chosen_and_that_beats_what_is_liked() {
        let chinese = [("accept-language", "zh-CN, en;q=0.5")];
        assert_eq!(locale(&request("/", &[]), ""), Locale::En);
        assert_eq!(locale(&request("/", &chinese), ""), Locale::Zh);
        assert_eq!(locale(&request("/", &chinese), "en"), Locale::En);
        assert_eq!(locale(&request("/?a=b&locale=zh", &[]), "en"), Locale::Zh);
        assert_eq!(locale(&request("/", &[]), "fr"), Locale::En, "what is not spoken here is answered in English");
    }

    #[test]
    fn the_kernel_or_the_token_says_who_it_is() {
        let (gate, home) = (gate(), tempfile::tempdir().unwrap());
        let logins = Logins::load(&home.path().join("logins.json")).unwrap();
        let admit = |peer, headers: &[(&str, &str)]| gate.admit(peer, &request("/", headers), &logins);
        assert_eq!(admit(Peer::Unix { uid: 1000 }, &[]).unwrap(), None);
        assert_eq!(admit(Peer::Unix { uid: 0 }, &[]).unwrap(), None);
        assert!(admit(Peer::Unix { uid: 1001 }, &[]).is_err());
        assert!(admit(Peer::Tcp, &[]).is_err());
        let with = |value: String| admit(Peer::Tcp, &[("authorization", &value)]);
        assert!(with(format!("Bearer {}", gate.token.reveal())).is_ok());
        assert!(with(format!("Basic {}", gate.token.reveal())).is_err());
        assert!(with(format!("Bearer {}0", gate.token.reveal())).is_err());
    }

    #[test]
    fn a_cookie_counts_only_in_what_our_own_page_asks() {
        let ours = |method: &str, headers: &[(&str, &str)]| {
            let mut request = request("/api/v1/tasks", headers);
            *request.method_mut() = method.parse().unwrap();
            from_our_page(&request)
        };
        let own = ("sec-fetch-site", "same-origin");
        assert!(ours("GET", &[own]) && ours("POST", &[own]) && ours("GET", &[own, ("upgrade", "websocket")]));
        assert!(ours("GET", &[]) && ours("POST", &[("origin", "http://localhost:4711")]));
        assert!(ours("GET", &[("sec-fetch-site", "none")]), "typed into the address bar");
        assert!(!ours("POST", &[("sec-fetch-site", "none")]));
        assert!(!ours("POST", &[]) && !ours("DELETE", &[]) && !ours("GET", &[("upgrade", "websocket")]));
        for site in ["same-site", "cross-site", "new-word"] {
            assert!(!ours("GET", &[("sec-fetch-site", site)]), "{site}");
        }
    }
}
