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
use throughline_model::person::PersonCommand;
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
/// How often a command may be passed on in its transaction: a bound on how far a message can travel.
const MAX_TOLD: usize = 1_000;

/// Decides and commits.
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hub: Hub,
    /// Rung when effects were committed.
    pub(crate) effects_wanted: Notify,
    cache: Mutex<Cache>,
}

/// Aggregates in memory.
///
/// **Invariant:** what is read here is as new as what anyone can have read in the store. A commit is visible there before
/// its caller hears of it, so between the two its streams are read from the store.
struct Cache {
    known: LruCache<StreamId, Known>,
    /// How many commits are on their way for a stream. Whoever gives up on one leaves it marked: nobody knows how it ends.
    in_flight: HashMap<StreamId, usize>,
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
        Self { store, clock, hub, effects_wanted: Notify::new(), cache: Mutex::default() }
    }

    /// Carries a request out, whole or not at all.
    pub(crate) async fn execute(&self, request: Request) -> Result<Vec<Recorded>, ExecuteError> {
        let now = self.clock.now();
        for _ in 0..ATTEMPTS {
            let unit = self.decide_all(&request, now).await?;
            let seen: Vec<(StreamId, u64)> = unit.seen().collect();
            let (batch, known) = unit.into_batch(&request, now);
            let has_effects = !batch.effects.is_empty();
            let changed: Vec<StreamId> = known.keys().copied().collect();
            self.cache().depart(&changed);
            let committed = self.store.commit(batch).await;
            self.cache().arrive(&changed, committed.is_ok().then_some(known), &seen);
            match committed {
                Ok(committed) => {
                    self.hub.committed(&committed.events);
                    if has_effects {
                        self.effects_wanted.notify_one();
                    }
                    return Ok(committed.events);
                }
                Err(CommitError::Conflict { .. }) => {}
                Err(CommitError::Duplicate(entry)) => return Err(ExecuteError::Duplicate(entry)),
                Err(CommitError::Store(error)) => return Err(ExecuteError::Engine(error.into())),
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
        if let Some(known) = self.cache().get(stream) {
            return Ok(known);
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
        let mut reported = vec![];
        while let Some((to, command)) = told.pop_front() {
            if is_progress(&command) {
                // How far work is, is written when it is sent: to say once that it goes on is enough.
                if reported.contains(&(to, command.clone())) {
                    continue;
                }
                reported.push((to, command.clone()));
            }
            count += 1;
            if count > (MAX_TOLD * request.commands.len()) as u128 {
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

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        // What is in the cache is checked against the store by every commit, so a panic elsewhere cannot spoil it.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self { known: LruCache::new(CACHED), in_flight: HashMap::new() }
    }
}

impl Cache {
    fn get(&mut self, stream: StreamId) -> Option<Known> {
        if self.in_flight.contains_key(&stream) {
            return None;
        }
        self.known.get(&stream).cloned()
    }

    /// Keeps what was read, unless something newer is known or on its way.
    fn put(&mut self, stream: StreamId, known: Known) {
        let newer = self.known.peek(&stream).is_none_or(|other| other.version < known.version);
        if newer && !self.in_flight.contains_key(&stream) {
            self.known.put(stream, known);
        }
    }

    /// A commit of these streams begins.
    fn depart(&mut self, streams: &[StreamId]) {
        for stream in streams {
            *self.in_flight.entry(*stream).or_default() += 1;
        }
    }

    /// It has ended: with this as the newest state, or with nothing, and then what it was based on may be out of date.
    fn arrive(&mut self, changed: &[StreamId], known: Option<HashMap<StreamId, Known>>, seen: &[(StreamId, u64)]) {
        for stream in changed {
            if let Entry::Occupied(mut count) = self.in_flight.entry(*stream) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        match known {
            Some(known) => self.remember(known),
            None => self.forget(seen),
        }
    }

    /// Keeps what was committed. A slower commit may come home after a faster one.
    fn remember(&mut self, committed: HashMap<StreamId, Known>) {
        for (stream, known) in committed {
            if self.known.peek(&stream).is_none_or(|other| other.version < known.version) {
                self.known.put(stream, known);
            }
        }
    }

    /// Lets go of what a decision was based on that did not stand; somebody may know better by now.
    fn forget(&mut self, seen: &[(StreamId, u64)]) {
        for (stream, version) in seen {
            if self.known.peek(stream).is_some_and(|known| known.version <= *version) {
                self.known.pop(stream);
            }
        }
    }
}

fn is_news(command: &Command) -> bool {
    is_progress(command)
        || matches!(
            command,
            Command::Conversation(ConversationCommand::Deliver { .. }) | Command::Person(PersonCommand::PassOn { .. })
        )
}

fn is_progress(command: &Command) -> bool {
    matches!(command, Command::Conversation(ConversationCommand::Report { .. }))
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
    /// Which version of each stream it looked at.
    fn seen(&self) -> impl Iterator<Item = (StreamId, u64)> {
        self.streams.iter().map(|(stream, working)| (*stream, working.known.version - working.events.len() as u64))
    }

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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use throughline_model::identity::Identity;
    use throughline_model::ids::PersonId;
    use throughline_store::port::Committed;
    use throughline_store::{OpenOptions, SqliteStore};

    use super::*;
    use crate::clock::SystemClock;
    use crate::fated_store::{Fate, FatedStore};

    /// Commits are durable before their callers hear of it, for as long as a test likes.
    #[derive(Default)]
    struct Lingering {
        durable: Notify,
        answer: Notify,
    }

    #[async_trait]
    impl Fate for Lingering {
        async fn commit(&self, store: &SqliteStore, batch: Batch) -> Result<Committed, CommitError> {
            let committed = store.commit(batch).await;
            self.durable.notify_one();
            self.answer.notified().await;
            committed
        }
    }

    /// Whoever performs an effect has read it in the store, and has to find the state that it follows from.
    #[tokio::test]
    async fn what_is_durable_is_seen_before_its_caller_hears_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&OpenOptions::new(folder.path())).expect("a store");
        let store = Arc::new(FatedStore { store, fate: Lingering::default() });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let core = Arc::new(Core::new(Arc::clone(&store) as Arc<dyn Store>, clock, Hub::default()));
        let person: PersonId = core.clock.now().mint().id();
        let stream = StreamId::Person(person);
        let identity = Identity::OsUser { uid: 1 };
        let enrol = PersonCommand::Enrol { person, name: "Ada".into(), locale: "en".into(), identity };
        let choose = PersonCommand::ChooseLocale { locale: "zh".into() };
        let locale = async || match &*core.state(stream).await.expect("a state") {
            State::Person(Some(person)) => Some(person.locale.clone()),
            _ => None,
        };
        for (command, expected) in [(enrol, "en"), (choose, "zh")] {
            locale().await;
            let request = Request::of(stream, Command::Person(command));
            let executing = tokio::spawn({
                let core = Arc::clone(&core);
                async move { core.execute(request).await.map(drop) }
            });
            store.fate.durable.notified().await;
            assert_eq!(locale().await.as_deref(), Some(expected), "it is in the store");
            store.fate.answer.notify_one();
            executing.await.expect("it runs").expect("it is taken");
            assert_eq!(locale().await.as_deref(), Some(expected));
        }
    }
}
