//! The ratchet: what is over its size today may shrink, never grow, and nothing new joins silently.
//!
//! Owns the meaning of `xtask/tidy.toml`. Every entry names a reason; an entry that nothing needs
//! any more is itself a finding, so that the file only ever tells the truth.

use serde::Deserialize;

use super::sizes::{Measure, Oversize};
use super::{Finding, Text};

pub(crate) const PATH: &str = "xtask/tidy.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ratchet {
    #[serde(default)]
    allow: Vec<Allowance>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    measure: Measure,
    path: String,
    /// Empty for a file.
    #[serde(default)]
    name: String,
    size: usize,
    reason: String,
}

impl Allowance {
    fn covers(&self, oversize: &Oversize) -> bool {
        self.measure == oversize.measure && self.path == oversize.path && self.name == oversize.name
    }

    fn subject(&self) -> String {
        subject(&self.path, &self.name)
    }
}

pub(crate) fn check(oversized: &[Oversize], ratchet: &Text) -> Vec<Finding> {
    let parsed: Ratchet = match toml::from_str(&ratchet.content) {
        Ok(parsed) => parsed,
        Err(error) => {
            let what = format!("cannot be read: {}", error.message());
            let todo = "each [[allow]] has measure, path, name (not for files), size and reason";
            return vec![Finding::error(&ratchet.path, 1, what, todo)];
        }
    };
    let mut findings: Vec<Finding> = oversized.iter().filter_map(|oversize| judge(oversize, &parsed.allow)).collect();
    for (index, allowance) in parsed.allow.iter().enumerate() {
        let line = line_of_entry(&ratchet.content, index);
        findings.extend(judge_entry(allowance, oversized, &ratchet.path, line));
    }
    findings
}

fn judge(oversize: &Oversize, allowed: &[Allowance]) -> Option<Finding> {
    let Oversize { measure, path, name, line, size } = oversize;
    let (limit, unit) = (measure.limit(), measure.unit());
    let subject = if name.is_empty() { "the file".to_owned() } else { format!("`{name}`") };
    let entry = allowed.iter().find(|allowance| allowance.covers(oversize));
    if oversize.is_soft() {
        let what = format!("{subject} has {size} {unit}, more than is easy to read ({limit} is the end)");
        return Some(Finding::warning(path, *line, what, "think of a second file before it grows"));
    }
    match entry {
        Some(entry) if *size <= entry.size => None,
        Some(entry) => Some(Finding::error(
            path,
            *line,
            format!("{subject} grew to {size} {unit}; {PATH} holds it at {}", entry.size),
            "split it: an exception may shrink, never grow",
        )),
        None => Some(Finding::error(
            path,
            *line,
            format!("{subject} has {size} {unit}, more than {limit}"),
            &format!(
                "split it; if that makes the code worse, argue for an [[allow]] in {PATH} \
                 (measure = \"{}\")",
                measure.key()
            ),
        )),
    }
}

fn judge_entry(entry: &Allowance, oversized: &[Oversize], path: &str, line: usize) -> Option<Finding> {
    let subject = entry.subject();
    if entry.reason.trim().is_empty() {
        let what = format!("the exception for {subject} gives no reason");
        return Some(Finding::error(path, line, what, "say why splitting would make it worse"));
    }
    let now = oversized.iter().find(|oversize| entry.covers(oversize) && !oversize.is_soft());
    match now {
        None => Some(Finding::error(
            path,
            line,
            format!("the exception for {subject} is no longer needed"),
            "delete the entry",
        )),
        Some(now) if now.size < entry.size => Some(Finding::warning(
            path,
            line,
            format!("{subject} shrank from {} to {}", entry.size, now.size),
            &format!("write size = {}, so that it stays there", now.size),
        )),
        Some(_) => None,
    }
}

fn subject(path: &str, name: &str) -> String {
    if name.is_empty() { format!("`{path}`") } else { format!("`{name}` in {path}") }
}

fn line_of_entry(content: &str, index: usize) -> usize {
    let mut headers = content.lines().enumerate().filter(|(_, line)| line.trim() == "[[allow]]");
    headers.nth(index).map_or(1, |(line, _)| line + 1)
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    fn oversize(size: usize) -> Oversize {
        Oversize { measure: Measure::FunctionLines, path: "a.rs".to_owned(), name: "grow".to_owned(), line: 7, size }
    }

    fn entry(size: usize, reason: &str) -> String {
        format!(
            "# why\n[[allow]]\nmeasure = \"function-lines\"\npath = \"a.rs\"\nname = \"grow\"\nsize = {size}\nreason = \"{reason}\"\n"
        )
    }

    fn judged(oversized: &[Oversize], ratchet: &str) -> Vec<(Severity, usize, String)> {
        let text = Text { path: PATH.to_owned(), content: ratchet.to_owned() };
        check(oversized, &text).into_iter().map(|f| (f.severity, f.line, f.what)).collect()
    }

    #[test]
    fn what_is_over_and_not_listed_is_found() {
        assert_eq!(judged(&[oversize(71)], ""), [(Severity::Error, 7, "`grow` has 71 lines, more than 70".to_owned())]);
    }

    #[test]
    fn an_exception_holds_at_its_size_and_not_above() {
        assert_eq!(judged(&[oversize(90)], &entry(90, "a table")), []);
        let grown = judged(&[oversize(91)], &entry(90, "a table"));
        assert_eq!(grown[0].2, "`grow` grew to 91 lines; xtask/tidy.toml holds it at 90");
    }

    #[test]
    fn an_exception_that_could_be_tighter_is_mentioned() {
        let shrunk = judged(&[oversize(80)], &entry(90, "a table"));
        assert_eq!((shrunk[0].0, shrunk[0].1), (Severity::Warning, 2));
    }

    #[test]
    fn an_exception_without_need_or_reason_is_found() {
        assert!(judged(&[], &entry(90, "a table"))[0].2.ends_with("is no longer needed"));
        assert!(judged(&[oversize(90)], &entry(90, " "))[0].2.ends_with("gives no reason"));
    }

    #[test]
    fn the_soft_limit_of_files_only_warns() {
        let file = Oversize { measure: Measure::FileLines, name: String::new(), ..oversize(600) };
        assert_eq!(judged(&[file], "")[0].0, Severity::Warning);
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(judged(&[], "[[allow]]\nfile = \"a\"")[0].2.starts_with("cannot be read"));
    }
}
