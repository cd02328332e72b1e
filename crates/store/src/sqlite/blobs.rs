//! Blobs: bytes under the name of their SHA-256, in files of their own.
//!
//! Invariants:
//! - a blob has its name only when all its bytes are on disk, and its name is on disk before anyone is answered;
//! - a blob is never written over, and what is read is checked against its name (P12).

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use throughline_model::content::BlobRef;
use throughline_model::time::Timestamp;

use super::error::at_path;
use super::schema::sync_folder;
use crate::port::{BlobSweep, StoreError, SweepMode, Swept};

/// The blob store of a home.
#[derive(Debug)]
pub(super) struct Blobs {
    root: PathBuf,
    unfinished: PathBuf,
    written: AtomicU64,
}

impl Blobs {
    /// Opens the store; what an earlier process left unfinished is removed. The home must be claimed.
    pub(super) fn open(home: &Path) -> Result<Self, StoreError> {
        let root = home.join("blobs");
        let unfinished = root.join("unfinished");
        make_folder(&unfinished)?;
        for entry in fs::read_dir(&unfinished).map_err(at_path(&unfinished))? {
            let path = entry.map_err(at_path(&unfinished))?.path();
            fs::remove_file(&path).map_err(at_path(&path))?;
        }
        Ok(Self { root, unfinished, written: AtomicU64::new(0) })
    }

    /// Puts bytes in place, durably.
    pub(super) fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let sha256 = hex::encode(Sha256::digest(bytes));
        let blob = BlobRef { bytes: bytes.len() as u64, sha256 };
        let (folder, path) = self.place(&blob.sha256);
        let there = fs::metadata(&path).is_ok_and(|known| known.len() == blob.bytes);
        if there {
            touch(&path)?;
        } else {
            make_folder(&folder)?;
            self.write(&path, bytes)?;
        }
        // Also for one that was there: who wrote it may have died before its name was on disk.
        sync_folder(&folder)?;
        sync_folder(&self.root)?;
        Ok(blob)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let partial = self.unfinished.join(self.written.fetch_add(1, Ordering::Relaxed).to_string());
        let written = File::options().write(true).create_new(true).mode(0o600).open(&partial).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&partial, path)
        });
        if written.is_err() {
            // The cause is what matters; a leftover goes when the store is opened next.
            let _ = fs::remove_file(&partial);
        }
        written.map_err(at_path(path))
    }

    /// The bytes under a name.
    pub(super) fn get(&self, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
        // A name that is not a digest is no blob's, and must not become a path.
        if sha256.len() != 64 || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(None);
        }
        let (_, path) = self.place(sha256);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at_path(&path)(error)),
        };
        if hex::encode(Sha256::digest(&bytes)) != sha256 {
            return Err(StoreError::Corrupt(format!("blob {} is not what its name says", path.display())));
        }
        Ok(Some(bytes))
    }

    /// Removes what nobody names, or counts it.
    pub(super) fn sweep(&self, sweep: &BlobSweep) -> Result<Swept, StoreError> {
        let mut swept = Swept::default();
        for (folder, first) in entries(&self.root)? {
            if first.len() != 2 {
                continue;
            }
            for (path, rest) in entries(&folder)? {
                // A blob that was put again meanwhile, or is gone, is none of ours.
                let Ok(about) = fs::metadata(&path) else { continue };
                let fresh = written_at(&about) >= sweep.before;
                if fresh || sweep.keep.contains(&format!("{first}{rest}")) {
                    continue;
                }
                if sweep.mode == SweepMode::Remove {
                    fs::remove_file(&path).map_err(at_path(&path))?;
                }
                swept.count += 1;
                swept.bytes += about.len();
            }
        }
        Ok(swept)
    }

    fn place(&self, sha256: &str) -> (PathBuf, PathBuf) {
        let (first, rest) = sha256.split_at(2);
        let folder = self.root.join(first);
        let path = folder.join(rest);
        (folder, path)
    }
}

/// A blob that is put again counts as new: whoever put it is about to name it.
#[expect(clippy::disallowed_methods, reason = "a file's time is the system's, and no decision is made of it here")]
fn touch(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| file.set_modified(SystemTime::now())).map_err(at_path(path))
}

fn written_at(about: &fs::Metadata) -> Timestamp {
    let since = about.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// What a folder holds, with names.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, StoreError> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(at_path(folder))? {
        let entry = entry.map_err(at_path(folder))?;
        found.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
    }
    Ok(found)
}

fn make_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at_path(path))
}
