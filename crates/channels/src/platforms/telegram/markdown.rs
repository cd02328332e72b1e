//! MarkdownV2, as Telegram reads it: every character that could mean something is escaped, so what is sent is what was
//! meant and nothing is ever refused for its shape.

use crate::rich::{Look, Rich, Span};

/// What has a meaning outside of code.
const SPECIAL: &str = r"\_*[]()~`>#+-=|{}.!";

/// The text as Telegram takes it.
pub(super) fn render(rich: &Rich) -> String {
    rich.spans.iter().map(render_span).collect()
}

fn render_span(span: &Span) -> String {
    match &span.look {
        Look::Plain => escape(&span.text, SPECIAL),
        Look::Bold => format!("*{}*", escape(&span.text, SPECIAL)),
        Look::Code => format!("`{}`", escape(&span.text, r"\`")),
        Look::Block { language } => {
            let named = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_');
            let language: String = language.chars().take_while(named).collect();
            format!("```{language}\n{}```", escape(&span.text, r"\`"))
        }
        Look::Link { url } => format!("[{}]({})", escape(&span.text, SPECIAL), escape(url, r"\)")),
    }
}

fn escape(text: &str, special: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for char in text.chars() {
        if special.contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Unit;
    use proptest::prelude::*;
    use throughline_testkit::telegram::markdown_v2::{self, Entity, Kind};

    fn look() -> impl Strategy<Value = Look> {
        prop_oneof![
            Just(Look::Bold),
            Just(Look::Code),
            "[a-z+#]{0,6}".prop_map(|language| Look::Block { language }),
            "https://[a-z()\\\\]{1,10}".prop_map(|url| Look::Link { url }),
        ]
    }

    /// Text that is mostly made of what has a meaning.
    fn text() -> impl Strategy<Value = String> {
        let special = proptest::sample::select(SPECIAL.chars().chain("\n\t 1aé😀中/&<@\"".chars()).collect::<Vec<_>>());
        let char = prop_oneof![4 => special, 1 => any::<char>().prop_filter("a line's end is one", |c| *c != '\r')];
        proptest::collection::vec(char, 1..24).prop_map(String::from_iter)
    }

    fn rich() -> impl Strategy<Value = Rich> {
        let span = (prop_oneof![1 => Just(Look::Plain), 2 => look()], text());
        proptest::collection::vec(span, 0..6)
            .prop_map(|spans| spans.into_iter().fold(Rich::default(), |rich, (look, text)| rich.and(look, text)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// The platform's own rules, as the stub has them, never refuse what is rendered, and show what was meant.
        #[test]
        fn whatever_is_said_is_taken_and_reads_as_it_was_meant(rich in rich()) {
            let shown = markdown_v2::read(&render(&rich));
            let shown = shown.map_err(|why| TestCaseError::fail(format!("{why}: {}", render(&rich))))?;
            prop_assert_eq!(&shown.text, &rich.letters());
            let mut at = 0;
            let mut meant = vec![];
            for span in &rich.spans {
                let length = span.text.encode_utf16().count();
                if let Some(kind) = kind(&span.look) {
                    meant.push(Entity { kind, offset: at, length });
                }
                at += length;
            }
            prop_assert_eq!(shown.entities, meant);
        }

        /// What an agent writes in Markdown, whatever it is, is taken as well, and no page is too long.
        #[test]
        fn whatever_an_agent_writes_is_taken(text in text(), more in "[`*a \n]{0,40}", most in 8usize..40) {
            for page in Rich::from_markdown(&format!("{text}{more}{text}")).split(Unit::Utf16, most) {
                let shown = markdown_v2::read(&render(&page)).map_err(TestCaseError::fail)?;
                prop_assert!(shown.text.encode_utf16().count() <= most);
                prop_assert!(!shown.text.trim().is_empty());
            }
        }
    }

    fn kind(look: &Look) -> Option<Kind> {
        Some(match look {
            Look::Plain => return None,
            Look::Bold => Kind::Bold,
            Look::Code => Kind::Code,
            Look::Block { language } => Kind::Pre { language: language.clone() },
            Look::Link { url } => Kind::TextLink { url: url.clone() },
        })
    }

    #[test]
    fn a_language_cannot_break_out() {
        let rich = Rich::default().and(Look::Block { language: "rust`\n*x".into() }, "a`b");
        assert_eq!(render(&rich), "```rust\na\\`b```");
    }
}
