//! The daemon's memory after it has answered many requests of all sorts on a large store.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use throughline_api::client::{Client, TaskListQuery, TimelineQuery};
use tokio::task::JoinSet;

use crate::Size;
use crate::archive::Archive;
use crate::daemon::Daemon;
use crate::table::{Figure, Goal};

/// Clients at once.
const CLIENTS: u64 = 8;
/// Messages to the built-in agent, among the requests.
const MESSAGES: u64 = 5;

pub(crate) async fn run(archive: &Archive, size: Size) -> Result<Vec<Figure>> {
    let requests = size.pick(400, 10_000);
    let daemon = Daemon::start(&archive.home())?;
    let fresh = Memory::of(daemon.pid())?;
    daemon.open_conversation().await?;
    let keys: Arc<Vec<String>> = Arc::new((0..997).map(|number| archive.key(number * 7919)).collect());
    let mut task = None;
    for part in 0..MESSAGES {
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let share = requests / MESSAGES / CLIENTS;
            let endpoint =
                if client % 2 == 0 { daemon.client() } else { Client::tcp(daemon.address, daemon.token.clone()) };
            clients.spawn(ask(endpoint, Arc::clone(&keys), (part * CLIENTS + client) * share, share));
        }
        let sent = daemon.say(task.as_deref(), "plan a; b\nstream 50\nsay done", &format!("memory-{part}")).await?;
        task = Some(daemon.turn_end(sent).await?);
        while let Some(client) = clients.join_next().await {
            client??;
        }
    }
    let used = Memory::of(daemon.pid())?;
    daemon.stop()?;
    let beside = format!("{}; fresh: private {:.1} MB", used.beside(), fresh.private());
    let what = format!("private memory, {} tasks, {requests} requests", archive.tasks);
    Ok(vec![Figure::new("memory", what, used.private(), "MB").goal(Goal::Below(40.0)).beside(beside)])
}

async fn ask(client: Client, keys: Arc<Vec<String>>, from: u64, count: u64) -> Result<()> {
    for number in from..from + count {
        let key = &keys[usize::try_from(number)? % keys.len()];
        match number % 4 {
            0 => ensure!(!client.tasks(&TaskListQuery::default()).await?.tasks.is_empty(), "the list is empty"),
            1 => ensure!(client.task(key).await?.summary.key == *key, "another task than {key}"),
            2 => {
                let page = client.timeline(key, &TimelineQuery::default()).await?;
                ensure!(!page.entries.is_empty(), "{key} has no past");
            }
            _ => ensure!(client.health().await?.status == "ok", "it is not well"),
        }
    }
    Ok(())
}

/// What a process uses, in MB.
pub(crate) struct Memory {
    private_clean: f64,
    private_dirty: f64,
    anonymous: f64,
    resident: f64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?)
    }

    fn parse(text: &str) -> Result<Self> {
        let field = |name: &str| -> Result<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
            let kib: f64 = line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse()?;
            Ok(kib * 1024.0 / 1e6)
        };
        Ok(Memory {
            private_clean: field("Private_Clean")?,
            private_dirty: field("Private_Dirty")?,
            anonymous: field("Anonymous")?,
            resident: field("Rss")?,
        })
    }

    pub(crate) fn private(&self) -> f64 {
        self.private_clean + self.private_dirty
    }

    /// The other figures, in words.
    pub(crate) fn beside(&self) -> String {
        let Memory { private_dirty, anonymous, resident, .. } = self;
        format!("anonymous {anonymous:.1} MB, private dirty {private_dirty:.1} MB, resident {resident:.1} MB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        let text = "Rss:  3000 kB\nPrivate_Clean:   1000 kB\nPrivate_Dirty:  500 kB\nAnonymous:   400 kB\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.private(), 1.536);
        assert!(Memory::parse("").is_err());
    }
}
