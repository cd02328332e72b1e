//! What a keeper is told to run, and within which bounds.
//!
//! The environment may hold secrets: it is never printed, and it is blanked on disk as soon as the
//! agent runs.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::confine::Confine;

/// The environment variable that every process of an agent's tree inherits. Its value is the
/// canonical path of the keeper's directory, so that two homes never sweep each other.
pub const MARKER: &str = "THROUGHLINE_KEEPER";

const FILE: &str = "spec.json";

/// One agent to run.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct LaunchSpec {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Must exist.
    pub cwd: PathBuf,
    /// The agent's whole environment, apart from [`MARKER`]; nothing is inherited.
    pub env: Vec<(String, String)>,
    #[serde(default)]
    pub bounds: Bounds,
    /// Where it may write; everywhere if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
}

/// What one keeper may use. All have defaults.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Bounds {
    /// The longest line, in either direction. An agent that exceeds it is ended.
    pub max_frame_bytes: u64,
    /// Output that no daemon has acknowledged. At the bound the agent's stdout is no longer read,
    /// so the agent waits; nothing is lost. Raised to hold one whole frame if it is too small.
    pub max_spool_bytes: u64,
    /// How long the keeper waits for a daemon while no turn runs.
    pub idle_lease_secs: u64,
    /// How long the keeper waits for a daemon while a turn runs.
    pub busy_lease_secs: u64,
    /// Between SIGTERM and SIGKILL when the keeper ends the agent on its own account.
    pub grace_ms: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_frame_bytes: 64 << 20,
            max_spool_bytes: 1 << 30,
            idle_lease_secs: 10 * 60,
            busy_lease_secs: 6 * 60 * 60,
            grace_ms: 1_000,
        }
    }
}

impl Bounds {
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

impl LaunchSpec {
    pub(crate) fn load(dir: &Path) -> io::Result<Self> {
        let text = fs::read(dir.join(FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    pub(crate) fn store(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        write_durably(&dir.join(FILE), &text)
    }

    /// The same spec with every value of the environment blanked.
    pub(crate) fn without_secrets(&self) -> Self {
        let blank = |(name, _): &(String, String)| (name.clone(), String::new());
        Self { env: self.env.iter().map(blank).collect(), ..self.clone() }
    }
}

impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("LaunchSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("bounds", &self.bounds)
            .field("confine", &self.confine)
            .finish()
    }
}

/// Write-temp, fsync, rename, fsync of the folder: the file is there whole, or not at all.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, LaunchSpec};

    #[test]
    fn debug_and_disk_after_start_hold_no_secret() {
        let spec = LaunchSpec {
            program: "agent".into(),
            args: vec![],
            cwd: "/".into(),
            env: vec![("API_KEY".into(), "hunter2".into())],
            bounds: Bounds::default(),
            confine: None,
        };
        assert!(!format!("{spec:?}").contains("hunter2"));
        let text = serde_json::to_string(&spec.without_secrets()).unwrap();
        assert!(text.contains("API_KEY") && !text.contains("hunter2"));
    }

    #[test]
    fn bounds_that_are_left_out_are_the_defaults() {
        let spec: LaunchSpec = serde_json::from_str(r#"{"program":"a","args":[],"cwd":"/","env":[]}"#).unwrap();
        assert_eq!(spec.bounds, Bounds::default());
    }
}
