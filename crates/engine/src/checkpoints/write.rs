//! Writing into a workspace: byte exact, one file at a time, each replaced in one step.
//!
//! Every step goes through folder handles that are opened without following symbolic links.
//!
//! **Invariant:** nothing outside the root is touched, whatever links stand in it, and no nested repository, no `.git`
//! and no folder with something in it is ever removed or replaced.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::place::repository;
use super::raw::{GITLINK, SYMLINK};

/// What came of one step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is as it should be.
    Done,
    /// It was left as it is; why, in words.
    Kept(&'static str),
}

const IN_NESTED: &str = "it is inside a nested repository";
const NOT_A_FOLDER: &str = "something that is not in the checkpoint stands in its way";
const RESERVED: &str = "its name is not one that a workspace can have";

/// One workspace, open for writing.
#[derive(Debug)]
pub(super) struct Writer {
    root: PathBuf,
    handle: OwnedFd,
}

/// What to do about folders that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Stop,
}

enum Parent {
    Open(OwnedFd),
    Absent,
    Blocked(&'static str),
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Writer {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let handle = rustix::fs::openat(CWD, root, FOLDER, Mode::empty())?;
        Ok(Self { root: root.to_owned(), handle })
    }

    /// Puts an entry of a tree in its place.
    pub(super) fn put(&self, path: &[u8], mode: u32, content: &[u8]) -> io::Result<Step> {
        let Some((folders, name)) = parts(path) else { return Ok(Step::Kept(RESERVED)) };
        let parent = match self.parent(&folders, Missing::Make)? {
            Parent::Open(parent) => parent,
            Parent::Absent => return Err(io::Error::from(io::ErrorKind::NotFound)),
            Parent::Blocked(why) => return Ok(Step::Kept(why)),
        };
        if mode == GITLINK {
            // A nested repository is not ours to fill: its folder stands for it, as in a clone.
            return match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => Ok(Step::Done),
                Err(error) => Err(error.into()),
            };
        }
        let there = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kind = there.as_ref().map(|about| FileType::from_raw_mode(about.st_mode));
        let present_mode =
            there.filter(|_| kind == Some(FileType::RegularFile)).map(|about| Mode::from_raw_mode(about.st_mode));
        let fresh = OsStr::new(".throughline-restoring");
        let _ = rustix::fs::unlinkat(&parent, fresh, AtFlags::empty());
        let written = match mode {
            SYMLINK => rustix::fs::symlinkat(OsStr::from_bytes(content), &parent, fresh).map_err(io::Error::from),
            mode => write_file(&parent, fresh, mode, present_mode, content),
        };
        let placed = written.and_then(|()| Ok(rustix::fs::renameat(&parent, fresh, &parent, name)?));
        if let Err(error) = placed {
            let _ = rustix::fs::unlinkat(&parent, fresh, AtFlags::empty());
            let folder_there = kind == Some(FileType::Directory);
            return if folder_there { Ok(Step::Kept(NOT_A_FOLDER)) } else { Err(error) };
        }
        Ok(Step::Done)
    }

    /// Removes a file or a link, and the folders that this leaves empty. Never a folder with something in it.
    pub(super) fn remove(&self, path: &[u8]) -> io::Result<Step> {
        let Some((mut folders, name)) = parts(path) else { return Ok(Step::Kept(RESERVED)) };
        let parent = match self.parent(&folders, Missing::Stop)? {
            Parent::Open(parent) => parent,
            Parent::Absent => return Ok(Step::Done),
            Parent::Blocked(why) => return Ok(Step::Kept(why)),
        };
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => return Ok(Step::Kept(NOT_A_FOLDER)),
            Err(error) => return Err(error.into()),
        }
        while let Some(folder) = folders.pop() {
            let Parent::Open(parent) = self.parent(&folders, Missing::Stop)? else { break };
            if rustix::fs::unlinkat(&parent, folder, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(Step::Done)
    }

    fn parent(&self, folders: &[&OsStr], missing: Missing) -> io::Result<Parent> {
        let mut handle = self.handle.try_clone()?;
        let mut path = self.root.clone();
        for folder in folders {
            path.push(folder);
            let mut opened = rustix::fs::openat(&handle, *folder, FOLDER, Mode::empty());
            if matches!(opened, Err(Errno::NOENT)) && missing == Missing::Make {
                rustix::fs::mkdirat(&handle, *folder, Mode::from_raw_mode(0o777))?;
                opened = rustix::fs::openat(&handle, *folder, FOLDER, Mode::empty());
            }
            handle = match opened {
                Ok(opened) => opened,
                Err(Errno::NOENT) => return Ok(Parent::Absent),
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Parent::Blocked(NOT_A_FOLDER)),
                Err(error) => return Err(error.into()),
            };
            if repository(&path).is_some() {
                return Ok(Parent::Blocked(IN_NESTED));
            }
        }
        Ok(Parent::Open(handle))
    }
}

/// What is in the way of an entry before anything is done, given what will be `leaving` and what is `known` to the
/// checkpoint of the present state: everything else is only here, and stays.
pub(super) fn obstacle(
    root: &Path,
    path: &[u8],
    leaving: &dyn Fn(&[u8]) -> bool,
    known: &dyn Fn(&[u8]) -> bool,
) -> Option<&'static str> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    for folder in slashes.map(|(end, _)| &path[..end]) {
        let at = root.join(OsStr::from_bytes(folder));
        match std::fs::symlink_metadata(&at) {
            Err(_) => return None,
            Ok(about) if !about.is_dir() => return (!leaving(folder)).then_some(NOT_A_FOLDER),
            Ok(_) if repository(&at).is_some() => return Some(IN_NESTED),
            Ok(_) => {}
        }
    }
    let at = root.join(OsStr::from_bytes(path));
    match std::fs::symlink_metadata(&at) {
        Err(_) => None,
        Ok(about) if about.is_dir() => (!all_leaving(&at, path, leaving)).then_some(NOT_A_FOLDER),
        Ok(_) => (!known(path)).then_some("it is there but in no checkpoint, so it could not be brought back"),
    }
}

fn all_leaving(at: &Path, path: &[u8], leaving: &dyn Fn(&[u8]) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(at) else { return false };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let below = [path, b"/", entry.file_name().as_bytes()].concat();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all_leaving(&entry.path(), &below, leaving),
            Ok(_) => leaving(&below),
            Err(_) => false,
        }
    })
}

fn write_file(parent: &OwnedFd, name: &OsStr, mode: u32, present: Option<Mode>, content: &[u8]) -> io::Result<()> {
    let executable = mode & 0o111 != 0;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Private until it is complete if what it replaces is private; otherwise as the umask says.
    let create = match present {
        Some(_) => 0o600,
        None if executable => 0o777,
        None => 0o666,
    };
    let mut file = File::from(rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(create))?);
    file.write_all(content)?;
    if let Some(present) = present {
        // Git knows one permission; the others stay as the person set them.
        let mut wanted = present & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        for (read, execute) in [(Mode::RUSR, Mode::XUSR), (Mode::RGRP, Mode::XGRP), (Mode::ROTH, Mode::XOTH)] {
            if !executable {
                wanted.remove(execute);
            } else if wanted.contains(read) {
                wanted.insert(execute);
            }
        }
        rustix::fs::fchmod(&file, wanted)?;
    }
    Ok(())
}

/// The folders and the name of a path, if each is a name that a workspace can have.
fn parts(path: &[u8]) -> Option<(Vec<&OsStr>, &OsStr)> {
    let fits = |name: &&[u8]| !matches!(*name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git");
    let mut names: Vec<&OsStr> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        names.push(OsStr::from_bytes(Some(name).filter(fits)?));
    }
    let name = names.pop()?;
    Some((names, name))
}
