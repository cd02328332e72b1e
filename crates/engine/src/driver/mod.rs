//! Drivers: one task per execution that has, or is about to have, a process.
//!
//! A driver performs the effects on its execution in order, so that an execution never has two processes, and hears
//! what its agent says. It owns no state that matters: after a crash the next daemon's driver reads the agent's spool
//! again from the mark that was committed with the last events.
//!
//! - `brief`: what a session that has not seen the work is told of it;
//! - `read_only`: what an agent in a role that only reads is held to;
//! - `start`: launch or attach, and what to do when the keeper is gone;
//! - `open`: from a process that runs to a session that is live;
//! - `hear`: what the agent says becomes reports to the task;
//! - `park`: what has nothing to do goes, and comes back with the next message;
//! - `requests`: what an agent's request is known by, and who answers it;
//! - `speak`: prompts, cancels and answers become frames.

pub(crate) mod brief;
mod checkpoint;
mod hear;
pub(crate) mod launch;
mod link;
mod open;
mod park;
mod read_only;
mod requests;
mod speak;
mod start;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_acp::outgoing::{self, PermissionAnswer};
use throughline_model::command::Command;
use throughline_model::effect::{Effect, Process};
use throughline_model::ids::{ExecutionId, RuntimeSessionId};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand};
use throughline_store::port::Mark;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::core::{Core, ExecuteError, Request};
use crate::effects::InHand;
use crate::environment::Environments;
use crate::error::EngineError;
use crate::home::Home;
use crate::workspaces::Workspaces;
use link::Link;

/// How long to wait before trying again what the store refused.
const RETRY: Duration = Duration::from_secs(1);

/// Why a process ends that the person ended with the daemon.
const STOPPED: &str = "it was stopped by `tl down --all`";

/// All drivers of this daemon.
#[derive(Clone)]
pub(crate) struct Drivers {
    shared: Arc<Shared>,
}

/// What drivers need of the daemon.
pub(crate) struct Shared {
    pub(crate) core: Arc<Core>,
    pub(crate) home: Home,
    pub(crate) config: Config,
    pub(crate) keeper_exe: PathBuf,
    pub(crate) environments: Environments,
    pub(crate) workspaces: Workspaces,
    /// Counts the daemons of this home: keepers refuse an older one.
    pub(crate) fence: u64,
    in_hand: Arc<InHand>,
    mailboxes: Mutex<HashMap<ExecutionId, mpsc::UnboundedSender<Order>>>,
    processes: Mutex<HashMap<RuntimeSessionId, Process>>,
    run: Run,
}

/// How the drivers of a daemon come to an end.
#[derive(Default)]
struct Run {
    /// Drivers let go of their processes.
    stop: CancellationToken,
    tasks: TaskTracker,
    /// No process is started any more; the effect stays for the next daemon.
    holding: AtomicBool,
    /// Rung whenever a process is no longer listened to.
    process_ended: Notify,
}

/// What a driver is told.
enum Order {
    /// An effect to perform.
    Perform { key: String, effect: Effect },
    /// All processes end: this one is told to, and is heard to its end.
    End(Process),
}

impl Drivers {
    pub(crate) fn new(core: Arc<Core>, home: Home, config: Config, keeper_exe: PathBuf, fence: u64) -> Self {
        let shared = Shared {
            core,
            workspaces: Workspaces::new(home.path()),
            home,
            config,
            keeper_exe,
            environments: Environments::default(),
            fence,
            in_hand: Arc::default(),
            mailboxes: Mutex::default(),
            processes: Mutex::default(),
            run: Run::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn in_hand(&self) -> &Arc<InHand> {
        &self.shared.in_hand
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Hands an effect to the driver of its execution, which is started if there is none.
    pub(crate) fn perform(&self, key: String, effect: Effect) {
        let Some(process) = effect.process() else { return };
        let mut order = Order::Perform { key, effect };
        let mut mailboxes = self.shared.mailboxes();
        if let Some(mailbox) = mailboxes.get(&process.execution) {
            match mailbox.send(order) {
                Ok(()) => return,
                Err(mpsc::error::SendError(back)) => order = back,
            }
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let _ = sender.send(order);
        mailboxes.insert(process.execution, sender);
        let driver =
            Driver { shared: Arc::clone(&self.shared), execution: process.execution, mailbox: receiver, link: None };
        self.shared.run.tasks.spawn(driver.run());
    }

    /// Processes that this daemon listens to.
    pub(crate) fn processes(&self) -> Vec<Process> {
        self.shared.processes().values().copied().collect()
    }

    /// Lets go of all processes. Their keepers keep them.
    pub(crate) async fn detach(&self, patience: Duration) {
        self.shared.run.stop.cancel();
        self.shared.run.tasks.close();
        if tokio::time::timeout(patience, self.shared.run.tasks.wait()).await.is_err() {
            tracing::warn!("some drivers did not end in time");
        }
    }

    /// Ends all processes. Their sessions are parked, a turn that runs is interrupted: if it still does when all that its
    /// agent has said is heard.
    pub(crate) async fn stop_all(&self, patience: Duration) {
        self.shared.run.holding.store(true, Ordering::SeqCst);
        for process in self.processes() {
            if !self.shared.park_for_good(process).await
                && let Some(mailbox) = self.shared.mailboxes().get(&process.execution)
            {
                let _ = mailbox.send(Order::End(process));
            }
        }
        let ended = async {
            loop {
                let next = self.shared.run.process_ended.notified();
                if self.shared.processes().is_empty() {
                    return;
                }
                next.await;
            }
        };
        if tokio::time::timeout(patience, ended).await.is_err() {
            tracing::warn!("some processes did not end in time");
        }
    }
}

impl Shared {
    fn mailboxes(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, mpsc::UnboundedSender<Order>>> {
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, HashMap<RuntimeSessionId, Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no process of these executions is listened to any more, for a while.
    pub(crate) async fn processes_gone(&self, of: &[ExecutionId], patience: Duration) {
        let gone = async {
            loop {
                let next = self.run.process_ended.notified();
                if self.processes().values().all(|process| !of.contains(&process.execution)) {
                    return;
                }
                next.await;
            }
        };
        if tokio::time::timeout(patience, gone).await.is_err() {
            tracing::warn!(executions = ?of, "processes did not end in time");
        }
    }

    /// Parks a process that is to end with the daemon; false if a turn runs.
    async fn park_for_good(&self, process: Process) -> bool {
        let park = TaskCommand::Park { session: process.session, cause: STOPPED.into() };
        self.core.execute(Request::of(StreamId::Task(process.task), Command::Task(park))).await.is_ok()
    }

    /// The keeper's folder of a process.
    pub(crate) fn keeper_dir(&self, process: Process) -> PathBuf {
        self.home.keepers().join(format!("{}-{}", process.session, process.epoch))
    }

    /// Commits what a process did, and what the project's policy makes of what it asks. A full disk or the like is
    /// waited out: nothing that an agent said is lost.
    async fn report(&self, process: Process, mut reports: Vec<Report>, along: Request) -> Result<(), Stale> {
        let to = StreamId::Task(process.task);
        let command = |report: &Report| {
            let report = report.clone();
            let command = TaskCommand::Report { session: process.session, epoch: process.epoch, report };
            (to, Command::Task(command))
        };
        loop {
            self.judge(process, &mut reports).await;
            let mut commands: Vec<_> = reports.iter().map(command).collect();
            // What comes along belongs to the turn, so it is told before the last report ends it.
            let last = commands.len().saturating_sub(1);
            commands.splice(last..last, along.commands.clone());
            let request = Request { commands, settled: along.settled.clone(), inbox: None, mark: along.mark };
            match self.core.execute(request).await {
                Ok(_) => return Ok(()),
                // Somebody changed it in between, so it is judged anew.
                Err(ExecuteError::Engine(EngineError::Rejected(Rejection::PolicyChanged))) => {}
                Err(ExecuteError::Engine(EngineError::Rejected(rejection))) => {
                    tracing::debug!(?process, %rejection, "a report came too late");
                    return Err(Stale);
                }
                Err(error) => {
                    tracing::error!(?process, %error, "a report cannot be committed and is tried again");
                    tokio::select! {
                        () = tokio::time::sleep(RETRY) => {}
                        () = self.run.stop.cancelled() => return Err(Stale),
                    }
                }
            }
        }
    }

    async fn judge(&self, process: Process, reports: &mut [Report]) {
        for report in reports {
            if let Report::Asked(asked) = report {
                asked.ruling = crate::policy::judge(&self.core, process, &asked.ask).await;
            }
        }
    }

    /// Settles effects, whatever it takes.
    async fn settle(&self, keys: Vec<String>) {
        let along = Request { settled: keys.clone(), ..Request::default() };
        while let Err(error) = self.core.execute(Request { settled: along.settled.clone(), ..Request::default() }).await
        {
            tracing::error!(%error, "effects cannot be settled yet");
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = self.run.stop.cancelled() => return,
            }
        }
        for key in keys {
            self.in_hand.release(&key);
        }
    }
}

/// The process that spoke is no longer the one that is listened to, or the daemon is stopping.
#[derive(Debug)]
struct Stale;

/// The driver of one execution.
struct Driver {
    shared: Arc<Shared>,
    execution: ExecutionId,
    mailbox: mpsc::UnboundedReceiver<Order>,
    link: Option<Link>,
}

/// What a driver does next.
enum Next {
    Perform(Order),
    Heard(Option<Result<throughline_keeper::client::Happening, throughline_keeper::client::ReadError>>),
    Overdue,
    Stalled,
    Stop,
}

impl Driver {
    #[tracing::instrument(name = "execution", skip_all, fields(execution = %self.execution))]
    async fn run(mut self) {
        loop {
            match self.next().await {
                Next::Perform(order) => self.perform(order).await,
                Next::Heard(heard) => self.heard(heard).await,
                Next::Overdue => self.overdue().await,
                Next::Stalled => self.stalled().await,
                Next::Stop => break,
            }
            if self.link.is_none() && self.retire() {
                break;
            }
        }
        self.forget_link();
    }

    async fn next(&mut self) -> Next {
        let stop = self.shared.run.stop.clone();
        let Some(link) = self.link.as_mut() else {
            return tokio::select! {
                order = self.mailbox.recv() => order.map_or(Next::Stop, Next::Perform),
                () = stop.cancelled() => Next::Stop,
            };
        };
        let alarm = link.deadline.or(link.stalls_at);
        let opening = link.deadline.is_some();
        let late = if opening { Next::Overdue } else { Next::Stalled };
        let due = alarm.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        tokio::select! {
            biased;
            () = stop.cancelled() => Next::Stop,
            order = self.mailbox.recv() => order.map_or(Next::Stop, Next::Perform),
            heard = link.heard() => Next::Heard(heard),
            () = tokio::time::sleep_until(due), if alarm.is_some() => late,
        }
    }

    /// Goes away, unless an order has come in meanwhile.
    fn retire(&mut self) -> bool {
        let mut mailboxes = self.shared.mailboxes();
        if !self.mailbox.is_empty() {
            return false;
        }
        mailboxes.remove(&self.execution);
        true
    }

    async fn perform(&mut self, order: Order) {
        let (key, effect) = match order {
            Order::Perform { key, effect } => (key, effect),
            Order::End(process) => return self.end(process).await,
        };
        match effect {
            Effect::StartRuntime { process } => self.start(key, process).await,
            Effect::StopRuntime { process } => self.stop(key, process).await,
            Effect::ParkRuntime { process, at } => self.park(key, process, at).await,
            Effect::PromptAgent { process, turn } => self.prompt(key, process, turn).await,
            Effect::CancelTurn { process, turn } => self.cancel(key, process, turn).await,
            Effect::AnswerApproval { process, approval, request, option } => {
                let answer = option.map_or(PermissionAnswer::Cancelled, PermissionAnswer::Selected);
                self.answer(key, process, &request, |request| outgoing::answer_permission(approval, request, answer))
                    .await;
            }
            Effect::AnswerQuestion { process, question, request, answer } => {
                self.answer(key, process, &request, |request| outgoing::answer_question(question, request, &answer))
                    .await;
            }
            Effect::SetModel { process, model, at } => self.set_model(key, process, &model, at).await,
            Effect::SetMode { process, mode, at } => self.set_mode(key, process, &mode, at).await,
            Effect::Tell { .. }
            | Effect::ReplaceAgent { .. }
            | Effect::ChangeWorkspace { .. }
            | Effect::Deliver { .. }
            | Effect::Later { .. }
            | Effect::Forget { .. } => {
                self.shared.settle(vec![key]).await;
            }
        }
    }

    fn forget_link(&mut self) {
        if let Some(link) = self.link.take() {
            self.shared.processes().remove(&link.process.session);
            self.shared.core.hub.cleared(link.process.task);
            self.shared.run.process_ended.notify_waiters();
        }
    }

    /// The link to this very process, if there is one.
    fn link_to(&mut self, process: Process) -> Option<&mut Link> {
        self.link.as_mut().filter(|link| link.process == process)
    }
}

/// The mark that a process's assembler stands at.
fn mark_of(process: Process, mark: throughline_acp::assembler::Mark) -> Mark {
    Mark { session: process.session, epoch: process.epoch, safe: mark.safe, seen: mark.seen, not_json: mark.not_json }
}
