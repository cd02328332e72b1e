//! Rules: links between documents lead somewhere, the glossary holds exactly the vocabulary, and
//! ARCHITECTURE.md knows every crate.
//!
//! Owns the list of words ([`VOCABULARY`]): DESIGN fixes them, and adding one is a decision.
//! Refuses to fetch anything: links to other hosts are not checked.

use super::{Finding, Text};

pub(crate) const GLOSSARY: &str = "docs/glossary.md";
pub(crate) const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The words of the domain: the table of DESIGN §2, then the words that its sentences define.
const VOCABULARY: &[&str] = &[
    "Person",
    "Project",
    "Conversation",
    "Task",
    "Execution",
    "RuntimeSession",
    "Turn",
    "Item",
    "Input",
    "RouteDecision",
    "Approval",
    "Plan",
    "Handoff",
    "Checkpoint",
    "Delivery",
    "identity",
    "pairing",
    "progress message",
    "quiet hours",
    "digest",
    "platform",
    "gateway",
    "hook",
    "focus",
    "role",
    "role profile",
    "read-only",
    "confinement",
    "findings",
    "event",
    "command",
    "effect",
    "update",
    "lifecycle",
    "activity",
    "glance",
    "card",
    "timeline",
    "locale",
    "workspace lease",
    "worktree",
    "workspace change",
    "question",
    "budget",
    "rule",
    "allowance",
    "policy",
    "ruling",
    "native session",
    "keeper",
    "epoch",
    "spool",
    "mark",
    "not asked",
    "cursor",
];

/// Relative links of one Markdown file whose target is not there.
pub(crate) fn check_links(text: &Text, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let folder = text.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    links(&text.content)
        .into_iter()
        .filter(|(_, target)| is_relative(target))
        .filter_map(|(line, target)| {
            let bare = target.split(['#', '?']).next().unwrap_or_default();
            let resolved = resolve(folder, bare);
            let there = resolved.as_deref().is_some_and(&exists);
            (!there).then(|| {
                let what = format!("links to `{target}`, which is not there");
                Finding::error(&text.path, line, what, "correct the link or add the file")
            })
        })
        .collect()
}

/// The targets of inline links and of reference definitions, outside code.
fn links(content: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in content.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_none() {
            let prose = without_code(line);
            found.extend(inline_targets(&prose).into_iter().map(|target| (index + 1, target)));
            found.extend(definition(&prose).map(|target| (index + 1, target)));
        }
    }
    found
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

fn inline_targets(line: &str) -> Vec<String> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| {
            let target = rest.split(')').next()?.split_whitespace().next()?;
            Some(target.trim_matches(['<', '>']).to_owned())
        })
        .collect()
}

fn definition(line: &str) -> Option<String> {
    let (label, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    (!label.contains(']')).then(|| target.split_whitespace().next().map(str::to_owned))?
}

fn is_relative(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    let has_scheme = scheme.is_some_and(|s| !s.is_empty() && s.chars().all(char::is_alphanumeric));
    !has_scheme && !target.starts_with('#') && !target.is_empty()
}

/// The path from the workspace root; `None` when the link leaves the checkout.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { split(folder) };
    for part in split(target) {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// The glossary's tables hold each word of [`VOCABULARY`] once, with what to avoid, and no other.
pub(crate) fn check_glossary(content: Option<&str>) -> Vec<Finding> {
    let Some(content) = content else {
        return vec![missing(GLOSSARY, "write it: one table row per word of the vocabulary")];
    };
    let rows: Vec<(usize, String, String)> = content
        .lines()
        .enumerate()
        .filter_map(|(index, line)| term(line).map(|(word, avoid)| (index + 1, word, avoid)))
        .collect();
    let mut findings = Vec::new();
    for (line, word, avoid) in &rows {
        if !VOCABULARY.contains(&word.as_str()) {
            let what = format!("`{word}` is not a word of the vocabulary");
            let todo = "use the design's word, or add it to `VOCABULARY` in xtask/src/tidy/docs.rs";
            findings.push(Finding::error(GLOSSARY, *line, what, todo));
        }
        if rows.iter().any(|(other, same, _)| other < line && same == word) {
            let what = format!("`{word}` is explained twice");
            findings.push(Finding::error(GLOSSARY, *line, what, "keep one of the two rows"));
        }
        if avoid.is_empty() {
            let what = format!("`{word}` does not say which words to avoid");
            findings.push(Finding::error(GLOSSARY, *line, what, "fill the last column"));
        }
    }
    for word in VOCABULARY.iter().filter(|word| rows.iter().all(|(_, row, _)| row != *word)) {
        let what = format!("`{word}` is missing");
        findings.push(Finding::error(GLOSSARY, 1, what, "add a row for it"));
    }
    findings
}

/// A table row that explains a word starts with it in bold; its last cell is what to avoid.
fn term(line: &str) -> Option<(String, String)> {
    let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let word = cells.first()?.trim().strip_prefix("**")?.strip_suffix("**")?;
    let avoid = if cells.len() > 2 { cells.last()?.trim() } else { "" };
    Some((word.to_owned(), avoid.to_owned()))
}

/// Every crate folder is on the map.
pub(crate) fn check_architecture<'a>(content: Option<&str>, folders: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let Some(content) = content else {
        return vec![missing(ARCHITECTURE, "write it: a bird's-eye view, a code map, invariants")];
    };
    folders
        .filter(|folder| {
            let named = [format!("crates/{folder}"), format!("`{folder}`"), format!("**{folder}**")];
            !named.iter().any(|name| content.contains(name.as_str()))
        })
        .map(|folder| {
            let what = format!("does not mention `crates/{folder}`");
            Finding::error(ARCHITECTURE, 1, what, "put the crate on the code map")
        })
        .collect()
}

fn missing(path: &str, todo: &str) -> Finding {
    Finding::error(path, 1, "is missing".to_owned(), todo)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, content: &str) -> Vec<(usize, String)> {
        let text = Text { path: path.to_owned(), content: content.to_owned() };
        let there = ["README.md", "docs/glossary.md", "docs/adr"];
        check_links(&text, |path| there.contains(&path))
            .into_iter()
            .map(|finding| (finding.line, finding.what))
            .collect()
    }

    #[test]
    fn links_resolve_from_their_own_folder() {
        let content = "[a](../README.md) ![b](glossary.md#words) [c](adr/) [d](/README.md \"title\")";
        assert_eq!(broken("docs/index.md", content), []);
        assert_eq!(
            broken("docs/index.md", "one\n[a](README.md)"),
            [(2, "links to `README.md`, which is not there".to_owned())]
        );
    }

    #[test]
    fn a_link_out_of_the_checkout_is_broken() {
        assert_eq!(broken("README.md", "[a](../README.md)").len(), 1);
    }

    #[test]
    fn reference_definitions_are_links() {
        assert_eq!(broken("README.md", "[a]: gone.md\n[b]: docs/glossary.md").len(), 1);
    }

    #[test]
    fn other_hosts_anchors_and_code_are_left_alone() {
        let content =
            "[a](https://example.org/x) [b](#here) [c](mailto:a@b.c) `[d](gone.md)`\n```\n[e](gone.md)\n```\n";
        assert_eq!(broken("README.md", content), []);
    }

    fn glossary(words: &[&str]) -> String {
        words.iter().map(|word| format!("| **{word}** | is a thing | another word |\n")).collect()
    }

    fn faults(content: &str) -> Vec<String> {
        check_glossary(Some(content)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_glossary_is_exactly_the_vocabulary() {
        assert_eq!(faults(&glossary(VOCABULARY)), [""; 0]);
        assert_eq!(faults(&glossary(&VOCABULARY[1..])), ["`Person` is missing"]);
        let more = format!("{}| **Job** | x | y |\n", glossary(VOCABULARY));
        assert_eq!(faults(&more), ["`Job` is not a word of the vocabulary"]);
    }

    #[test]
    fn a_word_is_explained_once_and_says_what_to_avoid() {
        let twice = format!("{}| **Task** | again | job |\n", glossary(VOCABULARY));
        assert_eq!(faults(&twice), ["`Task` is explained twice"]);
        let bare = format!("{}| **Person** | who |  |\n", glossary(&VOCABULARY[1..]));
        assert_eq!(faults(&bare), ["`Person` does not say which words to avoid"]);
    }

    #[test]
    fn every_crate_is_on_the_map() {
        let map = "`model` is pure. See crates/store.";
        let found = check_architecture(Some(map), ["model", "store", "acp"].into_iter());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "does not mention `crates/acp`");
    }

    #[test]
    fn missing_documents_are_found() {
        assert_eq!(check_glossary(None)[0].path, GLOSSARY);
        assert_eq!(check_architecture(None, std::iter::empty())[0].path, ARCHITECTURE);
    }
}
