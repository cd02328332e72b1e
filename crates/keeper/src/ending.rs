//! How a tree ends: told, then killed, then confirmed gone, then written down.
//!
//! *Invariant:* [`Phase::Ended`] is reached after everything the agent said is in the spool, and
//! `exit.json` is written before anyone is told.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::exit::{AgentStatus, Exit, ExitReason, TreeEnd};
use crate::serve::Keeper;
use crate::signals::Children;
use crate::tree;

/// Between two searches for what is left; what dies in between wakes the loop at once.
const ROUND: Duration = Duration::from_millis(20);
/// After this, what is left does not die of SIGKILL.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How long the last words wait for a full disk.
const LAST_WORDS: Duration = Duration::from_secs(60);

pub(crate) enum Phase {
    Running,
    /// SIGTERM was sent.
    Terminating {
        reason: ExitReason,
        kill_at: Instant,
    },
    Killing(Killing),
    Ended {
        exit: Exit,
    },
}

pub(crate) struct Killing {
    reason: ExitReason,
    since: Instant,
    next_round: Instant,
    children: Children,
}

impl Phase {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Running | Self::Ended { .. } => None,
            Self::Terminating { kill_at, .. } => Some(*kill_at),
            Self::Killing(killing) => Some(killing.next_round),
        }
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Ended { exit } => Some(exit.clone()),
            _ => None,
        }
    }

    pub(crate) fn note_children(&mut self, now: Children) {
        if let Self::Killing(killing) = self {
            killing.children = now;
        }
    }
}

impl Keeper {
    /// Asks the agent to end. What is already ending is only ever hastened.
    pub(crate) fn begin_end(&mut self, reason: ExitReason, grace: Duration, now: Instant) {
        let kill_at = now.checked_add(grace).unwrap_or(now + GIVE_UP);
        match &mut self.phase {
            Phase::Running => {
                let verdicts = self.agent.close_stdin(&mut self.frames);
                self.announce(verdicts);
                if self.agent.status.is_none() && !grace.is_zero() {
                    tree::signal_group(self.agent.pid, Signal::TERM);
                }
                self.phase = Phase::Terminating { reason, kill_at };
            }
            Phase::Terminating { kill_at: at, .. } => *at = kill_at.min(*at),
            Phase::Killing(_) | Phase::Ended { .. } => {}
        }
    }

    /// Moves the ending on as far as it goes now.
    pub(crate) fn advance_ending(&mut self, now: Instant) {
        let agent_gone = self.agent.status.is_some();
        if agent_gone && matches!(self.phase, Phase::Running) {
            self.begin_end(ExitReason::AgentExited, Duration::ZERO, now);
        }
        if let Phase::Terminating { reason, kill_at } = &self.phase
            && (agent_gone || now >= *kill_at)
        {
            self.phase = Phase::Killing(Killing {
                reason: reason.clone(),
                since: now,
                next_round: now,
                children: Children::Some,
            });
            self.reap();
        }
        self.kill(now);
    }

    fn kill(&mut self, now: Instant) {
        let Phase::Killing(killing) = &mut self.phase else {
            return;
        };
        let (reason, since) = (killing.reason.clone(), killing.since);
        let children = killing.children;
        let childless = children == Children::None;
        if !childless && now < killing.next_round {
            return;
        }
        killing.next_round = now + ROUND;
        let left = self.kill_what_is_left(children);
        let confirmed = childless && left.is_empty();
        if !confirmed && now < since + GIVE_UP {
            return;
        }
        let tree = match confirmed && cfg!(target_os = "linux") {
            true => TreeEnd::Confirmed,
            false => TreeEnd::Unconfirmed { survivors: left },
        };
        self.conclude(reason, tree, since, now);
    }

    /// One round of SIGKILL; gives whom it went to. While there are children they are all there is to
    /// see: only after them comes the search for what may have slipped away, which reads every
    /// process's environment.
    fn kill_what_is_left(&self, children: Children) -> Vec<i32> {
        if cfg!(not(target_os = "linux")) {
            tree::signal_group(self.agent.pid, Signal::KILL);
            return Vec::new();
        }
        let own = std::process::id().cast_signed();
        let Ok(all) = tree::alive() else {
            return Vec::new();
        };
        let mut left: Vec<_> = match children {
            Children::Some => tree::descendants(&all, &[own], None),
            Children::None => tree::marked(&all)
                .into_iter()
                .filter(|(process, marker)| *marker == self.dir && process.pid != own)
                .map(|(process, _)| process)
                .collect(),
        };
        if let Some(cgroup) = &self.agent.cgroup {
            tree::add(&mut left, &all, &cgroup.pids());
        }
        left.iter().for_each(tree::kill);
        left.iter().map(|process| process.pid).collect()
    }

    /// The tree is gone: keep its last words, and write down how it went.
    fn conclude(&mut self, mut reason: ExitReason, tree: TreeEnd, since: Instant, now: Instant) {
        while self.heard_more(now) {}
        if self.output.is_holding() && now < since + LAST_WORDS {
            return;
        }
        while self.hear_stderr() {}
        (self.agent.stdout, self.agent.stderr) = (None, None);
        if let Some(cgroup) = self.agent.cgroup.take() {
            cgroup.remove(&self.dir);
        }
        if let Err(error) = self.output.finish() {
            let message = error.to_string();
            reason = ExitReason::SpoolFailed { message };
        }
        let exit = Exit {
            reason,
            status: self.agent.status.unwrap_or(AgentStatus::Unknown),
            tree,
            spool_end: self.output.spool.frames_end(),
            ended_unix_ms: unix_ms(),
        };
        if let Err(error) = exit.store(&self.dir) {
            // The attached daemon still hears it; without one, the end is as unknown as after a kill.
            eprintln!("exit.json could not be written: {error}");
        }
        self.phase = Phase::Ended { exit };
    }

    fn heard_more(&mut self, now: Instant) -> bool {
        let before = self.output.spool.end();
        self.hear(now);
        self.output.spool.end() > before
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
