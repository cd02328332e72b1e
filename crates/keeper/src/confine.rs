//! Confinement: an agent that is only to read is started so that the kernel keeps it, and all that it starts, from
//! writing anywhere but in the places that it was granted.
//!
//! Landlock grants by folder and cannot take a part of a grant back. So where something protected lies inside a
//! writable folder, the folder's other entries are granted as they are, and nothing new can be made beside them.
//!
//! *Invariant:* an agent with a confinement runs confined, or not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde::{Deserialize, Serialize};

/// The most places that are granted one by one.
const MAX_GRANTS: usize = 4_096;

/// Where a confined agent may write.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Confine {
    /// Its own state, wherever that lies.
    pub own: Vec<PathBuf>,
    /// Other places; what is protected in them stays so.
    pub shared: Vec<PathBuf>,
    /// Never written to, but for the agent's own state.
    pub protected: Vec<PathBuf>,
}

impl Confine {
    /// Whether a folder is writable as a whole, so that something new can be made in it.
    #[must_use]
    pub fn grants_whole(&self, folder: &Path) -> bool {
        self.grants().iter().any(|grant| folder.starts_with(grant))
    }

    /// What is granted, as it is now.
    fn grants(&self) -> Vec<PathBuf> {
        let protected: Vec<PathBuf> = self.protected.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut grants = vec![];
        for place in &self.own {
            // Its own state inside something protected is the one exception; something protected inside it is not.
            match place.canonicalize() {
                Ok(place) if !protected.iter().any(|known| known.starts_with(&place)) => grants.push(place),
                Ok(place) => split(&place, &protected, &mut grants),
                Err(_) => {}
            }
        }
        for place in &self.shared {
            split(place, &protected, &mut grants);
        }
        grants
    }
}

/// Grants a place without what is protected in it. Links are followed first, so none leads around this.
fn split(place: &Path, protected: &[PathBuf], grants: &mut Vec<PathBuf>) {
    let Ok(place) = place.canonicalize() else { return };
    if protected.iter().any(|known| place.starts_with(known)) || grants.len() >= MAX_GRANTS {
        return;
    }
    if !protected.iter().any(|known| known.starts_with(&place)) {
        return grants.push(place);
    }
    for entry in place.read_dir().into_iter().flatten().flatten() {
        split(&entry.path(), protected, grants);
    }
}

/// Whether this system can confine a process: it must know all ways of writing, truncation too.
#[must_use]
pub fn can_confine() -> bool {
    #[cfg(target_os = "linux")]
    return landlocked::ruleset().is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Starts a command confined. The restriction is the calling thread's and its children's: a thread takes it on and ends.
pub(crate) fn spawn(confine: &Confine, command: Command) -> io::Result<Child> {
    let grants = confine.grants();
    let started = std::thread::spawn(move || start(command, &grants));
    started.join().map_err(|_| io::Error::other("the thread that confines an agent panicked"))?
}

#[cfg(target_os = "linux")]
fn start(mut command: Command, grants: &[PathBuf]) -> io::Result<Child> {
    landlocked::restrict(grants).map_err(|error| io::Error::other(format!("the agent cannot be confined: {error}")))?;
    command.spawn()
}

#[cfg(not(target_os = "linux"))]
fn start(_: Command, _: &[PathBuf]) -> io::Result<Child> {
    Err(io::Error::other("this system cannot confine an agent"))
}

#[cfg(target_os = "linux")]
mod landlocked {
    use std::path::PathBuf;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
        RulesetCreatedAttr as _, RulesetError, path_beneath_rules,
    };

    /// The first version that can keep a file from being truncated.
    const NEEDED: ABI = ABI::V3;

    pub(super) fn ruleset() -> Result<RulesetCreated, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NEEDED))?
            .create()
    }

    pub(super) fn restrict(grants: &[PathBuf]) -> Result<(), RulesetError> {
        let rules = path_beneath_rules(grants, AccessFs::from_write(NEEDED));
        ruleset()?.add_rules(rules)?.restrict_self().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected_is_never_granted_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["tmp/other", "tmp/shop/src", "tl/agents/demo", "cache"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(base.join("tmp/shop"), base.join("tmp/link")).unwrap();
        let at = |path: &str| base.join(path);
        let confine = Confine {
            own: vec![at("tl/agents/demo")],
            shared: vec![at("tmp"), at("cache"), at("missing"), at("tmp/shop/src")],
            protected: vec![at("tmp/shop"), at("tl")],
        };
        let mut grants = confine.grants();
        grants.sort();
        assert_eq!(grants, [at("cache"), at("tl/agents/demo"), at("tmp/other")]);
        assert!(confine.grants_whole(&at("cache")) && !confine.grants_whole(&at("tmp")));
    }
}
