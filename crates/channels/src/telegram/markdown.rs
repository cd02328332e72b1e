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
            format!("```{language}\n{}\n```\n", escape(&span.text, r"\`"))
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
    use proptest::prelude::*;

    /// Reads MarkdownV2 by Telegram's rules, strictly: a character with a meaning has to be escaped or be markup.
    fn read(text: &str) -> Result<Rich, String> {
        let mut rich = Rich::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (look, body, tail) = if let Some(block) = rest.strip_prefix("```") {
                let (language, inner) = block.split_once('\n').ok_or("no line after the fence")?;
                let (body, tail) = upto(inner, "\n```\n", r"\`")?;
                (Look::Block { language: language.to_owned() }, body, tail)
            } else if let Some(inner) = rest.strip_prefix('`') {
                let (body, tail) = upto(inner, "`", r"\`")?;
                (Look::Code, body, tail)
            } else if let Some(inner) = rest.strip_prefix('*') {
                let (body, tail) = upto(inner, "*", SPECIAL)?;
                (Look::Bold, body, tail)
            } else if let Some(inner) = rest.strip_prefix('[') {
                let (body, tail) = upto(inner, "](", SPECIAL)?;
                let (url, tail) = upto(tail, ")", r"\)")?;
                (Look::Link { url }, body, tail)
            } else {
                let (body, tail) = plain(rest)?;
                (Look::Plain, body, tail)
            };
            rich = rich.and(look, body);
            rest = tail;
        }
        Ok(rich)
    }

    fn upto<'a>(text: &'a str, end: &str, special: &str) -> Result<(String, &'a str), String> {
        let mut body = String::new();
        let mut rest = text;
        loop {
            if let Some(tail) = rest.strip_prefix(end) {
                return Ok((body, tail));
            }
            let next = take(rest, special)?;
            body.push(next.0);
            rest = next.1;
        }
    }

    fn plain(text: &str) -> Result<(String, &str), String> {
        let (first, mut rest) = take(text, SPECIAL)?;
        let mut body = String::from(first);
        while !rest.is_empty() && !rest.starts_with(['`', '*', '[']) {
            let next = take(rest, SPECIAL)?;
            body.push(next.0);
            rest = next.1;
        }
        Ok((body, rest))
    }

    fn take<'a>(text: &'a str, special: &str) -> Result<(char, &'a str), String> {
        let mut chars = text.chars();
        match chars.next() {
            Some('\\') => Ok((chars.next().ok_or("a lone escape")?, chars.as_str())),
            Some(char) if special.contains(char) => Err(format!("{char} is not escaped in {text}")),
            Some(char) => Ok((char, chars.as_str())),
            None => Err("it ends too early".into()),
        }
    }

    fn look() -> impl Strategy<Value = Look> {
        prop_oneof![
            Just(Look::Bold),
            Just(Look::Code),
            "[a-z+#]{0,6}".prop_map(|language| Look::Block { language }),
            "https://[a-z()\\\\]{1,10}".prop_map(|url| Look::Link { url }),
        ]
    }

    proptest! {
        #[test]
        fn whatever_is_said_reads_as_it_was_meant(
            parts in proptest::collection::vec(("\\PC{1,12}", look(), "\\PC{1,12}"), 0..6),
        ) {
            let mut rich = Rich::default();
            for (before, look, text) in parts {
                rich = rich.and(Look::Plain, before).and(look, text);
            }
            prop_assert_eq!(read(&render(&rich)).unwrap(), rich);
        }
    }

    #[test]
    fn a_language_cannot_break_out() {
        let rich = Rich::default().and(Look::Block { language: "rust`\n*x".into() }, "a`b");
        assert_eq!(render(&rich), "```rust\na\\`b\n```\n");
    }
}
