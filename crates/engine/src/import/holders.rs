//! Who may have a native session open: a process with its file open, one of that agent in its folder, or a fresh write.
//!
//! A look, not a lock: agents open their files only while they write. Processes of our own keepers are left out, because
//! the record knows of those.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use throughline_model::time::Timestamp;

/// A file that was written to so lately may still be in use.
const FRESH_MILLIS: u64 = 60_000;

/// The processes that this user may look at.
#[derive(Default)]
pub(super) struct Holders {
    open: HashMap<PathBuf, i32>,
    working: Vec<Working>,
}

struct Working {
    pid: i32,
    folder: PathBuf,
    /// The names of its program and script.
    names: Vec<String>,
}

impl Holders {
    /// Looks at all processes once.
    pub(super) fn look() -> Self {
        let mut holders = Self::default();
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
            let pid: Option<i32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.filter(|pid| *pid != own) {
                holders.add(pid, &entry.path());
            }
        }
        holders
    }

    fn add(&mut self, pid: i32, proc: &Path) {
        let marker = format!("{}=", throughline_keeper::MARKER);
        let environment = fs::read(proc.join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(marker.as_bytes())) {
            return;
        }
        for fd in fs::read_dir(proc.join("fd")).into_iter().flatten().filter_map(Result::ok) {
            if let Ok(path) = fs::read_link(fd.path())
                && path.extension().is_some_and(|extension| extension == "jsonl")
            {
                self.open.insert(path, pid);
            }
        }
        if let Ok(folder) = fs::read_link(proc.join("cwd")) {
            let line = fs::read(proc.join("cmdline")).unwrap_or_default();
            let words = line.split(|byte| *byte == 0).take(2).map(String::from_utf8_lossy);
            let names = words.filter_map(|word| Some(Path::new(&*word).file_name()?.to_string_lossy().into_owned()));
            self.working.push(Working { pid, folder, names: names.collect() });
        }
    }

    /// Why another process may have this session, in words.
    pub(super) fn warning(
        &self,
        file: &Path,
        folder: &Path,
        programs: &[&str],
        updated_at: Timestamp,
        now: Timestamp,
    ) -> Option<String> {
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if let Some(pid) = self.open.get(&file) {
            return Some(format!("process {pid} has it open"));
        }
        let runs = |working: &&Working| {
            working.folder == folder && working.names.iter().any(|name| programs.contains(&name.as_str()))
        };
        if let Some(working) = self.working.iter().find(runs) {
            let name = working.names.first().map_or("a process", String::as_str);
            return Some(format!("process {} ({name}) runs in its folder", working.pid));
        }
        let age = now.millis_since(updated_at);
        (age < FRESH_MILLIS).then(|| format!("it was written to {} s ago", age / 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_have_it_is_named() {
        let (file, folder) = (Path::new("/s/a.jsonl"), Path::new("/shop"));
        let now = Timestamp::from_millis(10_000_000);
        let old = Timestamp::from_millis(0);
        let mut holders = Holders::default();
        let warning = |holders: &Holders, at| holders.warning(file, folder, &["codex"], at, now);
        assert_eq!(warning(&holders, old), None);
        assert_eq!(warning(&holders, Timestamp::from_millis(9_990_000)).as_deref(), Some("it was written to 10 s ago"));
        let names = vec!["node".to_owned(), "codex".to_owned()];
        holders.working.push(Working { pid: 7, folder: folder.to_owned(), names });
        assert_eq!(warning(&holders, old).as_deref(), Some("process 7 (node) runs in its folder"));
        holders.open.insert(file.to_owned(), 9);
        assert_eq!(warning(&holders, old).as_deref(), Some("process 9 has it open"));
    }
}
