//! Many clients on one task: `cargo run --profile measured -p throughline-server --example fanout -- CLIENTS PER_SECOND SECONDS`.
//!
//! Everything in one process, the real engine and store. Each client has to get every durable event once, in order; one
//! more never reads. Prints what was delivered, how late, and what it cost.

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::Daemon;
use throughline_engine::{Clock as _, SystemClock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::main]
async fn main() {
    let number = |index: usize, default: u64| {
        std::env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (clients, rate, seconds) = (number(1, 1000), number(2, 50), number(3, 10));
    let daemon = Daemon::start().await;
    let working = daemon.working(1).await;
    let (address, token) = (daemon.host(), daemon.token.clone());

    let total = rate * seconds;
    let late = Arc::new([const { AtomicU64::new(0) }; 2001]);
    let path = format!("/api/v1/events?task={}", working.key);
    let mut readers = vec![];
    for _ in 0..clients {
        let mut stream = open(&address, &path, &token).await;
        wait_for(&mut stream, b"event: ready").await;
        let late = Arc::clone(&late);
        readers.push(tokio::spawn(async move { read(stream, total, &late).await }));
    }
    let stuck = open(&address, "/api/v1/events", &token).await;
    println!("{clients} clients are ready");
    let cpu = cpu_ms();
    let mut beat = tokio::time::interval(Duration::from_micros(1_000_000 / rate));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for number in 0..total {
        beat.tick().await;
        let text = format!("#{number}@{}# {}", SystemClock.at().millis(), "word ".repeat(40));
        daemon.say(&working, &text).await;
    }
    let mut whole = 0;
    for reader in readers {
        let seen = tokio::time::timeout(Duration::from_secs(60), reader).await.expect("in time").expect("no panic");
        whole += u64::from(seen == total);
    }
    let cpu = cpu_ms() - cpu;
    println!("{whole} of {clients} got all {total} events once, in order");
    println!("latency p50 {} ms, p99 {} ms, max {} ms", at(&late, 0.5), at(&late, 0.99), at(&late, 1.0));
    println!("cpu {cpu} ms in {seconds} s, clients included: {:.2} cores", cpu as f64 / 1000.0 / seconds as f64);
    drop(stuck);
    daemon.shutdown.cancel();
    daemon.running.await.expect("the end");
}

async fn open(address: &str, path: &str, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream
}

async fn wait_for(stream: &mut TcpStream, what: &[u8]) {
    let mut seen = vec![];
    while !seen.windows(what.len()).any(|window| window == what) {
        assert!(stream.read_buf(&mut seen).await.expect("read") > 0, "{}", String::from_utf8_lossy(&seen));
    }
}

/// Reads until all events came; the answer is how many came in order.
async fn read(mut stream: TcpStream, total: u64, late: &[AtomicU64; 2001]) -> u64 {
    let mut buffer: Vec<u8> = vec![];
    let mut next = 0;
    while next < total {
        if stream.read_buf(&mut buffer).await.expect("read") == 0 {
            break;
        }
        let now = SystemClock.at().millis();
        let mut done = 0;
        while let Some(end) = buffer[done..].windows(2).position(|window| window == b"\n\n") {
            let frame = &buffer[done..done + end];
            done += end + 2;
            let Some(mark) = frame.iter().position(|byte| *byte == b'#') else { continue };
            let text = std::str::from_utf8(&frame[mark + 1..]).expect("text");
            let (number, rest) = text.split_once('@').expect("a number");
            assert_eq!(number.parse::<u64>().expect("a number"), next, "in order");
            next += 1;
            let at: i64 = rest.split_once('#').expect("a time").0.parse().expect("a time");
            let ms = usize::try_from(now - at).unwrap_or_default().min(2000);
            late[ms].fetch_add(1, Ordering::Relaxed);
        }
        buffer.drain(..done);
    }
    next
}

fn at(late: &[AtomicU64; 2001], part: f64) -> usize {
    let all: u64 = late.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    let mut left = (all as f64 * part).ceil() as u64;
    late.iter()
        .position(|count| {
            left = left.saturating_sub(count.load(Ordering::Relaxed));
            left == 0
        })
        .unwrap_or(2000)
}

fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    (fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")) * 10
}
