//! Tasks, executions, runtime sessions and turns to the wire.

use throughline_api::card as api_card;
use throughline_api::project::{Project, ProjectRef};
use throughline_api::task as api;
use throughline_api::timeline::{PlanEntry, Usage};
use throughline_model::execution::{Activity, Execution, ExecutionEnd, Role};
use throughline_model::ids::{ExecutionId, Id as _};
use throughline_model::input::QueuedInput;
use throughline_model::plan::{self, PlanPriority, PlanStatus};
use throughline_model::present::{self, Card, Locale, card};
use throughline_model::question::Question;
use throughline_model::runtime_session::{
    Enforcement, ResumeCause, RuntimePhase, RuntimeSession, StartReason, Unasked, WriteAccess,
};
use throughline_model::shown::View;
use throughline_model::site::Site;
use throughline_model::task::{Lifecycle, Task};
use throughline_model::turn::{self, ActiveTurn, EndedTurn, StopReason, TurnOutcome, TurnStage};
use throughline_model::view::{ProjectRow, TaskRow};

use super::reply::choice;
use super::{approval, block, moment};

pub(crate) fn project(row: &ProjectRow) -> Project {
    Project { id: row.id.uuid(), name: row.name.clone(), root: row.root.clone(), agent: row.agent.clone() }
}

/// A row of the list, with the name of its project.
pub(crate) fn summary(locale: Locale, row: &TaskRow, project: &str) -> api::TaskSummary {
    api::TaskSummary {
        key: row.key.clone(),
        id: row.id.uuid(),
        title: row.title.clone(),
        project: ProjectRef { id: row.project.uuid(), name: project.to_owned() },
        lifecycle: lifecycle(row.lifecycle),
        activity: activity(&row.activity),
        state: locale.state(row.lifecycle, &row.activity),
        glance: present::row_glance(locale, row),
        agent: row.agent.clone(),
        workers: workers(row),
        last_said: row.last_said.clone(),
        progress: row.plan.map(|(done, total)| api::Progress { done, total }),
        updated_at: moment(row.updated_at),
    }
}

fn workers(row: &TaskRow) -> Vec<api::Worker> {
    let (first, rest): (Vec<_>, Vec<_>) = row.executions.iter().partition(|execution| execution.primary);
    first.into_iter().chain(rest).map(|each| api::Worker { agent: each.agent.clone(), role: role(each.role) }).collect()
}

/// A task with all that is under it.
pub(crate) fn task(locale: Locale, task: &Task, row: &TaskRow, around: card::Around<'_>) -> api::Task {
    let reference = api::TaskRef { id: task.id.uuid(), key: task.key.clone() };
    api::Task {
        summary: api::TaskSummary { glance: present::glance(locale, task), ..summary(locale, row, around.project) },
        goal: task.goal.clone(),
        root: task.workplace().root.clone(),
        worktrees: worktrees(task),
        forked_from: task.site.fork.as_ref().map(super::site::forked_from),
        executions: task.executions.iter().map(execution).collect(),
        plan: task.plan.entries.iter().map(plan_entry).collect(),
        plan_version: task.plan.version,
        notes: task.notes.clone(),
        approvals: task
            .approvals
            .pending
            .iter()
            .map(|pending| approval(&pending.approval, reference.clone(), "pending", pending.asked_at, View::FULL))
            .collect(),
        card: shown(locale, &present::card(locale, task, around)),
    }
}

fn worktrees(task: &Task) -> Vec<api::Worktree> {
    // What somebody did who was dismissed is still there.
    let there = |execution: &&Execution| matches!(execution.ended, None | Some(ExecutionEnd::Cancelled));
    let own =
        task.executions.iter().filter(there).filter_map(|execution| Some((execution.id, task.site.own(execution.id)?)));
    let worktree = |(execution, site): (ExecutionId, &Site)| api::Worktree {
        execution: execution.uuid(),
        root: site.root.clone(),
        removed: site.removed.is_some(),
    };
    own.map(worktree).collect()
}

fn shown(locale: Locale, card: &Card) -> api_card::Card {
    let field = |field: &card::Field| api_card::CardField {
        about: field.about.word().into(),
        label: field.label.clone(),
        lines: field.lines.clone(),
    };
    api_card::Card {
        text: card.text(locale),
        fields: card.fields.iter().map(field).collect(),
        buttons: card.buttons.iter().map(choice).collect(),
    }
}

fn execution(execution: &Execution) -> api::Execution {
    api::Execution {
        id: execution.id.uuid(),
        agent: execution.agent.clone(),
        role: role(execution.role),
        primary: execution.primary,
        ended: execution.ended.map(|end| execution_end(end).into()),
        activity: activity(&execution.activity()),
        queue: execution.queue.iter().map(queued).collect(),
        runtime_session: execution.session.as_ref().map(runtime_session),
        active_turn: execution.active.as_ref().map(active_turn),
        last_turn: execution.past.last.as_ref().map(ended_turn),
        turns: execution.past.turns,
        last_said: execution.past.last_said.clone(),
    }
}

fn queued(queued: &QueuedInput) -> api::QueuedInput {
    api::QueuedInput {
        input: queued.input.uuid(),
        content: queued.content.iter().map(block).collect(),
        at: moment(queued.at),
    }
}

fn runtime_session(session: &RuntimeSession) -> api::RuntimeSession {
    let about = &session.description;
    api::RuntimeSession {
        id: session.id.uuid(),
        native_id: session.native.clone(),
        epoch: session.epoch,
        phase: phase(session.phase),
        reason: start_reason(session.reason),
        agent: api::AgentVersion { name: about.agent.name.clone(), version: about.agent.version.clone() },
        model: about.model.clone(),
        mode: about.mode.clone(),
        tools: about.tools.clone(),
        mcp_servers: about.mcp_servers.clone(),
        commands: about
            .commands
            .iter()
            .map(|command| api::Choice { id: command.id.clone(), name: command.name.clone() })
            .collect(),
        read_only: read_only(about.write_access),
        unasked: about.unasked().map(unasked),
    }
}

fn unasked(unasked: Unasked) -> api::Unasked {
    match unasked {
        Unasked::Some(what) => api::Unasked { scope: api::UnaskedScope::Some, what },
        Unasked::Everything(mode) => api::Unasked { scope: api::UnaskedScope::Everything, what: mode },
    }
}

/// What keeps a process from writing, if it is not to.
pub(crate) fn read_only(access: WriteAccess) -> Option<api::ReadOnly> {
    let WriteAccess::ReadOnly { enforced_by } = access else { return None };
    let word = |by| match by {
        Enforcement::Landlock => "landlock",
        Enforcement::AgentMode => "agent_mode",
    };
    Some(api::ReadOnly { enforced_by: enforced_by.map(|by| word(by).to_owned()) })
}

fn active_turn(turn: &ActiveTurn) -> api::ActiveTurn {
    let (stage, behind) = match &turn.stage {
        TurnStage::AwaitingLease { behind } => (api::TurnStage::AwaitingLease, behind.clone()),
        TurnStage::AwaitingSession => (api::TurnStage::AwaitingSession, None),
        TurnStage::Running => (api::TurnStage::Running, None),
    };
    api::ActiveTurn {
        id: turn.id.uuid(),
        input: turn.input.input.uuid(),
        stage,
        behind,
        requested_at: moment(turn.requested_at),
        started_at: turn.started_at.map(moment),
        stopping: turn.stopping.is_some(),
        silent_secs: turn.silent_secs,
        question: turn.questions.iter().find(|known| !known.settled).map(question),
    }
}

/// A question, with what its form asks for.
pub(crate) fn question(question: &Question) -> api::Question {
    api::Question {
        id: question.id.uuid(),
        message: question.message.clone(),
        fields: question.fields(),
        schema: question.schema.clone(),
    }
}

fn ended_turn(turn: &EndedTurn) -> api::EndedTurn {
    api::EndedTurn {
        id: turn.id.uuid(),
        input: turn.input_id().uuid(),
        end: turn_end(&turn.outcome),
        at: moment(turn.at),
    }
}

/// How a turn ended, without what it used.
pub(super) fn turn_end(outcome: &TurnOutcome) -> api::TurnEnd {
    let mut end = api::TurnEnd {
        outcome: api::TurnOutcome::Completed,
        stop_reason: None,
        reason: None,
        code: None,
        hint: None,
        until: None,
        usage: None,
        duration_ms: None,
    };
    match outcome {
        TurnOutcome::Completed { stop_reason: why } => end.stop_reason = Some(stop_reason(*why).into()),
        TurnOutcome::Failed { failure } => {
            end.outcome = api::TurnOutcome::Failed;
            end.reason = Some(failure.message.clone());
            end.code = Some(failure.code.clone());
            end.hint.clone_from(&failure.hint);
            end.until = failure.until.map(moment);
        }
        TurnOutcome::Cancelled => end.outcome = api::TurnOutcome::Cancelled,
        TurnOutcome::Interrupted { cause } => {
            end.outcome = api::TurnOutcome::Interrupted;
            end.reason = Some(cause.clone());
        }
        TurnOutcome::Unknown { cause } => {
            end.outcome = api::TurnOutcome::Unknown;
            end.reason = Some(cause.clone());
        }
    }
    end
}

pub(super) fn usage(usage: &turn::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        context_tokens: usage.context_tokens,
        context_limit: usage.context_limit,
        cost: usage.cost.clone(),
    }
}

pub(super) fn plan_entry(entry: &plan::PlanEntry) -> PlanEntry {
    let priority = match entry.priority {
        PlanPriority::High => "high",
        PlanPriority::Medium => "medium",
        PlanPriority::Low => "low",
    };
    let status = match entry.status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
    };
    PlanEntry { content: entry.content.clone(), priority: priority.into(), status: status.into() }
}

pub(crate) fn role(role: Role) -> api::Role {
    match role {
        Role::Editor => api::Role::Editor,
        Role::Reviewer => api::Role::Reviewer,
        Role::Tester => api::Role::Tester,
        Role::Researcher => api::Role::Researcher,
    }
}

/// The one conversion that goes the other way: a role is also something that a client says.
pub(crate) fn role_of(role: api::Role) -> Role {
    match role {
        api::Role::Editor => Role::Editor,
        api::Role::Reviewer => Role::Reviewer,
        api::Role::Tester => Role::Tester,
        api::Role::Researcher => Role::Researcher,
    }
}

fn lifecycle(lifecycle: Lifecycle) -> api::Lifecycle {
    match lifecycle {
        Lifecycle::Open => api::Lifecycle::Open,
        Lifecycle::Closed => api::Lifecycle::Closed,
        Lifecycle::Archived => api::Lifecycle::Archived,
    }
}

fn activity(activity: &Activity) -> api::Activity {
    let word = match activity {
        Activity::WaitingApproval => api::ActivityWord::WaitingApproval,
        Activity::WaitingAnswer => api::ActivityWord::WaitingAnswer,
        Activity::Blocked { .. } => api::ActivityWord::Blocked,
        Activity::Failed { .. } => api::ActivityWord::Failed,
        Activity::Working => api::ActivityWord::Working,
        Activity::Queued { .. } => api::ActivityWord::Queued,
        Activity::Resting => api::ActivityWord::Resting,
    };
    api::Activity { word, reason: activity.reason().map(str::to_owned), until: activity.until().map(moment) }
}

fn phase(phase: RuntimePhase) -> api::RuntimePhase {
    match phase {
        RuntimePhase::Starting => api::RuntimePhase::Starting,
        RuntimePhase::Live => api::RuntimePhase::Live,
        RuntimePhase::Parked => api::RuntimePhase::Parked,
        RuntimePhase::Lost => api::RuntimePhase::Lost,
        RuntimePhase::Closed => api::RuntimePhase::Closed,
    }
}

pub(super) fn start_reason(reason: StartReason) -> api::StartReason {
    match reason {
        StartReason::FirstUse => api::StartReason::FirstUse,
        StartReason::Requested => api::StartReason::Requested,
        StartReason::Changed => api::StartReason::Changed,
        StartReason::Lost => api::StartReason::Lost,
    }
}

pub(super) fn resume_cause(cause: ResumeCause) -> api::ResumeCause {
    match cause {
        ResumeCause::Parked => api::ResumeCause::Parked,
        ResumeCause::ProcessDied => api::ResumeCause::ProcessDied,
    }
}

pub(super) fn execution_end(end: ExecutionEnd) -> &'static str {
    match end {
        ExecutionEnd::Superseded => "superseded",
        ExecutionEnd::Replaced => "replaced",
        ExecutionEnd::Cancelled => "cancelled",
        ExecutionEnd::Archived => "archived",
    }
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn => "end_turn",
        StopReason::MaxTokens => "max_tokens",
        StopReason::MaxTurnRequests => "max_turn_requests",
        StopReason::Refusal => "refusal",
        StopReason::Cancelled => "cancelled",
        StopReason::Other => "other",
    }
}
