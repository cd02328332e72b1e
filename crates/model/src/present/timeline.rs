//! Timeline: each event of a task as a small value that any place can show: who, what, and what lies below.
//!
//! Bookkeeping between a message and its turn shows nothing. What somebody said is whole, with every character
//! visible; what a tool printed is cut where nobody reads on.

#![expect(clippy::wildcard_enum_match_arm, reason = "what is not named is bookkeeping and shows nothing")]

use super::card::{changed_file, step};
use super::fit;
use super::glance::NAME_CHARS;
use super::locale::Locale;
use crate::approval::Settlement;
use crate::checkpoint::{Checkpoint, CheckpointSide, CheckpointTree};
use crate::content::{Text, plain_text};
use crate::ids::ExecutionId;
use crate::item::{Item, ItemBody, ToolCall, ToolStatus};
use crate::question::QuestionSettlement;
use crate::route::RouteDecision;
use crate::shown::View;
use crate::site::{ChangeKind, ChangeResult};
use crate::task::{Task, TaskEvent};
use crate::turn::{StopWish, TurnOutcome};

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 20;
/// How long such a line may be.
const LINE_CHARS: usize = 200;
/// How long what somebody said may be.
const SAID_CHARS: usize = 20_000;

/// One entry, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What sort of entry.
    pub kind: Kind,
    /// Who speaks, where somebody does.
    pub who: Option<String>,
    /// What there is to say; what somebody said keeps its lines.
    pub text: String,
    /// What lies below: output, steps, files.
    pub below: Vec<String>,
}

/// What sort of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person said something.
    UserMessage,
    /// What was made of it.
    Decision,
    /// The agent spoke.
    AgentMessage,
    /// The agent thought aloud.
    Thought,
    /// The agent used a tool.
    ToolCall,
    /// The plan changed.
    Plan,
    /// Files changed.
    Changes,
    /// The agent asks to do something.
    Approval,
    /// What became of that.
    Settled,
    /// A turn ended.
    Result,
    /// What happened underneath: sessions, processes, handoffs.
    Recovery,
    /// What happened to the task itself.
    Task,
}

fn entry(kind: Kind, text: String) -> Entry {
    Entry { kind, who: None, text, below: vec![] }
}

/// What a task's event shows; nothing if it says nothing to a person. `decision` is what was made of an input.
#[must_use]
pub fn entries(locale: Locale, task: &Task, event: &TaskEvent, decision: Option<&RouteDecision>) -> Vec<Entry> {
    match event {
        TaskEvent::InputQueued { queued, .. } => {
            let said =
                Entry { who: Some(locale.you()), ..entry(Kind::UserMessage, said(&plain_text(&queued.content))) };
            let decided = decision.map(|decision| {
                let why = decision.evidence.first().map_or("", String::as_str);
                let word = locale.intent(decision.intent.word());
                entry(Kind::Decision, locale.decided_so(word, fit(why, LINE_CHARS)))
            });
            std::iter::once(said).chain(decided).collect()
        }
        TaskEvent::ItemRecorded { execution, item } => self::item(locale, task, *execution, item).into_iter().collect(),
        other => single(locale, other).into_iter().collect(),
    }
}

fn said(text: &str) -> String {
    let view = View { max_chars: SAID_CHARS, ..View::CHAT };
    let shown = view.show(text);
    if shown.complete { shown.text } else { shown.text + "…" }
}

fn item(locale: Locale, task: &Task, execution: ExecutionId, item: &Item) -> Option<Entry> {
    let agent = task.execution(execution).map_or_else(String::new, |found| fit(&found.agent, NAME_CHARS));
    Some(match &item.body {
        ItemBody::Message { text, question, .. } => {
            let who = if *question { locale.agent_asks(agent) } else { agent };
            let cut = match text {
                Text::Inline(_) => vec![],
                Text::Blob { blob, .. } => vec![locale.cut_here(blob.bytes)],
            };
            Entry { who: Some(who), below: cut, ..entry(Kind::AgentMessage, said(text.head())) }
        }
        ItemBody::Thought { text } => {
            Entry { who: Some(agent), ..entry(Kind::Thought, locale.thinks(said(text.head()))) }
        }
        ItemBody::ToolCall(call) => tool_call(locale, call),
        ItemBody::Note(_) => return None,
    })
}

fn tool_call(locale: Locale, call: &ToolCall) -> Entry {
    let mark = match call.status {
        ToolStatus::Completed => "✓",
        ToolStatus::Failed => "✗",
        ToolStatus::Pending | ToolStatus::InProgress => "·",
    };
    let change = |change: &crate::item::FileChange| {
        let path = fit(&change.path, LINE_CHARS);
        if change.before.is_some() { locale.file_changed(path) } else { locale.file_new(path) }
    };
    let mut below: Vec<String> = call.changes.iter().map(change).collect();
    let output: Vec<&str> = call.output.as_ref().map_or("", Text::head).trim_end().lines().collect();
    below.extend(output.iter().take(OUTPUT_LINES).map(|line| fit(line, LINE_CHARS)));
    if output.len() > OUTPUT_LINES {
        below.push(locale.more_lines((output.len() - OUTPUT_LINES) as u64));
    }
    Entry { below, ..entry(Kind::ToolCall, format!("{mark} {}", fit(&call.title, LINE_CHARS))) }
}

fn single(locale: Locale, event: &TaskEvent) -> Option<Entry> {
    let line = |text: &str| fit(text, LINE_CHARS);
    Some(match event {
        TaskEvent::TaskCreated { title, root, .. } => entry(Kind::Task, locale.made_in(line(title), line(root))),
        TaskEvent::TaskRetitled { title } => entry(Kind::Task, locale.now_called(line(title))),
        TaskEvent::TaskClosed { .. } => entry(Kind::Task, locale.closed()),
        TaskEvent::TaskArchived { .. } => entry(Kind::Task, locale.archived()),
        TaskEvent::TaskReopened {} => entry(Kind::Task, locale.reopened()),
        TaskEvent::NotePinned { text, .. } => entry(Kind::Task, locale.note_pinned(said(text))),
        TaskEvent::InputWithdrawn { .. } => entry(Kind::Task, locale.taken_back()),
        TaskEvent::PlanRevised { plan } => Entry {
            below: plan.entries.iter().map(step).collect(),
            ..entry(Kind::Plan, locale.plan_version(plan.version))
        },
        TaskEvent::ApprovalRequested { approval } => Entry {
            below: approval.ask.input.iter().map(Text::head).chain([approval.ask.cwd.as_str()]).map(said).collect(),
            ..entry(Kind::Approval, locale.needs_approval(line(&approval.ask.title)))
        },
        TaskEvent::ApprovalsRefused { .. } => entry(Kind::Approval, locale.asks_too_much()),
        TaskEvent::BudgetSet { .. } => entry(Kind::Task, locale.budget_set()),
        TaskEvent::BudgetReached { .. } => entry(Kind::Task, locale.budget_reached()),
        TaskEvent::QuestionAsked { question, .. } => Entry {
            below: question.fields().iter().map(|field| line(field)).collect(),
            ..entry(Kind::AgentMessage, said(&question.message))
        },
        TaskEvent::QuestionSettled { settlement, .. } => entry(
            Kind::Settled,
            match settlement {
                QuestionSettlement::Answered { content, .. } => locale.answered(line(content)),
                QuestionSettlement::Declined { .. } => locale.not_answered(),
                QuestionSettlement::Void { cause, .. } => locale.question_void(line(cause)),
            },
        ),
        TaskEvent::ApprovalSettled { settlement: Settlement::Ruled { ruling }, .. } => {
            entry(Kind::Settled, locale.ruled(&ruling.standing))
        }
        TaskEvent::ApprovalSettled { settlement, .. } => entry(Kind::Settled, locale.settled(settlement.word())),
        TaskEvent::TurnHeld { behind, .. } => entry(Kind::Task, locale.held_behind(line(behind))),
        TaskEvent::TurnStopRequested {
            wish: StopWish::Cancel | StopWish::Dismiss | StopWish::Interrupt | StopWish::Budget { .. },
            ..
        } => entry(Kind::Task, locale.to_stop()),
        TaskEvent::TurnEnded { outcome, duration_ms, .. } => entry(Kind::Result, result(locale, outcome, *duration_ms)),
        TaskEvent::CheckpointTaken { checkpoint } => return checkpoint_entry(locale, checkpoint),
        TaskEvent::WorkspaceChangePlanned { plan, .. } if plan.files.is_empty() => return None,
        TaskEvent::WorkspaceChangePlanned { plan, .. } => Entry {
            below: plan.files.iter().map(|file| changed_file(locale, file)).collect(),
            ..entry(Kind::Changes, locale.files(plan.files.len() as u64))
        },
        TaskEvent::ExecutionAdded { primary: true, .. } => return None,
        other => return underneath(locale, other),
    })
}

fn result(locale: Locale, outcome: &TurnOutcome, millis: u64) -> String {
    match outcome {
        TurnOutcome::Completed { .. } => locale.ended_in(locale.outcome(outcome), locale.took(millis)),
        TurnOutcome::Failed { .. }
        | TurnOutcome::Cancelled
        | TurnOutcome::Interrupted { .. }
        | TurnOutcome::Unknown { .. } => locale.outcome(outcome),
    }
}

fn checkpoint_entry(locale: Locale, checkpoint: &Checkpoint) -> Option<Entry> {
    match (checkpoint.side, &checkpoint.tree) {
        (CheckpointSide::After, CheckpointTree::LeftOut { why }) => {
            Some(entry(Kind::Changes, locale.no_checkpoint(fit(why, LINE_CHARS))))
        }
        (CheckpointSide::After, CheckpointTree::Taken { .. }) if !checkpoint.changed.is_empty() => Some(Entry {
            below: checkpoint.changed.iter().map(|file| changed_file(locale, file)).collect(),
            ..entry(Kind::Changes, locale.files(checkpoint.changed.len() as u64))
        }),
        (CheckpointSide::Before | CheckpointSide::After, _) => None,
    }
}

/// What happens to executions and runtime sessions.
fn underneath(locale: Locale, event: &TaskEvent) -> Option<Entry> {
    let line = |text: &str| fit(text, LINE_CHARS);
    let text = match event {
        TaskEvent::WorkspaceChangeBegun { kind: ChangeKind::Restore { point, .. }, .. } => {
            match point.map(|point| point.side) {
                Some(CheckpointSide::Before) => locale.restored_before(),
                Some(CheckpointSide::After) => locale.restored_after(),
                None => locale.restored_back(),
            }
        }
        TaskEvent::WorkspaceChangeBegun { kind, .. } => match kind {
            ChangeKind::Take { key, .. } => locale.changes_come(line(key)),
            ChangeKind::Yield { key, .. } => locale.changes_go(line(key)),
            ChangeKind::Remove {} => locale.workspace_removed(),
            ChangeKind::Prepare { .. } | ChangeKind::Restore { .. } => locale.workspace_prepared(),
        },
        TaskEvent::WorktreeGiven { root, .. } => locale.works_apart(line(root)),
        TaskEvent::TaskForked { fork, native: Some(_) } => locale.fork_of_native(line(&fork.key)),
        TaskEvent::TaskForked { fork, native: None } => locale.fork_of(line(&fork.key)),
        TaskEvent::ForkMade { key, .. } => locale.fork_made(line(key)),
        TaskEvent::NativeForkRefused { cause, .. } => locale.fork_refused(line(cause)),
        TaskEvent::WorkspaceChangeEnded { result: ChangeResult::Failed { failure }, .. } => {
            locale.did_not_work(line(&failure.message))
        }
        TaskEvent::RuntimeSessionStarted { reason, .. } => locale.session_started(*reason),
        TaskEvent::RuntimeSessionResumed { cause, .. } => locale.session_taken_up(*cause),
        TaskEvent::RuntimeSessionOpened { description, .. } => locale.read_only(description.write_access)?,
        TaskEvent::RuntimeSessionReattached { .. } => locale.session_reattached(),
        TaskEvent::RuntimeSessionParked { cause, .. } => locale.session_parked(line(cause)),
        TaskEvent::RuntimeSessionLost { cause, .. } => locale.session_lost(line(cause)),
        TaskEvent::RuntimeSessionClosed { .. } => locale.session_closed(),
        TaskEvent::TurnStalled { silent_secs, .. } => locale.stalled(silent_secs.div_ceil(60)),
        TaskEvent::ExecutionAdded { agent, role, .. } => locale.joins(fit(agent, NAME_CHARS), locale.role(*role)),
        TaskEvent::ExecutionEnded { end, .. } => locale.execution_ended(locale.execution_end(*end)),
        TaskEvent::ModelChosen { model, .. } => locale.model_chosen(fit(model, NAME_CHARS)),
        TaskEvent::HandoffGiven { text, .. } => locale.brief_ready(fit(text.head(), 80)),
        _ => return None,
    };
    Some(entry(Kind::Recovery, text))
}
