//! Routes a task's commands to the file that decides them, on a draft that evolves as it goes.

use super::{Report, Task, TaskCommand, TaskEvent};
use crate::ids::{Mint, RuntimeSessionId, TaskId};
use crate::rejection::Rejection;
use crate::time::{Now, Timestamp};

/// A task in the middle of a decision: each event that is emitted is taken in at once, so that the next step
/// sees what the last one changed.
pub(super) struct Draft {
    pub(super) task: Task,
    pub(super) events: Vec<TaskEvent>,
    pub(super) at: Timestamp,
    pub(super) mint: Mint,
}

impl Draft {
    pub(super) fn emit(&mut self, event: TaskEvent) {
        super::evolve::apply(&mut self.task, &event, self.at);
        self.events.push(event);
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "two commands make a task; no other finds one here")]
pub(crate) fn decide(
    id: TaskId,
    state: Option<&Task>,
    command: TaskCommand,
    now: Now,
) -> Result<Vec<TaskEvent>, Rejection> {
    let Some(task) = state else {
        return match command {
            TaskCommand::Create { seed, person, conversation } => {
                Ok(super::lifecycle::create(id, seed, person, conversation))
            }
            TaskCommand::Import { seed, person, conversation, session, native } => {
                Ok(super::import::create(id, seed, person, conversation, session, native))
            }
            _ => Err(Rejection::NotFound { what: "task" }),
        };
    };
    let mut draft = Draft { task: task.clone(), events: vec![], at: now.at, mint: now.mint() };
    match command {
        TaskCommand::Create { .. } | TaskCommand::Import { .. } => return Err(Rejection::Exists { what: "the task" }),
        TaskCommand::ImportTurns { session, from, turns } => draft.import_turns(session, from, turns)?,
        TaskCommand::FinishImport { session, left_out } => draft.finish_import(session, left_out)?,
        TaskCommand::BecomeFork { seed } => draft.become_fork(*seed)?,
        TaskCommand::NoteFork { fork, key, turn } => draft.emit(TaskEvent::ForkMade { fork, key, turn }),
        TaskCommand::AssignKey { key } => draft.emit(TaskEvent::TaskKeyed { key }),
        TaskCommand::Join { conversation } => draft.join(conversation),
        TaskCommand::Enqueue { queued, execution, urgency } => draft.enqueue(queued, execution, urgency)?,
        TaskCommand::Withdraw { input } => draft.withdraw(input)?,
        TaskCommand::MoveOut { input, to, person, started, interrupt } => {
            draft.move_out(input, to, started.then_some(person), interrupt)?;
        }
        TaskCommand::MoveIn { queued, from } => draft.move_in(queued, from)?,
        TaskCommand::AddExecution { execution, agent, role, worktree } => {
            draft.add_execution(execution, agent, role, worktree)?;
        }
        TaskCommand::GiveWorktree { execution, seed } => draft.give_worktree(execution, seed)?,
        TaskCommand::Dismiss { execution } => draft.dismiss(execution)?,
        TaskCommand::Switch { execution, agent, model } => draft.switch(execution, agent, model)?,
        TaskCommand::Replace { failed, turn, execution, agent } => draft.replace(failed, turn, execution, agent)?,
        TaskCommand::Cancel => draft.cancel()?,
        TaskCommand::CancelOverdue { turn } => draft.cancel_overdue(turn),
        TaskCommand::Retry { person, execution } => draft.retry(person, execution)?,
        TaskCommand::Fresh => draft.fresh()?,
        TaskCommand::Close { person } => draft.close(person),
        TaskCommand::Archive { person } => draft.archive(person),
        TaskCommand::Reopen => draft.reopen()?,
        TaskCommand::PinNote { person, text } => draft.pin(person, text)?,
        TaskCommand::GiveHandoff { turn, text } => draft.give_handoff(turn, text),
        TaskCommand::BeginTurn { turn } => draft.begin(turn),
        TaskCommand::HoldTurn { turn, behind } => draft.hold(turn, behind),
        TaskCommand::Answer { queued, execution, urgency } => draft.answer(queued, execution, urgency)?,
        TaskCommand::SetBudget { caps, by } => draft.set_budget(caps, by),
        TaskCommand::ExtendBudget { by } => draft.extend_budget(by)?,
        TaskCommand::CheckTime => draft.check_time(),
        TaskCommand::AnswerQuestion { question, answer, by } => draft.answer_question(question, answer, by, None)?,
        TaskCommand::DecideApproval { approval, decision } => draft.decide_approval(approval, *decision)?,
        TaskCommand::ExpireApproval { approval } => draft.expire(approval),
        TaskCommand::Park { session, cause } => draft.park(session, cause)?,
        TaskCommand::KeepCheckpoint { checkpoint } => draft.emit(TaskEvent::CheckpointTaken { checkpoint }),
        TaskCommand::ChangeWorkspace { change, person, kind, execution } => {
            draft.change_workspace(change, person, kind, execution)?;
        }
        TaskCommand::Discard { change, person, execution } => draft.discard(change, person, execution)?,
        TaskCommand::PlanChange { change, plan } => draft.plan_change(change, plan)?,
        TaskCommand::EndChange { change, result } => draft.end_change(change, result)?,
        TaskCommand::Report { session, epoch, report } => draft.report(session, epoch, report)?,
    }
    Ok(draft.events)
}

impl Draft {
    /// Epoch fencing (P6): only the current process of a current runtime session is heard.
    fn report(&mut self, session: RuntimeSessionId, epoch: u64, report: Report) -> Result<(), Rejection> {
        let known = self.task.execution_of(session).and_then(|execution| execution.session.as_ref());
        let current = known.filter(|known| known.has_process()).map_or(0, |known| known.epoch);
        if current != epoch {
            return Err(Rejection::StaleEpoch { current, given: epoch });
        }
        match report {
            Report::Opened { native, description, parking } => {
                self.opened(session, epoch, native, description, parking)
            }
            Report::OpenFailed { failure, native } => self.open_failed(session, failure, native),
            Report::Changed(change) => self.changed(session, change),
            Report::Recorded(item) => self.recorded(session, *item),
            Report::PlanRevised { entries } => self.plan_revised(entries),
            Report::Titled { title } => self.titled(title),
            Report::Used(usage) => self.used(session, &usage),
            Report::Asked(asked) => self.asked(session, epoch, *asked),
            Report::Questioned(question) => self.questioned(session, *question),
            Report::Withdrew { request } => {
                self.withdrew(session, epoch, &request);
                self.withdrew_question(session, &request);
            }
            Report::TurnAnswered { turn, answer, usage } => self.answered(turn, answer, usage),
            Report::PromptFailed { turn, failure } => self.prompt_failed(turn, failure),
            Report::PromptUnknown { turn, cause } => self.prompt_unknown(turn, cause),
            Report::Reattached => self.reattached(session, epoch),
            Report::Stalled { turn, silent_secs } => self.stalled(turn, silent_secs),
            Report::Exited { cause } => self.exited(session, cause),
        }
        Ok(())
    }
}
