//! Which build of `tl` this is, and whether another one is older.
//!
//! A build is its package version and, within one version, the time and size of its executable: a
//! rebuilt binary counts as newer than the daemon that an earlier build started. Refuses to guess:
//! two builds that cannot be told apart are the same.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// One build of `tl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BuildIdentity {
    /// The package version.
    pub(crate) version: String,
    /// When the executable was written, in nanoseconds since 1970.
    pub(crate) written_at_ns: u64,
    /// How many bytes it has.
    pub(crate) size_bytes: u64,
}

impl BuildIdentity {
    /// The build that runs.
    pub(crate) fn own() -> Self {
        Self::of(&own_executable().unwrap_or_default())
    }

    fn of(executable: &Path) -> Self {
        let metadata = std::fs::metadata(executable).ok();
        let written_at = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let since = written_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            written_at_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default(),
            size_bytes: metadata.map_or(0, |metadata| metadata.len()),
        }
    }

    /// Whether this build is to take over from the other one.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        match version_order(&self.version, &other.version) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => self.written_at_ns > other.written_at_ns,
        }
    }
}

/// The executable of this process. On Linux a replaced one is still found under its old name.
pub(crate) fn own_executable() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    // The kernel marks a name whose file was replaced since the process started.
    Ok(match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(name) if Path::new(name).exists() => PathBuf::from(name),
        _ => path,
    })
}

/// By number where the parts are numbers; a pre-release comes before its release.
fn version_order(a: &str, b: &str) -> Ordering {
    let split = |version: &str| {
        let (core, tag) = match version.split_once(['-', '+']) {
            Some((core, tag)) => (core.to_owned(), Some(tag.to_owned())),
            None => (version.to_owned(), None),
        };
        let numbers: Vec<u64> = core.split('.').map(|part| part.parse().unwrap_or_default()).collect();
        (numbers, tag)
    };
    let ((a, a_tag), (b, b_tag)) = (split(a), split(b));
    a.cmp(&b).then_with(|| match (a_tag, b_tag) {
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (a, b) => a.cmp(&b),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(version: &str, written_at_ns: u64) -> BuildIdentity {
        BuildIdentity { version: version.to_owned(), written_at_ns, size_bytes: 1 }
    }

    #[test]
    fn a_later_version_is_newer_whenever_it_was_written() {
        assert!(build("0.10.0", 1).is_newer_than(&build("0.9.9", 2)));
        assert!(!build("0.9.9", 2).is_newer_than(&build("0.10.0", 1)));
        assert!(build("1.0.0", 1).is_newer_than(&build("1.0.0-rc.1", 1)));
    }

    #[test]
    fn within_a_version_the_later_executable_is_newer() {
        assert!(build("0.1.0", 2).is_newer_than(&build("0.1.0", 1)));
        assert!(!build("0.1.0", 1).is_newer_than(&build("0.1.0", 1)));
    }
}
