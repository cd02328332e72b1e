//! Parking: a process with nothing to do goes, its session stays bound, and the next message takes it up again.
//!
//! A process whose agent left background children (a dev server that the person asked for) stays. When there are more
//! processes than the machine should carry, the one that has rested longest goes first; one with background children
//! goes only if there is no other, and the timeline says so.

use std::time::Duration;

use throughline_keeper::client;
use throughline_model::command::Command;
use throughline_model::effect::Process;
use throughline_model::runtime_session::{Parking, RuntimePhase};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_model::time::Timestamp;

use super::{Driver, Shared};
use crate::core::Request;

/// A process that has nothing to do.
#[derive(Debug)]
struct Resting {
    process: Process,
    since: Timestamp,
    parking: Parking,
}

impl Driver {
    /// Parks a process if it has rested until this time.
    pub(super) async fn park(&mut self, key: String, process: Process, at: Timestamp) {
        let Some(resting) = self.shared.resting(process).await else {
            return self.shared.settle(vec![key]).await;
        };
        let due = resting.parking.after_secs.map(|secs| resting.since.after(Duration::from_secs(secs)));
        if due.is_some_and(|due| due > at) {
            // A later turn has set the row's time anew: it is not ours to settle.
            return self.shared.in_hand.release(&key);
        }
        if self.shared.has_background_children(&resting) {
            tracing::info!(?process, "something that the agent started still runs: the process stays");
            return self.shared.settle(vec![key]).await;
        }
        self.shared.park(process, "it had nothing to do".into(), vec![key.clone()]).await;
        self.shared.in_hand.release(&key);
    }
}

impl Shared {
    /// Makes room for one more process, if there are too many.
    pub(super) async fn make_room(&self) {
        let processes: Vec<Process> = self.processes().values().copied().collect();
        if processes.len() < self.config.max_live_sessions {
            return;
        }
        let mut resting = vec![];
        for process in processes {
            resting.extend(self.resting(process).await);
        }
        resting.sort_by_key(|resting| (self.has_background_children(resting), resting.since));
        let Some(longest) = resting.first() else {
            tracing::warn!("more agents are at work than this machine should carry");
            return;
        };
        let cause = match self.has_background_children(longest) {
            false => "room was needed for another agent",
            true => "room was needed for another agent; what it had left running was ended with it",
        };
        self.park(longest.process, cause.into(), vec![]).await;
    }

    async fn park(&self, process: Process, cause: String, settled: Vec<String>) {
        let command = Command::Task(TaskCommand::Park { session: process.session, cause });
        let request = Request { settled: settled.clone(), ..Request::of(StreamId::Task(process.task), command) };
        if let Err(error) = self.core.execute(request).await {
            // A turn began meanwhile, and its end sets the next time.
            tracing::debug!(?process, %error, "a process is not parked");
            self.settle(settled).await;
        }
    }

    async fn resting(&self, process: Process) -> Option<Resting> {
        let state = self.core.task(process.task).await.ok()?;
        let execution = state.task()?.execution(process.execution)?;
        let session = execution.session.as_ref()?;
        let live =
            session.id == process.session && session.epoch == process.epoch && session.phase == RuntimePhase::Live;
        let idle = execution.active.is_none() && execution.queue.is_empty();
        let since = execution.past.last.as_ref()?.at;
        (live && idle).then_some(Resting { process, since, parking: session.parking })
    }

    fn has_background_children(&self, resting: &Resting) -> bool {
        let now = client::tree_size(&self.keeper_dir(resting.process));
        now.zip(resting.parking.processes).is_some_and(|(now, ready)| now > ready)
    }

    /// When a process of this agent goes, as it is now that it is ready.
    pub(super) fn parking(&self, agent: &str, process: Process) -> Parking {
        let resumes = self.config.agent(agent).is_some_and(|agent| agent.resumes);
        Parking {
            after_secs: resumes.then_some(self.config.park_after.as_secs()),
            processes: client::tree_size(&self.keeper_dir(process)),
        }
    }
}
