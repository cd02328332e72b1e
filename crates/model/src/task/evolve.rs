//! Takes a task's events in. Infallible, and the only replay path.

use super::{Lifecycle, PendingApproval, Task, TaskEvent};
use crate::approval::Approval;
use crate::budget::Budget;
use crate::checkpoint::{Checkpoint, CheckpointSide};
use crate::content::one_line;
use crate::execution::{Execution, ExecutionEnd, Finding, NextStart, Past, Role};
use crate::ids::{ExecutionId, InputId, RuntimeSessionId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::item::{Item, ItemBody};
use crate::plan::Plan;
use crate::present::Locale;
use crate::question::Question;
use crate::runtime_session::{
    Parking, ResumeCause, RuntimeDescription, RuntimePhase, RuntimeSession, SettingChange, StartReason,
};
use crate::site::{Site, WorkspaceChange};
use crate::time::Timestamp;
use crate::turn::{ActiveTurn, AskedSoFar, EndedTurn, StopWish, TurnOutcome, TurnStage};

/// How many characters of what was said a task remembers for lists and briefs.
pub(super) const REMEMBERED_CHARS: usize = 500;

pub(crate) fn evolve(state: &mut Option<Box<Task>>, event: &TaskEvent, at: Timestamp) {
    if let TaskEvent::TaskCreated { task, project, conversation, title, goal, root, .. } = event {
        *state = Some(Box::new(Task {
            id: *task,
            key: String::new(),
            project: *project,
            title: title.clone(),
            goal: goal.clone(),
            site: Site::of(root.clone()),
            lifecycle: Lifecycle::Open,
            conversations: vec![*conversation],
            executions: vec![],
            plan: Plan::default(),
            notes: vec![],
            approvals: super::ApprovalDesk::default(),
            budget: crate::budget::Budget::default(),
        }));
    } else if let Some(task) = state {
        apply(task, event, at);
    }
}

pub(super) fn apply(task: &mut Task, event: &TaskEvent, at: Timestamp) {
    match event {
        TaskEvent::TaskKeyed { key } => task.key.clone_from(key),
        TaskEvent::TaskRetitled { title } => task.title.clone_from(title),
        TaskEvent::TaskClosed { .. } => task.lifecycle = Lifecycle::Closed,
        TaskEvent::TaskArchived { .. } => task.lifecycle = Lifecycle::Archived,
        TaskEvent::TaskReopened {} => task.lifecycle = Lifecycle::Open,
        TaskEvent::ConversationJoined { conversation } => task.conversations.push(*conversation),
        TaskEvent::NotePinned { text, .. } => task.notes.push(text.clone()),
        TaskEvent::PlanRevised { plan } => task.plan = plan.clone(),
        TaskEvent::ApprovalRequested { .. }
        | TaskEvent::ApprovalSettled { .. }
        | TaskEvent::ApprovalsRefused { .. }
        | TaskEvent::QuestionAsked { .. }
        | TaskEvent::QuestionSettled { .. }
        | TaskEvent::BudgetSet { .. }
        | TaskEvent::BudgetReached { .. } => apply_asking(task, event, at),
        TaskEvent::ExecutionAdded { execution, agent, role, primary } => {
            task.executions.push(Execution::new(*execution, agent.clone(), *role, *primary));
        }
        TaskEvent::ExecutionEnded { execution, end } => end_execution(task, *execution, *end),
        TaskEvent::ModelChosen { execution, model } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.model = Some(model.clone());
            }
        }
        TaskEvent::HandoffPrepared { handoff } => {
            if let Some(execution) = task.execution_mut(handoff.to) {
                execution.handoff = Some(handoff.clone());
            }
        }
        TaskEvent::ItemRecorded { execution, item } => remember(task, *execution, item),
        TaskEvent::InputQueued { .. }
        | TaskEvent::InputWithdrawn { .. }
        | TaskEvent::InputMovedOut { .. }
        | TaskEvent::TurnRequested { .. }
        | TaskEvent::TurnHeld { .. }
        | TaskEvent::TurnCleared { .. }
        | TaskEvent::TurnStarted { .. }
        | TaskEvent::TurnStalled { .. }
        | TaskEvent::TurnStopRequested { .. }
        | TaskEvent::FindingsPassed { .. }
        | TaskEvent::TurnEnded { .. } => apply_turn(task, event, at),
        TaskEvent::RuntimeSessionStarted { .. }
        | TaskEvent::RuntimeSessionImported { .. }
        | TaskEvent::TurnImported { .. }
        | TaskEvent::PastImported { .. }
        | TaskEvent::RuntimeSessionResumed { .. }
        | TaskEvent::RuntimeSessionOpened { .. }
        | TaskEvent::RuntimeSessionChanged { .. }
        | TaskEvent::RuntimeSessionParked { .. }
        | TaskEvent::RuntimeSessionLost { .. }
        | TaskEvent::RuntimeSessionClosed { .. } => apply_session(task, event, at),
        TaskEvent::CheckpointTaken { checkpoint } => keep(task, checkpoint),
        TaskEvent::WorktreeGiven { .. }
        | TaskEvent::WorkspaceChangeBegun { .. }
        | TaskEvent::WorkspaceChangePlanned { .. }
        | TaskEvent::WorkspaceChangeEnded { .. }
        | TaskEvent::TaskForked { .. }
        | TaskEvent::NativeForkRefused { .. } => apply_site(task, event),
        TaskEvent::TaskCreated { .. }
        | TaskEvent::ForkMade { .. }
        | TaskEvent::InputMovedIn { .. }
        | TaskEvent::HandoffGiven { .. }
        | TaskEvent::RuntimeSessionReattached { .. } => {}
    }
}

fn end_execution(task: &mut Task, execution: ExecutionId, end: ExecutionEnd) {
    // Whoever takes its place in another way is added as the one that leads.
    let dismissed = end == ExecutionEnd::Cancelled;
    let leads = task.execution(execution).is_some_and(|execution| execution.primary);
    let heir = task.leader_without(execution).filter(|_| dismissed && leads);
    if let Some(heir) = heir.and_then(|heir| task.execution_mut(heir)) {
        heir.primary = true;
    }
    if let Some(execution) = task.execution_mut(execution) {
        execution.ended = Some(end);
        execution.queue.clear();
        execution.primary = false;
    }
}

/// What a person is asked.
#[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names the events that come here")]
fn apply_asking(task: &mut Task, event: &TaskEvent, at: Timestamp) {
    match event {
        TaskEvent::ApprovalRequested { approval } => asked(task, approval, at),
        TaskEvent::ApprovalSettled { approval, .. } => task.approvals.settle(*approval),
        TaskEvent::ApprovalsRefused { turn } => refuse(task, *turn),
        TaskEvent::QuestionAsked { turn, question } => questioned(task, *turn, question),
        TaskEvent::QuestionSettled { turn, question, .. } => {
            let known = active_mut(task, *turn).into_iter().flat_map(|active| &mut active.questions);
            known.filter(|known| known.id == *question).for_each(|known| known.settled = true);
        }
        TaskEvent::BudgetSet { caps, .. } => {
            task.budget = Budget { caps: *caps, since: Some(at), ..Budget::default() };
        }
        TaskEvent::BudgetReached { cap, .. } => {
            task.budget.reached = Some(*cap);
            // The router knows a question by its words.
            let words = task.budget.spent(*cap).question(Locale::En);
            if let Some(execution) = task.executions.iter_mut().find(|execution| execution.primary) {
                execution.past.last_said = words;
            }
        }
        _ => {}
    }
}

fn refuse(task: &mut Task, turn: TurnId) {
    if let Some(active) = active_mut(task, turn) {
        active.asked.refusing = true;
    }
}

/// Its words are the agent's last ones.
fn questioned(task: &mut Task, turn: TurnId, question: &Question) {
    let Some(execution) = task.execution_in_mut(turn) else { return };
    execution.past.last_said = one_line(&question.message, REMEMBERED_CHARS);
    if let Some(active) = &mut execution.active {
        active.silent_secs = None;
        active.questions.push(question.clone());
    }
}

fn asked(task: &mut Task, approval: &Approval, at: Timestamp) {
    if let Some(active) = active_mut(task, approval.turn) {
        active.asked.count += 1;
        active.asked.calls.push(approval.ask.call.clone());
    }
    task.approvals.pending.push(PendingApproval { approval: approval.clone(), asked_at: at });
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names the events that come here")]
fn apply_site(task: &mut Task, event: &TaskEvent) {
    match event {
        TaskEvent::WorktreeGiven { execution, root, base } => task.site.give(*execution, task.id, root, base),
        TaskEvent::WorkspaceChangeBegun { change, person, kind, execution } => {
            if let Some(site) = task.site.at_mut(*execution) {
                site.begin(WorkspaceChange { id: *change, person: *person, kind: kind.clone(), plan: None });
            }
        }
        TaskEvent::WorkspaceChangePlanned { change, plan } => task.site.plan(*change, plan),
        TaskEvent::WorkspaceChangeEnded { change, result } => task.site.end(*change, result),
        TaskEvent::TaskForked { fork, native } => {
            task.site.fork = Some(fork.clone());
            if let Some(execution) = task.executions.first_mut() {
                execution.next_start.fork.clone_from(native);
            }
        }
        TaskEvent::NativeForkRefused { execution, .. } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.next_start.fork = None;
            }
        }
        _ => {}
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names the events that come here")]
fn apply_turn(task: &mut Task, event: &TaskEvent, at: Timestamp) {
    match event {
        TaskEvent::InputQueued { execution, queued, urgency } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.enqueue(queued.clone(), *urgency);
            }
        }
        TaskEvent::InputWithdrawn { input } | TaskEvent::InputMovedOut { input, .. } => {
            for execution in &mut task.executions {
                execution.queue.retain(|queued| queued.input != *input);
            }
        }
        TaskEvent::TurnRequested { execution, turn, input, .. } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.take(*turn, *input, at);
            }
        }
        TaskEvent::TurnHeld { turn, behind } => {
            set_stage(task, *turn, TurnStage::AwaitingLease { behind: Some(behind.clone()) })
        }
        TaskEvent::TurnCleared { turn } => set_stage(task, *turn, TurnStage::AwaitingSession),
        TaskEvent::TurnStarted { turn, .. } => {
            set_stage(task, *turn, TurnStage::Running);
            if let Some(active) = active_mut(task, *turn) {
                active.started_at = Some(at);
            }
        }
        TaskEvent::TurnStalled { turn, silent_secs } => {
            if let Some(active) = active_mut(task, *turn) {
                active.silent_secs = Some(*silent_secs);
            }
        }
        TaskEvent::TurnStopRequested { turn, wish } => stop(task, *turn, *wish),
        TaskEvent::FindingsPassed { execution: to, turn, findings } => {
            let known = task.executions.iter_mut().flat_map(|execution| &mut execution.past.findings);
            for finding in known.filter(|finding| findings.contains(&finding.turn)) {
                finding.due.retain(|waits| waits != to);
                finding.passed = true;
            }
            if let Some(active) = active_mut(task, *turn) {
                active.findings.clone_from(findings);
            }
        }
        TaskEvent::TurnEnded { turn, outcome, usage, duration_ms } => {
            let (budget, executions) = (&mut task.budget, &mut task.executions);
            let ended = |known: &&mut Execution| known.active.as_ref().is_some_and(|active| active.id == *turn);
            if let Some(execution) = executions.iter_mut().find(ended) {
                budget.spend(budget.counted(*duration_ms, at), usage, &mut execution.past.reported);
            }
            let here = task.executions.iter().filter(|execution| execution.ended.is_none());
            let here: Vec<ExecutionId> = here.map(|execution| execution.id).collect();
            if let Some(execution) = task.execution_in_mut(*turn) {
                execution.finish(outcome, &here, at);
            }
            if task.executions.iter().all(|execution| execution.active.is_none()) {
                task.approvals.rest();
            }
        }
        _ => {}
    }
}

fn stop(task: &mut Task, turn: TurnId, wish: StopWish) {
    let Some(execution) = task.execution_in_mut(turn) else { return };
    let id = execution.id;
    if let Some(active) = &mut execution.active {
        active.stopping = Some(wish);
    }
    match wish {
        StopWish::Budget { .. } => task.budget.paused.push(id),
        // Nobody waits for it to go on.
        StopWish::Dismiss => task.budget.paused.retain(|known| *known != id),
        StopWish::Cancel | StopWish::Interrupt => {}
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names the events that come here")]
fn apply_session(task: &mut Task, event: &TaskEvent, at: Timestamp) {
    match event {
        TaskEvent::RuntimeSessionStarted { execution, session, epoch, reason } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.session = Some(RuntimeSession {
                    id: *session,
                    native: None,
                    epoch: *epoch,
                    phase: RuntimePhase::Starting,
                    reason: *reason,
                    description: RuntimeDescription::default(),
                    parking: Parking::default(),
                    imported: None,
                    introduced: false,
                });
            }
        }
        TaskEvent::RuntimeSessionImported { .. } | TaskEvent::TurnImported { .. } | TaskEvent::PastImported { .. } => {
            super::import::apply(task, event)
        }
        TaskEvent::RuntimeSessionResumed { session, epoch, .. } => with_session(task, *session, |known, _| {
            known.epoch = *epoch;
            known.phase = RuntimePhase::Starting;
        }),
        TaskEvent::RuntimeSessionOpened { session, native, description, parking, .. } => {
            with_session(task, *session, |known, _| {
                known.native = Some(native.clone());
                known.phase = RuntimePhase::Live;
                known.description = (**description).clone();
                known.parking = *parking;
            });
            if let Some(execution) = task.execution_of_mut(*session) {
                execution.next_start.fork = None;
                // Who was forked knows all that the brief would have told.
                execution.handoff.take_if(|_| description.forked_from.is_some());
            }
        }
        TaskEvent::RuntimeSessionChanged { session, change } => {
            with_session(task, *session, |known, _| known.description.apply(change));
            if let (SettingChange::ModelRefused { .. }, Some(execution)) = (change, task.execution_of_mut(*session)) {
                // What it goes on with is what it is to have after a load too.
                execution.model = execution.session.as_ref().and_then(|session| session.description.model.clone());
            }
        }
        TaskEvent::RuntimeSessionParked { session, next, .. } => {
            with_session(task, *session, |known, start| {
                known.phase = RuntimePhase::Parked;
                start.cause = *next;
            });
            if let (ResumeCause::ProcessDied, Some(execution)) = (next, task.execution_of_mut(*session)) {
                let deaths = &mut execution.past.deaths;
                deaths.push(at);
                if deaths.len() > Past::LOOP_DEATHS {
                    deaths.remove(0);
                }
            }
        }
        TaskEvent::RuntimeSessionLost { session, .. } => with_session(task, *session, |known, start| {
            known.phase = RuntimePhase::Lost;
            start.reason = StartReason::Lost;
        }),
        TaskEvent::RuntimeSessionClosed { session, next } => with_session(task, *session, |known, start| {
            known.phase = RuntimePhase::Closed;
            start.reason = *next;
        }),
        _ => {}
    }
}

pub(super) fn with_session(
    task: &mut Task,
    session: RuntimeSessionId,
    change: impl FnOnce(&mut RuntimeSession, &mut NextStart),
) {
    if let Some(execution) = task.execution_of_mut(session)
        && let Some(known) = execution.session.as_mut()
    {
        change(known, &mut execution.next_start);
    }
}

fn keep(task: &mut Task, checkpoint: &Checkpoint) {
    let of_turn = |execution: &&mut Execution| {
        let active = execution.active.as_ref().is_some_and(|active| active.id == checkpoint.turn);
        active || execution.past.last.as_ref().is_some_and(|last| last.id == checkpoint.turn)
    };
    let Some(execution) = task.executions.iter_mut().find(of_turn) else { return };
    match (checkpoint.side, &mut execution.active) {
        (CheckpointSide::Before, Some(active)) => active.before = Some(checkpoint.tree.clone()),
        (CheckpointSide::Before, None) => {}
        (CheckpointSide::After, _) => execution.past.changed.clone_from(&checkpoint.changed),
    }
}

fn active_mut(task: &mut Task, turn: TurnId) -> Option<&mut ActiveTurn> {
    task.execution_in_mut(turn).and_then(|execution| execution.active.as_mut())
}

fn set_stage(task: &mut Task, turn: TurnId, stage: TurnStage) {
    if let Some(active) = active_mut(task, turn) {
        active.stage = stage;
    }
}

/// Items are not state. Only the last words are, because lists and briefs show them, and that something was heard.
fn remember(task: &mut Task, execution: ExecutionId, item: &Item) {
    let Some(execution) = task.execution_mut(execution) else { return };
    if let Some(active) = &mut execution.active {
        active.silent_secs = None;
    }
    if let ItemBody::Message { text, question, .. } = &item.body {
        let words = one_line(text.head(), REMEMBERED_CHARS);
        if let Some(active) = &mut execution.active {
            active.said.clone_from(&words);
        }
        execution.past.last_said = words;
        execution.past.question = *question;
    }
}

impl Execution {
    fn new(id: ExecutionId, agent: String, role: Role, primary: bool) -> Self {
        Execution {
            id,
            agent,
            model: None,
            role,
            primary,
            ended: None,
            session: None,
            next_start: NextStart { reason: StartReason::FirstUse, cause: ResumeCause::Parked, fork: None },
            queue: vec![],
            active: None,
            past: Past::default(),
            handoff: None,
        }
    }

    fn enqueue(&mut self, queued: QueuedInput, urgency: Urgency) {
        match urgency {
            Urgency::InTurn => self.queue.push(queued),
            Urgency::Next | Urgency::Interrupt => self.queue.insert(0, queued),
        }
    }

    fn take(&mut self, turn: TurnId, input: InputId, at: Timestamp) {
        let Some(place) = self.queue.iter().position(|queued| queued.input == input) else { return };
        let input = self.queue.remove(place);
        let stage = TurnStage::AwaitingLease { behind: None };
        self.past.question = false;
        self.active = Some(ActiveTurn {
            id: turn,
            input,
            stage,
            requested_at: at,
            started_at: None,
            stopping: None,
            said: String::new(),
            silent_secs: None,
            asked: AskedSoFar::default(),
            questions: vec![],
            findings: vec![],
            before: None,
        });
    }

    fn finish(&mut self, outcome: &TurnOutcome, here: &[ExecutionId], at: Timestamp) {
        let Some(active) = self.active.take() else { return };
        let past = &mut self.past;
        past.turns += 1;
        past.question &= matches!(outcome, TurnOutcome::Completed { .. });
        if self.role.reports() && matches!(outcome, TurnOutcome::Completed { .. }) && !active.said.is_empty() {
            let due = here.iter().copied().filter(|other| *other != self.id).collect();
            past.findings.push(Finding { turn: active.id, due, passed: false });
            if past.findings.len() > Past::FINDINGS {
                past.findings.remove(0);
            }
        }
        // The agent has its role and the brief once a prompt that carried them was handed on.
        if active.started_at.is_some() && !active.input.is_command() {
            self.handoff = None;
            if let Some(session) = &mut self.session {
                session.introduced = true;
            }
        }
        past.last = Some(EndedTurn { id: active.id, input: active.input, outcome: outcome.clone(), at });
    }
}
