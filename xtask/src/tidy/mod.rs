//! `cargo xtask tidy`: the rules of STYLE.md that a machine can check.
//!
//! Owns the walk over the checkout and the report. Each rule is a pure function in its own module,
//! from file contents to [`Finding`]s, so that it is tested without a checkout. One run reports
//! everything; a [`Severity::Warning`] never fails it. Refuses to fix anything: it only says what to do.

mod docs;
mod header;
mod layers;
mod names;
mod platforms;
mod ratchet;
mod sizes;
mod sleeps;
mod source;
mod unfinished;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Verdict;
use crate::run::Call;
use source::Source;

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// One broken rule: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// Relative to the workspace root.
    pub(crate) path: String,
    /// 1-based; 1 where the finding is about the whole file.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) todo: String,
}

impl Finding {
    pub(crate) fn error(path: &str, line: usize, what: String, todo: &str) -> Self {
        Self { severity: Severity::Error, path: path.to_owned(), line: line.max(1), what, todo: todo.to_owned() }
    }

    pub(crate) fn warning(path: &str, line: usize, what: String, todo: &str) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, what, todo) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}:{}: {}\n    → {}", self.path, self.line, self.what, self.todo)
    }
}

/// A text file of the checkout.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// Workspace members that are no part of the product.
const TOPS: &[&str] = &["bench", "xtask"];

/// Checks the checkout at `root` and prints the report.
pub(crate) fn run(root: &Path) -> Result<Verdict> {
    let findings = check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
    let warnings = findings.len() - errors;
    println!("tidy: {errors} error(s), {warnings} warning(s)");
    Ok(if errors == 0 { Verdict::Clean } else { Verdict::Findings })
}

fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let manifests = manifests(root)?;
    findings.extend(layers::check(&manifests));
    let platforms = platforms(root)?;
    let mut oversized = Vec::new();
    for text in rust_files(root)? {
        findings.extend(header::check(&text));
        match Source::parse(&text) {
            Ok(source) => {
                findings.extend(names::check(&source));
                findings.extend(platforms::check(&source, &platforms));
                findings.extend(unfinished::check(&source));
                findings.extend(sleeps::check(&source));
                oversized.extend(sizes::check(&source));
            }
            Err(error) => findings.push(Finding::error(
                &text.path,
                error.span().start().line,
                format!("is not valid Rust: {error}"),
                "make it compile",
            )),
        }
    }
    findings.extend(ratchet::check(&oversized, &read(root, ratchet::PATH)?));
    findings.extend(check_docs(root, &manifests)?);
    findings.sort_by(|a, b| (a.severity, &a.path, a.line).cmp(&(b.severity, &b.path, b.line)));
    Ok(findings)
}

fn check_docs(root: &Path, manifests: &[Text]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for text in markdown_files(root)? {
        findings.extend(docs::check_links(&text, |path| root.join(path).exists()));
    }
    findings.extend(docs::check_glossary(read_if_there(root, docs::GLOSSARY)?.as_deref()));
    let architecture = read_if_there(root, docs::ARCHITECTURE)?;
    let folders = manifests
        .iter()
        .filter_map(|text| text.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")));
    findings.extend(docs::check_architecture(architecture.as_deref(), folders));
    Ok(findings)
}

fn read(root: &Path, path: &str) -> Result<Text> {
    let content = fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))?;
    Ok(Text { path: path.to_owned(), content })
}

fn read_if_there(root: &Path, path: &str) -> Result<Option<String>> {
    if !root.join(path).exists() {
        return Ok(None);
    }
    read(root, path).map(|text| Some(text.content))
}

/// The manifests of all workspace members, in path order.
fn manifests(root: &Path) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    for folder in sorted_entries(&root.join("crates"))? {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            texts.push(read(root, &relative(root, &manifest))?);
        }
    }
    for top in TOPS {
        texts.push(read(root, &format!("{top}/Cargo.toml"))?);
    }
    Ok(texts)
}

/// The names of the chat platforms: those of their folders.
fn platforms(root: &Path) -> Result<Vec<String>> {
    let entries = sorted_entries(&root.join(platforms::FOLDER))?;
    let folders = entries.iter().filter(|path| path.is_dir());
    Ok(folders.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
}

fn rust_files(root: &Path) -> Result<Vec<Text>> {
    let mut paths = Vec::new();
    for top in ["crates"].iter().chain(TOPS) {
        walk(&root.join(top), &mut paths)?;
    }
    paths.iter().map(|path| read(root, &relative(root, path))).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for path in sorted_entries(folder)? {
        if path.is_dir() {
            if !path.ends_with("target") {
                walk(&path, found)?;
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>())
        .with_context(|| format!("could not list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Markdown files that git knows or would add. Asking git keeps `node_modules` and build output out
/// without a second list of what is ignored.
fn markdown_files(root: &Path) -> Result<Vec<Text>> {
    let listed = Call::program("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"])
        .output(root)?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.retain(|path| root.join(path).is_file());
    paths.into_iter().map(|path| read(root, path)).collect()
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_place_the_fault_and_the_remedy() {
        let finding = Finding::error("a.rs", 3, "is wrong".to_owned(), "put it right");
        assert_eq!(finding.to_string(), "error: a.rs:3: is wrong\n    → put it right");
    }

    #[test]
    fn a_finding_about_a_whole_file_points_at_its_first_line() {
        assert_eq!(Finding::warning("a.rs", 0, String::new(), "").line, 1);
    }
}
