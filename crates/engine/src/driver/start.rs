//! Starting and stopping: launch or attach, read what a dead keeper left, and end a process with its whole tree.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use throughline_acp::assembler::{Assembler, Limits, Mark as Position, Memory, Phase, Start};
use throughline_acp::outgoing;
use throughline_acp::quirks::Quirks;
use throughline_acp::request_id::{Opening, RequestId};
use throughline_keeper::client::{self, AttachError, LaunchError, Reader, Writer};
use throughline_keeper::{Exit, ExitReason, FrameState};
use throughline_model::effect::{Effect, Process};
use throughline_model::event::Event;
use throughline_model::execution::Execution;
use throughline_model::ids::{ItemId, TaskId, TurnId};
use throughline_model::item::Item;
use throughline_model::runtime_session::{Failure, RuntimePhase, RuntimeSession};
use throughline_model::stream::StreamId;
use throughline_model::task::{NativeFate, Report, Task, TaskEvent};
use throughline_model::turn::TurnStage;
use throughline_store::port::{Answer, Ask, PageQuery};
use tokio::time::{Instant, timeout};

use super::hear::Speaker;
use super::launch::{InRole, launch_failure, whole};
use super::link::Link;
use super::{Driver, RETRY, STOPPED, Shared};
use crate::config::AgentProfile;
use crate::core::Request;
use crate::error::EngineError;

/// Between asking a process to end and ending it.
const GRACE: Duration = Duration::from_millis(1_000);
/// How long the end of a whole tree may take.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How many past events are searched for the items of the turn that runs.
const MEMORY_EVENTS: usize = 2_000;

/// What the record says of a process that is to be carried.
struct Carried {
    agent: String,
    role: InRole,
    /// The model that was asked for.
    model: Option<String>,
    root: String,
    session: RuntimeSession,
    /// The native session of another task that it is to be forked from.
    fork: Option<String>,
    /// The turn whose prompt was handed on.
    running: Option<TurnId>,
}

impl Driver {
    /// Sees to it that this process runs and is listened to. Bears being performed again at any point.
    pub(super) async fn start(&mut self, key: String, process: Process) {
        if self.link_to(process).is_some() {
            return;
        }
        let carried = match self.carried(process).await {
            Ok(Some(carried)) => carried,
            // Stopped before it was started.
            Ok(None) => return self.shared.settle(vec![key]).await,
            Err(error) => {
                tracing::error!(%error, ?process, "a process cannot be started yet");
                tokio::time::sleep(RETRY).await;
                self.shared.in_hand.release(&key);
                return self.shared.core.effects_wanted.notify_one();
            }
        };
        let dir = self.shared.keeper_dir(process);
        if !dir.exists() || never_spoken_to(&dir, &carried).await {
            if self.shared.run.holding.load(Ordering::SeqCst) {
                return;
            }
            self.shared.make_room().await;
            if let Err(failure) = self.launch(&dir, &carried).await {
                return self.open_failed(process, failure, NativeFate::Kept).await;
            }
        }
        self.attach(process, &dir, carried).await;
    }

    async fn carried(&self, process: Process) -> Result<Option<Carried>, EngineError> {
        let state = self.shared.core.task(process.task).await?;
        let current = |session: &&RuntimeSession| {
            session.id == process.session && session.epoch == process.epoch && session.has_process()
        };
        let carried = |task: &Task| {
            let execution: &Execution = task.execution(process.execution)?;
            let session = execution.session.as_ref().filter(current)?.clone();
            let fork = execution.next_start.fork.clone().filter(|_| session.native.is_none());
            let running =
                execution.active.as_ref().filter(|active| active.stage == TurnStage::Running).map(|active| active.id);
            let role = InRole { role: execution.role, project: task.project };
            let (agent, model) = (execution.agent.clone(), execution.model.clone());
            Some(Carried { agent, role, model, root: task.site_of(execution.id).root.clone(), session, fork, running })
        };
        Ok(state.task().and_then(carried))
    }

    async fn launch(&self, dir: &Path, carried: &Carried) -> Result<(), Failure> {
        let Some(agent) = self.shared.config.agent(&carried.agent) else {
            return Err(Failure {
                code: "agent_unknown".into(),
                message: format!("there is no agent called `{}` any more", carried.agent),
                hint: Some("add it to config.toml, or go on with another agent".into()),
                until: None,
            });
        };
        let about = self.shared.about(carried.role.project).await;
        let mut spec = self.shared.launch_spec(agent, Path::new(&carried.root), &about, Some(carried.role)).await;
        if let (Some(variable), Some(model)) = (&agent.quirks.model_env, &carried.model) {
            // What was chosen for this work goes before what the settings say of all.
            spec.env.retain(|(name, _)| name != variable);
            spec.env.push((variable.clone(), model.clone()));
        }
        match client::launch(&self.shared.keeper_exe, dir, &spec).await {
            Ok(()) | Err(LaunchError::AlreadyRunning) => Ok(()),
            Err(error) => {
                tracing::warn!(agent = agent.name, error = whole(&error), "an agent cannot be started");
                Err(launch_failure(agent, &error))
            }
        }
    }

    async fn attach(&mut self, process: Process, dir: &Path, carried: Carried) {
        let position = self.shared.position(process).await;
        match client::attach(dir, self.shared.fence, position.safe).await {
            Ok((writer, reader)) => self.listen(process, carried, position, writer, reader).await,
            Err(AttachError::Gone) => self.post_mortem(process, dir, carried, position).await,
            Err(AttachError::StaleFence { offered, highest }) => {
                tracing::error!(offered, highest, "a newer daemon has this process");
            }
            Err(error) => {
                let failure = Failure {
                    code: "keeper_unreachable".into(),
                    message: format!("the process cannot be reached: {}", whole(&error)),
                    hint: Some("say it again: the session is taken up in a new process".into()),
                    until: None,
                };
                match carried.session.phase {
                    RuntimePhase::Starting => self.open_failed(process, failure, NativeFate::Kept).await,
                    RuntimePhase::Live | RuntimePhase::Parked | RuntimePhase::Lost | RuntimePhase::Closed => {
                        self.exited(process, failure.message).await;
                    }
                }
            }
        }
    }

    async fn listen(&mut self, process: Process, carried: Carried, position: Position, writer: Writer, reader: Reader) {
        let assembler = self.shared.assembler(process, &carried, position).await;
        let mut link = Link::new(&self.shared, process, writer, reader, assembler);
        link.opening.cwd.clone_from(&carried.root);
        link.opening.agent.clone_from(&carried.agent);
        if carried.session.phase == RuntimePhase::Starting {
            link.deadline = Some(Instant::now() + self.shared.config.initialize_timeout);
            link.opening.native.clone_from(&carried.session.native);
            link.opening.fork.clone_from(&carried.fork);
            link.opening.role = carried.role.role;
            let about = self.shared.about(carried.role.project).await;
            link.opening.root = about.root;
            link.opening.project = about.settings;
            link.frame(outgoing::initialize(env!("CARGO_PKG_VERSION"), &self.shared.quirks(&carried.agent)));
        }
        if let Some(turn) = carried.running {
            link.stalls_at = Some(Instant::now() + self.shared.config.stall_after);
            tracing::info!(?process, %turn, "a running turn goes on");
            let _ = self.shared.report(process, vec![Report::Reattached], Request::default()).await;
        }
        self.shared.processes().insert(process.session, process);
        metrics::gauge!("throughline_live_processes").set(self.shared.processes().len() as f64);
        self.link = Some(link);
        if self.shared.run.holding.load(Ordering::SeqCst) {
            self.end(process).await;
        }
    }

    /// The keeper is gone: what the agent had said is heard, then its end.
    async fn post_mortem(&mut self, process: Process, dir: &Path, carried: Carried, position: Position) {
        let remains = match client::post_mortem(dir) {
            Ok(remains) => remains,
            Err(error) => return self.exited(process, whole(&error)).await,
        };
        let mut assembler = self.shared.assembler(process, &carried, position).await;
        let mut reports = vec![];
        let spoken = Speaker { process, cwd: &carried.root, agent: &carried.agent };
        for frame in remains.frames_from(position.safe).into_iter().flatten().map_while(Result::ok) {
            let happenings = assembler.feed(frame.offset_start, frame.offset_end, &frame.bytes);
            reports.extend(self.shared.reports(spoken, happenings, &Default::default()).await);
        }
        let happenings = assembler.finish();
        reports.extend(self.shared.reports(spoken, happenings, &Default::default()).await);
        let mark = super::mark_of(process, assembler.mark());
        let _ = self.shared.report(process, reports, Request { mark: Some(mark), ..Request::default() }).await;
        if let Some(turn) = carried.running {
            let state = remains.frame_state(&RequestId::Turn(turn).to_string());
            if !matches!(state, Ok(FrameState::Written)) && self.still_running(process, turn).await {
                let cause = "its keeper died, and nobody knows whether the agent got the prompt".to_owned();
                let _ =
                    self.shared.report(process, vec![Report::PromptUnknown { turn, cause }], Request::default()).await;
            }
        }
        self.ended(process, remains.exit, remains.stderr.last_text(2_000)).await;
    }

    async fn still_running(&self, process: Process, turn: TurnId) -> bool {
        matches!(self.carried(process).await, Ok(Some(carried)) if carried.running == Some(turn))
    }

    /// The process ended: a failed start if it never opened, else a parked session.
    pub(super) async fn ended(&mut self, process: Process, exit: Option<Exit>, stderr: String) {
        let why = exit_in_words(exit.as_ref());
        if self.shared.run.holding.load(Ordering::SeqCst) {
            if !self.shared.park_for_good(process).await {
                self.exited(process, STOPPED.to_owned()).await;
            }
            return;
        }
        let carried = self.carried(process).await;
        let starting = matches!(carried, Ok(Some(carried)) if carried.session.phase == RuntimePhase::Starting);
        if starting {
            let said = stderr.lines().last().unwrap_or_default().trim();
            let message = if said.is_empty() { why } else { format!("{why}; it said: {said}") };
            let failure = Failure {
                code: "agent_exited".into(),
                message: format!("the agent ended before it was ready: {message}"),
                hint: Some("`tl doctor` checks the agent".into()),
                until: None,
            };
            return self.open_failed(process, failure, NativeFate::Kept).await;
        }
        self.exited(process, why).await;
    }

    pub(super) async fn exited(&mut self, process: Process, cause: String) {
        // What the turn had changed by then is worth knowing, however it ended.
        let running = self.carried(process).await.ok().flatten().and_then(|carried| carried.running);
        let after = match running {
            Some(turn) => self.shared.checkpoint_after(process, turn).await,
            None => None,
        };
        let along = Request { commands: after.into_iter().collect(), ..Request::default() };
        let _ = self.shared.report(process, vec![Report::Exited { cause }], along).await;
        self.forget_link();
    }

    pub(super) async fn open_failed(&mut self, process: Process, failure: Failure, native: NativeFate) {
        let _ = self.shared.report(process, vec![Report::OpenFailed { failure, native }], Request::default()).await;
    }

    /// The agent did not open in time.
    pub(super) async fn overdue(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        link.deadline = None;
        let process = link.process;
        let step = if link.opening.initialized.is_some() { "open a session" } else { "answer `initialize`" };
        let secs = self.shared.config.initialize_timeout.as_secs();
        let failure = Failure {
            code: "agent_timeout".into(),
            message: format!("the agent did not {step} within {secs} s"),
            hint: Some(
                "`tl doctor` checks the agent; initialize_timeout_secs in config.toml gives it more time".into(),
            ),
            until: None,
        };
        self.open_failed(process, failure, NativeFate::Kept).await;
    }

    /// Nothing was heard of the running turn for too long. Who waits for a person is not stalled.
    pub(super) async fn stalled(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        let process = link.process;
        link.stalls_at = None;
        let silent_secs = self.shared.config.stall_after.as_secs();
        let state = self.shared.core.task(process.task).await;
        let waits = state.is_ok_and(|state| state.task().is_some_and(|task| !task.approvals.pending.is_empty()));
        let running = self.carried(process).await.ok().flatten().and_then(|carried| carried.running);
        if let (Some(turn), false) = (running, waits) {
            let _ = self.shared.report(process, vec![Report::Stalled { turn, silent_secs }], Request::default()).await;
        }
    }

    /// Tells a process to end whose turn runs, as far as the record knows. What its agent has said by then is heard first,
    /// the turn's own end with it; the end of the process is the last that is heard.
    pub(super) async fn end(&mut self, process: Process) {
        let Some(link) = self.link_to(process) else { return };
        // Who cannot be told is heard to be gone.
        let _ = link.writer.stop(GRACE).await;
    }

    /// Ends a process and its tree, confirms that it is gone, and removes what its keeper left.
    pub(super) async fn stop(&mut self, key: String, process: Process) {
        let dir = self.shared.keeper_dir(process);
        let attached = match self.link.take_if(|link| link.process == process) {
            Some(link) => {
                let attached = Some((link.writer.clone(), link.reader));
                self.shared.processes().remove(&process.session);
                attached
            }
            None => client::attach(&dir, self.shared.fence, self.shared.position(process).await.safe).await.ok(),
        };
        if let Some((writer, reader)) = attached {
            let ended = async {
                let _ = writer.stop(GRACE).await;
                drain(reader).await;
            };
            if timeout(STOP_PATIENCE, ended).await.is_err() {
                tracing::error!(?process, "a process did not end when it was told to");
            }
        }
        if let Err(error) = client::sweep_dir(&dir).await {
            tracing::error!(error = whole(&error), "orphans cannot be looked for");
        }
        if let Err(error) = remove_when_dead(&dir).await {
            tracing::warn!(error = whole(&error), dir = %dir.display(), "a keeper's folder stays");
        }
        self.shared.core.hub.cleared(process.task);
        metrics::gauge!("throughline_live_processes").set(self.shared.processes().len() as f64);
        self.shared.settle(vec![Effect::StartRuntime { process }.key(), key]).await;
        self.shared.run.process_ended.notify_waiters();
    }
}

/// A keeper that was told to stop lets its lock go a moment after its last word.
async fn remove_when_dead(dir: &Path) -> Result<(), client::RemoveError> {
    let mut tries = 0;
    loop {
        match client::remove(dir) {
            Err(client::RemoveError::Live) if tries < 200 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            other => return other,
        }
    }
}

async fn drain(mut reader: Reader) {
    while let Some(Ok(client::Happening::Frame(_))) = reader.next().await {}
}

/// A folder that a crash left between its making and the first frame: nothing was said, so it is launched anew.
async fn never_spoken_to(dir: &Path, carried: &Carried) -> bool {
    let starting = carried.session.phase == RuntimePhase::Starting;
    let dead = client::is_live(dir).is_ok_and(|live| !live);
    let silent = throughline_keeper::frame_states(dir).is_ok_and(|frames| frames.is_empty());
    if starting && dead && silent {
        let _ = client::sweep_dir(dir).await;
        return client::remove(dir).is_ok();
    }
    false
}

fn exit_in_words(exit: Option<&Exit>) -> String {
    use throughline_keeper::AgentStatus;
    let Some(exit) = exit else { return "its keeper was killed".into() };
    let status = match exit.status {
        AgentStatus::Code(code) => format!("exit status {code}"),
        AgentStatus::Signal(signal) => format!("signal {signal}"),
        AgentStatus::Unknown => "unknown status".into(),
    };
    match &exit.reason {
        ExitReason::AgentExited => format!("the agent's process ended ({status})"),
        ExitReason::Stopped => "the agent's process was stopped".into(),
        ExitReason::LeaseExpired { lease_secs } => {
            format!("no daemon came for {lease_secs} s, so the process was ended")
        }
        ExitReason::FrameTooLong { limit_bytes } => format!("the agent wrote a line of more than {limit_bytes} bytes"),
        ExitReason::StdoutClosed => "the agent closed its output".into(),
        ExitReason::SpoolFailed { message } => format!("the agent's output could not be kept: {message}"),
        ExitReason::KeeperTerminated { signal } => format!("the keeper was ended by signal {signal}"),
        ExitReason::Unrecognised => format!("the process ended ({status})"),
    }
}

impl Shared {
    /// How far the spool of a process was read.
    async fn position(&self, process: Process) -> Position {
        match self.core.store.ask(Ask::Mark(process.session, process.epoch)).await {
            Ok(Answer::Mark(Some(mark))) => Position { safe: mark.safe, seen: mark.seen, not_json: mark.not_json },
            Ok(_) => Position::default(),
            Err(error) => {
                tracing::error!(%error, "the mark cannot be read");
                Position::default()
            }
        }
    }

    async fn assembler(&self, process: Process, carried: &Carried, position: Position) -> Assembler {
        let phase = match (carried.session.phase, carried.running, &carried.session.native) {
            (RuntimePhase::Starting, _, None) => Phase::Opening(Opening::New),
            (RuntimePhase::Starting, _, Some(_)) => Phase::Opening(Opening::Resume),
            (_, Some(turn), _) => Phase::Turn(turn),
            (_, None, _) => Phase::Idle,
        };
        let current = match carried.running {
            Some(turn) => self.items_of(process.task, turn).await,
            None => vec![],
        };
        let limits = Limits { frame_bytes: self.config.max_frame_bytes, ..Limits::default() };
        Assembler::new(Start {
            native: carried.session.native.clone(),
            mark: position,
            memory: Memory { earlier: None, current },
            limits,
            quirks: self.quirks(&carried.agent),
            ..Start::new(process.session, process.epoch, phase)
        })
    }

    /// How an agent departs from the protocol's plain reading.
    fn quirks(&self, agent: &str) -> Quirks {
        self.config.agent(agent).map_or_else(Quirks::default, AgentProfile::on_the_wire)
    }

    /// The items of a turn as last recorded, for an assembler that begins in its middle.
    async fn items_of(&self, task: TaskId, turn: TurnId) -> Vec<Item> {
        let query = PageQuery { stream: StreamId::Task(task), before: None, limit: MEMORY_EVENTS };
        let events = self.core.store.page(query).await.unwrap_or_default();
        let mut known: Vec<ItemId> = vec![];
        let mut items = vec![];
        for recorded in events {
            match recorded.event {
                Event::Task(TaskEvent::TurnStarted { turn: started, .. }) if started == turn => break,
                Event::Task(TaskEvent::ItemRecorded { item, .. })
                    if item.turn == Some(turn) && !known.contains(&item.id) =>
                {
                    known.push(item.id);
                    items.push(item);
                }
                _ => {}
            }
        }
        items.reverse();
        items
    }
}
