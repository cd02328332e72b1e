//! Rich text: the little that every platform can show. What an agent writes in Markdown becomes spans; what is not
//! understood stays as it was typed, so nothing is lost and nothing can break a message.

use crate::channel::Unit;

/// Words with a little shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rich {
    /// One after the other.
    pub spans: Vec<Span>,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// How it looks.
    pub look: Look,
    /// The letters.
    pub text: String,
}

/// How a piece of text looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Like text.
    Plain,
    /// Like something that matters.
    Bold,
    /// Like something that is typed.
    Code,
    /// Like a listing.
    Block {
        /// In this language, if it is said.
        language: String,
    },
    /// Like a way to somewhere else.
    Link {
        /// Where to.
        url: String,
    },
}

impl Rich {
    /// Plain words.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Rich::default().and(Look::Plain, text)
    }

    /// With one more piece; an empty one is left out.
    #[must_use]
    pub fn and(mut self, look: Look, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.spans.push(Span { look, text });
        }
        self
    }

    /// With all of another's pieces.
    #[must_use]
    pub fn then(mut self, other: Rich) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// The letters alone.
    #[must_use]
    pub fn letters(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Without looks, for a platform that has none: a link is its words and its address.
    #[must_use]
    pub fn unadorned(&self) -> Self {
        let span = |span: &Span| match &span.look {
            Look::Link { url } if *url != span.text => format!("{} ({url})", span.text),
            Look::Plain | Look::Bold | Look::Code | Look::Block { .. } | Look::Link { .. } => span.text.clone(),
        };
        Rich::plain(self.spans.iter().map(span).collect::<String>())
    }

    /// As Markdown, for a file that people open elsewhere.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let span = |span: &Span| match &span.look {
            Look::Plain => span.text.clone(),
            Look::Bold => format!("**{}**", span.text),
            Look::Code => format!("`{}`", span.text),
            Look::Block { language } => {
                let fence = if span.text.contains("```") { "````" } else { "```" };
                format!("\n{fence}{language}\n{}\n{fence}\n", span.text.trim_end_matches('\n'))
            }
            Look::Link { url } => format!("[{}]({url})", span.text),
        };
        self.spans.iter().map(span).collect()
    }

    /// How long it is.
    #[must_use]
    pub fn len(&self, unit: Unit) -> usize {
        self.spans.iter().map(|span| unit.len(&span.text)).sum()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    /// What an agent wrote. Only fences, code and bold are taken up; the rest reads well as it is.
    #[must_use]
    pub fn from_markdown(text: &str) -> Self {
        let mut rich = Rich::default();
        let mut rest = text;
        while let Some(fence) = Fence::first(rest) {
            rich = rich.then(inline(&rest[..fence.start]));
            rich = rich.and(Look::Block { language: fence.language.to_owned() }, fence.body);
            rest = &rest[fence.end..];
            // What follows begins on a line of its own.
            if !rest.trim().is_empty() {
                rich = rich.and(Look::Plain, "\n");
            }
        }
        rich.then(inline(rest))
    }

    /// In pieces that are at most this long, cut between lines where that is possible, else between words, else
    /// between characters. No letter is lost but the white space at a cut.
    #[must_use]
    pub fn split(self, unit: Unit, most: usize) -> Vec<Rich> {
        let mut pages = vec![Rich::default()];
        let mut room = most;
        for span in self.spans {
            let mut rest = span.text.as_str();
            while !rest.is_empty() {
                let (now, later) = cut(rest, unit, room, room == most);
                if !now.is_empty() {
                    room -= unit.len(now);
                    let page = pages.pop().unwrap_or_default();
                    pages.push(page.and(span.look.clone(), now));
                }
                rest = later;
                if !rest.is_empty() {
                    pages.push(Rich::default());
                    room = most;
                }
            }
        }
        pages.retain(|page| !page.letters().trim().is_empty());
        pages
    }
}

/// A listing between lines of at least three backticks.
struct Fence<'a> {
    start: usize,
    end: usize,
    language: &'a str,
    body: &'a str,
}

impl<'a> Fence<'a> {
    fn first(text: &'a str) -> Option<Self> {
        let mut at = 0;
        let mut open: Option<(usize, usize, usize, &'a str)> = None;
        for line in text.split_inclusive('\n') {
            let (start, end) = (at, at + line.len());
            at = end;
            let mark = line.trim();
            let ticks = mark.bytes().take_while(|byte| *byte == b'`').count();
            match open {
                None if ticks >= 3 && !mark[ticks..].contains('`') => {
                    open = Some((ticks, start, end, mark[ticks..].trim()));
                }
                Some((opened, from, body, language)) if ticks >= opened && mark.len() == ticks => {
                    let body = text[body..start].trim_end_matches('\n');
                    // A listing of nothing is not worth a message that a platform may refuse.
                    let (body, language) = if body.is_empty() { (" ", language) } else { (body, language) };
                    return Some(Fence { start: from, end, language, body });
                }
                None | Some(_) => {}
            }
        }
        None
    }
}

/// Code between backticks and bold between double stars, on one line.
fn inline(text: &str) -> Rich {
    let mut rich = Rich::default();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let found = span(rest, "`", Look::Code).or_else(|| span(rest, "**", Look::Bold));
        match found {
            Some((look, body, used)) => {
                rich = rich.and(Look::Plain, std::mem::take(&mut plain)).and(look, body);
                rest = &rest[used..];
            }
            None => {
                plain.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    rich.and(Look::Plain, plain)
}

fn span<'a>(text: &'a str, mark: &str, look: Look) -> Option<(Look, &'a str, usize)> {
    let inner = text.strip_prefix(mark)?;
    let end = inner.find(mark)?;
    let body = &inner[..end];
    // More of the same mark is another one, such as the three of a fence.
    let more = inner[end + mark.len()..].starts_with(mark);
    let sound = !body.trim().is_empty() && !body.contains('\n') && !more;
    sound.then_some((look, body, end + 2 * mark.len()))
}

/// As much of the text as has room, and the rest. On a page of its own at least one character goes, whatever the room.
fn cut(text: &str, unit: Unit, room: usize, fresh: bool) -> (&str, &str) {
    if unit.len(text) <= room {
        return (text, "");
    }
    let mut fits = 0;
    let mut used = 0;
    for (at, char) in text.char_indices() {
        let size = unit.len(char.encode_utf8(&mut [0; 4]));
        if used + size > room && !(fresh && at == 0) {
            break;
        }
        used += size;
        fits = at + char.len_utf8();
    }
    let head = &text[..fits];
    // A cut far from the end would waste the page.
    let near = |at: &usize| *at >= fits / 2 && *at > 0;
    let at = head.rfind('\n').filter(near).or_else(|| head.rfind(' ').filter(near));
    match at {
        Some(at) => (&text[..at], text[at..].trim_start_matches([' ', '\n'])),
        // Nothing but a fresh page holds a piece without a gap in it.
        None if !fresh && fits < text.len() && !head.contains(['\n', ' ']) => ("", text),
        None => (head, &text[fits..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markdown_becomes_spans() {
        let rich = Rich::from_markdown("Run `cargo test` **now**:\n```rust\nfn a() {}\n```\ndone * 2");
        let looks: Vec<_> = rich.spans.iter().map(|span| (span.look.clone(), span.text.as_str())).collect();
        assert_eq!(
            looks,
            [
                (Look::Plain, "Run "),
                (Look::Code, "cargo test"),
                (Look::Plain, " "),
                (Look::Bold, "now"),
                (Look::Plain, ":\n"),
                (Look::Block { language: "rust".into() }, "fn a() {}"),
                (Look::Plain, "\n"),
                (Look::Plain, "done * 2"),
            ]
        );
    }

    #[test]
    fn what_is_not_closed_stays_as_typed() {
        for text in ["a ` b", "**a", "```\nnever closed", "`a\nb`", "2 ** 3"] {
            assert_eq!(Rich::from_markdown(text).letters(), text);
        }
    }

    #[test]
    fn pages_end_between_lines() {
        let rich = Rich::plain("first line\nsecond line\nthird");
        let pages: Vec<_> = rich.split(Unit::Bytes, 14).iter().map(Rich::letters).collect();
        assert_eq!(pages, ["first line", "second line", "third"]);
    }

    proptest! {
        #[test]
        fn no_page_is_too_long_and_no_letter_is_lost(text in "\\PC{0,200}", most in 4usize..40) {
            let letters = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
            for unit in [Unit::Utf16, Unit::Bytes] {
                let pages = Rich::from_markdown(&text).split(unit, most);
                prop_assert!(pages.iter().all(|page| page.len(unit) <= most));
                let whole: String = pages.iter().map(Rich::letters).collect();
                prop_assert_eq!(letters(&whole), letters(&Rich::from_markdown(&text).letters()));
            }
        }
    }
}
