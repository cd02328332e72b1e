//! Rule: a chat platform is known in its folder and nowhere else, so that adding one is adding a folder.
//!
//! Looks for the folder's name in what the product declares and uses, and for strings that are it. Words in prose are
//! no knowledge, and tests may name what they try. A `// tidy: <reason>` comment excuses one line.

use super::Finding;
use super::source::{Source, Token};

/// Where the folders are.
pub(crate) const FOLDER: &str = "crates/channels/src/platforms";
/// What is only there for tests and measuring.
const TRIES: [&str; 3] = ["crates/testkit/", "bench/", "xtask/"];

pub(crate) fn check(source: &Source, platforms: &[String]) -> Vec<Finding> {
    if source.path.starts_with(FOLDER) || TRIES.iter().any(|folder| source.path.starts_with(folder)) {
        return vec![];
    }
    let knows = |token: &&Token| platforms.iter().any(|name| is_about(&token.text, name));
    let product = |token: &&Token| !source.is_test_line(token.line) && !source.is_excused(token.line);
    let found = source.tokens.iter().filter(knows).filter(product);
    found.map(|token| finding(source, token)).collect()
}

fn finding(source: &Source, token: &Token) -> Finding {
    let what = format!("knows a chat platform: {}", token.text);
    let todo = "ask its manifest, its account or its abilities (throughline_channels), or say `// tidy: <why not>`";
    Finding::error(&source.path, token.line, what, todo)
}

fn is_about(token: &str, name: &str) -> bool {
    match token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) => text == name,
        None => {
            let is_name = token.starts_with(|first: char| first.is_alphabetic() || first == '_');
            is_name && token.to_ascii_lowercase().contains(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    fn lines(path: &str, content: &str) -> Vec<usize> {
        let found = check(&source(path, content), &["pigeon".to_owned()]);
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn names_and_strings_of_a_platform_are_found() {
        let known = "fn a() {\n    PigeonSettings::new();\n    pair(\"pigeon\");\n    const BY_PIGEON: u8 = 1;\n}";
        assert_eq!(lines("crates/engine/src/a.rs", known), [2, 3, 4]);
    }

    #[test]
    fn its_folder_and_tests_may_know_it() {
        for path in ["crates/channels/src/platforms/mod.rs", "crates/cli/tests/a.rs", "crates/testkit/src/a.rs"] {
            assert_eq!(lines(path, "fn pigeon() {}"), [0usize; 0], "{path}");
        }
        assert_eq!(lines("crates/a/src/b.rs", "#[cfg(test)]\nmod tests {\n    fn pigeon() {}\n}"), [0usize; 0]);
    }

    #[test]
    fn prose_and_what_is_excused_are_no_knowledge() {
        let words = "/// Such as pigeon.\nfn a() {\n    say(\"a pigeon, say\");\n    \
                     // tidy: the name of a bird\n    say(\"pigeon\");\n}";
        assert_eq!(lines("crates/engine/src/a.rs", words), [0usize; 0]);
    }
}
