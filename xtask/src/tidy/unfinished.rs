//! Rule: nothing unfinished lands. No `todo!`, no `unimplemented!`, no `#[ignore]`, no comment that
//! puts work off.
//!
//! Open work lives in the issue tracker, where it is seen. Refuses exceptions.

use super::Finding;
use super::source::{Source, Token};

/// Spelled in two halves, so that this file passes its own rule.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        let rest = &source.tokens[index + 1..];
        let next = rest.first().map(|token| token.text.as_str());
        if matches!(token.text.as_str(), "todo" | "unimplemented") && next == Some("!") {
            let what = format!("calls `{}!`", token.text);
            findings.push(Finding::error(&source.path, token.line, what, "finish it, or leave it out"));
        }
        if token.text == "#" && next == Some("[") && is_ignore(&rest[1..]) {
            let what = "ignores a test".to_owned();
            let todo = "make the test run everywhere, or delete it";
            findings.push(Finding::error(&source.path, token.line, what, todo));
        }
    }
    findings.extend(source.comments.iter().filter_map(|comment| {
        let mark = MARKS.iter().find(|mark| has_word(&comment.text, mark))?;
        let what = format!("has a {mark} comment");
        let todo = "do it now, or open an issue and delete the comment";
        Some(Finding::error(&source.path, comment.line, what, todo))
    }));
    findings
}

/// Whether an attribute's tokens are `ignore …` or `cfg_attr(…, ignore …)`.
fn is_ignore(attribute: &[Token]) -> bool {
    let mut inside = attribute.iter().take_while(|token| token.text != "]").map(|t| t.text.as_str());
    match inside.next() {
        Some("ignore") => true,
        Some("cfg_attr") => inside.any(|word| word == "ignore"),
        _ => false,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    fn lines(content: &str) -> Vec<usize> {
        check(&source("a.rs", content)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unfinished_macros_are_found_even_inside_other_macros() {
        assert_eq!(lines("fn a() { todo!() }\nfn b() {\n    vec![unimplemented!(\"later\")];\n}"), [1, 3]);
    }

    #[test]
    fn ignored_tests_are_found() {
        let ignore =
            "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n#[cfg_attr(miri, ignore)]\nfn c() {}";
        assert_eq!(lines(ignore), [2, 4, 6]);
    }

    #[test]
    fn an_attribute_that_only_contains_the_word_is_none() {
        assert_eq!(lines("#[clap(name = \"ignore\")]\nstruct A;\nuse ignore::Walk;"), [0usize; 0]);
    }

    #[test]
    fn marks_are_found_in_comments_and_docs_but_not_in_strings() {
        let text = format!("/// {0}: say more\nfn a() {{\n    let s = \"{0}\"; // {1}\n}}", MARKS[0], MARKS[1]);
        assert_eq!(lines(&text), [1, 3]);
    }

    #[test]
    fn a_mark_inside_a_longer_word_is_none() {
        assert_eq!(lines(&format!("// see {}_LIST\nfn a() {{}}", MARKS[0])), [0usize; 0]);
    }
}
