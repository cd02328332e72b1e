//! Durable events to the wire: every event has an entry, so that a client that counts cursors misses none.

use throughline_api::message::Decision;
use throughline_api::task::{AgentVersion, TaskRef, TurnEnd};
use throughline_api::timeline::{EntryBody, TimelineEntry, UserMessage};
use throughline_model::approval::Settlement;
use throughline_model::conversation::ConversationEvent;
use throughline_model::event::{Event, Recorded};
use throughline_model::ids::{ExecutionId, Id as _, ItemId};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::person::PersonEvent;
use throughline_model::project::ProjectEvent;
use throughline_model::question::QuestionSettlement;
use throughline_model::runtime_session::SettingChange;
use throughline_model::shown::View;
use throughline_model::stream::StreamKind;
use throughline_model::task::TaskEvent;
use throughline_model::time::Timestamp;
use throughline_model::turn::StopWish;
use throughline_model::workspace::WorkspaceEvent;

use super::{approval, block, item, moment, role, task};

/// What an event does not say about itself, looked up beforehand.
pub(crate) struct Around {
    /// Its place.
    pub(crate) cursor: String,
    /// The task that it belongs to.
    pub(crate) task: Option<TaskRef>,
    /// What was made of the input, if it is one.
    pub(crate) decision: Option<Decision>,
}

pub(crate) fn entry(recorded: &Recorded, around: Around) -> TimelineEntry {
    let body = match (&recorded.event, &around.task) {
        (Event::Task(event), Some(task)) => task_body(event, task, recorded.at, around.decision),
        (event, _) => changed(recorded, event),
    };
    TimelineEntry { cursor: around.cursor, at: moment(recorded.at), task: around.task, body }
}

/// The item that an event records, if it can be recorded again.
pub(crate) fn item_of(recorded: &Recorded) -> Option<ItemId> {
    recorded.event.revisable_item()
}

fn task_body(event: &TaskEvent, task: &TaskRef, at: Timestamp, decision: Option<Decision>) -> EntryBody {
    match event {
        TaskEvent::InputQueued { execution, queued, urgency } => said(*execution, queued, *urgency, decision),
        TaskEvent::InputWithdrawn { input } => EntryBody::InputWithdrawn { input: input.uuid() },
        TaskEvent::InputMovedOut { input, to } => EntryBody::InputMovedOut { input: input.uuid(), to: to.uuid() },
        TaskEvent::InputMovedIn { input, from } => {
            EntryBody::InputMovedIn { input: input.uuid(), from: from.map(|task| task.uuid()) }
        }
        TaskEvent::ItemRecorded { execution, item: recorded } => item::item(*execution, recorded),
        TaskEvent::PlanRevised { plan } => {
            EntryBody::Plan { version: plan.version, entries: plan.entries.iter().map(task::plan_entry).collect() }
        }
        TaskEvent::ApprovalRequested { approval: asked } => {
            EntryBody::Approval { approval: Box::new(approval(asked, task.clone(), "pending", at, View::FULL)) }
        }
        TaskEvent::ApprovalSettled { .. }
        | TaskEvent::ApprovalsRefused { .. }
        | TaskEvent::QuestionAsked { .. }
        | TaskEvent::QuestionSettled { .. }
        | TaskEvent::BudgetSet { .. }
        | TaskEvent::BudgetReached { .. } => asking_body(event),
        TaskEvent::TurnRequested { .. }
        | TaskEvent::TurnHeld { .. }
        | TaskEvent::TurnCleared { .. }
        | TaskEvent::TurnStalled { .. }
        | TaskEvent::TurnStarted { .. }
        | TaskEvent::TurnStopRequested { .. }
        | TaskEvent::TurnEnded { .. } => turn_body(event),
        TaskEvent::RuntimeSessionImported { .. } | TaskEvent::TurnImported { .. } | TaskEvent::PastImported { .. } => {
            import_body(event)
        }
        TaskEvent::RuntimeSessionStarted { .. }
        | TaskEvent::RuntimeSessionResumed { .. }
        | TaskEvent::RuntimeSessionReattached { .. }
        | TaskEvent::RuntimeSessionOpened { .. }
        | TaskEvent::RuntimeSessionChanged { .. }
        | TaskEvent::RuntimeSessionParked { .. }
        | TaskEvent::RuntimeSessionLost { .. }
        | TaskEvent::RuntimeSessionClosed { .. } => runtime_body(event),
        TaskEvent::TaskForked { .. }
        | TaskEvent::ForkMade { .. }
        | TaskEvent::NativeForkRefused { .. }
        | TaskEvent::WorktreeGiven { .. }
        | TaskEvent::WorkspaceChangeBegun { .. }
        | TaskEvent::WorkspaceChangePlanned { .. }
        | TaskEvent::WorkspaceChangeEnded { .. } => super::site::body(event),
        TaskEvent::TaskCreated { .. }
        | TaskEvent::TaskKeyed { .. }
        | TaskEvent::TaskRetitled { .. }
        | TaskEvent::TaskClosed { .. }
        | TaskEvent::TaskArchived { .. }
        | TaskEvent::TaskReopened {}
        | TaskEvent::ConversationJoined { .. }
        | TaskEvent::NotePinned { .. }
        | TaskEvent::ExecutionAdded { .. }
        | TaskEvent::ExecutionEnded { .. }
        | TaskEvent::ModelChosen { .. }
        | TaskEvent::HandoffPrepared { .. }
        | TaskEvent::HandoffGiven { .. }
        | TaskEvent::FindingsPassed { .. }
        | TaskEvent::CheckpointTaken { .. } => lifecycle_body(event),
    }
}

fn said(execution: ExecutionId, queued: &QueuedInput, urgency: Urgency, decision: Option<Decision>) -> EntryBody {
    EntryBody::UserMessage(UserMessage {
        input: queued.input.uuid(),
        execution: execution.uuid(),
        person: queued.person.uuid(),
        conversation: queued.conversation.uuid(),
        content: queued.content.iter().map(block).collect(),
        interrupt: matches!(urgency, Urgency::Interrupt),
        decision,
    })
}

fn asking_body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::ApprovalSettled { approval, settlement } => settled(approval.uuid(), settlement),
        TaskEvent::ApprovalsRefused { turn } => EntryBody::ApprovalsRefused { turn: turn.uuid() },
        TaskEvent::QuestionAsked { turn, question } => {
            EntryBody::QuestionAsked { turn: turn.uuid(), question: task::question(question) }
        }
        TaskEvent::QuestionSettled { turn, question, settlement } => answered(turn.uuid(), question.uuid(), settlement),
        TaskEvent::BudgetSet { caps, by } => EntryBody::BudgetSet { caps: super::budget::caps(caps), by: by.uuid() },
        TaskEvent::BudgetReached { turn, cap } => {
            EntryBody::BudgetReached { turn: turn.uuid(), cap: super::budget::word(*cap).into() }
        }
        // The other kinds have a function of their own.
        _ => EntryBody::Unknown,
    }
}

fn lifecycle_body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::TaskCreated { title, goal, root, project, .. } => EntryBody::TaskCreated {
            title: title.clone(),
            goal: goal.clone(),
            root: root.clone(),
            project: project.uuid(),
        },
        TaskEvent::TaskKeyed { key } => EntryBody::TaskKeyed { key: key.clone() },
        TaskEvent::TaskRetitled { title } => EntryBody::TaskRetitled { title: title.clone() },
        TaskEvent::TaskClosed { person } => EntryBody::TaskClosed { person: person.uuid() },
        TaskEvent::TaskArchived { person } => EntryBody::TaskArchived { person: person.uuid() },
        TaskEvent::TaskReopened {} => EntryBody::TaskReopened {},
        TaskEvent::ConversationJoined { conversation } => {
            EntryBody::ConversationJoined { conversation: conversation.uuid() }
        }
        TaskEvent::NotePinned { person, text } => EntryBody::NotePinned { person: person.uuid(), text: text.clone() },
        TaskEvent::ExecutionAdded { execution, agent, role: wanted, primary } => EntryBody::ExecutionAdded {
            execution: execution.uuid(),
            agent: agent.clone(),
            role: role(*wanted),
            primary: *primary,
        },
        TaskEvent::ExecutionEnded { execution, end } => {
            EntryBody::ExecutionEnded { execution: execution.uuid(), end: task::execution_end(*end).into() }
        }
        TaskEvent::ModelChosen { execution, model } => {
            EntryBody::ModelChosen { execution: execution.uuid(), model: model.clone() }
        }
        TaskEvent::HandoffPrepared { handoff } => EntryBody::HandoffPrepared {
            handoff: handoff.id.uuid(),
            execution: handoff.to.uuid(),
            from: handoff.from.map(|task| task.uuid()),
            cut: handoff.cut.map(|turn| turn.uuid()),
        },
        TaskEvent::FindingsPassed { execution, turn, findings } => EntryBody::FindingsPassed {
            execution: execution.uuid(),
            turn: turn.uuid(),
            findings: findings.iter().map(|turn| turn.uuid()).collect(),
        },
        TaskEvent::HandoffGiven { handoff, turn, text } => {
            EntryBody::HandoffGiven { handoff: handoff.uuid(), turn: turn.uuid(), text: super::content::text(text) }
        }
        TaskEvent::CheckpointTaken { checkpoint } => super::diff::checkpoint(checkpoint),
        // The other kinds have a function of their own.
        _ => EntryBody::Unknown,
    }
}

fn import_body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::RuntimeSessionImported { execution, session, native } => EntryBody::RuntimeSessionImported {
            runtime_session: session.uuid(),
            execution: execution.uuid(),
            native_id: native.clone(),
        },
        TaskEvent::TurnImported { execution, turn, said, said_at, .. } => EntryBody::TurnImported {
            turn: turn.uuid(),
            execution: execution.uuid(),
            said_at: moment(*said_at),
            text: super::text(said),
        },
        TaskEvent::PastImported { session, left_out } => {
            EntryBody::PastImported { runtime_session: session.uuid(), left_out: left_out.clone() }
        }
        // Only imports come here.
        _ => EntryBody::Unknown,
    }
}

fn turn_body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::TurnRequested { execution, turn, input, retry_of } => EntryBody::TurnRequested {
            turn: turn.uuid(),
            execution: execution.uuid(),
            input: input.uuid(),
            retry_of: retry_of.map(|turn| turn.uuid()),
        },
        TaskEvent::TurnHeld { turn, behind } => EntryBody::TurnHeld { turn: turn.uuid(), behind: behind.clone() },
        TaskEvent::TurnCleared { turn } => EntryBody::TurnCleared { turn: turn.uuid() },
        TaskEvent::TurnStalled { turn, silent_secs } => {
            EntryBody::TurnStalled { turn: turn.uuid(), silent_secs: *silent_secs }
        }
        TaskEvent::TurnStarted { turn, session, epoch } => {
            EntryBody::TurnStarted { turn: turn.uuid(), runtime_session: session.uuid(), epoch: *epoch }
        }
        TaskEvent::TurnStopRequested { turn, wish } => {
            let wish = match wish {
                StopWish::Cancel => "cancel",
                StopWish::Dismiss => "dismiss",
                StopWish::Interrupt => "interrupt",
                StopWish::Budget { .. } => "budget",
            };
            EntryBody::TurnStopping { turn: turn.uuid(), wish: wish.into() }
        }
        TaskEvent::TurnEnded { turn, outcome, usage, duration_ms } => EntryBody::TurnEnded {
            turn: turn.uuid(),
            end: TurnEnd {
                usage: Some(task::usage(usage)),
                duration_ms: Some(*duration_ms),
                ..task::turn_end(outcome)
            },
        },
        // Only turns come here.
        _ => EntryBody::Unknown,
    }
}

fn runtime_body(event: &TaskEvent) -> EntryBody {
    match event {
        TaskEvent::RuntimeSessionStarted { execution, session, epoch, reason } => EntryBody::RuntimeSessionStarted {
            runtime_session: session.uuid(),
            execution: execution.uuid(),
            epoch: *epoch,
            reason: task::start_reason(*reason),
        },
        TaskEvent::RuntimeSessionResumed { session, epoch, cause } => EntryBody::RuntimeSessionResumed {
            runtime_session: session.uuid(),
            epoch: *epoch,
            cause: task::resume_cause(*cause),
        },
        TaskEvent::RuntimeSessionReattached { session, epoch } => {
            EntryBody::RuntimeSessionReattached { runtime_session: session.uuid(), epoch: *epoch }
        }
        TaskEvent::RuntimeSessionOpened { session, epoch, native, description, .. } => {
            EntryBody::RuntimeSessionOpened {
                runtime_session: session.uuid(),
                epoch: *epoch,
                native_id: native.clone(),
                agent: AgentVersion {
                    name: description.agent.name.clone(),
                    version: description.agent.version.clone(),
                },
                model: description.model.clone(),
                mode: description.mode.clone(),
                read_only: task::read_only(description.write_access),
                mcp_servers: description.mcp_servers.clone(),
                roots: description.terms.roots.clone(),
                left_out: description.terms.left_out.clone(),
            }
        }
        TaskEvent::RuntimeSessionChanged { session, change } => {
            let (setting, value) = match change {
                SettingChange::Mode { mode } => ("mode", mode.clone()),
                SettingChange::ModeSetBack { from, to } => ("mode_set_back", format!("{from} → {to}")),
                SettingChange::Model { model } => ("model", model.clone()),
                SettingChange::ModelRefused { model, cause } => ("model_refused", format!("{model}: {cause}")),
                SettingChange::Commands { commands } => {
                    ("commands", commands.iter().map(|command| command.id.as_str()).collect::<Vec<_>>().join(" "))
                }
                SettingChange::Tool { tool } => ("tool", tool.clone()),
            };
            EntryBody::RuntimeSessionChanged { runtime_session: session.uuid(), setting: setting.into(), value }
        }
        TaskEvent::RuntimeSessionParked { session, cause, .. } => {
            EntryBody::RuntimeSessionParked { runtime_session: session.uuid(), cause: cause.clone() }
        }
        TaskEvent::RuntimeSessionLost { session, cause } => {
            EntryBody::RuntimeSessionLost { runtime_session: session.uuid(), cause: cause.clone() }
        }
        TaskEvent::RuntimeSessionClosed { session, next } => {
            EntryBody::RuntimeSessionClosed { runtime_session: session.uuid(), next: task::start_reason(*next) }
        }
        // Only runtime sessions come here.
        _ => EntryBody::Unknown,
    }
}

fn settled(approval: uuid::Uuid, settlement: &Settlement) -> EntryBody {
    let state = super::approval::word(settlement.word());
    let (by, reason) = super::approval::who_and_why(settlement);
    let (rule, not_asked) = (super::approval::rule(settlement), super::approval::not_asked(settlement));
    let source = super::approval::given_from(settlement);
    let told = super::approval::told(settlement);
    EntryBody::ApprovalSettled { approval, state, by, source, reason, told, rule, not_asked }
}

fn answered(turn: uuid::Uuid, question: uuid::Uuid, settlement: &QuestionSettlement) -> EntryBody {
    let (state, by, content, reason) = match settlement {
        QuestionSettlement::Answered { by, content, .. } => ("answered", Some(by), Some(content.clone()), None),
        QuestionSettlement::Declined { by } => ("declined", Some(by), None, None),
        QuestionSettlement::Void { cause, .. } => ("void", None, None, Some(cause.clone())),
    };
    EntryBody::QuestionSettled { turn, question, state: state.into(), by: by.map(|by| by.uuid()), content, reason }
}

fn changed(recorded: &Recorded, event: &Event) -> EntryBody {
    let what = match recorded.stream.kind() {
        StreamKind::Person => "person",
        StreamKind::Project => "project",
        StreamKind::Conversation => "conversation",
        StreamKind::Task => "task",
        StreamKind::Workspace => "workspace",
    };
    EntryBody::Changed { what: what.into(), id: recorded.stream.uuid(), event: name(event).into() }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Person(PersonEvent::PersonEnrolled { .. }) => "person_enrolled",
        Event::Person(PersonEvent::LocaleChosen { .. }) => "locale_chosen",
        Event::Person(PersonEvent::PairingOffered { .. }) => "pairing_offered",
        Event::Person(PersonEvent::PairingSpent { .. }) => "pairing_spent",
        Event::Person(PersonEvent::ChatMet { .. }) => "chat_met",
        Event::Person(PersonEvent::ChatTurnedTo { .. }) => "chat_turned_to",
        Event::Person(PersonEvent::GroupMet { .. }) => "group_met",
        Event::Person(PersonEvent::QuietChosen { .. }) => "quiet_chosen",
        Event::Person(PersonEvent::MainChosen { .. }) => "main_chosen",
        Event::Person(PersonEvent::NewsPassedOn { .. }) => "news_passed_on",
        Event::Person(PersonEvent::IdentityLinked { .. }) => "identity_linked",
        Event::Person(PersonEvent::IdentityUnlinked { .. }) => "identity_unlinked",
        Event::Project(ProjectEvent::ProjectAdded { .. }) => "project_added",
        Event::Project(ProjectEvent::DefaultAgentSet { .. }) => "default_agent_set",
        Event::Project(ProjectEvent::ProjectNotePinned { .. }) => "project_note_pinned",
        Event::Project(ProjectEvent::TaskNumbered { .. }) => "task_numbered",
        Event::Project(ProjectEvent::AllowanceSet { .. }) => "allowance_set",
        Event::Project(ProjectEvent::RuleAdded { .. }) => "rule_added",
        Event::Project(ProjectEvent::RuleRevoked { .. }) => "rule_revoked",
        Event::Project(ProjectEvent::StandingApplied { .. }) => "standing_applied",
        Event::Conversation(ConversationEvent::ConversationOpened { .. }) => "conversation_opened",
        Event::Conversation(ConversationEvent::InputReceived(_)) => "input_received",
        Event::Conversation(ConversationEvent::InputCorrected(_)) => "input_corrected",
        Event::Conversation(ConversationEvent::FocusMoved { .. }) => "focus_moved",
        Event::Conversation(ConversationEvent::DeliveryQueued { .. }) => "delivery_queued",
        Event::Conversation(ConversationEvent::ReasonsChosen { .. }) => "reasons_chosen",
        Event::Conversation(ConversationEvent::QuietKept { .. }) => "quiet_kept",
        Event::Conversation(ConversationEvent::DeliveryHeld { .. }) => "delivery_held",
        Event::Conversation(ConversationEvent::DeliveryAttempted { .. }) => "delivery_attempted",
        Event::Conversation(ConversationEvent::DeliveryPostponed { .. }) => "delivery_postponed",
        Event::Conversation(ConversationEvent::DeliverySettled { .. }) => "delivery_settled",
        Event::Workspace(WorkspaceEvent::LeaseGranted { .. }) => "lease_granted",
        Event::Workspace(WorkspaceEvent::LeaseAwaited { .. }) => "lease_awaited",
        Event::Workspace(WorkspaceEvent::LeaseReleased { .. }) => "lease_released",
        Event::Task(_) => "task_changed",
    }
}
