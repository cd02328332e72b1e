//! Roles as data: what is shipped in `roles.toml`, and what a person changes of it in `config.toml`.
//!
//! *Invariant:* a role whose turns hold no workspace lease never writes, whatever the settings say.

use serde::Deserialize;
use throughline_model::execution::Role;

const SHIPPED: &str = include_str!("../../roles.toml");

/// What a role is told and allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleProfile {
    /// What its agent is told first; nothing if it is empty.
    pub preamble: String,
    /// Whether its agent must not change the workspace.
    pub read_only: bool,
    /// Whether the kernel sees to that, where it can.
    pub confine: bool,
}

/// All roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    editor: RoleProfile,
    reviewer: RoleProfile,
    tester: RoleProfile,
    researcher: RoleProfile,
}

impl Roles {
    /// A role's profile.
    #[must_use]
    pub fn of(&self, role: Role) -> &RoleProfile {
        match role {
            Role::Editor => &self.editor,
            Role::Reviewer => &self.reviewer,
            Role::Tester => &self.tester,
            Role::Researcher => &self.researcher,
        }
    }

    /// The shipped roles with a person's words over them.
    pub(super) fn with(own: File) -> Result<Self, String> {
        let shipped: File = toml::from_str(SHIPPED).map_err(|error| format!("the shipped roles: {error}"))?;
        let roles = Self {
            editor: own.editor.over(shipped.editor),
            reviewer: own.reviewer.over(shipped.reviewer),
            tester: own.tester.over(shipped.tester),
            researcher: own.researcher.over(shipped.researcher),
        };
        for role in [Role::Editor, Role::Reviewer, Role::Tester, Role::Researcher] {
            if !role.writes() && !roles.of(role).read_only {
                let word = role.word();
                return Err(format!(
                    "roles.{word} cannot be made to write: a {word} works beside the editor, without the workspace lease"
                ));
            }
        }
        Ok(roles)
    }
}

/// The roles of a file.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    editor: Profile,
    reviewer: Profile,
    tester: Profile,
    researcher: Profile,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Profile {
    preamble: Option<String>,
    read_only: Option<bool>,
    confine: Option<bool>,
}

impl Profile {
    fn over(self, shipped: Profile) -> RoleProfile {
        RoleProfile {
            preamble: self.preamble.or(shipped.preamble).unwrap_or_default(),
            read_only: self.read_only.or(shipped.read_only).unwrap_or_default(),
            confine: self.confine.or(shipped.confine).unwrap_or(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Result<Roles, String> {
        Roles::with(toml::from_str(text).expect("toml"))
    }

    #[test]
    fn the_shipped_roles_are_complete_and_only_two_of_them_read() {
        let roles = roles("").expect("fine");
        assert!(roles.of(Role::Editor).preamble.is_empty());
        for role in [Role::Editor, Role::Reviewer, Role::Tester, Role::Researcher] {
            assert_eq!(roles.of(role).read_only, !role.writes());
            assert!(roles.of(role).confine);
        }
        assert!(roles.of(Role::Reviewer).preamble.contains("findings"));
    }

    #[test]
    fn a_person_changes_a_part_and_keeps_the_rest() {
        let roles = roles("[reviewer]\npreamble = 'Be kind.'\n[tester]\nread_only = true").expect("fine");
        assert_eq!(roles.of(Role::Reviewer).preamble, "Be kind.");
        assert!(roles.of(Role::Reviewer).read_only && roles.of(Role::Tester).read_only);
    }

    #[test]
    fn who_holds_no_lease_never_writes() {
        assert!(roles("[reviewer]\nread_only = false").expect_err("refused").contains("roles.reviewer"));
    }
}
