//! Secrets never reach a chat: configured values, and what looks like a well-known token, are masked in everything
//! that goes out.

/// What stands for a secret.
const MASK: &str = "•••";
/// A configured value that is shorter would mask words.
const SHORTEST: usize = 8;

/// How a well-known token begins, and how many of its letters must follow.
const SHAPES: &[(&str, usize)] = &[
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xapp-", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("npm_", 30),
    ("pypi-", 40),
    ("hf_", 30),
    ("eyJ", 60),
    ("-----BEGIN ", 20),
];

/// What is to be masked.
#[derive(Clone, Default)]
pub struct Mask {
    values: Vec<String>,
}

impl Mask {
    /// Masks these values besides the well-known shapes; the longest first, so that none leaves a tail.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<_> = values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self { values }
    }

    /// The text with its secrets masked.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for value in &self.values {
            if masked.contains(value.as_str()) {
                masked = masked.replace(value.as_str(), MASK);
            }
        }
        shapes(&masked)
    }
}

fn shapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(next) = rest.chars().next() {
        // A token begins where a word does.
        let begins = before.is_none_or(|before| !before.is_ascii_alphanumeric());
        match begins.then(|| token(rest)).flatten() {
            Some(len) => {
                out.push_str(MASK);
                before = rest[..len].chars().next_back();
                rest = &rest[len..];
            }
            None => {
                out.push(next);
                before = Some(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// How long the token is that the text begins with.
fn token(text: &str) -> Option<usize> {
    let (prefix, least) = SHAPES.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    if *prefix == "-----BEGIN " {
        return text.contains("PRIVATE KEY-----").then(|| key_end(text));
    }
    let tail = &text[prefix.len()..];
    let len =
        tail.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')).count();
    (len >= *least).then_some(prefix.len() + len)
}

/// A private key goes to its last line, or to the end if that is missing.
fn key_end(text: &str) -> usize {
    text.find("-----END ").and_then(|end| Some(end + 9 + text[end + 9..].find("-----")? + 5)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_tokens_are_masked() {
        let mask = Mask::default();
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        let ghp = format!("ghp_{}", "a1".repeat(18));
        let text = format!("key sk-ant-api03-{} and {ghp}, {pem} end", "x".repeat(30));
        assert_eq!(mask.apply(&text), "key ••• and •••, ••• end");
    }

    #[test]
    fn words_stay() {
        let mask = Mask::new(["short".into()]);
        for text in ["task-12 is short", "sk-8", "ask-ant-farm", "-----BEGIN CERTIFICATE-----", "eyJust"] {
            assert_eq!(mask.apply(text), text);
        }
    }

    #[test]
    fn configured_values_are_masked_whole() {
        let mask = Mask::new(["hunter2hunter2".into(), "hunter2hunter2-long".into()]);
        assert_eq!(mask.apply("a hunter2hunter2-long b hunter2hunter2"), "a ••• b •••");
    }
}
