//! P5 over the real store, killed at each write: before the commit, or after it and before anybody hears of it.
//!
//! A death takes the daemon's memory: the next one begins with what is on disk, the spool is read again, and whoever
//! pressed presses again. `THROUGHLINE_APPROVAL_DEATHS` says how many sequences; a failure names its seed, and
//! `THROUGHLINE_APPROVAL_SEED` runs that one alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use throughline_model::approval::{
    Approval, ApprovalOption, Ask as Wish, Asked, Decision, OptionKind, Settlement, Source, Verdict,
};
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::content::ContentBlock;
use throughline_model::effect::{Effect, Process};
use throughline_model::event::{Event, Seq};
use throughline_model::execution::Role;
use throughline_model::ids::{ApprovalId, Mint, PersonId, ProjectId, TaskId};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::policy::RuleDraft;
use throughline_model::project::ProjectCommand;
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::{Parking, RuntimeDescription};
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TaskEvent, TaskSeed};
use throughline_model::time::Timestamp;
use throughline_store::port::{Batch, CommitError, Committed, Feed, Store, StoreError};
use throughline_store::{OpenOptions, SqliteStore};

use crate::clock::Clock;
use crate::core::{Core, ExecuteError, Request};
use crate::error::EngineError;
use crate::fated_store::{Fate, FatedStore};
use crate::hub::Hub;

/// How many sequences are run where nothing else is said.
const SEQUENCES: u64 = 40;
/// How long a sequence is.
const STEPS: usize = 10;

/// When the process dies.
const LIVES: u8 = 0;
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// Kills the process at the next write.
struct Mortal(AtomicU8);

fn dead() -> StoreError {
    StoreError::Failed("killed".into())
}

#[async_trait]
impl Fate for Mortal {
    async fn commit(&self, store: &SqliteStore, batch: Batch) -> Result<Committed, CommitError> {
        match self.0.swap(LIVES, Ordering::SeqCst) {
            BEFORE => Err(dead().into()),
            AFTER => {
                store.commit(batch).await?;
                Err(dead().into())
            }
            _ => store.commit(batch).await,
        }
    }
}

/// A clock that goes when it is told to.
struct Hand {
    millis: AtomicI64,
    drawn: AtomicU64,
}

impl Clock for Hand {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.load(Ordering::SeqCst))
    }
    fn entropy(&self) -> u128 {
        u128::from(self.drawn.fetch_add(1, Ordering::SeqCst)) << 64
    }
}

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A machine on which daemons die and begin again.
struct Machine {
    store: Arc<FatedStore<Mortal>>,
    clock: Arc<Hand>,
    core: Core,
    mint: Mint,
    person: PersonId,
    project: ProjectId,
    deaths: u64,
}

impl Machine {
    async fn new(home: &std::path::Path) -> Self {
        let store = SqliteStore::open(&OpenOptions::new(home)).unwrap();
        let store = Arc::new(FatedStore { store, fate: Mortal(AtomicU8::new(LIVES)) });
        let clock = Arc::new(Hand { millis: AtomicI64::new(1_000_000), drawn: AtomicU64::new(1) });
        let core = Core::new(store.clone(), clock.clone(), Hub::default());
        let mut mint = Mint::new(clock.at(), 7);
        let (person, project) = (mint.id(), mint.id());
        let machine = Machine { store, clock, core, mint, person, project, deaths: 0 };
        let (name, agent) = ("shop".to_owned(), "demo".to_owned());
        let add = ProjectCommand::Add { project, name, root: "/shop".into(), agent, member: person };
        machine.core.execute(Request::of(StreamId::Project(project), Command::Project(add))).await.unwrap();
        machine
    }

    /// Carries a request out although the daemon is killed at its write: whoever wanted it asks again. A `Rejected`
    /// is an answer like any other.
    async fn killed(&mut self, to: StreamId, command: Command, fate: u8) -> Result<(), Rejection> {
        self.store.fate.0.store(fate, Ordering::SeqCst);
        loop {
            let outcome = self.core.execute(Request::of(to, command.clone())).await;
            match outcome {
                Ok(_) => break,
                Err(ExecuteError::Engine(EngineError::Store(_))) => {
                    self.deaths += 1;
                    self.core = Core::new(self.store.clone(), self.clock.clone(), Hub::default());
                }
                Err(ExecuteError::Engine(EngineError::Rejected(rejection))) => {
                    self.store.fate.0.store(LIVES, Ordering::SeqCst);
                    return Err(rejection);
                }
                Err(other) => panic!("{other}"),
            }
        }
        self.store.fate.0.store(LIVES, Ordering::SeqCst);
        Ok(())
    }

    async fn working(&mut self, seed: u64) -> TaskId {
        let (task, conversation, execution) = (self.mint.id(), self.mint.id(), self.mint.id());
        let root = format!("/shop/{seed}");
        let (title, agent) = ("run it".to_owned(), "demo".to_owned());
        let goal = title.clone();
        let seed = TaskSeed { project: self.project, title, goal, root, execution, agent, role: Role::Editor };
        let person = self.person;
        let stream = StreamId::Task(task);
        let queued = self.words(conversation);
        let create = TaskCommand::Create { seed, person, conversation };
        let enqueue = TaskCommand::Enqueue { queued, execution: None, urgency: Urgency::InTurn };
        for command in [create, enqueue] {
            self.killed(stream, Command::Task(command), LIVES).await.unwrap();
        }
        self.open(task).await;
        task
    }

    fn words(&mut self, conversation: throughline_model::ids::ConversationId) -> QueuedInput {
        let (input, person, at) = (self.mint.id(), self.person, self.clock.at());
        QueuedInput { input, person, conversation, content: vec![ContentBlock::text("go on")], at }
    }

    async fn process(&self, task: TaskId) -> Option<Process> {
        let state = self.core.task(task).await.unwrap();
        let execution = state.task()?.primary()?;
        let session = execution.session.as_ref().filter(|session| session.has_process())?;
        Some(Process { task, execution: execution.id, session: session.id, epoch: session.epoch })
    }

    async fn open(&mut self, task: TaskId) {
        let opened = Report::Opened {
            native: "native-1".into(),
            description: Box::new(RuntimeDescription::default()),
            parking: Parking::default(),
        };
        self.report(task, opened, LIVES).await.unwrap();
    }

    async fn report(&mut self, task: TaskId, report: Report, fate: u8) -> Result<(), Rejection> {
        let Some(process) = self.process(task).await else { return Ok(()) };
        let command = TaskCommand::Report { session: process.session, epoch: process.epoch, report };
        self.killed(StreamId::Task(task), Command::Task(command), fate).await
    }
}

/// One sequence, and what was asked in it.
struct Story<'a> {
    machine: &'a mut Machine,
    chance: Chance,
    task: TaskId,
    asked: Vec<Asked>,
}

impl Story<'_> {
    fn fate(&mut self) -> u8 {
        if self.chance.below(2) == 0 { BEFORE } else { AFTER }
    }

    async fn step(&mut self) {
        match self.chance.below(12) {
            0..=3 => self.ask().await,
            4..=6 => self.decide().await,
            7 => self.expire().await,
            8 => self.crash().await,
            9 => self.read_again().await,
            10 => self.change_policy().await,
            _ => drop(self.machine.clock.millis.fetch_add(3_000, Ordering::SeqCst)),
        }
    }

    async fn ask(&mut self) {
        let id: ApprovalId = self.machine.mint.id();
        let line = ["cargo test", "make"][self.chance.below(2) as usize];
        let option = |id: &str, kind| ApprovalOption { id: id.into(), name: id.into(), kind };
        let asked = Asked {
            approval: id,
            // Few ids, so that they are used again, while they wait and afterwards.
            request: self.chance.below(4).to_string(),
            item: None,
            ask: Wish {
                call: id.to_string(),
                title: "run".into(),
                tool: "execute".into(),
                input: Some(serde_json::json!({ "command": line }).to_string().into()),
                cwd: "/".into(),
            },
            options: vec![
                option("always", OptionKind::AllowAlways),
                option("yes", OptionKind::AllowOnce),
                option("no", OptionKind::RejectOnce),
            ],
            expires_secs: 1 + self.chance.below(6),
            ruling: None,
        };
        self.asked.push(asked.clone());
        self.tell(asked).await;
    }

    /// Judged as the driver does it, by what is on record now.
    async fn tell(&mut self, mut asked: Asked) {
        loop {
            let Some(process) = self.machine.process(self.task).await else { return };
            asked.ruling = crate::policy::judge(&self.machine.core, process, &asked.ask).await;
            let fate = self.fate();
            match self.machine.report(self.task, Report::Asked(Box::new(asked.clone())), fate).await {
                Err(Rejection::PolicyChanged) => {}
                Ok(()) => return,
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    async fn read_again(&mut self) {
        let known = self.records().await;
        for asked in self.asked.clone() {
            if known.contains_key(&asked.approval) {
                self.tell(asked).await;
            }
        }
    }

    async fn decide(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        let known = self.records().await;
        let at = self.chance.below(self.asked.len() as u64) as usize;
        let approval = self.asked[at].approval;
        let verdict = if self.chance.below(3) == 0 { Verdict::Deny } else { Verdict::Approve };
        let digest = known.get(&approval).map(|known| known.shown.digest());
        let digest = if self.chance.below(4) == 0 { Some("0".repeat(64)) } else { digest };
        let wrong = digest != known.get(&approval).map(|known| known.shown.digest());
        let source = Source { surface: Channel::Web, identity: None, conversation: None };
        let by = self.machine.person;
        let decision = Decision { verdict, by, source, digest, option: None, reason: None };
        let command = TaskCommand::DecideApproval { approval, decision: Box::new(decision) };
        let fate = self.fate();
        let decided = self.machine.killed(StreamId::Task(self.task), Command::Task(command), fate).await;
        assert!(decided.is_err() || !wrong, "decided on something else");
    }

    async fn expire(&mut self) {
        self.machine.clock.millis.fetch_add(2_000, Ordering::SeqCst);
        for approval in self.asked.iter().map(|asked| asked.approval).collect::<Vec<_>>() {
            let fate = self.fate();
            let command = Command::Task(TaskCommand::ExpireApproval { approval });
            self.machine.killed(StreamId::Task(self.task), command, fate).await.unwrap();
        }
    }

    async fn crash(&mut self) {
        let fate = self.fate();
        let _ = self.machine.report(self.task, Report::Exited { cause: "signal 9".into() }, fate).await;
        self.machine.clock.millis.fetch_add(61_000, Ordering::SeqCst);
        let conversation = self.machine.mint.id();
        let queued = self.machine.words(conversation);
        let go_on = TaskCommand::Enqueue { queued, execution: None, urgency: Urgency::InTurn };
        let _ = self.machine.killed(StreamId::Task(self.task), Command::Task(go_on), LIVES).await;
        self.machine.open(self.task).await;
    }

    async fn change_policy(&mut self) {
        let source = Source { surface: Channel::Web, identity: None, conversation: None };
        let by = self.machine.person;
        let change = match self.chance.below(3) {
            0 => ProjectCommand::RevokeRule { number: 1 + self.chance.below(6), by, source },
            verdict => {
                let verdict = if verdict == 1 { Verdict::Approve } else { Verdict::Deny };
                let expires_at = Some(self.machine.clock.at().after(Duration::from_secs(30)));
                let draft = RuleDraft { verdict, expires_at, ..RuleDraft::of(vec!["make".into()], None) };
                ProjectCommand::AddRule { draft, by, source }
            }
        };
        let to = StreamId::Project(self.machine.project);
        let fate = self.fate();
        let _ = self.machine.killed(to, Command::Project(change), fate).await;
    }

    /// What the record says of every request, and that it says nothing twice.
    async fn records(&self) -> HashMap<ApprovalId, Known> {
        let feed = Feed { stream: Some(StreamId::Task(self.task)), after: Seq::default(), limit: 100_000 };
        let mut known: HashMap<ApprovalId, Known> = HashMap::new();
        for recorded in self.machine.store.read(feed).await.unwrap() {
            match recorded.event {
                Event::Task(TaskEvent::ApprovalRequested { approval }) => {
                    let before = known.insert(approval.id, Known { shown: *approval, settled: None });
                    assert!(before.is_none(), "asked twice");
                }
                Event::Task(TaskEvent::ApprovalSettled { approval, settlement }) => {
                    let known = known.get_mut(&approval).expect("asked before");
                    if let Settlement::Approved { given, .. } = &settlement {
                        assert!(recorded.at < known.shown.expires_at, "approved after its time");
                        assert_eq!(given.as_ref().map(|given| &given.digest), Some(&known.shown.digest()));
                    }
                    assert!(known.settled.replace(settlement).is_none(), "settled twice");
                }
                _ => {}
            }
        }
        known
    }

    /// Every answer that is on its way says what was decided, once, to the process that asked.
    async fn check(&mut self) -> usize {
        let known = self.records().await;
        let due = self.machine.store.due(Timestamp::from_millis(i64::MAX), 100_000).await.unwrap();
        let mut yes = 0;
        let mut answered = std::collections::HashSet::new();
        for pending in &due.effects {
            let Effect::AnswerApproval { process, approval, request, option } = &pending.effect else { continue };
            let Some(known) = known.get(approval) else { continue };
            assert!(answered.insert(*approval), "answered twice");
            assert_eq!((process.session, process.epoch), (known.shown.session, known.shown.epoch));
            assert_eq!(*request, known.shown.request);
            let approved = match known.settled.as_ref().expect("settled before") {
                Settlement::Approved { .. } => true,
                Settlement::Ruled { ruling } => ruling.standing.verdict() == Verdict::Approve,
                Settlement::Denied { .. } | Settlement::Expired | Settlement::Void { .. } => false,
            };
            assert_eq!(option.as_deref() == Some("yes"), approved, "no decision means no");
            assert_ne!(option.as_deref(), Some("always"), "rules are ours");
            yes += usize::from(approved);
        }
        let settled = due.effects.into_iter().map(|pending| pending.key).collect();
        self.machine.store.commit(Batch { settled, ..Batch::default() }).await.unwrap();
        yes
    }
}

struct Known {
    shown: Approval,
    settled: Option<Settlement>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[tokio::test]
async fn no_death_breaks_the_promise() {
    let home = tempfile::tempdir().unwrap();
    let mut machine = Machine::new(home.path()).await;
    let seeds = match number("THROUGHLINE_APPROVAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..number("THROUGHLINE_APPROVAL_DEATHS").unwrap_or(SEQUENCES) + 1,
    };
    let mut yes = 0;
    for seed in seeds.clone() {
        let _say = Say(seed);
        let task = machine.working(seed).await;
        let mut story = Story { machine: &mut machine, chance: Chance::of(seed), task, asked: vec![] };
        for _ in 0..STEPS {
            story.step().await;
        }
        yes += story.check().await;
    }
    assert!(machine.deaths >= seeds.end - seeds.start, "nobody died, so nothing was tested");
    assert!(yes > 0 || seeds.end - seeds.start < 10, "nothing was ever approved, so nothing was tested");
    println!("{} sequences, {} deaths, {yes} approved", seeds.end - seeds.start, machine.deaths);
}

/// Names the seed of a sequence that fails.
struct Say(u64);

impl Drop for Say {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run it again with THROUGHLINE_APPROVAL_SEED={}", self.0);
        }
    }
}
