//! Starting a keeper that is nobody's child to lose.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::lock;
use crate::run::{StartFailure, Started};
use crate::spec::{LaunchSpec, MARKER};

const PATIENCE: Duration = Duration::from_secs(5);
const MAX_REPORT_BYTES: u64 = 16 << 10;

/// No agent runs. Unless the directory belongs to another launch, it is removed again.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("the program `{}` is not found", program.display())]
    ProgramNotFound { program: PathBuf },
    #[error("the folder {} does not exist", cwd.display())]
    CwdMissing { cwd: PathBuf },
    #[error("`{}` may not be run: {message}", program.display())]
    PermissionDenied { program: PathBuf, message: String },
    /// Attach to it instead.
    #[error("the directory already has a living keeper")]
    AlreadyRunning,
    /// A directory serves one launch; this one's is over.
    #[error("the directory was used by an earlier keeper")]
    Used,
    #[error("the keeper did not say within {} s that it is ready", PATIENCE.as_secs())]
    TimedOut,
    #[error("the keeper could not start the agent: {message}")]
    Other { message: String },
    #[error("the keeper could not be started")]
    Io(#[from] io::Error),
}

impl LaunchError {
    /// Stable, for what a person is shown and may look up.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ProgramNotFound { .. } => "agent_program_not_found",
            Self::CwdMissing { .. } => "agent_folder_missing",
            Self::PermissionDenied { .. } => "agent_permission_denied",
            Self::AlreadyRunning => "keeper_already_running",
            Self::Used => "keeper_directory_used",
            Self::TimedOut => "keeper_timed_out",
            Self::Other { .. } | Self::Io(_) => "keeper_not_started",
        }
    }
}

/// Starts `exe keep --dir DIR` and returns when the agent runs and the socket listens.
pub async fn launch(exe: &Path, dir: &Path, spec: &LaunchSpec) -> Result<(), LaunchError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if lock::holder(dir)?.is_some() {
        return Err(LaunchError::AlreadyRunning);
    }
    if dir.join(crate::spool::DIR).exists() {
        return Err(LaunchError::Used);
    }
    let outcome = start(exe, dir, spec).await;
    if !matches!(outcome, Ok(()) | Err(LaunchError::AlreadyRunning | LaunchError::Used)) {
        // Only a start that left no agent comes here, so that it can be tried again.
        let _ = std::fs::remove_dir_all(dir);
    }
    outcome
}

async fn start(exe: &Path, dir: &Path, spec: &LaunchSpec) -> Result<(), LaunchError> {
    spec.store(dir)?;
    let mut keeper = spawn(exe, dir)?;
    let report = match timeout(PATIENCE, read_report(&mut keeper)).await {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => return give_up(keeper, dir, error).await,
        Err(_) => return give_up(keeper, dir, LaunchError::TimedOut).await,
    };
    // It is a child of this process until either ends; this one only has to reap it.
    tokio::spawn(async move { keeper.wait().await });
    match report {
        Started::Ready => Ok(()),
        Started::Failed(failure) => Err(name(failure, spec)),
    }
}

async fn give_up(mut keeper: Child, dir: &Path, error: LaunchError) -> Result<(), LaunchError> {
    let _ = keeper.kill().await;
    // It may have come as far as an agent.
    let _ = super::sweep_dir(dir).await;
    Err(error)
}

fn spawn(exe: &Path, dir: &Path) -> io::Result<Child> {
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(dir.join("keeper.log"))?;
    Command::new(exe)
        .arg("keep")
        .arg("--dir")
        .arg(dir)
        // A daemon that was itself started by an agent must not mark its keepers as that agent's.
        .env_remove(MARKER)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

async fn read_report(keeper: &mut Child) -> Result<Started, LaunchError> {
    let mut line = String::new();
    if let Some(stdout) = keeper.stdout.take() {
        let mut lines = BufReader::new(stdout.take(MAX_REPORT_BYTES));
        lines.read_line(&mut line).await?;
    }
    serde_json::from_str(&line).map_err(|_| LaunchError::Other { message: format!("it said {line:?}") })
}

fn name(failure: StartFailure, spec: &LaunchSpec) -> LaunchError {
    let program = spec.program.clone();
    match failure {
        StartFailure::ProgramNotFound => LaunchError::ProgramNotFound { program },
        StartFailure::CwdMissing => LaunchError::CwdMissing { cwd: spec.cwd.clone() },
        StartFailure::PermissionDenied { message } => LaunchError::PermissionDenied { program, message },
        StartFailure::AlreadyRunning => LaunchError::AlreadyRunning,
        StartFailure::Used => LaunchError::Used,
        StartFailure::Other { message } => LaunchError::Other { message },
    }
}
