//! Turns: the queue, the lease, the hand-over of the prompt, and every way in which a turn ends.

use super::decide::Draft;
use super::{TaskEvent, TurnAnswer};
use crate::approval::VoidKind;
use crate::execution::{Execution, Role};
use crate::handoff::Handoff;
use crate::ids::{ConversationId, ExecutionId, InputId, PersonId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::rejection::Rejection;
use crate::runtime_session::{Failure, RuntimePhase};
use crate::turn::{StopReason, StopWish, TurnOutcome, TurnStage, Usage};

/// The most inputs that wait for one execution.
const MAX_QUEUE: usize = 100;

impl Draft {
    pub(super) fn enqueue(
        &mut self,
        queued: QueuedInput,
        execution: Option<ExecutionId>,
        urgency: Urgency,
    ) -> Result<(), Rejection> {
        let target = match execution {
            Some(id) => self.task.execution(id),
            None => self.task.primary(),
        };
        let Some(target) = target.filter(|target| target.ended.is_none()) else {
            return Err(Rejection::NotFound { what: "execution" });
        };
        if target.queue.len() >= MAX_QUEUE {
            return Err(Rejection::QueueFull { waiting: target.queue.len() });
        }
        let execution = target.id;
        self.reopen()?;
        self.return_to_site(Some(execution))?;
        self.join(queued.conversation);
        self.emit(TaskEvent::InputQueued { execution, queued, urgency });
        if urgency == Urgency::Interrupt {
            self.stop_active(execution, StopWish::Interrupt);
        }
        self.dispatch(execution);
        Ok(())
    }

    pub(super) fn join(&mut self, conversation: ConversationId) {
        if !self.task.conversations.contains(&conversation) {
            self.emit(TaskEvent::ConversationJoined { conversation });
        }
    }

    /// Takes an input back. One that waits for the workspace or the session has not reached the agent either.
    pub(super) fn withdraw(&mut self, input: InputId) -> Result<(), Rejection> {
        if self.task.executions.iter().any(|execution| execution.queue.iter().any(|queued| queued.input == input)) {
            self.emit(TaskEvent::InputWithdrawn { input });
            return Ok(());
        }
        let waiting = self.task.executions.iter().find_map(|execution| {
            let active = execution.active.as_ref()?;
            (active.input.input == input && active.stage != TurnStage::Running).then_some((execution.id, active.id))
        });
        let Some((execution, turn)) = waiting else { return Err(Rejection::InputGone) };
        self.emit(TaskEvent::InputWithdrawn { input });
        self.end(turn, TurnOutcome::Cancelled, Usage::default());
        self.dispatch(execution);
        Ok(())
    }

    /// Lets the first in line become a turn, if nothing else is going on.
    pub(super) fn dispatch(&mut self, execution: ExecutionId) {
        let Some(target) = self.task.execution(execution) else { return };
        if target.active.is_some() || target.ended.is_some() || self.task.out_of_budget() {
            return;
        }
        let Some(next) = target.queue.first() else { return };
        let input = next.input;
        let turn = self.mint.id();
        self.request(execution, turn, input, None);
    }

    pub(super) fn request(&mut self, execution: ExecutionId, turn: TurnId, input: InputId, retry_of: Option<TurnId>) {
        self.emit(TaskEvent::TurnRequested { execution, turn, input, retry_of });
        // A turn that needs the workspace goes on when the workspace says so: `react` asks for the lease.
        if !self.task.needs_lease(execution) {
            self.begin(turn);
        }
    }

    pub(super) fn hold(&mut self, turn: TurnId, behind: String) {
        let waits =
            self.task.active_turn(turn).is_some_and(|active| matches!(active.stage, TurnStage::AwaitingLease { .. }));
        if waits {
            self.emit(TaskEvent::TurnHeld { turn, behind });
        }
    }

    /// The turn may write. Its runtime session is the sticky one, or a new one for one of the four reasons.
    pub(super) fn begin(&mut self, turn: TurnId) {
        let Some(execution) = self.task.execution_in(turn) else { return };
        let waits =
            execution.active.as_ref().is_some_and(|active| matches!(active.stage, TurnStage::AwaitingLease { .. }));
        if !waits {
            return;
        }
        let process = execution.session.as_ref().is_some_and(crate::runtime_session::RuntimeSession::has_process);
        let looping = !process && execution.past.crash_loop(self.at);
        let execution = execution.id;
        if looping {
            return self.end(turn, TurnOutcome::Failed { failure: crash_loop() }, Usage::default());
        }
        self.emit(TaskEvent::TurnCleared { turn });
        self.ensure_session(execution);
        self.start_if_live(execution);
    }

    /// Hands the prompt on, once, as soon as the agent answers.
    pub(super) fn start_if_live(&mut self, execution: ExecutionId) {
        let Some(execution) = self.task.execution(execution) else { return };
        let Some(active) = execution.active.as_ref().filter(|active| active.stage == TurnStage::AwaitingSession) else {
            return;
        };
        let Some(session) = execution.session.as_ref().filter(|session| session.phase == RuntimePhase::Live) else {
            return;
        };
        let started = TaskEvent::TurnStarted { turn: active.id, session: session.id, epoch: session.epoch };
        let (execution, turn) = (execution.id, active.id);
        let findings = if active.input.is_command() { vec![] } else { self.task.findings_for(execution) };
        if !findings.is_empty() {
            self.emit(TaskEvent::FindingsPassed { execution, turn, findings });
        }
        self.emit(started);
    }

    pub(super) fn cancel(&mut self) -> Result<(), Rejection> {
        let busy: Vec<_> = self
            .task
            .executions
            .iter()
            .filter(|execution| execution.active.is_some())
            .map(|execution| execution.id)
            .collect();
        if busy.is_empty() {
            return Err(Rejection::NoTurn { verb: "cancel" });
        }
        for execution in busy {
            self.stop_active(execution, StopWish::Cancel);
        }
        Ok(())
    }

    /// Stops the active turn: at once if the agent has not got the prompt, else by asking the agent.
    pub(super) fn stop_active(&mut self, execution: ExecutionId, wish: StopWish) {
        let Some(active) = self.task.execution(execution).and_then(|execution| execution.active.as_ref()) else {
            return;
        };
        let turn = active.id;
        match (&active.stage, active.stopping) {
            (TurnStage::Running, Some(_)) => {}
            (TurnStage::Running, None) => {
                self.emit(TaskEvent::TurnStopRequested { turn, wish });
                // Some agents do not hear the cancel before their request is answered.
                self.void_approvals(turn, VoidKind::Stopped, "the turn is being stopped");
            }
            (TurnStage::AwaitingLease { .. } | TurnStage::AwaitingSession, _) => {
                self.end(turn, stopped_by(wish), Usage::default());
                self.dispatch(execution);
            }
        }
    }

    /// The agent was asked to stop and did not: its process goes, the native session stays.
    pub(super) fn cancel_overdue(&mut self, turn: TurnId) {
        let Some(execution) = self.task.execution_in(turn) else { return };
        let stopping = execution.active.as_ref().is_some_and(|active| active.stopping.is_some());
        let session = execution.session.as_ref().map(|session| session.id);
        if let (true, Some(session)) = (stopping, session) {
            self.exited(session, "it did not stop when it was asked to, so its process was ended".into());
        }
    }

    pub(super) fn retry(&mut self, person: PersonId, execution: Option<ExecutionId>) -> Result<(), Rejection> {
        let target = match execution {
            Some(id) => self.task.execution(id).filter(|target| target.ended.is_none()),
            None => self.task.failed().or_else(|| self.task.primary()),
        };
        let Some(target) = target else { return Err(Rejection::NotFound { what: "execution" }) };
        if target.active.is_some() {
            return Err(Rejection::TurnRunning);
        }
        let Some(last) = target.past.last.clone() else { return Err(Rejection::NoTurn { verb: "retry" }) };
        let execution = target.id;
        self.reopen()?;
        self.return_to_site(Some(execution))?;
        let queued = QueuedInput { person, at: self.at, ..last.input };
        let input = queued.input;
        self.emit(TaskEvent::InputQueued { execution, queued, urgency: Urgency::Interrupt });
        let turn = self.mint.id();
        self.request(execution, turn, input, Some(last.id));
        Ok(())
    }

    pub(super) fn answered(&mut self, turn: TurnId, answer: TurnAnswer, usage: Usage) {
        let Some(execution) = self.task.execution_in(turn) else { return };
        let stopping = execution.active.as_ref().and_then(|active| active.stopping);
        let execution = execution.id;
        let outcome = match (answer, stopping) {
            (TurnAnswer::Stopped { reason: StopReason::Cancelled }, None) => TurnOutcome::Cancelled,
            // Whatever a stopped agent answers, it was the person who stopped it.
            (TurnAnswer::Stopped { .. } | TurnAnswer::Failed { .. }, Some(wish)) => stopped_by(wish),
            (TurnAnswer::Stopped { reason }, None) => TurnOutcome::Completed { stop_reason: reason },
            (TurnAnswer::Failed { failure }, None) => TurnOutcome::Failed { failure },
        };
        // What waits would only meet the same end: it stays in line until the agent runs again, or another one does.
        let stops = matches!(&outcome, TurnOutcome::Failed { failure } if failure.stops_agent());
        self.end(turn, outcome, usage);
        if !stops {
            self.dispatch(execution);
        }
    }

    pub(super) fn stalled(&mut self, turn: TurnId, silent_secs: u64) {
        let running = self.task.active_turn(turn).is_some_and(|active| active.stage == TurnStage::Running);
        if running {
            self.emit(TaskEvent::TurnStalled { turn, silent_secs });
        }
    }

    pub(super) fn prompt_failed(&mut self, turn: TurnId, failure: Failure) {
        self.end(turn, TurnOutcome::Failed { failure }, Usage::default());
    }

    pub(super) fn prompt_unknown(&mut self, turn: TurnId, cause: String) {
        self.end(turn, TurnOutcome::Unknown { cause }, Usage::default());
    }

    /// Ends an active turn, together with the requests that hang on it.
    pub(super) fn end(&mut self, turn: TurnId, outcome: TurnOutcome, usage: Usage) {
        let execution = self.task.execution_in(turn).map(|execution| execution.id);
        let Some(active) = self.task.active_turn(turn) else { return };
        let duration_ms = active.started_at.map_or(0, |started| self.at.millis_since(started));
        let stopping = active.stopping;
        self.void_approvals(turn, VoidKind::Gone, &format!("the turn ended: {}", outcome.word()));
        self.emit(TaskEvent::TurnEnded { turn, outcome, usage, duration_ms });
        self.check_budget(turn, stopping);
        if let (Some(StopWish::Dismiss), Some(execution)) = (stopping, execution) {
            self.dismissed(execution);
        }
    }

    /// Ends whatever turn an execution has, because its process is gone.
    pub(super) fn end_with_process(&mut self, execution: ExecutionId, cause: &str) {
        let Some(active) = self.task.execution(execution).and_then(|execution| execution.active.as_ref()) else {
            return;
        };
        let outcome = match active.stopping {
            Some(wish) => stopped_by(wish),
            None => TurnOutcome::Interrupted { cause: cause.to_owned() },
        };
        let turn = active.id;
        self.end(turn, outcome, Usage::default());
    }
}

fn crash_loop() -> Failure {
    Failure {
        code: "crash_loop".into(),
        message: "the agent's process died three times within a minute, so it is left to rest".into(),
        hint: Some(
            "`tl doctor` checks the agent; `tl retry KEY` tries again in a minute, `tl switch KEY --agent A` goes on \
             with another agent"
                .into(),
        ),
        until: None,
    }
}

fn stopped_by(wish: StopWish) -> TurnOutcome {
    match wish {
        StopWish::Cancel | StopWish::Dismiss => TurnOutcome::Cancelled,
        StopWish::Interrupt => TurnOutcome::Interrupted { cause: "something else came first".into() },
        StopWish::Budget { .. } => TurnOutcome::Interrupted { cause: "the budget was used up".into() },
    }
}

impl Execution {
    /// The prompt of its active turn: the brief for whoever has not seen the work, then what the person said.
    #[must_use]
    pub fn prompt(&self) -> Option<Prompt<'_>> {
        let active = self.active.as_ref()?;
        let alone = active.input.is_command();
        let handoff = self.handoff.as_ref().filter(|_| !alone);
        let introduced = self.session.as_ref().is_some_and(|session| session.introduced);
        let role = (!alone && !introduced).then_some(self.role);
        Some(Prompt { turn: active.id, role, handoff, findings: &active.findings, input: &active.input })
    }
}

/// What is handed to an agent.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// For which turn.
    pub turn: TurnId,
    /// The role that its agent is to be told.
    pub role: Option<Role>,
    /// The brief that is due, for a session that has not seen the work.
    pub handoff: Option<&'a Handoff>,
    /// The turns of others whose findings go along.
    pub findings: &'a [TurnId],
    /// What the person said.
    pub input: &'a QueuedInput,
}
