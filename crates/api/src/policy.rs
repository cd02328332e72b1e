//! A project's policy as it travels: what is allowed without asking, what is forbidden, and who said so.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::approval::{Approval, Source};
use crate::project::ProjectRef;
use crate::task::Role;

/// What a project allows without asking, and what it forbids. All else is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Policy {
    /// Which project.
    pub project: ProjectRef,
    /// About commands, oldest first. One that forbids wins over one that allows.
    pub rules: Vec<Rule>,
    /// What roles may do besides.
    pub allowances: Vec<Allowance>,
}

/// A rule about one plain command, in the project's folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rule {
    /// What people call it.
    pub number: u64,
    /// Allows it or forbids it.
    pub verdict: RuleVerdict,
    /// The words that a command has to begin with.
    pub argv: Vec<String>,
    /// Whether names of tests, packages or files may follow.
    pub open: bool,
    /// The same in one line, for people.
    pub words: String,
    /// Only for this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// It does not hold from this moment on, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The request that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Uuid>,
    /// Who made it.
    pub made: Made,
    /// How often it was applied.
    pub uses: u64,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// It is allowed without asking.
    Allow,
    /// It is denied without asking.
    Deny,
}

/// Who said so, when, from where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Made {
    /// Who.
    pub by: Uuid,
    /// From where.
    pub source: Source,
    /// When, RFC 3339.
    pub at: String,
}

/// Something that a role may do without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Allowance {
    /// Which role.
    pub role: Role,
    /// What.
    pub what: Allowed,
    /// Who said so.
    pub made: Made,
}

/// What a role may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allowed {
    /// Reading files of the workspace.
    Reads,
    /// Changing files of the workspace, but for those that decide what other programs run.
    Edits,
}

/// What a role may do without asking: all that is named, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPolicy {
    /// Which role; every one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What; nothing means that everything is asked about.
    pub allow: Vec<Allowed>,
}

/// A rule to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRule {
    /// Allows it or forbids it.
    pub verdict: RuleVerdict,
    /// The words of one plain command: no shell around it, no operator, nothing that runs its arguments.
    pub argv: Vec<String>,
    /// Only for this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// After this long it does not hold any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_secs: Option<u64>,
}

/// Makes a rule of what was approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeRule {
    /// After this long it does not hold any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_secs: Option<u64>,
}

/// An approval that was decided, and what became of an *always*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decided {
    /// The approval.
    #[serde(flatten)]
    pub approval: Approval,
    /// The rule that allows it from now on, where one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Why there is none although one was wanted: it was approved this once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_rule: Option<String>,
}
