//! Approvals to the wire.

use throughline_api::approval as api;
use throughline_api::task::TaskRef;
use throughline_model::approval::{Approval, OptionKind};
use throughline_model::ids::Id as _;
use throughline_model::time::Timestamp;

use super::moment;

/// An approval in this state: `pending`, or how it was settled.
pub(crate) fn approval(approval: &Approval, task: TaskRef, state: &str, asked_at: Timestamp) -> api::Approval {
    api::Approval {
        id: approval.id.uuid(),
        task,
        turn: approval.turn.uuid(),
        execution: approval.execution.uuid(),
        request: api::ApprovalRequest {
            title: approval.ask.title.clone(),
            tool: approval.ask.tool.clone(),
            input: approval.ask.input.clone(),
            cwd: approval.ask.cwd.clone(),
        },
        options: approval
            .options
            .iter()
            .map(|option| api::ApprovalOption {
                id: option.id.clone(),
                name: option.name.clone(),
                kind: kind(option.kind).into(),
            })
            .collect(),
        digest: approval.digest(),
        state: word(state),
        asked_at: moment(asked_at),
        expires_at: moment(approval.expires_at),
    }
}

/// The word of a row's state.
pub(super) fn word(state: &str) -> api::ApprovalState {
    match state {
        "pending" => api::ApprovalState::Pending,
        "approved" => api::ApprovalState::Approved,
        "denied" => api::ApprovalState::Denied,
        "expired" => api::ApprovalState::Expired,
        "void" => api::ApprovalState::Void,
        _ => api::ApprovalState::Unknown,
    }
}

fn kind(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::AllowOnce => "allow_once",
        OptionKind::AllowAlways => "allow_always",
        OptionKind::RejectOnce => "reject_once",
        OptionKind::RejectAlways => "reject_always",
        OptionKind::Other => "other",
    }
}
