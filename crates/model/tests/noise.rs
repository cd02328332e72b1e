//! Random texts against the invariants that `cargo xtask fuzz` looks into for longer.

mod invariants;

use proptest::prelude::*;

const CORPUS: &str = include_str!("bypass.txt");

/// Texts that look like commands, with what could be taken for something else in between.
fn text() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let plain = vec!["cargo test", "git status", "ls -la", "npm run build", "python -m pytest", "sh\n-c\ncargo test"];
    let piece = prop_oneof![
        prop::sample::select(plain).prop_map(str::to_owned),
        prop::sample::select(lines).prop_map(str::to_owned),
        prop::sample::select(vec![" ", "\n", ";", "=", "-", "\u{a0}", "\u{202e}", "\\u{", "\t", "\r"])
            .prop_map(str::to_owned),
        "[a-z./-]{0,6}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn commands_are_read_strictly(text in text()) {
        invariants::argv(&text);
    }

    #[test]
    fn nothing_is_hidden(text in text()) {
        invariants::shown(&text);
    }

    #[test]
    fn rules_allow_nothing_else(text in text()) {
        invariants::rules(&text);
    }

    #[test]
    fn rules_allow_nothing_that_follows(more in text(), glue in prop::sample::select(vec!["", " ", "\n"])) {
        for line in ["cargo test", "git status", "ls"] {
            invariants::rules(&format!("{line}\n{line}{glue}{more}"));
        }
    }
}

#[test]
fn the_corpus_holds() {
    for line in CORPUS.lines() {
        invariants::argv(line);
        invariants::shown(line);
        invariants::rules(&format!("cargo test\n{line}"));
        invariants::rules(line);
    }
}
