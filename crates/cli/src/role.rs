//! Roles as they are typed.

use clap::ValueEnum;
use throughline_api::task::Role;

/// What an execution is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// Changes the code
    Editor,
    /// Reads what was changed
    Reviewer,
    /// Runs and writes tests
    Tester,
    /// Finds things out
    Researcher,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Editor => Role::Editor,
            RoleArg::Reviewer => Role::Reviewer,
            RoleArg::Tester => Role::Tester,
            RoleArg::Researcher => Role::Researcher,
        }
    }
}
