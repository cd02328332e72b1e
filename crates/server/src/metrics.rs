//! What the daemon counts, in Prometheus' words.
//!
//! Counters and gauges only: a histogram would have to be swept in the background, and what it would tell is in the
//! log's spans.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Requests, by method, route and status.
pub(crate) const REQUESTS: &str = "throughline_http_requests_total";
/// Connections that are open.
pub(crate) const CONNECTIONS: &str = "throughline_connections";
/// Connections that were refused because there are too many.
pub(crate) const CONNECTIONS_REFUSED: &str = "throughline_connections_refused_total";
/// Clients of the event stream.
pub(crate) const SSE_CLIENTS: &str = "throughline_sse_clients";
/// Clients that were dropped because they do not read.
pub(crate) const CLIENTS_DROPPED: &str = "throughline_clients_dropped_total";
/// Times that a client of the event stream was so slow that it had to read from the store.
pub(crate) const SSE_LAGGED: &str = "throughline_sse_lagged_total";
/// Durable events that were published.
pub(crate) const EVENTS: &str = "throughline_events_total";
/// Keepers that run: one per live runtime session.
pub(crate) const KEEPERS: &str = "throughline_live_runtime_sessions";

/// The process's recorder. There can be one only, so whoever asks first installs it.
pub(crate) fn recorder() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("metrics are recorded elsewhere in this process");
        }
        describe();
        handle
    })
}

fn describe() {
    metrics::describe_counter!(REQUESTS, "Requests, by method, route and status");
    metrics::describe_gauge!(CONNECTIONS, "Connections that are open");
    metrics::describe_counter!(CONNECTIONS_REFUSED, "Connections that were refused because there are too many");
    metrics::describe_gauge!(SSE_CLIENTS, "Clients of the event stream");
    metrics::describe_counter!(CLIENTS_DROPPED, "Clients that were dropped because they do not read");
    metrics::describe_counter!(SSE_LAGGED, "Times that a slow client of the event stream went back to the store");
    metrics::describe_counter!(EVENTS, "Durable events that were published");
    metrics::describe_gauge!(KEEPERS, "Runtime sessions whose process runs");
    // A counter that never counted is still there to be watched.
    for counter in [CONNECTIONS_REFUSED, CLIENTS_DROPPED, SSE_LAGGED, EVENTS] {
        metrics::counter!(counter).absolute(0);
    }
    for gauge in [CONNECTIONS, SSE_CLIENTS] {
        metrics::gauge!(gauge).set(0.0);
    }
}

/// Counts one up for as long as it lives.
pub(crate) struct Gauged(&'static str);

impl Gauged {
    pub(crate) fn new(name: &'static str) -> Self {
        metrics::gauge!(name).increment(1.0);
        Gauged(name)
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        metrics::gauge!(self.0).decrement(1.0);
    }
}
