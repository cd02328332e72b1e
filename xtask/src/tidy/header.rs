//! Rule: every Rust file opens with `//!` and says something there.
//!
//! Refuses to judge the words; a reviewer does.

use super::{Finding, Text};

const TODO: &str = "open the file with `//!`: what it owns, what it refuses, its invariants";

pub(crate) fn check(text: &Text) -> Option<Finding> {
    let first = text.content.lines().next().unwrap_or_default();
    match first.strip_prefix("//!") {
        None => Some(Finding::error(&text.path, 1, "has no `//!` header".to_owned(), TODO)),
        Some(words) if words.trim().is_empty() => {
            Some(Finding::error(&text.path, 1, "has an empty `//!` header".to_owned(), TODO))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(content: &str) -> Option<String> {
        let text = Text { path: "a.rs".to_owned(), content: content.to_owned() };
        check(&text).map(|finding| finding.what)
    }

    #[test]
    fn a_header_satisfies() {
        assert_eq!(finding("//! Owns a thing.\n\nfn main() {}\n"), None);
    }

    #[test]
    fn code_comments_and_nothing_are_not_headers() {
        for content in ["", "fn main() {}", "// a comment", "/// docs of an item", "\n//! late"] {
            assert_eq!(finding(content).as_deref(), Some("has no `//!` header"), "{content:?}");
        }
    }

    #[test]
    fn an_empty_header_is_found() {
        assert_eq!(finding("//!\nfn main() {}").as_deref(), Some("has an empty `//!` header"));
    }
}
