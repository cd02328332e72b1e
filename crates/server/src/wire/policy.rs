//! Policies to the wire.

use throughline_api::policy as api;
use throughline_api::project::ProjectRef;
use throughline_model::approval::Verdict;
use throughline_model::ids::Id as _;
use throughline_model::policy::{Allowance, Allowed, Made, Rule};
use throughline_model::project::Project;

use super::{approval, moment, role};

/// A project's whole policy.
pub(crate) fn policy(project: &Project) -> api::Policy {
    api::Policy {
        project: ProjectRef { id: project.id.uuid(), name: project.name.clone() },
        rules: project.policy.rules.iter().map(rule).collect(),
        allowances: project.policy.allowances.iter().map(allowance).collect(),
    }
}

/// One rule.
pub(crate) fn rule(rule: &Rule) -> api::Rule {
    let draft = &rule.draft;
    api::Rule {
        number: rule.number,
        verdict: match draft.verdict {
            Verdict::Approve => api::RuleVerdict::Allow,
            Verdict::Deny => api::RuleVerdict::Deny,
        },
        argv: draft.argv.clone(),
        open: draft.open,
        words: draft.words(),
        role: draft.role.map(role),
        expires_at: draft.expires_at.map(moment),
        approval: draft.approval.map(|approval| approval.uuid()),
        made: made(&rule.made),
        uses: rule.uses,
    }
}

fn allowance(allowance: &Allowance) -> api::Allowance {
    api::Allowance { role: role(allowance.role), what: allowed(allowance.what), made: made(&allowance.made) }
}

fn allowed(what: Allowed) -> api::Allowed {
    match what {
        Allowed::Reads => api::Allowed::Reads,
        Allowed::Edits => api::Allowed::Edits,
    }
}

/// What a client says that a role may do.
pub(crate) fn allowed_of(what: api::Allowed) -> Allowed {
    match what {
        api::Allowed::Reads => Allowed::Reads,
        api::Allowed::Edits => Allowed::Edits,
    }
}

fn made(made: &Made) -> api::Made {
    api::Made { by: made.by.uuid(), source: approval::source(&made.source), at: moment(made.at) }
}
