//! Approvals as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::task::TaskRef;

/// An agent's request to do one exact thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// Which.
    pub id: Uuid,
    /// Of which task.
    pub task: TaskRef,
    /// In which turn.
    pub turn: Uuid,
    /// Who would do it.
    pub execution: Uuid,
    /// What exactly.
    pub request: ApprovalRequest,
    /// What the agent takes for an answer. `allow` and `deny` always work.
    pub options: Vec<ApprovalOption>,
    /// What a decision binds to: send it back with the decision.
    pub digest: String,
    /// Where it stands.
    pub state: ApprovalState,
    /// When it was asked, RFC 3339.
    pub asked_at: String,
    /// After this moment nobody can say yes, RFC 3339.
    pub expires_at: String,
}

/// What an agent asks to do. Shown as it came: whoever prints it escapes what a terminal would obey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequest {
    /// The agent's description.
    pub title: String,
    /// What sort of tool, as the agent says.
    pub tool: String,
    /// The exact input as the agent sent it, as JSON text. Some agents send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Where it would run.
    pub cwd: String,
}

/// One answer that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalOption {
    /// The agent's id of it.
    pub id: String,
    /// What the agent calls it.
    pub name: String,
    /// What it means: `allow_once`, `allow_always`, `reject_once`, `reject_always` or `other`.
    pub kind: String,
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has decided it.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// There is nothing left to decide.
    Void,
    /// A word of a newer server.
    #[serde(other)]
    Unknown,
}

/// Approvals that are pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// Oldest first.
    pub approvals: Vec<Approval>,
}

/// A person's word on an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideApproval {
    /// `allow` or `deny`; or the agent's own id of an option that means one of them, once.
    pub option: String,
    /// The digest of what was shown.
    pub digest: String,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
