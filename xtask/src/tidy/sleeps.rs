//! Rule: a test waits for an event, never for time to pass.
//!
//! A sleep in a test is too short on a busy machine and too long on every other. Finds calls of
//! `sleep(…)` and `sleep_until(…)` by path; a method of that name (a virtual clock's) is not meant.
//! A `// tidy: <reason>` comment on the line, or above it, excuses one call.

use super::Finding;
use super::source::Source;

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        let calls = matches!(token.text.as_str(), "sleep" | "sleep_until")
            && source.tokens.get(index + 1).is_some_and(|next| next.text == "(");
        let before = index.checked_sub(1).map(|at| source.tokens[at].text.as_str());
        if !calls || matches!(before, Some("." | "fn")) {
            continue;
        }
        if source.is_test_line(token.line) && !source.is_excused(token.line) {
            findings.push(Finding::error(
                &source.path,
                token.line,
                "sleeps in a test".to_owned(),
                "wait for an event with a bound, or say `// tidy: <why time itself is needed>`",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    fn lines(path: &str, content: &str) -> Vec<usize> {
        check(&source(path, content)).iter().map(|finding| finding.line).collect()
    }

    const IN_TEST: &str =
        "#[cfg(test)]\nmod tests {\n    async fn a() {\n        tokio::time::sleep(d).await;\n    }\n}";

    #[test]
    fn sleeps_in_test_modules_and_test_files_are_found() {
        assert_eq!(lines("crates/a/src/b.rs", IN_TEST), [4]);
        assert_eq!(lines("crates/a/tests/b.rs", "fn a() { std::thread::sleep(d); }"), [1]);
    }

    #[test]
    fn product_code_may_sleep() {
        assert_eq!(lines("crates/a/src/b.rs", "fn a() { sleep(d); }"), [0usize; 0]);
    }

    #[test]
    fn a_reason_excuses_and_an_empty_one_does_not() {
        let excused = "fn a() {\n    // tidy: the kernel needs a tick\n    sleep(d);\n    sleep(d); // tidy: again\n    sleep(d); // tidy:\n}";
        assert_eq!(lines("crates/a/tests/b.rs", excused), [5]);
    }

    #[test]
    fn definitions_methods_and_words_are_no_calls() {
        let words = "fn sleep(d: u8) {}\nfn a() { clock.sleep(d); say(\"sleep(5)\"); }";
        assert_eq!(lines("crates/a/tests/b.rs", words), [0usize; 0]);
    }
}
