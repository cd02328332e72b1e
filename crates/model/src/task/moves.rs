//! Messages that were meant for another task: how one leaves, and how it arrives.

use super::TaskEvent;
use super::decide::Draft;
use crate::ids::{InputId, PersonId, TaskId};
use crate::input::{QueuedInput, Urgency};
use crate::rejection::Rejection;
use crate::turn::{StopWish, TurnOutcome, TurnStage, Usage};

impl Draft {
    /// Lets a message go. One that waits just goes; one that an agent works on is stopped, if that is wanted; one
    /// whose turn is over leaves its traces here. A task that was started by it, and by nothing else, is closed.
    pub(super) fn move_out(
        &mut self,
        input: InputId,
        to: TaskId,
        starter: Option<PersonId>,
        interrupt: bool,
    ) -> Result<(), Rejection> {
        let active = self.task.executions.iter().find_map(|execution| {
            let active = execution.active.as_ref().filter(|active| active.input.input == input)?;
            Some((execution.id, active.id, active.stage == TurnStage::Running))
        });
        if matches!(active, Some((_, _, true))) && !interrupt {
            return Err(Rejection::NeedsConsent);
        }
        self.emit(TaskEvent::InputMovedOut { input, to });
        match active {
            Some((execution, _, true)) => self.stop_active(execution, StopWish::Interrupt),
            Some((execution, turn, false)) => {
                self.end(turn, TurnOutcome::Cancelled, Usage::default());
                self.dispatch(execution);
            }
            None => {}
        }
        if let Some(person) = starter.filter(|_| self.nothing_else(input)) {
            self.close(person);
        }
        Ok(())
    }

    /// Whether no other message was ever given to this task.
    fn nothing_else(&self, input: InputId) -> bool {
        self.task.executions.iter().all(|execution| {
            let ended = execution.past.last.as_ref().is_none_or(|turn| turn.input.input == input);
            let active = execution.active.as_ref().is_none_or(|turn| turn.input.input == input);
            execution.queue.is_empty() && active && ended && execution.past.turns <= 1
        })
    }

    pub(super) fn move_in(&mut self, queued: QueuedInput, from: Option<TaskId>) -> Result<(), Rejection> {
        let here = self.task.executions.iter().any(|execution| {
            let active = execution.active.as_ref().is_some_and(|active| active.input.input == queued.input);
            active || execution.queue.iter().any(|known| known.input == queued.input)
        });
        if here {
            return Ok(());
        }
        self.emit(TaskEvent::InputMovedIn { input: queued.input, from });
        self.enqueue(queued, None, Urgency::InTurn)
    }
}
