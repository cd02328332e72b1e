//! Who gets in: the token, the host, the origin, the kernel's word; and what everybody else is told.

mod support;

use support::Daemon;

#[tokio::test]
async fn every_route_but_healthz_needs_the_token() {
    let daemon = Daemon::start().await;
    let host = daemon.host();
    for path in ["/healthz", "/api/v1/healthz"] {
        assert_eq!(daemon.call("GET", path, &[("host", &host)], b"").await.status, 200, "{path}");
    }
    for path in [
        "/api/v1/tasks",
        "/readyz",
        "/metrics",
        "/api/v1/readyz",
        "/api/v1/metrics",
        "/api/v1/openapi.json",
        "/api/v1/events",
        "/nowhere",
    ] {
        let refused = daemon.call("GET", path, &[("host", &host)], b"").await;
        assert_eq!((refused.status, refused.code().as_str()), (401, "unauthenticated"), "{path}");
        assert!(refused.head.to_ascii_lowercase().contains("www-authenticate: bearer"));
    }
    let wrong = daemon.call("GET", "/api/v1/tasks", &[("host", &host), ("authorization", "Bearer 00")], b"").await;
    assert_eq!(wrong.status, 401);
    for path in ["/api/v1/tasks", "/readyz", "/metrics", "/api/v1/readyz", "/api/v1/metrics"] {
        assert_eq!(daemon.authed("GET", path, b"").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_even_with_the_token() {
    let daemon = Daemon::start().await;
    let (host, bearer) = (daemon.host(), daemon.bearer());
    let rebound =
        daemon.call("GET", "/api/v1/tasks", &[("host", "evil.example"), ("authorization", &bearer)], b"").await;
    assert_eq!((rebound.status, rebound.code().as_str()), (403, "forbidden_host"));
    let with_origin = async |origin: &str| {
        daemon
            .call("GET", "/api/v1/tasks", &[("host", &host), ("authorization", &bearer), ("origin", origin)], b"")
            .await
    };
    let foreign = with_origin("http://evil.example").await;
    assert_eq!((foreign.status, foreign.code().as_str()), (403, "forbidden_origin"));
    let own = with_origin(&format!("http://{host}")).await;
    assert_eq!(own.status, 200);
    assert!(!own.head.to_ascii_lowercase().contains("access-control"), "no CORS: {}", own.head);
}

#[tokio::test]
async fn over_the_unix_socket_the_kernel_says_who_it_is() {
    let daemon = Daemon::start().await;
    let version = daemon.client.version().await.unwrap();
    assert_eq!(version.pid, std::process::id());
    assert_eq!(version.protocol, throughline_api::PROTOCOL);
    let mode = std::os::unix::fs::PermissionsExt::mode(&daemon.socket.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn unknown_routes_and_methods_are_problems_too() {
    let daemon = Daemon::start().await;
    let unknown = daemon.authed("GET", "/api/v1/nothing", b"").await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "not_found"));
    let method = daemon.authed("DELETE", "/api/v1/tasks", b"").await;
    assert_eq!((method.status, method.code().as_str()), (405, "method_not_allowed"));
    let key = daemon.client.task("shop-99").await.unwrap_err();
    assert_eq!(key.code(), "not_found");
    assert!(key.to_string().contains("shop-99"), "{key}");
}

#[tokio::test]
async fn stopping_is_for_the_unix_socket_alone() {
    use throughline_api::daemon::{Keepers, StopDaemon};
    use throughline_engine::Shutdown;
    use throughline_server::Ended;

    let daemon = Daemon::start().await;
    let refused = daemon.authed("POST", "/api/v1/daemon/stop", br#"{"keepers":"stop"}"#).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "local_only"));
    let stopping = daemon.client.stop(StopDaemon { keepers: Keepers::Stop }).await.unwrap();
    assert_eq!(stopping.pid, std::process::id());
    let ended = support::within("the end", daemon.running).await.unwrap();
    assert_eq!(ended, Ended::Asked(Shutdown::StopKeepers));
    assert!(!daemon.socket.exists());
    assert_eq!(daemon.client.version().await.unwrap_err().code(), "daemon_unreachable");
}

#[tokio::test]
async fn numbers_are_there_for_prometheus() {
    let daemon = Daemon::start().await;
    daemon.client.version().await.unwrap();
    let metrics = daemon.authed("GET", "/metrics", b"").await;
    assert_eq!(metrics.status, 200);
    for name in [
        "throughline_http_requests_total",
        "throughline_sse_clients",
        "throughline_clients_dropped_total",
        "throughline_live_runtime_sessions",
    ] {
        assert!(metrics.body.contains(name), "{name} in {}", metrics.body);
    }
}
