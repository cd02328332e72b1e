//! Runtime sessions: which process carries an execution, and the only four reasons for another session.
//!
//! The process may die, be parked or be stopped: the session stays bound as long as the agent can take it up again.

use super::decide::Draft;
use super::{NativeFate, TaskEvent};
use crate::execution::{Execution, ExecutionEnd};
use crate::ids::{ExecutionId, RuntimeSessionId};
use crate::item::{Item, ItemBody};
use crate::plan::{Plan, PlanEntry};
use crate::rejection::Rejection;
use crate::runtime_session::{
    Failure, Parking, ResumeCause, RuntimeDescription, RuntimePhase, SettingChange, StartReason,
};
use crate::turn::{TurnOutcome, Usage};

impl Draft {
    /// Sees to it that a process carries the execution: the one that does, the sticky session resumed, or a new one.
    pub(super) fn ensure_session(&mut self, execution: ExecutionId) {
        let Some(target) = self.task.execution(execution) else { return };
        let next = target.next_start.clone();
        let superseded =
            |other: &Execution| matches!(other.ended, Some(ExecutionEnd::Superseded | ExecutionEnd::Replaced));
        let took_over = target.primary && self.task.executions.iter().any(superseded);
        match &target.session {
            Some(session) if session.has_process() => {}
            Some(session) if session.phase == RuntimePhase::Parked => {
                let event = TaskEvent::RuntimeSessionResumed {
                    session: session.id,
                    epoch: session.epoch + 1,
                    cause: next.cause,
                };
                self.emit(event);
            }
            Some(_) | None => {
                let reason = match &target.session {
                    None if took_over => StartReason::Changed,
                    None => StartReason::FirstUse,
                    Some(_) => next.reason,
                };
                let session = self.mint.id();
                self.emit(TaskEvent::RuntimeSessionStarted { execution, session, epoch: 1, reason });
            }
        }
    }

    pub(super) fn opened(
        &mut self,
        session: RuntimeSessionId,
        epoch: u64,
        native: String,
        description: Box<RuntimeDescription>,
        parking: Parking,
    ) {
        let starting = self.task.execution_of(session).and_then(|execution| execution.session.as_ref());
        if starting.is_none_or(|session| session.phase != RuntimePhase::Starting) {
            return;
        }
        self.emit(TaskEvent::RuntimeSessionOpened { session, epoch, native, description, parking });
        if let Some(execution) = self.task.execution_of(session).map(|execution| execution.id) {
            self.start_if_live(execution);
        }
    }

    /// A native session that is gone is replaced at once; anything else fails the turn and is tried again by the next one.
    pub(super) fn open_failed(&mut self, session: RuntimeSessionId, failure: Failure, fate: NativeFate) {
        let Some(execution) = self.task.execution_of(session) else { return };
        let bound = execution.session.as_ref().is_some_and(|session| session.native.is_some());
        let turn = execution.active.as_ref().map(|active| active.id);
        let forks = execution.next_start.fork.is_some();
        let execution = execution.id;
        match (bound, fate) {
            (true, NativeFate::Gone) => {
                self.emit(TaskEvent::RuntimeSessionLost { session, cause: failure.message });
                self.prepare_handoff(execution);
                if turn.is_some() {
                    self.ensure_session(execution);
                }
            }
            (true, NativeFate::Kept) => {
                self.park_process(session, ResumeCause::ProcessDied, &failure.message);
                self.fail(turn, failure);
            }
            (false, _) if forks => {
                self.emit(TaskEvent::NativeForkRefused { execution, cause: failure.message });
                self.emit(TaskEvent::RuntimeSessionClosed { session, next: StartReason::FirstUse });
                if turn.is_some() {
                    self.ensure_session(execution);
                }
            }
            (false, _) => {
                // Nothing was ever opened, so the next attempt is still the first use, or whatever it was before.
                let next = self.task.execution_of(session).and_then(|execution| execution.session.as_ref());
                let next = next.map_or(StartReason::FirstUse, |session| session.reason);
                self.emit(TaskEvent::RuntimeSessionClosed { session, next });
                self.fail(turn, failure);
            }
        }
    }

    fn fail(&mut self, turn: Option<crate::ids::TurnId>, failure: Failure) {
        if let Some(turn) = turn {
            self.end(turn, TurnOutcome::Failed { failure }, Usage::default());
        }
    }

    /// The lowest rung of the ladder. Without a turn nobody has anything to hear of it.
    pub(super) fn reattached(&mut self, session: RuntimeSessionId, epoch: u64) {
        if self.task.execution_of(session).is_some_and(|execution| execution.active.is_some()) {
            self.emit(TaskEvent::RuntimeSessionReattached { session, epoch });
        }
    }

    pub(super) fn changed(&mut self, session: RuntimeSessionId, change: SettingChange) {
        let Some(known) = self.task.execution_of(session).and_then(|execution| execution.session.as_ref()) else {
            return;
        };
        let terms = &known.description.terms;
        let set_back = match &change {
            SettingChange::Mode { mode } if terms.forbids(mode) => {
                terms.strict.clone().map(|to| SettingChange::ModeSetBack { from: mode.clone(), to })
            }
            SettingChange::Mode { .. }
            | SettingChange::ModeSetBack { .. }
            | SettingChange::Model { .. }
            | SettingChange::ModelRefused { .. }
            | SettingChange::Commands { .. }
            | SettingChange::Tool { .. } => None,
        };
        let mut after = known.description.clone();
        after.apply(&change);
        if after != known.description || matches!(change, SettingChange::ModelRefused { .. }) {
            self.emit(TaskEvent::RuntimeSessionChanged { session, change });
        }
        if let Some(change) = set_back {
            self.emit(TaskEvent::RuntimeSessionChanged { session, change });
        }
    }

    /// A call that did something without a question is marked, for as long as the record lasts.
    pub(super) fn recorded(&mut self, session: RuntimeSessionId, mut item: Item) {
        let Some(known) = self.task.execution_of(session) else { return };
        let execution = known.id;
        let asked =
            known.active.as_ref().filter(|active| Some(active.id) == item.turn).map(|active| &active.asked.calls);
        if let ItemBody::ToolCall(call) = &mut item.body {
            call.unasked = call.did_something() && asked.is_none_or(|asked| !asked.contains(&call.call));
            let tool = call.tool.clone();
            self.changed(session, SettingChange::Tool { tool });
        }
        self.ran(&item);
        self.emit(TaskEvent::ItemRecorded { execution, item });
    }

    pub(super) fn plan_revised(&mut self, entries: Vec<PlanEntry>) {
        if entries != self.task.plan.entries {
            let plan = Plan { version: self.task.plan.version + 1, entries };
            self.emit(TaskEvent::PlanRevised { plan });
        }
    }

    /// The process is gone. The session is parked if the agent ever gave it an id, and lost if not.
    pub(super) fn exited(&mut self, session: RuntimeSessionId, cause: String) {
        let Some(execution) = self.task.execution_of(session).map(|execution| execution.id) else { return };
        self.park_process(session, ResumeCause::ProcessDied, &cause);
        self.end_with_process(execution, &cause);
        self.dispatch(execution);
    }

    fn park_process(&mut self, session: RuntimeSessionId, next: ResumeCause, cause: &str) {
        let known = self.task.execution_of(session).and_then(|execution| execution.session.as_ref());
        let cause = cause.to_owned();
        match known.map(|known| known.native.is_some()) {
            Some(true) => self.emit(TaskEvent::RuntimeSessionParked { session, next, cause }),
            Some(false) => self.emit(TaskEvent::RuntimeSessionLost { session, cause }),
            None => {}
        }
    }

    pub(super) fn park(&mut self, session: RuntimeSessionId, cause: String) -> Result<(), Rejection> {
        let Some(execution) = self.task.execution_of(session) else {
            return Err(Rejection::NotFound { what: "runtime session" });
        };
        if execution.active.is_some() {
            return Err(Rejection::TurnRunning);
        }
        let execution = execution.id;
        self.park_if_idle(execution, &cause);
        Ok(())
    }
}
