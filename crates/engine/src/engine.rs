//! The engine's surface: what the server, and nobody else, calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use throughline_channels::Channels;
use throughline_keeper::client;
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::conversation::ConversationCommand;
use throughline_model::event::{Recorded, Seq};
use throughline_model::identity::Identity;
use throughline_model::ids::{ConversationId, PersonId, ProjectId, TaskId};
use throughline_model::person::PersonCommand;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_store::port::{Answer, Ask, Store};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::core::{Core, Request};
use crate::driver::Drivers;
use crate::effects::Performer;
use crate::error::EngineError;
use crate::gateway::Gateway;
use crate::home::{Home, HomeLock};
use crate::hub::{Hub, SoFar};

/// How long drivers may take to let go.
const DETACH_PATIENCE: Duration = Duration::from_secs(3);
/// How long all processes may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// What an engine is made of.
pub struct Options {
    /// Where state lives.
    pub home: Home,
    /// Held for as long as the engine lives.
    pub lock: HomeLock,
    /// The settings.
    pub config: Config,
    /// The program that has the `keep` command: this one.
    pub keeper_exe: PathBuf,
    /// Where messages can be sent.
    pub channels: Channels,
}

/// What becomes of the agents' processes when the daemon stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Their keepers keep them.
    LeaveKeepers,
    /// They are ended, their sessions parked.
    StopKeepers,
}

/// A handle to the running engine; clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) drivers: Drivers,
    pub(crate) channels: Channels,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Taken for reading by who is about to name a blob, for writing by who removes blobs that nobody names.
    pub(crate) blobs: RwLock<()>,
    _lock: HomeLock,
}

impl Engine {
    /// Starts the engine: ends orphans of killed keepers, takes up living processes, and goes on with what was due.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start(options: Options, store: Arc<dyn Store>) -> Result<Self, EngineError> {
        Self::start_with(options, store, Arc::new(SystemClock)).await
    }

    /// The same with another clock.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start_with(
        options: Options,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let Options { home, lock, config, keeper_exe, channels } = options;
        let head = match store.ask(Ask::Head).await? {
            Answer::Head(head) => head,
            _ => Seq::default(),
        };
        match client::sweep(&home.keepers()).await {
            Ok(swept) => {
                for orphans in swept {
                    tracing::warn!(dir = %orphans.dir.display(), pids = ?orphans.pids, "ended the orphans of a killed keeper");
                }
            }
            Err(error) => tracing::error!(%error, "orphans cannot be looked for"),
        }
        let hub = Hub::default();
        let core = Arc::new(Core::new(Arc::clone(&store), clock, hub.clone()));
        let drivers = Drivers::new(Arc::clone(&core), home, config, keeper_exe, lock.generation());
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(hub.pump(store, head, stop.clone()));
        let performer = Arc::new(Performer::new(Arc::clone(&core), drivers.clone(), channels.clone()));
        tasks.spawn(performer.run(stop.clone()));
        let inner = Inner { core, drivers, channels, stop, tasks, blobs: RwLock::new(()), _lock: lock };
        let engine = Self { inner: Arc::new(inner) };
        engine.inner.tasks.spawn(crate::retention::daily(Arc::downgrade(&engine.inner), engine.inner.stop.clone()));
        engine.listen();
        engine.ask_shells();
        Ok(engine)
    }

    /// Hears what comes in through the channels.
    fn listen(&self) {
        for account in self.inner.channels.iter() {
            let gateway = Arc::new(Gateway::new(self.clone(), account.clone()));
            let (channel, stop) = (Arc::clone(&account.channel), self.inner.stop.clone());
            self.inner.tasks.spawn(async move { channel.listen(gateway, stop).await });
        }
    }

    /// Asks the shell in each project's folder for its environment, one after the other, before a message has to wait
    /// for it.
    pub(crate) fn ask_shells(&self) {
        let (engine, stop) = (self.clone(), self.inner.stop.clone());
        let asking = async move {
            for project in engine.projects().await.unwrap_or_default() {
                engine.inner.drivers.shared().environments.of(Path::new(&project.root)).await;
            }
        };
        self.inner.tasks.spawn(async move { stop.run_until_cancelled(asking).await });
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.core.store
    }

    /// Where news is published.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.inner.core.hub
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.drivers.shared().config
    }

    /// The person behind an OS user, enrolled at first sight.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn owner(&self, uid: u32) -> Result<PersonId, EngineError> {
        let person = PersonId::of_os_user(uid);
        let stream = StreamId::Person(person);
        let known = self.inner.core.state(stream).await?;
        if matches!(*known, State::Person(None)) {
            let name = std::env::var("USER").unwrap_or_else(|_| format!("user {uid}"));
            // Nobody was asked yet.
            let locale = String::new();
            let identity = Identity::OsUser { uid };
            self.send(stream, Command::Person(PersonCommand::Enrol { person, name, locale, identity })).await?;
        }
        Ok(person)
    }

    /// Opens a conversation; nothing happens if it is open.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn open_conversation(
        &self,
        conversation: ConversationId,
        channel: Channel,
        person: PersonId,
        project: Option<ProjectId>,
    ) -> Result<(), EngineError> {
        let stream = StreamId::Conversation(conversation);
        if matches!(*self.inner.core.state(stream).await?, State::Conversation(Some(_))) {
            return Ok(());
        }
        let command = ConversationCommand::Open { conversation, channel, person, project, address: None };
        self.send(stream, Command::Conversation(command)).await.map(drop)
    }

    /// Carries a command out.
    ///
    /// # Errors
    /// If the model says no, or the store fails.
    pub async fn send(&self, to: StreamId, command: Command) -> Result<Vec<Recorded>, EngineError> {
        self.carry_out(Request::of(to, command)).await
    }

    /// Carries commands out together, all of them or none.
    pub(crate) async fn send_all(&self, commands: Vec<(StreamId, Command)>) -> Result<(), EngineError> {
        self.carry_out(Request { commands, ..Request::default() }).await.map(drop)
    }

    async fn carry_out(&self, request: Request) -> Result<Vec<Recorded>, EngineError> {
        if self.inner.stop.is_cancelled() {
            return Err(EngineError::Stopping);
        }
        Ok(self.inner.core.execute(request).await?)
    }

    /// The time, as the record sees it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.core.clock.now().at
    }

    /// An aggregate as it stands.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn state(&self, stream: StreamId) -> Result<Arc<State>, EngineError> {
        self.inner.core.state(stream).await
    }

    /// A task as it stands.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn task(&self, task: TaskId) -> Result<Option<Arc<throughline_model::task::Task>>, EngineError> {
        let state = self.inner.core.task(task).await?;
        Ok(state.task().cloned().map(Arc::new))
    }

    /// What is unfinished in a task, for someone who begins to watch in the middle.
    #[must_use]
    pub fn live(&self, task: TaskId) -> SoFar {
        self.inner.core.hub.so_far(task)
    }

    /// Stops the engine.
    pub async fn shutdown(&self, how: Shutdown) {
        if how == Shutdown::StopKeepers {
            self.inner.drivers.stop_all(STOP_PATIENCE).await;
        }
        self.inner.stop.cancel();
        self.inner.drivers.detach(DETACH_PATIENCE).await;
        self.inner.tasks.close();
        if tokio::time::timeout(DETACH_PATIENCE, self.inner.tasks.wait()).await.is_err() {
            tracing::warn!("the engine did not come to rest in time");
        }
    }
}
