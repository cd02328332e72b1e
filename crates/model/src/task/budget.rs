//! A task's budget: set, reached, extended. See [`crate::budget`].

use super::TaskEvent;
use super::decide::Draft;
use crate::budget::Caps;
use crate::ids::{PersonId, TurnId};
use crate::rejection::Rejection;

/// Words that let a task go on whose budget is used up.
const GO_ON: [&str; 9] = ["yes", "y", "go on", "continue", "extend", "是", "好", "继续", "好的"];

impl Draft {
    /// Sets the caps, counts from zero, and lets go on what waited.
    pub(super) fn set_budget(&mut self, caps: Caps, by: PersonId) {
        if caps == self.task.budget.caps && self.task.budget.reached.is_none() {
            return;
        }
        self.emit(TaskEvent::BudgetSet { caps, by });
        let all: Vec<_> = self.task.executions.iter().map(|execution| execution.id).collect();
        all.into_iter().for_each(|execution| self.dispatch(execution));
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

    /// A turn ended: is it enough?
    pub(super) fn check_budget(&mut self, turn: TurnId) {
        let budget = &self.task.budget;
        if let (None, Some(cap)) = (budget.reached, budget.over()) {
            self.emit(TaskEvent::BudgetReached { turn, cap });
        }
    }
}
