//! The event stream: every later event once, in order, for whoever reads; and an end for whoever does not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::time::Duration;

use support::{Daemon, next_durable, within};
use throughline_api::client::EventsQuery;
use throughline_api::event::Frame;
use throughline_api::timeline::EntryBody;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn of(key: &str, after: Option<&str>) -> EventsQuery {
    EventsQuery { after: after.map(str::to_owned), task: Some(key.to_owned()) }
}

async fn next_said(stream: &mut throughline_api::client::EventStream) -> (String, String) {
    loop {
        if let Frame::Entry(entry) = next_durable(stream).await
            && let EntryBody::Message(message) = entry.body
        {
            return (entry.cursor, message.text.text);
        }
    }
}

#[tokio::test]
async fn a_stream_starts_now_and_says_where_that_is() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let mut stream = daemon.client.events(&of(&working.key, None)).await.unwrap();
    let Frame::Ready(ready) = next_durable(&mut stream).await else { panic!("it is ready first") };
    assert_eq!(stream.cursor(), Some(ready.cursor.as_str()));
    daemon.say(&working, "one").await;
    let Frame::Entry(entry) = next_durable(&mut stream).await else { panic!("an entry") };
    assert!(matches!(&entry.body, EntryBody::Message(message) if message.text.text == "one"));
    assert_eq!(entry.task.as_ref().map(|task| task.key.as_str()), Some(working.key.as_str()));
    assert_eq!(stream.cursor(), Some(entry.cursor.as_str()));
}

#[tokio::test]
async fn resuming_yields_every_later_event_once() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let other = daemon.working(2).await;
    let mut stream = daemon.client.events(&of(&working.key, None)).await.unwrap();
    for number in 0..10 {
        daemon.say(&working, &number.to_string()).await;
        daemon.say(&other, &format!("elsewhere {number}")).await;
    }
    let mut seen = vec![];
    let mut cursor = String::new();
    for _ in 0..4 {
        let (at, text) = next_said(&mut stream).await;
        cursor = at;
        seen.push(text);
    }
    drop(stream);
    for number in 10..300 {
        daemon.say(&working, &number.to_string()).await;
    }
    let mut again = daemon.client.events(&of(&working.key, Some(&cursor))).await.unwrap();
    while seen.len() < 300 {
        seen.push(next_said(&mut again).await.1);
    }
    assert_eq!(seen, (0..300).map(|number| number.to_string()).collect::<Vec<_>>());
    daemon.say(&working, "last").await;
    assert_eq!(next_said(&mut again).await.1, "last");
}

#[tokio::test]
async fn what_was_written_before_the_daemon_is_caught_up_from_the_store() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    // Behind the engine's back: the ring has none of these.
    for number in 0..250 {
        daemon.message(&working, &number.to_string()).await;
    }
    let page = daemon
        .client
        .timeline(&working.key, &throughline_api::client::TimelineQuery { limit: Some(200), before: None })
        .await
        .unwrap();
    let early = page.entries.first().unwrap();
    let EntryBody::Message(message) = &early.body else { panic!("a message") };
    let first: usize = message.text.text.parse().unwrap();
    let mut stream = daemon.client.events(&of(&working.key, Some(&early.cursor))).await.unwrap();
    daemon.say(&working, "250").await;
    for number in first + 1..=250 {
        assert_eq!(next_said(&mut stream).await.1, number.to_string());
    }
}

#[tokio::test]
async fn the_header_wins_over_the_query() {
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let mut stream = daemon.client.events(&of(&working.key, None)).await.unwrap();
    daemon.say(&working, "one").await;
    daemon.say(&working, "two").await;
    let (first, _) = next_said(&mut stream).await;
    let (second, _) = next_said(&mut stream).await;
    let request = format!(
        "GET /api/v1/events?after={second}&task={} HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\nlast-event-id: {first}\r\n\r\n",
        working.key,
        daemon.host(),
        daemon.bearer()
    );
    let mut raw = TcpStream::connect(daemon.address).await.unwrap();
    raw.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let expected = format!("id: {second}\nevent: entry\n");
    within("the second message", async {
        while !text.contains(&expected) {
            let mut bytes = [0; 4096];
            let read = raw.read(&mut bytes).await.unwrap();
            assert!(read > 0, "the stream ended: {text}");
            text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
    })
    .await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(!text.contains(&format!("id: {first}\nevent: entry")), "{text}");
}

#[tokio::test]
async fn a_cursor_of_another_database_is_expired_not_skipped() {
    let daemon = Daemon::start().await;
    let elsewhere = Daemon::start().await;
    let working = elsewhere.working(1).await;
    let mut stream = elsewhere.client.events(&of(&working.key, None)).await.unwrap();
    elsewhere.say(&working, "one").await;
    let (foreign, _) = next_said(&mut stream).await;
    for cursor in [foreign.as_str(), "garbage", "0", "ffffffffffffffffffffffff"] {
        let query = EventsQuery { after: Some(cursor.into()), task: None };
        let error = daemon.client.events(&query).await.unwrap_err();
        assert_eq!(error.code(), "cursor_expired", "{cursor}");
        assert!(error.hint().contains("/api/v1/status"));
    }
    let status = daemon.authed("GET", "/api/v1/events?after=garbage", b"").await;
    assert_eq!(status.status, 410);
    assert_eq!(daemon.client.events(&of("shop-77", None)).await.unwrap_err().code(), "not_found");
}

#[tokio::test]
async fn a_client_that_never_reads_is_dropped_and_slows_nobody() {
    let daemon = Daemon::start_with(|options| options.write_stall = Duration::from_millis(300)).await;
    let working = daemon.working(1).await;
    let request =
        format!("GET /api/v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\n\r\n", daemon.host(), daemon.bearer());
    let small = tokio::net::TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(4096).unwrap();
    let mut stuck = small.connect(daemon.address).await.unwrap();
    stuck.write_all(request.as_bytes()).await.unwrap();
    let mut reader = daemon.client.events(&of(&working.key, None)).await.unwrap();
    // More than the kernel takes for somebody who does not read.
    let long = "x".repeat(60_000);
    let written = async {
        for number in 0..150 {
            daemon.say(&working, &format!("{number} {long}")).await;
        }
    };
    let read = async {
        for number in 0..150 {
            let (_, text) = next_said(&mut reader).await;
            assert!(text.starts_with(&format!("{number} ")));
        }
    };
    tokio::join!(written, read);
    let dropped = async {
        loop {
            let metrics = daemon.authed("GET", "/metrics", b"").await.body;
            if metrics.contains("throughline_clients_dropped_total 1") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within("the stuck client is dropped", dropped).await;
    // What was on its way may still be read, and then it is over.
    let mut rest = vec![];
    let _ = within("the end of the stuck connection", stuck.read_to_end(&mut rest)).await;
    daemon.say(&working, "after").await;
    assert_eq!(next_said(&mut reader).await.1, "after");
}

#[tokio::test]
async fn a_client_that_falls_behind_reads_on_from_the_store() {
    // It is slow, not dead: however busy this machine is, it is not given up.
    let daemon = Daemon::start_with(|options| options.write_stall = Duration::from_secs(600)).await;
    let working = daemon.working(1).await;
    let mut late = daemon.client.events(&of(&working.key, None)).await.unwrap();
    // More than the ring holds, while nobody reads.
    let long = "x".repeat(60_000);
    for number in 0..200 {
        daemon.say(&working, &format!("{number} {long}")).await;
    }
    for number in 0..200 {
        let (_, text) = next_said(&mut late).await;
        assert!(text.starts_with(&format!("{number} ")), "{number} comes next, once");
    }
    let metrics = daemon.authed("GET", "/metrics", b"").await.body;
    assert!(!metrics.contains("throughline_sse_lagged_total 0"), "it was too slow for the ring: {metrics}");
    daemon.say(&working, "after").await;
    assert_eq!(next_said(&mut late).await.1, "after");
}

#[tokio::test]
async fn streams_end_when_the_daemon_does() {
    let daemon = Daemon::start().await;
    let mut stream = daemon.client.events(&EventsQuery::default()).await.unwrap();
    next_durable(&mut stream).await;
    daemon.shutdown.cancel();
    within("the end", daemon.running).await.unwrap();
    let rest = async { while let Ok(Some(_)) = stream.next().await {} };
    within("the stream's end", rest).await;
}
