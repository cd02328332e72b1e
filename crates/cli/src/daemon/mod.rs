//! The daemon as a client command sees it: there when it is needed.
//!
//! [`reach`] finds the daemon of a home, starts one where none listens, and puts this build in the
//! place of an older one: that one stops gracefully, its keepers and their turns go on, and the new
//! daemon reads on where the old one left off. An older `tl` just talks to a newer daemon.

pub(crate) mod log_file;
pub(crate) mod notice;
pub(crate) mod process;

use std::time::Duration;

use throughline_api::client::{Client, ClientError};
use throughline_engine::Home;

use crate::build_identity::BuildIdentity;
use crate::failure::{Exit, Failure, Outcome};
use crate::language;
use process::{Running, Started};

/// How often a daemon that is coming or going is looked for again.
const RETRY: Duration = Duration::from_millis(25);
/// How often in all: about fifteen seconds.
const RETRIES: usize = 600;
/// After so many looks, starting one is tried again: the other may have been on its way out.
const LOOKS_PER_START: usize = 20;

/// How often a daemon may be killed while it starts before that is taken for a fault of its own.
const MAX_KILLS: usize = 10;

/// How the daemon was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was there.
    Found,
    /// It was started.
    Started,
    /// It was started in the place of an older one.
    Replaced,
}

/// A daemon that answers.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    pub(crate) client: Client,
    pub(crate) arrival: Arrival,
}

/// The daemon of a home; started if none listens, replaced if it is older than this build.
pub(crate) async fn reach(home: &Home) -> Outcome<Daemon> {
    let mut arrival = Arrival::Found;
    let mut kills = 0;
    let own = BuildIdentity::own();
    for attempt in 0..RETRIES {
        match look(home)? {
            Some(running) if is_older(&running, &own) && arrival == Arrival::Found => {
                aside(move || process::stop(&running)).await?;
                arrival = Arrival::Replaced;
            }
            Some(running) => {
                let client = Client::unix(running.socket);
                let client = match language::of_environment() {
                    Some(tag) => client.with_language(tag),
                    None => client,
                };
                return Ok(Daemon { client, arrival });
            }
            None if attempt % LOOKS_PER_START == 0 || kills > 0 || arrival == Arrival::Replaced => {
                let for_start = home.clone();
                match aside(move || process::start(&for_start)).await? {
                    Started::Ready if arrival == Arrival::Found => arrival = Arrival::Started,
                    Started::Ready => {}
                    Started::HomeInUse => tokio::time::sleep(RETRY).await,
                    Started::Killed(failure) if kills == MAX_KILLS => return Err(failure),
                    Started::Killed(_) => kills += 1,
                }
            }
            None => tokio::time::sleep(RETRY).await,
        }
    }
    Err(Failure::new("daemon_not_started", "another process holds this home, but no daemon listens there")
        .hint(format!("see {}; `tl doctor` looks closer", log_file::path(home).display()))
        .exit(Exit::NoDaemon))
}

/// Waits for a process on a thread of its own, so that Ctrl-C is still heard.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Outcome<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Failure::new("internal", error.to_string())))
}

/// The daemon that listens now; nothing is started.
pub(crate) fn look(home: &Home) -> Outcome<Option<Running>> {
    process::listening(home).map_err(|error| {
        Failure::new("daemon_unreachable", format!("the daemon's socket cannot be used: {error}"))
            .hint("`tl doctor` looks closer")
            .exit(Exit::NoDaemon)
    })
}

/// A daemon that does not say which build it is may be starting; it is left alone.
fn is_older(running: &Running, own: &BuildIdentity) -> bool {
    let notice = running.notice.as_ref();
    notice.is_some_and(|notice| own.is_newer_than(&notice.build))
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match &error {
            ClientError::Unreachable { .. } => Exit::NoDaemon,
            _ => Exit::Failed,
        };
        Failure::new(error.code(), error.to_string()).hint(error.hint()).exit(exit)
    }
}
