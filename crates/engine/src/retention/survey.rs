//! One pass over the record: which blobs, checkpoints and processes it still needs.
//!
//! Blobs are found by their names in the events' own text (`"sha256"`), whatever the event's shape; an event itself says
//! which trees it names ([`TaskEvent::trees`]). A keeper's folder is needed while its process should be there, and after
//! that until its driver has cleared it away.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use throughline_model::conversation::ConversationEvent;
use throughline_model::effect::Effect;
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::ids::{ChangeId, RuntimeSessionId, TaskId};
use throughline_model::site::ChangeKind;
use throughline_model::stream::StreamId;
use throughline_model::task::{Lifecycle, TaskEvent};
use throughline_model::time::Timestamp;
use throughline_model::view::TaskRow;
use throughline_store::port::{Feed, Store, StoreError, TaskPlace, TaskQuery};

use crate::config::{Retention, days};

const PAGE: usize = 500;
/// More effects than ever wait.
const ALL: usize = 1 << 30;

/// What the record needs.
pub(super) struct Survey {
    at: Timestamp,
    retention: Retention,
    tasks: HashMap<TaskId, (Lifecycle, Timestamp)>,
    after: Seq,
    pub(super) blobs: HashSet<String>,
    /// Trees that stay.
    pub(super) trees: BTreeSet<String>,
    /// All trees that were ever named.
    pub(super) known_trees: BTreeSet<String>,
    /// Workspaces that were removed, by the change that did it: what was in them is nowhere else.
    removals: HashSet<ChangeId>,
    /// Which process of a runtime session should be there.
    processes: HashMap<RuntimeSessionId, u64>,
    /// Processes that a driver ends, or will: what they leave is the driver's.
    ending: Vec<(RuntimeSessionId, u64)>,
}

impl Survey {
    pub(super) async fn new(store: &dyn Store, retention: Retention, at: Timestamp) -> Result<Self, StoreError> {
        let tasks = tasks(store).await?.into_iter().map(|row| (row.id, (row.lifecycle, row.updated_at))).collect();
        let mut survey = Self {
            at,
            retention,
            tasks,
            after: Seq::default(),
            blobs: HashSet::new(),
            trees: BTreeSet::new(),
            known_trees: BTreeSet::new(),
            removals: HashSet::new(),
            processes: HashMap::new(),
            ending: vec![],
        };
        survey.read_on(store).await?;
        // After the pass: the order to end a process was committed with the event that says so.
        let waiting = store.due(Timestamp::from_millis(i64::MAX), ALL).await?.effects;
        let ending = waiting.iter().filter_map(|pending| match &pending.effect {
            Effect::StopRuntime { process } => Some((process.session, process.epoch)),
            _ => None,
        });
        survey.ending = ending.collect();
        Ok(survey)
    }

    /// Takes in what happened since it read last.
    pub(super) async fn read_on(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        loop {
            let page = store.read(Feed { stream: None, after: self.after, limit: PAGE }).await?;
            for recorded in &page {
                self.after = recorded.seq;
                self.take(recorded)?;
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Whether a keeper's folder of this name belongs to a process that should be there, or to its driver.
    pub(super) fn needs_keeper(&self, name: &str) -> bool {
        let mut needed = self.processes.iter().chain(self.ending.iter().map(|(session, epoch)| (session, epoch)));
        needed.any(|(session, epoch)| name == format!("{session}-{epoch}"))
    }

    fn take(&mut self, recorded: &Recorded) -> Result<(), StoreError> {
        self.follow(&recorded.event);
        let text = recorded.event.encode().map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let task = task_of(recorded);
        let blobs_stay = !self.archived(task);
        let trees_stay = blobs_stay && (self.last_state(&recorded.event) || !self.over(task, recorded.at));
        if blobs_stay {
            self.blobs.extend(named(&text, "\"sha256\":\"").map(str::to_owned));
        }
        if let Event::Task(event) = &recorded.event {
            let trees = event.trees().into_iter().map(str::to_owned);
            self.known_trees.extend(trees.clone());
            self.trees.extend(trees.filter(|_| trees_stay));
        }
        Ok(())
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Task(
                TaskEvent::RuntimeSessionStarted { session, epoch, .. }
                | TaskEvent::RuntimeSessionResumed { session, epoch, .. },
            ) => drop(self.processes.insert(*session, *epoch)),
            Event::Task(TaskEvent::WorkspaceChangeBegun { change, kind: ChangeKind::Remove {}, .. }) => {
                self.removals.insert(*change);
            }
            Event::Task(
                TaskEvent::RuntimeSessionParked { session, .. }
                | TaskEvent::RuntimeSessionLost { session, .. }
                | TaskEvent::RuntimeSessionClosed { session, .. },
            ) => drop(self.processes.remove(session)),
            _ => {}
        }
    }

    /// Whether it names what was in a workspace that was removed. A task that goes on gets it back, however late.
    fn last_state(&self, event: &Event) -> bool {
        let Event::Task(TaskEvent::WorkspaceChangePlanned { change, .. }) = event else { return false };
        self.removals.contains(change)
    }

    /// Whether a task was put away long ago.
    fn archived(&self, task: Option<TaskId>) -> bool {
        let known = task.and_then(|task| self.tasks.get(&task));
        let age = days(self.retention.archived_days);
        known.is_some_and(|(lifecycle, since)| *lifecycle == Lifecycle::Archived && self.is_old(*since, age))
    }

    /// Whether this is long past in a task that is no longer open.
    fn over(&self, task: Option<TaskId>, at: Timestamp) -> bool {
        let known = task.and_then(|task| self.tasks.get(&task));
        known.is_some_and(|(lifecycle, _)| *lifecycle != Lifecycle::Open)
            && self.is_old(at, days(self.retention.checkpoint_days))
    }

    fn is_old(&self, since: Timestamp, age: Duration) -> bool {
        u128::from(self.at.millis_since(since)) >= age.as_millis()
    }
}

/// The task that an event is about; what names none keeps what it names.
fn task_of(recorded: &Recorded) -> Option<TaskId> {
    match (&recorded.event, recorded.stream) {
        (Event::Conversation(ConversationEvent::InputReceived(received)), _) => received.task(),
        (_, StreamId::Task(task)) => Some(task),
        _ => None,
    }
}

/// What follows these words in a text, up to the next quote.
fn named<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(words).skip(1).filter_map(|rest| rest.split('"').next())
}

async fn tasks(store: &dyn Store) -> Result<Vec<TaskRow>, StoreError> {
    let mut tasks: Vec<TaskRow> = vec![];
    loop {
        let place = |row: &TaskRow| TaskPlace { rank: row.activity.rank(), updated_at: row.updated_at, id: row.id };
        let after = tasks.last().map(place);
        let page = store.tasks(TaskQuery { all: true, after, limit: PAGE, ..TaskQuery::default() }).await?;
        let last = page.len() < PAGE;
        tasks.extend(page);
        if last {
            return Ok(tasks);
        }
    }
}
