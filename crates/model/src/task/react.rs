//! What a task's events ask of the outside world.

use std::time::Duration;

use super::{Task, TaskCommand, TaskEvent};
use crate::approval::{Approval, Given, Settlement, Verdict};
use crate::command::Command;
use crate::conversation::ConversationCommand;
use crate::delivery::{self, Delivery, Handed, PushReason};
use crate::effect::{Effect, Process};
use crate::execution::{Execution, ExecutionEnd};
use crate::ids::{
    ApprovalId, ChangeId, ConversationId, DeliveryId, ExecutionId, Id as _, PersonId, QuestionId, RuntimeSessionId,
    TaskId, TurnId, WorkspaceId,
};
use crate::outbound::Stage;
use crate::person::PersonCommand;
use crate::present::{self, Locale};
use crate::project::ProjectCommand;
use crate::question::{FormAnswer, QuestionSettlement};
use crate::runtime_session::{RuntimePhase, SettingChange};
use crate::site::{ChangeKind, ChangeResult};
use crate::stream::StreamId;
use crate::time::Timestamp;
use crate::turn::{StopWish, TurnOutcome};
use crate::workspace::{Claim, Holder, WorkspaceCommand};

/// How long an agent may take to stop when it is asked to, before its process is ended.
const CANCEL_GRACE: Duration = Duration::from_secs(20);

/// `before` is the state that the event was taken into, `after` the state with it.
pub(crate) fn react(before: Option<&Task>, after: &Task, event: &TaskEvent, at: Timestamp) -> Vec<Effect> {
    match event {
        TaskEvent::TurnRequested { execution, turn, .. } => {
            after.needs_lease(*execution).then(|| claim(after, *execution, *turn)).into_iter().collect()
        }
        TaskEvent::RuntimeSessionStarted { session, .. } | TaskEvent::RuntimeSessionResumed { session, .. } => {
            process_of(after, *session).map(|process| Effect::StartRuntime { process }).into_iter().collect()
        }
        TaskEvent::TurnStarted { turn, session, .. } => started(before, after, *turn, *session, at),
        TaskEvent::TurnStopRequested { turn, .. } => stop(after, *turn, at),
        TaskEvent::TurnEnded { turn, outcome, .. } => {
            ended(before, after, *turn, outcome, at).into_iter().chain(time_left(before, after, at)).collect()
        }
        TaskEvent::RuntimeSessionParked { session, .. }
        | TaskEvent::RuntimeSessionLost { session, .. }
        | TaskEvent::RuntimeSessionClosed { session, .. } => stop_process(before, after, *session),
        TaskEvent::ApprovalRequested { .. }
        | TaskEvent::ApprovalSettled { .. }
        | TaskEvent::QuestionAsked { .. }
        | TaskEvent::QuestionSettled { .. }
        | TaskEvent::BudgetReached { .. } => {
            let mut effects = asking(before, after, event, at);
            effects.extend(working(after));
            effects
        }
        TaskEvent::ItemRecorded { .. } | TaskEvent::PlanRevised { .. } | TaskEvent::TurnStalled { .. } => {
            working(after)
        }
        TaskEvent::BudgetSet { .. } => time_left(before, after, at).into_iter().collect(),
        TaskEvent::ModelChosen { execution, model } => set_model(after, *execution, model, at),
        TaskEvent::RuntimeSessionChanged { session, change: SettingChange::ModeSetBack { to, .. } } => {
            set_mode(after, *session, to, at)
        }
        TaskEvent::WorkspaceChangeBegun { change, person, kind, .. } => begun(after, *change, *person, kind),
        TaskEvent::WorkspaceChangeEnded { change, result } => change_ended(before, *change, result),
        TaskEvent::TaskKeyed { key } => noted(after, key).into_iter().collect(),
        TaskEvent::RuntimeSessionImported { .. }
        | TaskEvent::TurnImported { .. }
        | TaskEvent::PastImported { .. }
        | TaskEvent::TaskCreated { .. }
        | TaskEvent::TaskForked { .. }
        | TaskEvent::WorktreeGiven { .. }
        | TaskEvent::ForkMade { .. }
        | TaskEvent::NativeForkRefused { .. }
        | TaskEvent::TaskRetitled { .. }
        | TaskEvent::TaskClosed { .. }
        | TaskEvent::TaskArchived { .. }
        | TaskEvent::TaskReopened {}
        | TaskEvent::ConversationJoined { .. }
        | TaskEvent::NotePinned { .. }
        | TaskEvent::ExecutionAdded { .. }
        | TaskEvent::ExecutionEnded { .. }
        | TaskEvent::HandoffPrepared { .. }
        | TaskEvent::HandoffGiven { .. }
        | TaskEvent::FindingsPassed { .. }
        | TaskEvent::InputQueued { .. }
        | TaskEvent::InputWithdrawn { .. }
        | TaskEvent::InputMovedOut { .. }
        | TaskEvent::InputMovedIn { .. }
        | TaskEvent::TurnHeld { .. }
        | TaskEvent::TurnCleared { .. }
        | TaskEvent::RuntimeSessionReattached { .. }
        | TaskEvent::RuntimeSessionOpened { .. }
        | TaskEvent::RuntimeSessionChanged { .. }
        | TaskEvent::WorkspaceChangePlanned { .. }
        | TaskEvent::ApprovalsRefused { .. }
        | TaskEvent::CheckpointTaken { .. } => vec![],
    }
}

fn started(before: Option<&Task>, after: &Task, turn: TurnId, session: RuntimeSessionId, at: Timestamp) -> Vec<Effect> {
    let prompt = process_of(after, session).map(|process| Effect::PromptAgent { process, turn });
    prompt.into_iter().chain(working(after)).chain(time_left(before, after, at)).collect()
}

/// What a person is asked, and what becomes of it.
#[expect(clippy::wildcard_enum_match_arm, reason = "`react` names the events that come here")]
fn asking(before: Option<&Task>, after: &Task, event: &TaskEvent, at: Timestamp) -> Vec<Effect> {
    match event {
        // Nobody is asked, so nobody is told.
        TaskEvent::ApprovalRequested { approval } if approval.ruled => vec![],
        TaskEvent::ApprovalRequested { approval } => asked(after, approval, at),
        TaskEvent::ApprovalSettled { approval, settlement } => {
            let mut effects = settled(before, after, *approval, settlement);
            effects.extend(decided(before, after, *approval, settlement, at));
            effects
        }
        TaskEvent::QuestionAsked { turn, question, .. } => {
            deliver(after, PushReason::AsksQuestion, question.id.uuid(), prompter(after, *turn), at)
        }
        TaskEvent::QuestionSettled { turn, question, settlement } => {
            answered(after, *turn, *question, settlement).into_iter().collect()
        }
        TaskEvent::BudgetReached { turn, .. } => {
            let question = QuestionId::derive(turn.uuid(), "budget");
            deliver(after, PushReason::AsksQuestion, question.uuid(), prompter(after, *turn), at)
        }
        _ => vec![],
    }
}

/// A request has an end, and a person who hears of it.
fn asked(task: &Task, approval: &Approval, at: Timestamp) -> Vec<Effect> {
    let mut effects = vec![Effect::Later {
        timer: expiry(approval.id),
        at: approval.expires_at,
        to: StreamId::Task(task.id),
        command: Box::new(Command::Task(TaskCommand::ExpireApproval { approval: approval.id })),
    }];
    let person = asker(Some(task), approval.execution);
    effects.extend(deliver(task, PushReason::NeedsApproval, approval.id.uuid(), person, at));
    effects
}

/// Who began the turn that an execution is at.
fn asker(task: Option<&Task>, execution: ExecutionId) -> Option<PersonId> {
    task?.execution(execution)?.active.as_ref().map(|active| active.input.person)
}

/// Who began a turn that runs, or that was the last of its execution.
fn prompter(task: &Task, turn: TurnId) -> Option<PersonId> {
    let ended = || task.executions.iter().filter_map(|execution| execution.past.last.as_ref());
    let active = task.active_turn(turn).map(|active| active.input.person);
    active.or_else(|| ended().find(|last| last.id == turn).map(|last| last.input.person))
}

fn workspace(id: WorkspaceId, command: WorkspaceCommand) -> Effect {
    Effect::Tell { to: StreamId::Workspace(id), command: Box::new(Command::Workspace(command)) }
}

fn claim(task: &Task, execution: ExecutionId, turn: TurnId) -> Effect {
    let label = if task.key.is_empty() { task.title.clone() } else { format!("{} ({})", task.key, task.title) };
    let id = WorkspaceId::of_root(&task.site_of(execution).root);
    let claim = Claim { holder: Holder::Turn(turn), task: task.id, label };
    workspace(id, WorkspaceCommand::Claim { workspace: id, claim })
}

/// The lease, and work to do. A fork whose changes are taken holds still meanwhile.
fn begun(task: &Task, change: ChangeId, person: PersonId, kind: &ChangeKind) -> Vec<Effect> {
    let mut effects = vec![seize(task, change, kind)];
    if let ChangeKind::Take { fork, execution, .. } = kind {
        let kind = ChangeKind::Yield { to: task.id, key: task.key.clone() };
        let (change, execution) = (yielding(change), *execution);
        effects.push(tell(*fork, TaskCommand::ChangeWorkspace { change, person, kind, execution }));
    }
    if kind.acts() {
        effects.push(Effect::ChangeWorkspace { task: task.id, change });
    }
    effects
}

fn change_ended(before: Option<&Task>, change: ChangeId, result: &ChangeResult) -> Vec<Effect> {
    let Some((_, site, known)) = before.and_then(|before| before.site.holding(change)) else { return vec![] };
    let holder = Holder::Change(change);
    let mut effects = vec![workspace(WorkspaceId::of_root(&site.root), WorkspaceCommand::Release { holder })];
    if let ChangeKind::Take { fork, .. } = &known.kind {
        effects.push(tell(*fork, TaskCommand::EndChange { change: yielding(change), result: result.clone() }));
    }
    effects
}

/// The change by which a fork holds still while another task takes its changes.
fn yielding(take: ChangeId) -> ChangeId {
    ChangeId::derive(take.uuid(), "yield")
}

/// The source of a fork is told of it as soon as it can be named.
fn noted(task: &Task, key: &str) -> Option<Effect> {
    let fork = task.site.fork.as_ref()?;
    Some(tell(fork.source, TaskCommand::NoteFork { fork: task.id, key: key.to_owned(), turn: fork.turn }))
}

fn tell(task: TaskId, command: TaskCommand) -> Effect {
    Effect::Tell { to: StreamId::Task(task), command: Box::new(Command::Task(command)) }
}

fn seize(task: &Task, change: ChangeId, kind: &ChangeKind) -> Effect {
    let name = if task.key.is_empty() { &task.title } else { &task.key };
    let label = format!("{name} ({})", kind.doing());
    let claim = Claim { holder: Holder::Change(change), task: task.id, label };
    let root = task.site.holding(change).map_or(&task.site.root, |(_, site, _)| &site.root);
    let id = WorkspaceId::of_root(root);
    workspace(id, WorkspaceCommand::Seize { workspace: id, claim })
}

fn stop(task: &Task, turn: TurnId, at: Timestamp) -> Vec<Effect> {
    let Some(process) = task.execution_in(turn).and_then(|execution| process_of(task, execution.session.as_ref()?.id))
    else {
        return vec![];
    };
    let overdue = Effect::Later {
        timer: overdue(turn),
        at: at.after(CANCEL_GRACE),
        to: StreamId::Task(task.id),
        command: Box::new(Command::Task(TaskCommand::CancelOverdue { turn })),
    };
    vec![Effect::CancelTurn { process, turn }, overdue]
}

/// The timer of a budget of time: set anew whenever the number of running turns, or the budget, changes.
fn time_left(before: Option<&Task>, after: &Task, at: Timestamp) -> Option<Effect> {
    let bound = |task: &Task| task.budget.caps.minutes.is_some();
    if !bound(after) && !before.is_some_and(bound) {
        return None;
    }
    let timer = format!("budget:{}", after.id);
    Some(match after.budget_ends_at(at) {
        None => Effect::Forget { timer },
        Some(end) => Effect::Later {
            timer,
            at: end,
            to: StreamId::Task(after.id),
            command: Box::new(Command::Task(TaskCommand::CheckTime)),
        },
    })
}

fn ended(before: Option<&Task>, after: &Task, turn: TurnId, outcome: &TurnOutcome, at: Timestamp) -> Vec<Effect> {
    let execution = before.and_then(|before| before.execution_in(turn));
    let root = execution.map_or(&after.site.root, |execution| &after.site_of(execution.id).root);
    let holder = Holder::Turn(turn);
    let active = execution.and_then(|execution| execution.active.as_ref());
    let mut effects = vec![workspace(WorkspaceId::of_root(root), WorkspaceCommand::Release { holder })];
    effects.extend(park_later(after, turn, at));
    if active.is_some_and(|active| active.stopping.is_some()) {
        effects.push(Effect::Forget { timer: overdue(turn) });
    }
    effects.extend(progress(after, turn, Stage::Over));
    let asks = after
        .executions
        .iter()
        .any(|execution| execution.past.question && execution.past.last.as_ref().is_some_and(|last| last.id == turn));
    let push = match outcome {
        TurnOutcome::Completed { .. } if asks => Some(PushReason::AsksQuestion),
        TurnOutcome::Completed { .. } => Some(PushReason::Completed),
        TurnOutcome::Failed { .. } | TurnOutcome::Unknown { .. } | TurnOutcome::Interrupted { .. } => {
            Some(PushReason::Failed)
        }
        TurnOutcome::Cancelled => None,
    };
    // Who is asked to extend the budget need not hear of a failure.
    let for_budget = matches!(active.and_then(|active| active.stopping), Some(StopWish::Budget { .. }));
    if let Some(push) = push.filter(|_| !for_budget) {
        effects.extend(deliver(after, push, turn.uuid(), prompter(after, turn), at));
    }
    if matches!(outcome, TurnOutcome::Failed { failure } if failure.stops_agent()) {
        effects.extend(replacement(after, turn));
    }
    effects
}

/// Another agent may take over from one that cannot run, unless that one took over itself for the same reason.
fn replacement(task: &Task, failed: TurnId) -> Option<Effect> {
    let last = |execution: &Execution| execution.past.last.as_ref().is_some_and(|last| last.id == failed);
    let at = task.executions.iter().position(last)?;
    let execution = &task.executions[at];
    let before = task.executions[..at].iter().rev().find(|other| other.role == execution.role);
    let took_over = before.is_some_and(|other| other.ended == Some(ExecutionEnd::Replaced));
    let replaceable = execution.ended.is_none() && !took_over;
    replaceable.then_some(Effect::ReplaceAgent { task: task.id, execution: execution.id, turn: failed })
}

/// A process that has nothing to do goes after a while. A newer turn's end sets the time anew.
fn park_later(task: &Task, ended: TurnId, at: Timestamp) -> Option<Effect> {
    let last = |execution: &&Execution| execution.past.last.as_ref().is_some_and(|last| last.id == ended);
    let session = task.executions.iter().find(last)?.session.as_ref().filter(|session| session.has_process())?;
    let after = Duration::from_secs(session.parking.after_secs?);
    Some(Effect::ParkRuntime { process: process_of(task, session.id)?, at: at.after(after) })
}

/// What somebody is told of a task.
struct News {
    push: PushReason,
    about: uuid::Uuid,
    approval: Option<ApprovalId>,
    /// Who began the turn that it is about.
    person: Option<PersonId>,
    text: String,
}

fn deliver(task: &Task, push: PushReason, about: uuid::Uuid, person: Option<PersonId>, at: Timestamp) -> Vec<Effect> {
    let approval = task.approvals.pending.iter().map(|known| known.approval.id).find(|id| id.uuid() == about);
    push_out(task, News { push, about, approval, person, text: present::glance(Locale::En, task) }, at)
}

/// Tells every conversation that takes part in the task, and the person whose turn it is about: if none of their chats is
/// among those, they hear of it in one of them. Nobody else is told (P8).
fn push_out(task: &Task, news: News, at: Timestamp) -> Vec<Effect> {
    let News { push, about, approval, person, text } = news;
    let turn = approval.is_none().then(|| TurnId::from_uuid(about));
    let message = |id: DeliveryId| Delivery {
        id,
        task: Some(task.id),
        approval,
        turn,
        input: None,
        answers: None,
        file: None,
        push,
        text: text.clone(),
        due_at: None,
        expires_at: at.after(delivery::TTL),
        handed: Handed::default(),
    };
    let name = format!("{about}:{push:?}");
    let tell = |conversation: &ConversationId| {
        let delivery = message(DeliveryId::derive(conversation.uuid(), &name));
        let command = Command::Conversation(ConversationCommand::Deliver { delivery });
        Effect::Tell { to: StreamId::Conversation(*conversation), command: Box::new(command) }
    };
    let pass_on = person.map(|person| {
        let news = Box::new(message(DeliveryId::derive(task.id.uuid(), &name)));
        let command = Command::Person(PersonCommand::PassOn { news, taking_part: task.conversations.clone() });
        Effect::Tell { to: StreamId::Person(person), command: Box::new(command) }
    });
    task.conversations.iter().map(tell).chain(pass_on).collect()
}

/// Something has happened in work that goes on: whoever follows it sees that, by the turn that began first.
fn working(task: &Task) -> Vec<Effect> {
    let running = task.executions.iter().filter_map(|execution| execution.active.as_ref());
    let leading = running.filter(|active| active.started_at.is_some()).min_by_key(|active| active.started_at);
    leading.map(|active| progress(task, active.id, Stage::Working)).unwrap_or_default()
}

fn progress(task: &Task, turn: TurnId, stage: Stage) -> Vec<Effect> {
    let report = ConversationCommand::Report { task: task.id, turn, stage };
    let tell = |conversation: &ConversationId| Effect::Tell {
        to: StreamId::Conversation(*conversation),
        command: Box::new(Command::Conversation(report.clone())),
    };
    task.conversations.iter().map(tell).collect()
}

/// Every place that asked says how it ended.
fn decided(before: Option<&Task>, after: &Task, id: ApprovalId, settlement: &Settlement, at: Timestamp) -> Vec<Effect> {
    let known = before.and_then(|before| before.approvals.pending(id));
    // Who was not asked is not told.
    let Some(known) = known.filter(|known| !known.approval.ruled) else { return vec![] };
    let text = format!("{}: {}", settlement.word(), known.approval.ask.title);
    let person = asker(before, known.approval.execution);
    push_out(after, News { push: PushReason::Decided, about: id.uuid(), approval: Some(id), person, text }, at)
}

fn stop_process(before: Option<&Task>, after: &Task, session: RuntimeSessionId) -> Vec<Effect> {
    let had_process = before
        .and_then(|before| before.execution_of(session))
        .and_then(|execution| execution.session.as_ref())
        .is_some_and(crate::runtime_session::RuntimeSession::has_process);
    had_process
        .then(|| process_of(after, session))
        .flatten()
        .map(|process| Effect::StopRuntime { process })
        .into_iter()
        .collect()
}

fn settled(before: Option<&Task>, after: &Task, id: ApprovalId, settlement: &Settlement) -> Vec<Effect> {
    let mut effects = vec![Effect::Forget { timer: expiry(id) }];
    let Some(approval) = before.and_then(|before| before.approvals.pending(id)).map(|pending| &pending.approval) else {
        return effects;
    };
    let option = match settlement {
        Settlement::Approved { given, .. } => approval.option_for(Verdict::Approve, chosen(given)),
        Settlement::Denied { given, .. } => approval.option_for(Verdict::Deny, chosen(given)),
        Settlement::Ruled { ruling } => {
            // In the same transaction: a policy that has changed meanwhile undoes all of it.
            let apply = ProjectCommand::ApplyStanding { ruling: ruling.clone(), task: after.id, approval: id };
            effects.push(Effect::Tell {
                to: StreamId::Project(after.project),
                command: Box::new(Command::Project(apply)),
            });
            approval.option_for(ruling.standing.verdict(), None)
        }
        // No decision means no.
        Settlement::Expired => approval.option_for(Verdict::Deny, None),
        Settlement::Void { kind, .. } if kind.waits() => None,
        // Nobody is left who could be answered.
        Settlement::Void { .. } => return effects,
    };
    effects.push(Effect::AnswerApproval {
        process: Process {
            task: after.id,
            execution: approval.execution,
            session: approval.session,
            epoch: approval.epoch,
        },
        approval: id,
        request: approval.request.clone(),
        option: option.map(|option| option.id.clone()),
    });
    effects
}

/// What an agent that waits for an answer is told.
fn answered(task: &Task, turn: TurnId, id: QuestionId, settlement: &QuestionSettlement) -> Option<Effect> {
    let answer = match settlement {
        QuestionSettlement::Answered { content, .. } => FormAnswer::Accept { content: content.clone() },
        QuestionSettlement::Declined { .. } => FormAnswer::Decline,
        QuestionSettlement::Void { kind, .. } if kind.waits() => FormAnswer::Cancel,
        // Nobody is left who could be told.
        QuestionSettlement::Void { .. } => return None,
    };
    let execution = task.execution_in(turn)?;
    let question = execution.active.as_ref()?.questions.iter().find(|known| known.id == id)?;
    let process = process_of(task, execution.session.as_ref()?.id)?;
    Some(Effect::AnswerQuestion { process, question: id, request: question.request.clone(), answer })
}

fn chosen(given: &Option<Given>) -> Option<&str> {
    given.as_ref().and_then(|given| given.option.as_deref())
}

fn set_mode(task: &Task, session: RuntimeSessionId, mode: &str, at: Timestamp) -> Vec<Effect> {
    let set = |process| Effect::SetMode { process, mode: mode.to_owned(), at };
    process_of(task, session).map(set).into_iter().collect()
}

fn set_model(task: &Task, execution: ExecutionId, model: &str, at: Timestamp) -> Vec<Effect> {
    let session = task.execution(execution).and_then(|execution| execution.session.as_ref());
    // A process that is only being started is told when it opens.
    let live = session.filter(|session| session.phase == RuntimePhase::Live);
    live.and_then(|session| process_of(task, session.id))
        .map(|process| Effect::SetModel { process, model: model.to_owned(), at })
        .into_iter()
        .collect()
}

fn process_of(task: &Task, session: RuntimeSessionId) -> Option<Process> {
    let execution = task.execution_of(session)?;
    let known = execution.session.as_ref()?;
    Some(Process { task: task.id, execution: execution.id, session, epoch: known.epoch })
}

fn expiry(approval: ApprovalId) -> String {
    format!("approval:{approval}")
}

fn overdue(turn: TurnId) -> String {
    format!("cancel:{turn}")
}
