//! Files that somebody asks for in a chat: `/file PATH` of a task's workspace, and `/diff [KEY]`, what a task changed.
//!
//! **Invariants:** only a member of the task's project gets one. A path is followed folder by folder from the root of the
//! workspace and never through a link, so that nothing else can be read; what holds secrets by its name is not sent; the
//! rest is masked when it leaves ([`crate::parcel`]).

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use throughline_channels::Update;
use throughline_model::command::Command;
use throughline_model::content::NamedBlob;
use throughline_model::conversation::ConversationCommand;
use throughline_model::delivery::Delivery;
use throughline_model::ids::{DeliveryId, TaskId};
use throughline_model::present::Locale;
use throughline_model::stream::StreamId;
use throughline_model::task::Task;

use super::Gateway;
use super::order::{self, Heard};
use crate::core::Request;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::parcel;

/// What somebody wants to have.
pub(super) enum Wish<'a> {
    /// A file of the workspace.
    File(&'a str),
    /// What the task with this key changed; the one in focus if none is named.
    Diff(&'a str),
}

impl<'a> Wish<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        match order::command(text.trim())? {
            ("file", path) => Some(Wish::File(path)),
            ("diff", key) => Some(Wish::Diff(key)),
            _ => None,
        }
    }
}

/// A file as it was found.
struct Found {
    task: TaskId,
    name: String,
    mime: &'static str,
    bytes: Vec<u8>,
}

/// Why a file of a workspace is not sent.
#[derive(Debug, PartialEq, Eq)]
enum NotSent {
    Absent,
    TooLarge,
    Secret,
}

impl Gateway {
    /// Gives what was asked for, or says why not; once.
    pub(super) async fn hand_out(
        &self,
        heard: &Heard<'_>,
        update: &Update,
        message: &str,
        wish: Wish<'_>,
    ) -> Result<(), EngineError> {
        let most = self.account.channel.abilities().max_upload_bytes;
        if most == 0 {
            let words = self.engine.locale(heard.person).await?.no_files_here();
            return self.answer(heard.conversation, update, words, None).await;
        }
        let found = match self.engine.wished(heard, wish, most).await? {
            Ok(found) => found,
            Err(words) => return self.answer(heard.conversation, update, words, None).await,
        };
        let blob = self.engine.store().put_blob(found.bytes).await?;
        let file = NamedBlob { name: found.name, mime: found.mime.to_owned(), blob };
        let id = DeliveryId::derive(uuid::Uuid::nil(), &update.key);
        let delivery = Delivery::file(id, file, found.task, message, self.engine.now());
        let command = Command::Conversation(ConversationCommand::Deliver { delivery });
        let commands = vec![(StreamId::Conversation(heard.conversation), command)];
        let inbox = Some(self.entry(heard.conversation, update));
        self.execute(Request { commands, inbox, ..Request::default() }).await
    }
}

impl Engine {
    async fn wished(&self, heard: &Heard<'_>, wish: Wish<'_>, most: u64) -> Result<Result<Found, String>, EngineError> {
        let locale = self.locale(heard.person).await?;
        let (Wish::File(named) | Wish::Diff(named)) = wish;
        let key = if matches!(wish, Wish::Diff(_)) { named } else { "" };
        let focus = self.meant_task(heard).await?;
        let task = match self.named_task(heard.person, key, focus, locale).await? {
            Ok(task) => task,
            Err(words) => return Ok(Err(words)),
        };
        let known = self.task(task).await?;
        let projects = self.projects_of(heard.person).await?;
        let Some(known) = known.filter(|known| projects.iter().any(|project| project.id == known.project)) else {
            return Ok(Err(locale.no_task_here()));
        };
        match wish {
            Wish::File(path) => Ok(self.file_of(locale, &known, path, most).await),
            Wish::Diff(_) => self.diff_of(locale, &known, most).await,
        }
    }

    async fn file_of(&self, locale: Locale, task: &Task, path: &str, most: u64) -> Result<Found, String> {
        if path.is_empty() {
            return Err(locale.file_which());
        }
        let (root, wanted, mask) =
            (PathBuf::from(&task.site.root), PathBuf::from(path), self.config().mask(&self.inner.channels));
        let reading = tokio::task::spawn_blocking(move || {
            let bytes = read(&root, &wanted, most)?;
            let text = std::str::from_utf8(&bytes).is_ok();
            // Of text the secrets are left out when it leaves; in anything else they cannot be.
            if !text && parcel::masked(&mask, bytes.clone()).is_none() {
                return Err(NotSent::Secret);
            }
            Ok((bytes, if text { "text/plain" } else { "application/octet-stream" }))
        });
        match reading.await.unwrap_or(Err(NotSent::Absent)) {
            Ok((bytes, mime)) => {
                let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
                Ok(Found { task: task.id, name, mime, bytes })
            }
            Err(NotSent::Absent) => Err(locale.file_not_there(path)),
            Err(NotSent::TooLarge) => Err(locale.file_too_large(path, most >> 20)),
            Err(NotSent::Secret) => Err(locale.file_secret(path)),
        }
    }

    async fn diff_of(&self, locale: Locale, task: &Task, most: u64) -> Result<Result<Found, String>, EngineError> {
        let changes = self.changes(task.id, None).await?;
        if let Some(why) = changes.left_out {
            return Ok(Err(format!("{} ({why})", locale.nothing_changed(&task.key))));
        }
        let mut text = String::new();
        for file in &changes.files {
            match &file.patch {
                Some(patch) => text.push_str(patch),
                None => text.push_str(&format!("Binary or large file {}: {:?}\n", file.path, file.change)),
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if text.is_empty() {
            return Ok(Err(locale.nothing_changed(&task.key)));
        }
        let name = format!("{}.diff", task.key);
        if text.len() as u64 > most {
            return Ok(Err(locale.file_too_large(name, most >> 20)));
        }
        Ok(Ok(Found { task: task.id, name, mime: "text/x-diff", bytes: text.into_bytes() }))
    }
}

/// Reads a file of a workspace.
fn read(root: &Path, path: &Path, most: u64) -> Result<Vec<u8>, NotSent> {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut parts = vec![];
    for part in inside.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(NotSent::Absent),
        }
    }
    if parts.iter().any(|name| is_secret(name)) {
        return Err(NotSent::Secret);
    }
    let name = parts.pop().ok_or(NotSent::Absent)?;
    let common = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let absent = |_| NotSent::Absent;
    // The root itself may be reached through links: it is where the person's project is.
    let start = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(root, start, Mode::empty()).map_err(absent)?;
    for part in parts {
        folder = rustix::fs::openat(&folder, part, common | OFlags::DIRECTORY, Mode::empty()).map_err(absent)?;
    }
    // Not blocking, so that a pipe that nobody writes to does not hold anybody up.
    let file = rustix::fs::openat(&folder, name, common | OFlags::NONBLOCK, Mode::empty()).map_err(absent)?;
    let about = rustix::fs::fstat(&file).map_err(absent)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(NotSent::Absent);
    }
    let mut bytes = vec![];
    let read = std::fs::File::from(file).take(most + 1).read_to_end(&mut bytes);
    match read {
        // Neither platform takes an empty file.
        Ok(0) | Err(_) => Err(NotSent::Absent),
        Ok(_) if bytes.len() as u64 > most => Err(NotSent::TooLarge),
        Ok(_) => Ok(bytes),
    }
}

/// Whether a file or folder is there to hold secrets, by its name.
fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let sample = [".example", ".sample", ".template"].iter().any(|end| name.ends_with(end));
    (name.starts_with(".env") && !sample)
        || [".git", ".ssh", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "id_ecdsa"].contains(&name.as_str())
        || [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_plain_files_of_the_workspace_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("shop"), folder.path().join("outside"));
        for dir in [&root, &outside, &root.join("src"), &root.join(".git")] {
            std::fs::create_dir(dir).unwrap();
        }
        std::fs::write(root.join("src/a.rs"), "fn a() {}").unwrap();
        std::fs::write(root.join("empty"), "").unwrap();
        std::fs::write(outside.join("passwd"), "root").unwrap();
        std::fs::write(root.join(".git/config"), "x").unwrap();
        std::fs::write(root.join(".env"), "x").unwrap();
        std::fs::write(root.join(".env.example"), "KEY=").unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("../outside/passwd", root.join("link")).unwrap();
        symlink("src/a.rs", root.join("alias")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let read = |path: &str| super::read(&root, Path::new(path), 9);
        let whole = root.join("src/a.rs");
        for path in ["src/a.rs", "./src/./a.rs", whole.to_str().unwrap()] {
            assert_eq!(read(path).as_deref(), Ok(&b"fn a() {}"[..]), "{path}");
        }
        let passwd = outside.join("passwd");
        let absent =
            ["src", "", ".", "src/b.rs", "../outside/passwd", "src/../../outside/passwd", "out/passwd", "link"];
        for path in absent.into_iter().chain(["alias", "pipe", "empty", "/etc/passwd", passwd.to_str().unwrap()]) {
            assert_eq!(read(path), Err(NotSent::Absent), "{path}");
        }
        for path in [".git/config", ".env", ".ENV.local", "keys/server.pem", ".ssh/known", "id_rsa"] {
            assert_eq!(read(path), Err(NotSent::Secret), "{path}");
        }
        assert!(read(".env.example").is_ok());
        assert_eq!(super::read(&root, Path::new("src/a.rs"), 8), Err(NotSent::TooLarge));
    }
}
