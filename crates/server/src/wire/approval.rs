//! Approvals to the wire: what a view shows of them, and what became of them.

use std::collections::BTreeMap;

use throughline_api::approval as api;
use throughline_api::task::TaskRef;
use throughline_model::approval::{Approval, Settlement, Source, VoidKind};
use throughline_model::content::Text;
use throughline_model::identity::Identity;
use throughline_model::ids::Id as _;
use throughline_model::policy::Standing;
use throughline_model::present::Locale;
use throughline_model::shown::View;
use throughline_model::time::Timestamp;
use throughline_model::view::{ApprovalRow, Settled};
use uuid::Uuid;

use super::moment;

/// An approval of a row, as a view shows it.
pub(crate) fn approval_row(row: &ApprovalRow, task: TaskRef, view: View) -> api::Approval {
    let settled = row.settled.as_ref().map(|end| settled(end, &row.approval));
    api::Approval { settled, ..approval(&row.approval, task, &row.state, row.asked_at, view) }
}

/// An approval in this state: `pending`, or how it was settled.
pub(crate) fn approval(
    approval: &Approval,
    task: TaskRef,
    state: &str,
    asked_at: Timestamp,
    view: View,
) -> api::Approval {
    let shown = approval.shown(view);
    let input = match &approval.ask.input {
        Some(Text::Inline(input)) => Some(input.clone()),
        Some(Text::Blob { .. }) | None => None,
    };
    api::Approval {
        id: approval.id.uuid(),
        task,
        turn: approval.turn.uuid(),
        execution: approval.execution.uuid(),
        request: api::ApprovalRequest {
            title: approval.ask.title.clone(),
            tool: approval.ask.tool.clone(),
            input,
            cwd: approval.ask.cwd.clone(),
        },
        // Without the digest nobody says yes: what was not shown is not approved.
        digest: shown.complete.then(|| approval.digest()),
        shown: api::Shown { text: shown.text, complete: shown.complete, description: approval.ask.input.is_none() },
        options: approval
            .options
            .iter()
            .map(|option| api::ApprovalOption {
                id: option.id.clone(),
                name: option.name.clone(),
                kind: option.kind.word().into(),
            })
            .collect(),
        state: if approval.ruled && state == "pending" { api::ApprovalState::Ruled } else { word(state) },
        asked_at: moment(asked_at),
        expires_at: moment(approval.expires_at),
        settled: None,
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

/// Who settled it, and why, in words.
pub(super) fn who_and_why(settlement: &Settlement) -> (Option<Uuid>, Option<String>) {
    match settlement {
        Settlement::Approved { by, .. } => (Some(by.uuid()), None),
        Settlement::Denied { by, reason, .. } => (Some(by.uuid()), reason.clone()),
        Settlement::Ruled { ruling } => (None, Some(Locale::En.ruled(&ruling.standing))),
        Settlement::Expired => (None, None),
        Settlement::Void { cause, .. } => (None, Some(cause.clone())),
    }
}

/// What decided in the place of a person, in every language: an event is encoded once for all who listen.
pub(super) fn told(settlement: &Settlement) -> BTreeMap<String, String> {
    match settlement {
        Settlement::Ruled { ruling } => {
            Locale::ALL.map(|locale| (locale.tag().to_owned(), locale.ruled(&ruling.standing))).into()
        }
        Settlement::Approved { .. } | Settlement::Denied { .. } | Settlement::Expired | Settlement::Void { .. } => {
            BTreeMap::new()
        }
    }
}

/// Whether the agent did it without waiting for an answer.
pub(super) fn not_asked(settlement: &Settlement) -> bool {
    matches!(settlement, Settlement::Void { kind: VoidKind::NotAsked, .. })
}

/// Where a person decided it from.
pub(super) fn given_from(settlement: &Settlement) -> Option<api::Source> {
    match settlement {
        Settlement::Approved { given, .. } | Settlement::Denied { given, .. } => {
            given.as_ref().map(|given| source(&given.source))
        }
        Settlement::Ruled { .. } | Settlement::Expired | Settlement::Void { .. } => None,
    }
}

/// The rule that decided in the place of a person.
pub(super) fn rule(settlement: &Settlement) -> Option<u64> {
    match settlement {
        Settlement::Ruled { ruling } => match &ruling.standing {
            Standing::Rule { number, .. } => Some(*number),
            Standing::Allowance { .. } => None,
        },
        Settlement::Approved { .. } | Settlement::Denied { .. } | Settlement::Expired | Settlement::Void { .. } => None,
    }
}

fn settled(settled: &Settled, approval: &Approval) -> api::Settled {
    let (by, reason) = who_and_why(&settled.settlement);
    let digest = match &settled.settlement {
        Settlement::Approved { given, .. } | Settlement::Denied { given, .. } => {
            given.as_ref().map(|given| given.digest.clone())
        }
        Settlement::Ruled { .. } => Some(approval.digest()),
        Settlement::Expired | Settlement::Void { .. } => None,
    };
    api::Settled {
        at: moment(settled.at),
        by,
        source: given_from(&settled.settlement),
        digest,
        reason,
        rule: rule(&settled.settlement),
        not_asked: not_asked(&settled.settlement),
    }
}

/// Where a decision came from.
pub(super) fn source(source: &Source) -> api::Source {
    api::Source {
        surface: source.surface.word().into(),
        identity: source.identity.as_ref().map(identity),
        conversation: source.conversation.map(|conversation| conversation.uuid()),
    }
}

fn identity(identity: &Identity) -> String {
    match identity {
        Identity::OsUser { uid } => format!("os_user:{uid}"),
        other => other.handle(),
    }
}
