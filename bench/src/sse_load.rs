//! The clients of `sse`, all in one process and one thread: they read, check the order, take the time, and report once.
//!
//! **Invariant:** bounded in time: who has not got everything by the deadline is reported as a fault.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use throughline_api::socket::ShortPath;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::emission::find_stamp;
use crate::measure::{Readings, Spread};
use crate::wire::{EventReader, Wanted};

/// What is printed once every client is there.
pub(crate) const READY: &str = "ready";
/// On top of the time that the events take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the sleeper is watched after everyone else is done.
const SLEEPER_PATIENCE: Duration = Duration::from_secs(30);
/// The files that a process needs besides its connections.
const FILES: u64 = 64;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    token: String,
    #[arg(long)]
    task: String,
    #[arg(long)]
    clients: u64,
    /// How many stamped events will come
    #[arg(long)]
    stamps: u64,
    /// The Unix socket for one more client that never reads
    #[arg(long)]
    sleeper: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Stamped events that were received, by all clients together.
    pub(crate) delivered: u64,
    /// Durable events that each client saw, stamped or not.
    pub(crate) events: u64,
    pub(crate) faults: Vec<String>,
    pub(crate) latency: Spread,
    /// When the server gave up on the client that never reads, after the first event.
    pub(crate) dropped_after_secs: Option<f64>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    allow_files(args.clients + FILES)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(load(args))?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn allow_files(wanted: u64) -> Result<()> {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum })
            .with_context(|| format!("{wanted} open files are not allowed"))?;
    }
    Ok(())
}

async fn load(args: Args) -> Result<Report> {
    // All from one place, so that all must see the same, whatever the task still records while they come.
    let first = Reader::open(&args, None).await?;
    let cursor = first.cursor.clone();
    let mut clients = vec![first];
    for _ in 1..args.clients {
        clients.push(Reader::open(&args, Some(&cursor)).await?);
    }
    let sleeper = args.sleeper.as_deref().map(|socket| Sleeper::open(socket, &args)).transpose()?;
    println!("{READY}");
    io::stdout().flush()?;
    let start = Instant::now();
    let watch = sleeper.map(|sleeper| std::thread::spawn(move || sleeper.watch(start)));
    let mut reading = JoinSet::new();
    // Nothing is known of the rate here, so a second for ten events is allowed.
    let deadline = PATIENCE + Duration::from_secs(args.stamps / 10);
    for client in clients {
        reading.spawn(tokio::time::timeout(deadline, client.read(args.stamps)));
    }
    let mut seen = vec![];
    let mut faults = vec![];
    for read in reading.join_all().await {
        match read {
            Ok(Ok(read)) => seen.push(read),
            Ok(Err(error)) => faults.push(format!("{error:#}")),
            Err(_) => faults.push("a client did not get everything in time".into()),
        }
    }
    // Whoever comes late reads the same from the store.
    let late = Reader::open(&args, Some(&cursor)).await?;
    let late =
        tokio::time::timeout(PATIENCE, late.read(args.stamps)).await.context("the late client is not served")??;
    let others = seen.iter().filter(|seen| (seen.events, seen.digest) != (late.events, late.digest)).count();
    if others > 0 {
        faults.push(format!("{others} clients saw other events than are in the store"));
    }
    let dropped_after_secs = match watch {
        Some(watch) => watch.join().ok().context("the watch panicked")??,
        None => None,
    };
    faults.truncate(5);
    let mut all = Readings::default();
    seen.iter().for_each(|seen| all.extend(&seen.readings));
    let delivered = seen.iter().map(|seen| seen.stamps).sum();
    Ok(Report { delivered, events: late.events, faults, latency: all.spread()?, dropped_after_secs })
}

/// One client.
struct Reader {
    events: EventReader<TcpStream>,
    /// Where it started.
    cursor: String,
}

/// What one client saw.
struct Seen {
    stamps: u64,
    events: u64,
    /// Of all cursors, in order.
    digest: u64,
    readings: Readings,
}

impl Reader {
    async fn open(args: &Args, after: Option<&str>) -> Result<Self> {
        let stream = TcpStream::connect(args.address).await?;
        let host = args.address.to_string();
        let wanted = Wanted { host: &host, token: &args.token, task: &args.task, after };
        let mut events = EventReader::open(stream, &wanted).await?;
        let frame = events.next().await?.context("the event stream ended at once")?;
        ensure!(frame.name() == b"ready", "the event stream does not start with `ready`");
        Ok(Reader { cursor: String::from_utf8(frame.id().to_vec())?, events })
    }

    /// Reads until the last stamp.
    async fn read(mut self, stamps: u64) -> Result<Seen> {
        let mut digest = DefaultHasher::new();
        let mut seen = Seen { stamps: 0, events: 0, digest: 0, readings: Readings::default() };
        while seen.stamps < stamps {
            let frame = self.events.next().await?.context("the event stream ended")?;
            if frame.name() != b"entry" {
                continue;
            }
            digest.write(frame.id());
            seen.events += 1;
            let Some(stamp) = find_stamp(frame.data()) else { continue };
            if stamp.number != seen.stamps {
                bail!("event {} came when {} was due", stamp.number, seen.stamps);
            }
            seen.stamps += 1;
            seen.readings.add(self.events.arrived.saturating_sub(stamp.nanos));
        }
        seen.digest = digest.finish();
        Ok(seen)
    }
}

/// A client that asks and never reads.
struct Sleeper(std::os::unix::net::UnixStream);

impl Sleeper {
    /// Over the Unix socket, whose buffer does not grow: over TCP the kernel would hold megabytes for it.
    fn open(socket: &Path, args: &Args) -> Result<Self> {
        let mut stream = std::os::unix::net::UnixStream::connect(ShortPath::of(socket)?.path())?;
        let wanted = Wanted { host: "localhost", token: &args.token, task: &args.task, after: None };
        stream.write_all(wanted.request().as_bytes())?;
        Ok(Sleeper(stream))
    }

    /// Waits, without reading, for the server to hang up.
    fn watch(self, start: Instant) -> Result<Option<f64>> {
        let patience = Timespec::try_from(PATIENCE + SLEEPER_PATIENCE)?;
        let hung_up = poll(&mut [PollFd::new(&self.0.as_fd(), PollFlags::HUP)], Some(&patience))?;
        Ok((hung_up > 0).then(|| start.elapsed().as_secs_f64()))
    }
}
