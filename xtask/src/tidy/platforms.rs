//! Rule: a chat platform is known in its folder and nowhere else, so that adding one is adding a folder.
//!
//! Looks for paths into the folder, and for strings that are its name. Words in prose and names of one's own are no knowledge
//! (a platform may be called `line`), and tests may name what they try. A `// tidy: <reason>` comment excuses one line.

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
    let tokens = &source.tokens;
    let knows = |at: &usize| platforms.iter().any(|name| is_about(&tokens[..=*at], name));
    let product = |token: &&Token| !source.is_test_line(token.line) && !source.is_excused(token.line);
    let found = (0..tokens.len()).filter(knows).map(|at| &tokens[at]).filter(product);
    found.map(|token| finding(source, token)).collect()
}

fn finding(source: &Source, token: &Token) -> Finding {
    let what = format!("knows a chat platform: {}", token.text);
    let todo = "ask its manifest, its account or its abilities (throughline_channels), or say `// tidy: <why not>`";
    Finding::error(&source.path, token.line, what, todo)
}

/// Whether these tokens end with the platform: `"name"`, or `platforms::name`.
fn is_about(tokens: &[Token], name: &str) -> bool {
    let text = |back: usize| tokens.iter().nth_back(back).map(|token| token.text.as_str());
    let quoted = text(0).and_then(|last| last.strip_prefix('"')?.strip_suffix('"'));
    let path = [text(3), text(2), text(1), text(0)];
    quoted == Some(name) || path == [Some("platforms"), Some(":"), Some(":"), Some(name)]
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
    fn paths_to_a_platform_and_strings_of_it_are_found() {
        let known = "use throughline_channels::platforms::pigeon::Pigeon;\nfn a() {\n    pair(\"pigeon\");\n    \
                     platforms::pigeon::coo();\n}";
        assert_eq!(lines("crates/engine/src/a.rs", known), [1, 3, 4]);
    }

    #[test]
    fn its_folder_and_tests_may_know_it() {
        for path in ["crates/channels/src/platforms/mod.rs", "crates/cli/tests/a.rs", "crates/testkit/src/a.rs"] {
            assert_eq!(lines(path, "const NAME: &str = \"pigeon\";"), [0usize; 0], "{path}");
        }
        let test = "#[cfg(test)]\nmod tests {\n    const NAME: &str = \"pigeon\";\n}";
        assert_eq!(lines("crates/a/src/b.rs", test), [0usize; 0]);
    }

    #[test]
    fn prose_and_what_is_excused_are_no_knowledge() {
        let words = "/// Such as pigeon.\nfn pigeon() {\n    say(\"a pigeon, say\");\n    \
                     // tidy: the name of a bird\n    say(\"pigeon\");\n}";
        assert_eq!(lines("crates/engine/src/a.rs", words), [0usize; 0]);
    }
}
