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
    /// What to show of it, with every character visible.
    pub shown: Shown,
    /// What the agent takes for an answer. `allow` and `deny` always work, unless its options are not clear.
    pub options: Vec<ApprovalOption>,
    /// What a decision binds to: send it back with the decision. Withheld where not everything is shown: then it can
    /// be opened and denied, not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where it stands.
    pub state: ApprovalState,
    /// When it was asked, RFC 3339.
    pub asked_at: String,
    /// After this moment nobody can say yes, RFC 3339.
    pub expires_at: String,
    /// How it was settled, once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// What to show of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Shown {
    /// The full command or edit, with control, bidi, zero-width and trailing-space characters written out.
    pub text: String,
    /// Whether all of it is there.
    pub complete: bool,
    /// Whether it is only the agent's description, because the agent sent nothing more exact.
    pub description: bool,
}

/// How an approval was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Settled {
    /// When, RFC 3339.
    pub at: String,
    /// Who decided, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Uuid>,
    /// From where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The digest that was decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of the project's rule that decided in the place of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u64>,
    /// Whether the agent did it without waiting for an answer.
    #[serde(default)]
    pub not_asked: bool,
}

/// Where a decision came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// `web`, `cli`, `ide`, `api`, or the name of a chat platform such as `telegram`.
    pub surface: String,
    /// As whom the person was recognised, such as `os_user:1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// In which conversation, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Uuid>,
}

/// What an agent asks to do. Shown as it came: whoever prints it escapes what a terminal would obey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequest {
    /// The agent's description.
    pub title: String,
    /// What sort of tool, as the agent says.
    pub tool: String,
    /// The exact input as the agent sent it, as JSON text. Some agents send none, and a very long one is only at
    /// `/approvals/{id}/input`.
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
    /// The project's policy decides it, so nobody is asked. How it did is told next.
    Ruled,
    /// It is allowed.
    Approved,
    /// It is not.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// There is nothing left to decide.
    Void,
    /// A word of a newer server.
    #[serde(other)]
    Unknown,
}

/// Approvals, in the order in which they were asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// Oldest first.
    pub approvals: Vec<Approval>,
}

/// A person's word on an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideApproval {
    /// `allow` or `deny`; or the agent's own id of an option that means one of them, once.
    pub option: String,
    /// The digest of what was shown. A no can do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With a yes: make the rule that allows it from now on. Where no rule can be about it, it is approved this once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// After this long that rule does not hold any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_secs: Option<u64>,
}
