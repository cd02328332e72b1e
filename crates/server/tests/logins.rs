//! Browsers: how one is let in, what its cookie is good for, and how it is shut out; and the page that it gets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use support::{Daemon, Raw, within};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn code(daemon: &Daemon) -> String {
    let link: Value = serde_json::from_str(&daemon.authed("POST", "/api/v1/login-links", b"").await.body).unwrap();
    let url = link["url"].as_str().unwrap();
    let (page, code) = url.split_once("#").unwrap();
    assert_eq!(page, format!("http://{}/login", daemon.host()));
    code.to_owned()
}

async fn enter(daemon: &Daemon, code: &str) -> Raw {
    let body = json!({ "code": code }).to_string();
    let origin = format!("http://{}", daemon.host());
    daemon.call("POST", "/api/v1/login", &[("host", &daemon.host()), ("origin", &origin)], body.as_bytes()).await
}

/// A browser that is let in: its cookie.
async fn login(daemon: &Daemon) -> String {
    let entered = enter(daemon, &code(daemon).await).await;
    assert_eq!(entered.status, 200, "{entered:?}");
    let set = entered.head.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie: ")).unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/api/v1"] {
        assert!(set.contains(word), "{set}");
    }
    set["set-cookie: ".len()..].split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_lets_one_browser_in_once_and_its_cookie_reads() {
    let daemon = Daemon::start().await;
    let code = code(&daemon).await;
    assert_eq!(enter(&daemon, "0000").await.code(), "login_code_used");
    assert_eq!(enter(&daemon, &code).await.status, 200);
    assert_eq!(enter(&daemon, &code).await.code(), "login_code_used");
    let cookie = login(&daemon).await;
    let host = daemon.host();
    let read = daemon.call("GET", "/api/v1/tasks", &[("host", &host), ("cookie", &cookie)], b"").await;
    assert_eq!(read.status, 200);
    let wrong = daemon.call("GET", "/api/v1/tasks", &[("host", &host), ("cookie", "throughline=1")], b"").await;
    assert_eq!(wrong.code(), "unauthenticated");
}

#[tokio::test]
async fn another_page_cannot_use_the_cookie() {
    let daemon = Daemon::start().await;
    let (cookie, host) = (login(&daemon).await, daemon.host());
    let own = format!("http://{host}");
    let send = async |extra: &[(&str, &str)]| {
        let headers = [&[("host", host.as_str()), ("cookie", cookie.as_str())], extra].concat();
        daemon.call("POST", "/api/v1/login-links", &headers, b"").await
    };
    assert_eq!(send(&[("origin", &own)]).await.status, 201);
    assert_eq!(send(&[("sec-fetch-site", "same-origin"), ("origin", &own)]).await.status, 201);
    assert_eq!(send(&[]).await.code(), "unauthenticated", "a form of another page may come without an origin");
    assert_eq!(send(&[("origin", "http://evil.example")]).await.code(), "forbidden_origin");
    assert_eq!(send(&[("sec-fetch-site", "same-site")]).await.code(), "unauthenticated", "another port of this host");
}

#[tokio::test]
async fn a_browser_is_listed_and_logged_out() {
    let daemon = Daemon::start().await;
    let (first, second, host) = (login(&daemon).await, login(&daemon).await, daemon.host());
    let origin = format!("http://{host}");
    let call = async |method: &str, path: &str, cookie: &str| {
        daemon.call(method, path, &[("host", &host), ("cookie", cookie), ("origin", &origin)], b"").await
    };
    let list: Value = serde_json::from_str(&call("GET", "/api/v1/logins", &first).await.body).unwrap();
    let logins = list["logins"].as_array().unwrap();
    assert_eq!(logins.iter().map(|login| &login["current"]).collect::<Vec<_>>(), [false, true], "newest first");
    let path = format!("/api/v1/logins/{}", logins[0]["id"].as_str().unwrap());
    assert_eq!(call("DELETE", &path, &first).await.status, 204);
    assert_eq!(call("GET", "/api/v1/logins", &second).await.status, 401);
    assert_eq!(call("DELETE", &path, &first).await.status, 404);
    assert_eq!(call("DELETE", "/api/v1/login", &first).await.status, 204);
    assert_eq!(call("GET", "/api/v1/logins", &first).await.status, 401);
}

#[tokio::test]
async fn the_page_is_for_everybody_and_strict() {
    let daemon = Daemon::start().await;
    let host = daemon.host();
    for path in ["/", "/tasks/shop-1", "/login"] {
        let page = daemon.call("GET", path, &[("host", &host), ("accept", "text/html,*/*")], b"").await;
        assert_eq!(page.status, 200, "{path}");
        let head = page.head.to_ascii_lowercase();
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(head.contains("frame-ancestors 'none'") && !head.contains("unsafe-inline"), "{head}");
        assert!(page.body.starts_with("<!doctype html>"), "{path}");
    }
    let api = daemon.call("GET", "/api/v1/nowhere", &[("host", &host), ("accept", "text/html")], b"").await;
    assert_eq!(api.status, 401);
    let foreign = daemon.call("GET", "/", &[("host", "evil.example"), ("accept", "text/html")], b"").await;
    assert_eq!(foreign.code(), "forbidden_host");
    let tag = daemon.call("GET", "/", &[("host", &host)], b"").await;
    let tag = tag.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let again = daemon.call("GET", "/", &[("host", &host), ("if-none-match", &tag)], b"").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

async fn connect(daemon: &Daemon, query: &str, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
    let mut request = format!("ws://{}/api/v1/events/ws{query}", daemon.host()).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    within("the handshake", tokio_tungstenite::connect_async(request)).await.map(|(socket, _)| socket)
}

/// The next event: its name, its cursor, its data.
async fn next(socket: &mut Socket) -> Option<(String, Option<String>, Value)> {
    loop {
        let text = match within("the next event", socket.next()).await? {
            Ok(Message::Text(text)) => text,
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => continue,
        };
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        if let Some(data) = field("data: ") {
            return Some((field("event: ").unwrap(), field("id: "), serde_json::from_str(&data).unwrap()));
        }
    }
}

#[tokio::test]
async fn a_socket_goes_on_from_its_cursor_with_every_event_once() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let (cookie, origin) = (login(&daemon).await, format!("http://{}", daemon.host()));
    let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    let task = format!("task={}", working.key);
    let mut socket = connect(&daemon, &format!("?{task}"), &headers).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap().0, "ready");
    daemon.say(&working, "0").await;
    let (name, cursor, entry) = next(&mut socket).await.unwrap();
    assert_eq!((name.as_str(), &entry["text"]), ("entry", &json!("0")));
    drop(socket);
    for number in 1..300 {
        daemon.say(&working, &number.to_string()).await;
    }
    let mut again = connect(&daemon, &format!("?{task}&after={}", cursor.unwrap()), &headers).await.unwrap();
    assert_eq!(next(&mut again).await.unwrap().0, "ready");
    for number in 1..300 {
        assert_eq!(next(&mut again).await.unwrap().2["text"], json!(number.to_string()));
    }
}

#[tokio::test]
async fn a_socket_says_why_there_is_no_stream() {
    let daemon = Daemon::start().await;
    let bearer = daemon.bearer();
    let headers = [("authorization", bearer.as_str())];
    for (query, code) in [("?after=bogus", "cursor_expired"), ("?task=shop-99", "not_found")] {
        let mut socket = connect(&daemon, query, &headers).await.unwrap();
        let (name, _, problem) = next(&mut socket).await.unwrap();
        assert_eq!((name.as_str(), &problem["code"]), ("problem", &json!(code)));
        assert_eq!(next(&mut socket).await, None);
    }
    let plain = daemon.authed("GET", "/api/v1/events/ws", b"").await;
    assert_eq!((plain.status, plain.code().as_str()), (426, "upgrade_required"));
}

#[tokio::test]
async fn only_our_own_page_opens_a_socket_and_a_revoked_login_loses_it() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let (cookie, own) = (login(&daemon).await, format!("http://{}", daemon.host()));
    for origin in [None, Some("http://evil.example"), Some("http://127.0.0.1:1")] {
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(origin.map(|origin| ("origin", origin)));
        assert!(connect(&daemon, "", &headers).await.is_err(), "{origin:?}");
    }
    let mut socket = connect(&daemon, "?live=false", &[("cookie", &cookie), ("origin", &own)]).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap().0, "ready");
    let out = daemon
        .call("DELETE", "/api/v1/login", &[("host", &daemon.host()), ("cookie", &cookie), ("origin", &own)], b"")
        .await;
    assert_eq!(out.status, 204);
    daemon.say(&working, "for nobody").await;
    assert_eq!(next(&mut socket).await, None, "the stream ends with the login");
}
