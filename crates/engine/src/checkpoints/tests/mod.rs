//! Against the real git, in folders that go when a test ends.

mod bounds;
mod exact;
mod nested;
mod pruning;
mod restoring;
mod surroundings;
mod taking;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::time::Duration;

use super::{Bounds, Change, Checkpoints, FileDiff, Taken};

/// A workspace and a store beside it.
struct Bench {
    folder: TempDir,
    checkpoints: Checkpoints,
}

impl Bench {
    /// In a folder that is not a repository.
    fn plain() -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir(folder.path().join("work")).expect("a workspace");
        let checkpoints = Checkpoints::new(folder.path().join("home/checkpoints/w")).bounded(patient());
        Self { folder, checkpoints }
    }

    /// In a repository with one commit.
    fn repository() -> Self {
        let bench = Self::plain();
        git(&bench.root(), &["init", "-q"]);
        bench.write("committed.txt", "committed\n");
        git(&bench.root(), &["add", "committed.txt"]);
        git(&bench.root(), &["commit", "-qm", "first"]);
        bench
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("home/checkpoints/w")
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("written");
    }

    fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.at(path)).expect("readable")
    }

    fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.at(path)).expect("removed");
    }

    fn link(&self, to: impl AsRef<Path>, path: impl AsRef<Path>) {
        std::os::unix::fs::symlink(to, self.at(path)).expect("linked");
    }

    async fn take(&self) -> String {
        tree(self.checkpoints.take(&self.root()).await)
    }

    async fn stat(&self, from: &str, to: &str) -> Vec<FileDiff> {
        self.checkpoints.stat(&self.root(), from, to).await.expect("a diff")
    }

    async fn diff(&self, from: &str, to: &str) -> Vec<FileDiff> {
        self.checkpoints.diff(&self.root(), from, to).await.expect("a diff")
    }

    async fn restore(&self, to: &str) -> super::Restored {
        self.checkpoints.restore(&self.root(), to).await.expect("restored")
    }

    /// The names in a tree.
    async fn names(&self, tree: &str) -> Vec<String> {
        let added = self.stat(&self.empty_tree().await, tree).await;
        added.into_iter().map(|file| file.path).collect()
    }

    async fn empty_tree(&self) -> String {
        let nothing = self.folder.path().join("nothing");
        fs::create_dir_all(&nothing).expect("a folder");
        tree(self.checkpoints.take(&nothing).await)
    }
}

/// The machine that runs the tests is busy: only the tests of the bounds have the product's patience.
fn patient() -> Bounds {
    Bounds { time: Duration::from_secs(60), ..Bounds::default() }
}

fn tree(taken: Taken) -> String {
    match taken {
        Taken::Tree { oid, .. } => oid,
        Taken::LeftOut { why } => panic!("left out: {why}"),
    }
}

fn left_out(taken: Taken) -> String {
    match taken {
        Taken::LeftOut { why } => why,
        Taken::Tree { oid, .. } => panic!("taken: {oid}"),
    }
}

/// The person's own git, with nothing of the machine's configuration.
#[expect(clippy::disallowed_methods, reason = "a test sets up repositories")]
fn git(cwd: &Path, args: &[&str]) -> String {
    let person = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"];
    let output = std::process::Command::new("git")
        .args(person)
        .args(args)
        .current_dir(cwd)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Everything below a folder: contents, links, modes and times, so that any write shows.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).expect("there");
        let content = if about.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            Vec::new()
        } else if about.is_symlink() {
            fs::read_link(&path).expect("a link").as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&path).expect("readable")
        };
        found.insert(path, (content, about.mode(), about.mtime(), about.mtime_nsec()));
    }
    found
}

fn changes(files: &[FileDiff]) -> Vec<(&str, &Change)> {
    files.iter().map(|file| (file.path.as_str(), &file.change)).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

fn raw_name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
