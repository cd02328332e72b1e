//! A task's budget: set, reached, extended. See [`crate::budget`].
//!
//! **Invariant:** a turn is never killed for a budget. It is asked to stop like any other, and goes on, as a new turn in
//! the same session, when the person says so.

use super::decide::Draft;
use super::{Task, TaskEvent};
use crate::budget::{Cap, Caps};
use crate::content::ContentBlock;
use crate::execution::Execution;
use crate::ids::{ExecutionId, PersonId, RuntimeSessionId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::turn::{StopWish, TurnStage, Usage};

/// Words that let a task go on whose budget is used up.
const GO_ON: [&str; 9] = ["yes", "y", "go on", "continue", "extend", "是", "好", "继续", "好的"];
/// What an agent is told that was stopped in the midst of a turn. Never the old prompt: it has that.
const RESUME: &str = "You were stopped because the budget was used up. There is a new one: go on where you stopped.";

impl Draft {
    /// Sets the caps, counts from zero, and lets go on what waited or was stopped.
    pub(super) fn set_budget(&mut self, caps: Caps, by: PersonId) {
        if caps == self.task.budget.caps && self.task.budget.reached.is_none() {
            return;
        }
        let paused = self.task.budget.paused.clone();
        self.emit(TaskEvent::BudgetSet { caps, by });
        let all: Vec<_> = self.task.executions.iter().map(|execution| execution.id).collect();
        for execution in all {
            if paused.contains(&execution) {
                self.resume(execution, by);
            }
            self.dispatch(execution);
        }
    }

    /// Whoever said something meanwhile has said how to go on.
    fn resume(&mut self, execution: ExecutionId, person: PersonId) {
        let Some(known) = self.task.execution(execution) else { return };
        let last = known.active.as_ref().map(|active| &active.input);
        let last = last.or(known.past.last.as_ref().map(|last| &last.input));
        let Some(last) = last.filter(|_| known.queue.is_empty() && known.ended.is_none()) else { return };
        let conversation = last.conversation;
        let (input, content) = (self.mint.id(), vec![ContentBlock::text(RESUME)]);
        let queued = QueuedInput { input, person, conversation, content, at: self.at };
        self.emit(TaskEvent::InputQueued { execution, queued, urgency: Urgency::Next });
    }

    /// As much again.
    pub(super) fn extend_budget(&mut self, by: PersonId) -> Result<(), Rejection> {
        if self.task.budget.reached.is_none() {
            return Err(Rejection::QuestionSettled);
        }
        self.set_budget(self.task.budget.caps, by);
        Ok(())
    }

    /// Whether these words extend a budget that is used up.
    pub(super) fn lets_go_on(&self, words: &str) -> bool {
        let words = words.trim().trim_end_matches(['.', '!', '。', '！']).to_lowercase();
        self.task.budget.reached.is_some() && GO_ON.contains(&words.as_str())
    }

    /// An agent said what it has used so far.
    pub(super) fn used(&mut self, session: RuntimeSessionId, usage: &Usage) {
        let Some(execution) = self.task.execution_of(session).filter(|execution| execution.active.is_some()) else {
            return;
        };
        let reported = execution.past.reported;
        let millis = self.task.millis_running(self.at);
        if let Some(cap) = self.task.budget.over_midway(millis, reported, usage) {
            self.pause(cap);
        }
    }

    /// The time may be over.
    pub(super) fn check_time(&mut self) {
        if self.task.budget_ends_at(self.at).is_some_and(|end| end <= self.at) {
            self.pause(Cap::Minutes);
        }
    }

    /// Asks every turn that runs to stop. The person is asked when it has.
    fn pause(&mut self, cap: Cap) {
        let running: Vec<_> = self.task.running().map(|(execution, _)| execution.id).collect();
        for execution in running {
            self.stop_active(execution, StopWish::Budget { cap });
        }
    }

    /// A turn ended: is it enough?
    pub(super) fn check_budget(&mut self, turn: TurnId, stopping: Option<StopWish>) {
        let budget = &self.task.budget;
        // Whatever the agent says that it used: it was stopped for that.
        let stopped = match stopping {
            Some(StopWish::Budget { cap }) if !budget.paused.is_empty() => Some(cap),
            Some(StopWish::Budget { .. } | StopWish::Cancel | StopWish::Dismiss | StopWish::Interrupt) | None => None,
        };
        if let (None, Some(cap)) = (budget.reached, stopped.or_else(|| budget.over())) {
            self.emit(TaskEvent::BudgetReached { turn, cap });
        }
    }
}

impl Task {
    /// The turns whose agents have the prompt, and since when.
    fn running(&self) -> impl Iterator<Item = (&Execution, Timestamp)> {
        self.executions.iter().filter_map(|execution| {
            let active = execution.active.as_ref().filter(|active| active.stage == TurnStage::Running)?;
            Some((execution, active.started_at?))
        })
    }

    /// What running turns have taken so far, as far as it counts.
    fn millis_running(&self, now: Timestamp) -> u64 {
        self.running().map(|(_, since)| self.budget.counted(now.millis_since(since), now)).sum()
    }

    /// When the time is over, if nothing ends or starts before.
    pub(super) fn budget_ends_at(&self, now: Timestamp) -> Option<Timestamp> {
        let running = self.running().count() as u64;
        let used = self.budget.used.millis + self.millis_running(now);
        let left = self.budget.caps.millis().filter(|_| running > 0)?.saturating_sub(used);
        Some(now.after(std::time::Duration::from_millis(left.div_ceil(running))))
    }

    /// Whether a turn was stopped for its budget, or is being stopped: nothing starts then.
    pub(super) fn out_of_budget(&self) -> bool {
        self.budget.reached.is_some() || !self.budget.paused.is_empty()
    }
}
