//! Performs effects: rows that were committed, each due at some time, each with a key by which it is performed again
//! after a crash until it is settled.
//!
//! Timers are rows too; the one sleep here ends when the next row is due.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_channels::Channels;
use throughline_model::command::Command;
use throughline_model::effect::Effect;
use throughline_model::ids::{ExecutionId, TaskId, TurnId};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskCommand;
use throughline_store::port::PendingEffect;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, ExecuteError, Request};
use crate::driver::Drivers;
use crate::error::EngineError;
use crate::outbox::Outbox;

/// How many rows are looked at together. Effects on living processes stay rows, so this bounds those as well.
const PAGE: usize = 4096;
/// How long to wait before trying again what the store or a platform refused.
const RETRY: Duration = Duration::from_secs(1);

/// The loop that performs effects.
pub(crate) struct Performer {
    pub(crate) core: Arc<Core>,
    pub(crate) drivers: Drivers,
    outbox: Outbox,
    in_hand: Arc<InHand>,
}

/// Keys of effects that somebody is performing in this process.
#[derive(Default)]
pub(crate) struct InHand(Mutex<HashSet<String>>);

impl InHand {
    fn take(&self, key: &str) -> bool {
        self.keys().insert(key.to_owned())
    }

    /// Lets an effect go: it was settled, or is to be performed again.
    pub(crate) fn release(&self, key: &str) {
        self.keys().remove(key);
    }

    fn keys(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Performer {
    pub(crate) fn new(core: Arc<Core>, drivers: Drivers, channels: Channels) -> Self {
        let in_hand = Arc::clone(drivers.in_hand());
        let outbox = Outbox::new(Arc::clone(&core), channels, &drivers.shared().config);
        Self { outbox, core, drivers, in_hand }
    }

    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        loop {
            let at = self.core.clock.at();
            let wait = match self.core.store.due(at, PAGE).await {
                Ok(due) => {
                    for effect in due.effects {
                        self.perform(effect);
                    }
                    due.next_at.map(|next| Duration::from_millis(next.millis_since(at).max(1)))
                }
                Err(error) => {
                    tracing::error!(%error, "effects cannot be read");
                    Some(RETRY)
                }
            };
            tokio::select! {
                () = self.core.effects_wanted.notified() => {}
                () = tokio::time::sleep(wait.unwrap_or(Duration::from_secs(3600))) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    fn perform(self: &Arc<Self>, pending: PendingEffect) {
        if !self.in_hand.take(&pending.key) {
            return;
        }
        let PendingEffect { key, effect, .. } = pending;
        if effect.process().is_some() {
            self.drivers.perform(key, effect);
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let done = match effect {
                Effect::Later { to, command, .. } => this.command(&key, to, *command).await,
                Effect::ChangeWorkspace { task, change } => {
                    this.drivers.shared().change_workspace(&key, task, change).await
                }
                Effect::Deliver { conversation, delivery, .. } => {
                    this.outbox.deliver(&key, conversation, delivery).await
                }
                Effect::ReplaceAgent { task, execution, turn } => this.replace(&key, task, execution, turn).await,
                other => {
                    tracing::error!(effect = ?other, "nobody performs this effect");
                    this.core.execute(Request::settle(key.clone())).await.map(drop)
                }
            };
            if let Err(error) = done {
                tracing::error!(%error, key, "an effect failed and is tried again");
                tokio::time::sleep(RETRY).await;
            }
            this.in_hand.release(&key);
            this.core.effects_wanted.notify_one();
        });
    }

    /// A timer's command; a "no" to it is an answer too.
    async fn command(&self, key: &str, to: StreamId, command: Command) -> Result<(), ExecuteError> {
        let request = Request { settled: vec![key.to_owned()], ..Request::of(to, command) };
        match self.core.execute(request).await {
            Err(ExecuteError::Engine(EngineError::Rejected(_))) => {
                self.core.execute(Request::settle(key)).await.map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Without a policy an agent that cannot run is left to the person.
    async fn replace(&self, key: &str, task: TaskId, failed: ExecutionId, turn: TurnId) -> Result<(), ExecuteError> {
        let state = self.core.task(task).await?;
        let project = state.task().map(|task| task.project);
        let agent = match project {
            Some(project) => self.drivers.shared().replacement(project).await,
            None => None,
        };
        let Some(agent) = agent else { return self.core.execute(Request::settle(key)).await.map(drop) };
        let execution = self.core.clock.now().mint().id();
        let command = Command::Task(TaskCommand::Replace { failed, turn, execution, agent });
        self.command(key, StreamId::Task(task), command).await
    }
}
