//! The bare relay that latency is compared with: a pipe, an append with fsync, a socket. In a process of its own, fed by
//! a process of its own, like the real thing.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::emission::{Emission, find_stamp};
use crate::measure::{Readings, now_nanos};

/// Tells its port, waits for its one client, then hands every line on once it is durable.
pub(crate) fn run(file: &Path) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    let (mut client, _) = listener.accept()?;
    client.set_nodelay(true)?;
    let mut file = File::options().create(true).append(true).open(file)?;
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        file.write_all(&line)?;
        file.sync_all()?;
        client.write_all(&line)?;
        line.clear();
    }
    Ok(())
}

/// One round through the bare relay.
pub(crate) async fn measure(folder: &Path, emission: Emission) -> Result<Readings> {
    let own = std::env::current_exe()?;
    let mut relay = Command::new(&own)
        .arg("relay")
        .arg(folder.join("relay.log"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = through(&mut relay, &own, emission).await;
    // It ends by itself when its input does; after an error nobody waits for that.
    if outcome.is_err() {
        let _ = relay.kill();
    }
    relay.wait()?;
    outcome
}

async fn through(relay: &mut std::process::Child, own: &Path, emission: Emission) -> Result<Readings> {
    let mut port = String::new();
    BufReader::new(relay.stdout.take().context("a pipe")?).read_line(&mut port)?;
    let mut client = TcpStream::connect(("127.0.0.1", port.trim().parse::<u16>()?)).await?;
    let stdin = relay.stdin.take().context("a pipe")?;
    let order = emission.to_string();
    let mut source = Command::new(own).arg("emit").args(order.split(' ')).stdout(Stdio::from(stdin)).spawn()?;
    let mut readings = Readings::default();
    let mut waiting = Vec::new();
    let mut next = 0;
    let read = loop {
        let mut bytes = [0; 16 << 10];
        let count = match client.read(&mut bytes).await {
            Ok(0) => break Ok(()),
            Ok(count) => count,
            Err(error) => break Err(error),
        };
        let arrived = now_nanos();
        waiting.extend_from_slice(&bytes[..count]);
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            if let Some(stamp) = find_stamp(&line) {
                next += u64::from(stamp.number == next);
                readings.add(arrived.saturating_sub(stamp.nanos));
            }
        }
    };
    source.wait()?;
    read?;
    ensure!(next == emission.count, "the bare relay handed on {next} of {} lines", emission.count);
    Ok(readings)
}
