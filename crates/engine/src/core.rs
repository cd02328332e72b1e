//! The loop of DESIGN §6: load, decide, chase what aggregates tell each other, commit all of it in one transaction.
//!
//! Invariants:
//! - what is performed was committed before, and what was committed is performed: effects are rows;
//! - nothing is locked while deciding. Whoever comes second is refused by the stream's version, loads again and
//!   decides again with the same time and entropy.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use throughline_model::command::Command;
use throughline_model::conversation::ConversationCommand;
use throughline_model::effect::Effect;
use throughline_model::event::{Event, Recorded};
use throughline_model::ids::TaskId;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_model::time::Now;
use throughline_model::view::{Row, rows};
use throughline_model::{decide, evolve, react};
use throughline_store::port::{Append, Batch, CommitError, InboxEntry, Mark, Store};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::error::EngineError;
use crate::hub::Hub;

/// How many aggregates are kept in memory.
const CACHED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// How many events may follow a snapshot before the next one is due.
const SNAPSHOT_EVERY: u64 = 64;
/// How often a decision is made anew before it is given up.
const ATTEMPTS: usize = 100;
/// Streams that one transaction may touch: a bound on how far a message can travel.
const MAX_TOLD: usize = 1_000;

/// Decides and commits.
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hub: Hub,
    /// Rung when effects were committed.
    pub(crate) effects_wanted: Notify,
    cache: Mutex<LruCache<StreamId, Known>>,
}

/// An aggregate as last seen.
#[derive(Clone)]
struct Known {
    state: Arc<State>,
    version: u64,
    snapshot: u64,
}

/// Commands that are carried out together, and what is committed along with them.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) commands: Vec<(StreamId, Command)>,
    pub(crate) settled: Vec<String>,
    pub(crate) inbox: Option<InboxEntry>,
    pub(crate) mark: Option<Mark>,
}

impl Request {
    pub(crate) fn of(to: StreamId, command: Command) -> Self {
        Self { commands: vec![(to, command)], ..Self::default() }
    }

    pub(crate) fn settle(key: impl Into<String>) -> Self {
        Self { settled: vec![key.into()], ..Self::default() }
    }
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
    #[error("the message was received before")]
    Duplicate(InboxEntry),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<ExecuteError> for EngineError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Duplicate(_) => EngineError::IdempotencyConflict,
            ExecuteError::Engine(error) => error,
        }
    }
}

impl Core {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, hub: Hub) -> Self {
        Self { store, clock, hub, effects_wanted: Notify::new(), cache: Mutex::new(LruCache::new(CACHED)) }
    }

    /// Carries a request out, whole or not at all.
    pub(crate) async fn execute(&self, request: Request) -> Result<Vec<Recorded>, ExecuteError> {
        let now = self.clock.now();
        for _ in 0..ATTEMPTS {
            let unit = self.decide_all(&request, now).await?;
            let touched: Vec<StreamId> = unit.streams.keys().copied().collect();
            let (batch, known) = unit.into_batch(&request, now);
            let has_effects = !batch.effects.is_empty();
            match self.store.commit(batch).await {
                Ok(committed) => {
                    self.remember(known);
                    self.hub.committed(&committed.events);
                    if has_effects {
                        self.effects_wanted.notify_one();
                    }
                    return Ok(committed.events);
                }
                Err(CommitError::Conflict { .. }) => self.forget(&touched),
                Err(CommitError::Duplicate(entry)) => return Err(ExecuteError::Duplicate(entry)),
                Err(CommitError::Store(error)) => {
                    self.forget(&touched);
                    return Err(ExecuteError::Engine(error.into()));
                }
            }
        }
        Err(ExecuteError::Engine(EngineError::Contended))
    }

    /// An aggregate as it stands.
    pub(crate) async fn state(&self, stream: StreamId) -> Result<Arc<State>, EngineError> {
        Ok(self.known(stream).await?.state)
    }

    /// A task as it stands.
    pub(crate) async fn task(&self, task: TaskId) -> Result<Arc<State>, EngineError> {
        self.state(StreamId::Task(task)).await
    }

    async fn known(&self, stream: StreamId) -> Result<Known, EngineError> {
        if let Some(known) = self.cache().get(&stream) {
            return Ok(known.clone());
        }
        let loaded = self.store.load(stream).await?;
        let (mut state, mut version) = (loaded.state, loaded.version);
        for recorded in &loaded.tail {
            evolve(&mut state, &recorded.event, recorded.at);
            version = recorded.version;
        }
        let known = Known { state: Arc::new(state), version, snapshot: loaded.version };
        self.cache().put(stream, known.clone());
        Ok(known)
    }

    async fn decide_all(&self, request: &Request, now: Now) -> Result<Unit, EngineError> {
        let mut unit = Unit::default();
        let mut told: VecDeque<(StreamId, Command)> = request.commands.iter().cloned().collect();
        let mut count: u128 = 0;
        while let Some((to, command)) = told.pop_front() {
            count += 1;
            if count > MAX_TOLD as u128 {
                return Err(EngineError::Contended);
            }
            if let Entry::Vacant(vacant) = unit.streams.entry(to) {
                vacant.insert(Working { known: self.known(to).await?, events: vec![] });
            }
            // Each decision of the transaction mints ids of its own.
            let now = Now { at: now.at, entropy: now.entropy.wrapping_add(count) };
            let news = is_news(&command);
            match unit.apply(to, command, now) {
                // What follows from a command is done before the next one, as in a call.
                Ok(tells) => tells.into_iter().rev().for_each(|tell| told.push_front(tell)),
                // News that cannot be delivered must not undo what it tells of.
                Err(rejection) if news => tracing::warn!(?to, %rejection, "a delivery was refused"),
                Err(rejection) => return Err(rejection.into()),
            }
        }
        Ok(unit)
    }

    fn remember(&self, known: HashMap<StreamId, Known>) {
        let mut cache = self.cache();
        for (stream, known) in known {
            // A slower commit may come home after a faster one.
            if cache.peek(&stream).is_none_or(|other| other.version < known.version) {
                cache.put(stream, known);
            }
        }
    }

    fn forget(&self, streams: &[StreamId]) {
        let mut cache = self.cache();
        for stream in streams {
            cache.pop(stream);
        }
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, LruCache<StreamId, Known>> {
        // What is in the cache is checked against the store by every commit, so a panic elsewhere cannot spoil it.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_news(command: &Command) -> bool {
    matches!(command, Command::Conversation(ConversationCommand::Deliver { .. }))
}

/// A transaction in the making.
#[derive(Default)]
struct Unit {
    streams: HashMap<StreamId, Working>,
    rows: Vec<Row>,
    effects: Vec<Effect>,
    /// In the order of the first event of each.
    order: Vec<StreamId>,
}

struct Working {
    known: Known,
    events: Vec<Event>,
}

impl Unit {
    /// Decides one command, takes its events in, and gives what is to be told to others.
    fn apply(
        &mut self,
        to: StreamId,
        command: Command,
        now: Now,
    ) -> Result<Vec<(StreamId, Command)>, throughline_model::rejection::Rejection> {
        let Some(working) = self.streams.get_mut(&to) else { return Ok(vec![]) };
        let events = decide(to, &working.known.state, command, now)?;
        let mut tells = vec![];
        for event in events {
            let before = Arc::clone(&working.known.state);
            let mut after = (*before).clone();
            evolve(&mut after, &event, now.at);
            for effect in react(&before, &after, &event, now.at) {
                match effect {
                    Effect::Tell { to, command } => tells.push((to, *command)),
                    other => self.effects.push(other),
                }
            }
            self.rows.extend(rows(to, &before, &after, &event, now.at));
            working.known.state = Arc::new(after);
            working.known.version += 1;
            working.events.push(event);
        }
        if !working.events.is_empty() && !self.order.contains(&to) {
            self.order.push(to);
        }
        Ok(tells)
    }

    fn into_batch(mut self, request: &Request, now: Now) -> (Batch, HashMap<StreamId, Known>) {
        let mut known = HashMap::new();
        let mut appends = vec![];
        for stream in self.order {
            let Some(mut working) = self.streams.remove(&stream) else { continue };
            let expected = working.known.version - working.events.len() as u64;
            let items_only =
                working.events.iter().all(|event| matches!(event, Event::Task(TaskEvent::ItemRecorded { .. })));
            let due = !items_only || working.known.version - working.known.snapshot >= SNAPSHOT_EVERY;
            if due {
                working.known.snapshot = working.known.version;
            }
            let snapshot = due.then(|| Arc::clone(&working.known.state));
            appends.push(Append { stream, expected, events: working.events, snapshot });
            known.insert(stream, working.known);
        }
        let batch = Batch {
            at: now.at,
            appends,
            rows: newest(self.rows),
            effects: self.effects,
            settled: request.settled.clone(),
            inbox: request.inbox.clone(),
            mark: request.mark,
        };
        (batch, known)
    }
}

/// Of several rows of the same task or project only the newest is written.
fn newest(rows: Vec<Row>) -> Vec<Row> {
    let mut tasks = BTreeMap::new();
    let mut projects = BTreeMap::new();
    let mut kept = vec![];
    for row in rows {
        match row {
            Row::Task(task) => drop(tasks.insert(task.id, task)),
            Row::Project(project) => drop(projects.insert(project.id, project)),
            Row::Input(_)
            | Row::InputMoved(_)
            | Row::Approval(_)
            | Row::Delivery(_)
            | Row::Name(_)
            | Row::Addressed(_) => kept.push(row),
        }
    }
    kept.extend(tasks.into_values().map(Row::Task));
    kept.extend(projects.into_values().map(Row::Project));
    kept
}
