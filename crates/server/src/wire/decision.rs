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
    match intent {
        Intent::Continue { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
        }
        Intent::Answer { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
        }
        Intent::NewTask { project, agent } => {
            target.project = Some(project.uuid());
            target.agent.clone_from(agent);
        }
        Intent::AddExecution { agent, role: wanted, .. } => {
            target.agent = Some(agent.clone());
            target.role = Some(role(*wanted));
        }
        Intent::SwitchAgent { agent, model, .. } => {
            target.agent.clone_from(agent);
            target.model.clone_from(model);
        }
        Intent::Approve { approval, scope, .. } => {
            target.approval = Some(approval.uuid());
            target.scope = Some(match scope {
                Scope::Once => api::Scope::Once,
                Scope::Always => api::Scope::Always,
            });
        }
        Intent::Deny { approval, .. } => {
            target.approval = Some(approval.uuid());
        }
        Intent::Clarify { candidates, approvals } => {
            let tasks = candidates.iter().map(|task| task.uuid());
            target.candidates = tasks.chain(approvals.iter().map(|approval| approval.uuid())).collect();
        }
        Intent::Retry { execution, .. } => {
            target.execution = execution.map(|execution| execution.uuid());
        }
        Intent::Fork { agent, .. } => {
            target.agent.clone_from(agent);
        }
        Intent::FreshSession { .. }
        | Intent::Correct { .. }
        | Intent::Status { .. }
        | Intent::Cancel { .. }
        | Intent::Close { .. }
        | Intent::Focus { .. }
        | Intent::Ack
        | Intent::Help => {}
    }
    api::Aim { intent: intent.word().into(), target }
}
