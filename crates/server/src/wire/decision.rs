//! Inputs and what was made of them, to the wire.

use throughline_api::message as api;
use throughline_model::ids::Id as _;
use throughline_model::route::{FocusSource, Intent, RouteDecision, Scope};
use throughline_model::view::InputRow;

use super::{moment, role};

pub(crate) fn input(row: &InputRow) -> api::Input {
    api::Input {
        id: row.id.uuid(),
        conversation: row.conversation.uuid(),
        person: row.person.uuid(),
        at: moment(row.at),
    }
}

pub(crate) fn decision(decision: &RouteDecision) -> api::Decision {
    api::Decision {
        id: decision.id.uuid(),
        aim: aim(&decision.intent),
        confidence: decision.confidence,
        evidence: decision.evidence.clone(),
        alternatives: decision.alternatives.iter().map(aim).collect(),
        focus: decision.focus.map(|focus| api::Focus {
            task: focus.task.uuid(),
            source: match focus.source {
                FocusSource::Conversation => api::FocusSource::Conversation,
                FocusSource::Elsewhere => api::FocusSource::Elsewhere,
            },
        }),
    }
}

fn aim(intent: &Intent) -> api::Aim {
    let mut target = api::Target { task: intent.task().map(|task| task.uuid()), ..api::Target::default() };
    let word = match intent {
        Intent::Continue { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
            "continue"
        }
        Intent::Answer { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
            "answer"
        }
        Intent::NewTask { project, agent } => {
            target.project = Some(project.uuid());
            target.agent.clone_from(agent);
            "new_task"
        }
        Intent::AddExecution { agent, role: wanted, .. } => {
            target.agent = Some(agent.clone());
            target.role = Some(role(*wanted));
            "add_execution"
        }
        Intent::SwitchAgent { agent, model, .. } => {
            target.agent.clone_from(agent);
            target.model.clone_from(model);
            "switch_agent"
        }
        Intent::Approve { approval, scope, .. } => {
            target.approval = Some(approval.uuid());
            target.scope = Some(match scope {
                Scope::Once => api::Scope::Once,
                Scope::Always => api::Scope::Always,
            });
            "approve"
        }
        Intent::Deny { approval, .. } => {
            target.approval = Some(approval.uuid());
            "deny"
        }
        Intent::Clarify { candidates, approvals } => {
            let tasks = candidates.iter().map(|task| task.uuid());
            target.candidates = tasks.chain(approvals.iter().map(|approval| approval.uuid())).collect();
            "clarify"
        }
        Intent::Retry { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
            "retry"
        }
        Intent::Fork { agent, .. } => {
            target.agent.clone_from(agent);
            "fork"
        }
        Intent::FreshSession { .. } => "fresh_session",
        Intent::Status { .. } => "status",
        Intent::Cancel { .. } => "cancel",
        Intent::Close { .. } => "close",
        Intent::Focus { .. } => "focus",
        Intent::Ack => "ack",
        Intent::Help => "help",
    };
    api::Aim { intent: word.into(), target }
}
