//! The folders of forks: worktrees of the person's repository, or plain folders where there is none.
//!
//! They live in the home, below the id of the workspace that they come from, so that the path alone says whose
//! checkpoints they share. Of the person's repository nothing is touched but the list of its worktrees.
//!
//! **Invariant:** a folder is removed only when what is in it is kept elsewhere: its files in a checkpoint that the
//! record names, its commits on a branch or tag.

use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use throughline_keeper::client;
use throughline_model::ids::{ChangeId, WorkspaceId};
use throughline_model::runtime_session::Failure;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::checkpoints::{CheckpointError, surroundings};
use crate::driver::Shared;
use crate::environment;

/// How long git may take over a worktree.
const GIT_PATIENCE: Duration = Duration::from_secs(120);
/// How long a setup command may take.
const SETUP_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How much of a setup command's output is kept: the end.
const TAIL_BYTES: usize = 4 << 10;
/// The folder of all worktrees in the home.
const FOLDER: &str = "worktrees";

/// A fork's folder, as its path says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worktree {
    /// The workspace that it comes from.
    pub(crate) origin: WorkspaceId,
    /// The top of it; the root that agents work in may be below.
    pub(crate) top: PathBuf,
}

impl Worktree {
    /// Reads a root's path; none if it is no fork's folder.
    pub(crate) fn of(home: &Path, root: &str) -> Option<Self> {
        let folder = home.join(FOLDER);
        let mut names = Path::new(root).strip_prefix(&folder).ok()?.components();
        let (Component::Normal(origin), Component::Normal(name)) = (names.next()?, names.next()?) else { return None };
        let origin_id = origin.to_str()?.parse().ok()?;
        Some(Self { origin: origin_id, top: folder.join(origin).join(name) })
    }

    /// The root of a new fork of the workspace at `source`: as deep in its worktree as the source is in its repository.
    pub(crate) async fn root_for(home: &Path, source: &str, name: &str) -> Result<String, CheckpointError> {
        let origin = Self::of(home, source).map_or_else(|| WorkspaceId::of_root(source), |known| known.origin);
        let below = surroundings(Path::new(source)).await?;
        let top = home.join(FOLDER).join(origin.to_string()).join(name);
        let root = if below.as_os_str().is_empty() { top } else { top.join(below) };
        Ok(root.to_string_lossy().into_owned())
    }
}

/// Runs the person's git: with their settings, without their hooks, and without questions.
#[expect(clippy::disallowed_methods, reason = "the worktrees of the person's repository are their git's")]
async fn git(cwd: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.env_clear().current_dir(cwd).args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").args(args);
    command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let ran = timeout(GIT_PATIENCE, command.output()).await.map_err(|_| "git took too long".to_owned())?;
    let ran = ran.map_err(|error| format!("git cannot be run: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
    }
}

/// The commit that a folder stands at; none if it is in no repository, or in one without a commit.
pub(super) async fn commit_at(root: &Path) -> Option<String> {
    git(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await.ok()
}

/// Makes the folder anew: a git worktree at the commit, its files not written yet; a plain folder where that cannot
/// be, with the reason.
pub(super) async fn make(
    worktree: &Worktree,
    root: &Path,
    from: &Path,
    commit: Option<&str>,
) -> std::io::Result<Option<String>> {
    // What a crash left of an earlier attempt. Nobody has worked there yet.
    clear(&worktree.top, from).await?;
    let parent = worktree.top.parent().unwrap_or(&worktree.top);
    tokio::fs::create_dir_all(parent).await?;
    let refused = match commit {
        None => None,
        Some(commit) => add(worktree, root, from, commit).await.err(),
    };
    if refused.is_some() {
        clear(&worktree.top, from).await?;
    }
    tokio::fs::create_dir_all(root).await?;
    Ok(refused.map(|why| format!("it is a plain folder, because git makes no worktree: {why}")))
}

async fn add(worktree: &Worktree, root: &Path, from: &Path, commit: &str) -> Result<(), String> {
    let top = worktree.top.to_string_lossy();
    git(from, &["worktree", "add", "--quiet", "--detach", "--no-checkout", &top, commit]).await?;
    match root == worktree.top {
        // All files come from the checkpoint, byte for byte.
        true => git(&worktree.top, &["read-tree", "HEAD"]).await.map(drop),
        // What is beside the root comes from the commit.
        false => git(&worktree.top, &["checkout", "--quiet", "--force", "HEAD", "--", "."]).await.map(drop),
    }
}

/// Removes a folder and its entry in the repository's list of worktrees, whatever of them is there.
pub(super) async fn clear(top: &Path, from: &Path) -> std::io::Result<()> {
    match tokio::fs::remove_dir_all(top).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Git takes a worktree whose folder is gone off its list; there may be no such entry, and that is fine.
    let _ = git(from, &["worktree", "remove", "--force", &top.to_string_lossy()]).await;
    Ok(())
}

/// Why the folder has to stay, if it has to: it holds commits that are nowhere else.
pub(super) async fn only_here(top: &Path) -> Option<Failure> {
    let commit = commit_at(top).await?;
    let contained = git(top, &["for-each-ref", "--count=1", "--contains", &commit, "--format=%(refname)"]).await;
    let found = contained.as_ref().is_ok_and(|refs| !refs.is_empty());
    let short: String = commit.chars().take(12).collect();
    (!found).then(|| Failure {
        code: "worktree_kept".into(),
        message: format!("its folder stays at {}: commit {short} is on no branch and no tag", top.display()),
        hint: Some(format!("`git branch NAME {short}` keeps it, then `tl discard KEY` again")),
        until: None,
    })
}

/// Copies what git does not keep and the project's settings name. Gives what could not be copied.
pub(super) fn copy(names: &[PathBuf], from: &Path, to: &Path) -> Vec<String> {
    let plain = |name: &Path| name.components().all(|part| matches!(part, Component::Normal(_)));
    let mut notes = vec![];
    for name in names {
        let source = from.join(name);
        if !plain(name) {
            notes.push(format!("{} was not copied: it is not below the project's folder", name.display()));
        } else if source.exists()
            && !to.join(name).exists()
            && let Err(error) = copy_all(&source, &to.join(name))
        {
            notes.push(format!("{} was not copied: {error}", name.display()));
        }
    }
    notes
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    // A link to a folder is not followed: it could lead anywhere, also back.
    if !std::fs::symlink_metadata(from)?.is_dir() {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

impl Shared {
    /// Runs a project's setup command in a new worktree. Gives what to say if it failed.
    ///
    /// Its processes carry a keeper's marker, so that what a crash of the daemon leaves of them is swept up.
    #[expect(clippy::disallowed_methods, reason = "the setup command is the person's own")]
    pub(super) async fn set_up(&self, command: &str, root: &Path, change: ChangeId) -> Option<String> {
        let marker = self.home.keepers().join(format!("setup-{change}"));
        let _ = client::sweep_dir(&marker).await;
        let env = self.environments.of(root).await;
        let env = env.into_iter().filter(|(name, _)| environment::passes(name, &[]));
        let mut setup = Command::new("sh");
        setup.args(["-c", "exec 2>&1; eval \"$1\"", "sh", command]).env_clear().envs(env);
        setup.env(throughline_keeper::MARKER, &marker).current_dir(root);
        setup.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let ran = async {
            let mut child = setup.spawn()?;
            let tail = tail(child.stdout.take()).await;
            Ok::<_, std::io::Error>((child.wait().await?, tail))
        };
        let why = match timeout(SETUP_PATIENCE, ran).await {
            Ok(Ok((status, _))) if status.success() => None,
            Ok(Ok((status, tail))) => Some(format!("{status}\n{tail}")),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("it took longer than {} min", SETUP_PATIENCE.as_secs() / 60)),
        };
        let _ = client::sweep_dir(&marker).await;
        why.map(|why| format!("the setup command `{command}` failed: {}", why.trim_end()))
    }
}

/// The end of what is written.
async fn tail(output: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut output) = output else { return String::new() };
    let (mut tail, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read) = output.read(&mut piece).await
        && read > 0
    {
        tail.extend_from_slice(&piece[..read]);
        let over = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..over);
    }
    String::from_utf8_lossy(&tail).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_whose_checkpoints_a_fork_shares() {
        let home = Path::new("/home");
        let origin = WorkspaceId::of_root("/shop");
        let root = format!("/home/worktrees/{origin}/shop-1a2b/web");
        let known = Worktree::of(home, &root).expect("a fork's folder");
        assert_eq!((known.origin, known.top), (origin, PathBuf::from(format!("/home/worktrees/{origin}/shop-1a2b"))));
        for other in ["/shop", "/home/worktrees", "/home/worktrees/x/y", "/home/keepers/a/b"] {
            assert_eq!(Worktree::of(home, other), None, "{other}");
        }
    }

    #[test]
    fn nothing_outside_of_the_project_is_copied() {
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::create_dir_all(from.join("conf")).expect("made");
        std::fs::write(from.join(".env"), "A=1").expect("written");
        std::fs::write(from.join("conf/local"), "x").expect("written");
        std::fs::write(dir.path().join("secret"), "s").expect("written");
        std::fs::create_dir(&to).expect("made");
        let names = [".env", "conf", "missing", "../secret", "/etc/hostname"].map(PathBuf::from);
        let notes = copy(&names, &from, &to);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(std::fs::read_to_string(to.join(".env")).expect("there"), "A=1");
        assert_eq!(std::fs::read_to_string(to.join("conf/local")).expect("there"), "x");
        assert!(!dir.path().join("to/secret").exists());
    }
}
