//! The notice: what a running daemon says about itself in `daemon.json` of its home.
//!
//! It is a courtesy, never a proof: a daemon that was killed leaves it behind. Whether somebody
//! listens, and who, is asked of the socket. *Invariant:* it is written whole or not at all.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use throughline_engine::Home;

use crate::build_identity::BuildIdentity;

const FILE: &str = "daemon.json";

/// What a daemon says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    /// Its process.
    pub(crate) pid: i32,
    /// Which build it is.
    pub(crate) build: BuildIdentity,
    /// Where it listens for browsers and programs.
    pub(crate) url: String,
    /// Where it listens for `tl`.
    pub(crate) socket: PathBuf,
    /// Whose daemon it is: a home that was copied has a copy of the notice too.
    #[serde(default)]
    pub(crate) home: Option<PathBuf>,
}

impl Notice {
    /// The last notice of this home, if there is one that this build can read.
    pub(crate) fn load(home: &Home) -> Option<Self> {
        let text = std::fs::read_to_string(home.path().join(FILE)).ok()?;
        let notice: Self = serde_json::from_str(&text).ok()?;
        let here = |named: &PathBuf| named.canonicalize().ok() == home.path().canonicalize().ok();
        notice.home.as_ref().is_none_or(here).then_some(notice)
    }

    /// Puts it up.
    pub(crate) fn store(&self, home: &Home) -> io::Result<()> {
        let path = home.path().join(FILE);
        let fresh = path.with_extension("json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(fresh, path)
    }

    /// Takes it down.
    pub(crate) fn remove(home: &Home) {
        let _ = std::fs::remove_file(home.path().join(FILE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_home_does_not_lead_to_the_daemon_of_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = |name: &str| Home::at(&folder.path().join(name)).expect("a home");
        let (first, copy) = (home("first"), home("copy"));
        let notice = Notice {
            pid: 1,
            build: BuildIdentity::own(),
            url: String::new(),
            socket: first.socket(),
            home: Some(first.path().to_owned()),
        };
        notice.store(&first).expect("written");
        std::fs::copy(first.path().join(FILE), copy.path().join(FILE)).expect("copied");
        assert_eq!(Notice::load(&first), Some(notice));
        assert_eq!(Notice::load(&copy), None);
    }
}
