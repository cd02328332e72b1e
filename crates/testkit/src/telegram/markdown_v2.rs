//! MarkdownV2 by the platform's rules: what the Bot API shows for a text, or why it refuses it.
//!
//! Written from the rules of the Bot API's documentation and its error messages, not from our renderer: the renderer
//! is tested against it. Every character with a meaning is escaped or is markup; nothing is guessed.

/// Characters that have a meaning outside of code.
const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// A text as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The letters.
    pub text: String,
    /// What is special about some of them.
    pub entities: Vec<Entity>,
}

/// Something special about a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// What.
    pub kind: Kind,
    /// Where it begins, in UTF-16 units.
    pub offset: usize,
    /// How far it goes, in UTF-16 units.
    pub length: usize,
}

/// What is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `*…*`
    Bold,
    /// `_…_`
    Italic,
    /// `__…__`
    Underline,
    /// `~…~`
    Strikethrough,
    /// `||…||`
    Spoiler,
    /// `` `…` ``
    Code,
    /// ```` ```language … ``` ````
    Pre {
        /// Empty where none is said.
        language: String,
    },
    /// `[…](url)`
    TextLink {
        /// Where to.
        url: String,
    },
}

impl Kind {
    /// As the Bot API calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Bold => "bold",
            Kind::Italic => "italic",
            Kind::Underline => "underline",
            Kind::Strikethrough => "strikethrough",
            Kind::Spoiler => "spoiler",
            Kind::Code => "code",
            Kind::Pre { .. } => "pre",
            Kind::TextLink { .. } => "text_link",
        }
    }

    fn is_code(&self) -> bool {
        matches!(self, Kind::Code | Kind::Pre { .. })
    }

    /// What ends it.
    fn end(&self) -> &'static str {
        match self {
            Kind::Bold => "*",
            Kind::Italic => "_",
            Kind::Underline => "__",
            Kind::Strikethrough => "~",
            Kind::Spoiler => "||",
            Kind::Code => "`",
            Kind::Pre { .. } => "```",
            Kind::TextLink { .. } => "]",
        }
    }
}

/// What a text in MarkdownV2 looks like.
///
/// # Errors
/// If the Bot API would refuse it: what it says after `can't parse entities: `.
pub fn read(text: &str) -> Result<Shown, String> {
    let mut reader = Reader { all: text, rest: text, shown: Shown::default(), at: 0, open: vec![], line_begins: true };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    match reader.open.last() {
        Some(open) => Err(format!("Can't find end of {} entity at byte offset {}", title(&open.kind), open.byte)),
        None => Ok(reader.shown),
    }
}

fn title(kind: &Kind) -> &'static str {
    match kind {
        Kind::Bold => "Bold",
        Kind::Italic => "Italic",
        Kind::Underline => "Underline",
        Kind::Strikethrough => "Strikethrough",
        Kind::Spoiler => "Spoiler",
        Kind::Code => "Code",
        Kind::Pre { language } if language.is_empty() => "Pre",
        Kind::Pre { .. } => "PreCode",
        Kind::TextLink { .. } => "TextUrl",
    }
}

struct Open {
    kind: Kind,
    /// Where its mark is, in the bytes of the source.
    byte: usize,
    /// Where its letters begin, in UTF-16 units of what is shown.
    offset: usize,
}

struct Reader<'a> {
    all: &'a str,
    rest: &'a str,
    shown: Shown,
    /// How much is shown so far, in UTF-16 units.
    at: usize,
    open: Vec<Open>,
    /// Whether a quotation could begin here.
    line_begins: bool,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), String> {
        let mut chars = self.rest.chars();
        let Some(next) = chars.next() else { return Ok(()) };
        let after = chars.next();
        if let (Some(escaped), '\\') = (after.filter(|char| ('\u{1}'..='\u{7e}').contains(char)), next) {
            self.show(escaped);
            self.skip(2);
            return Ok(());
        }
        let in_code = self.open.last().is_some_and(|open| open.kind.is_code());
        let reserved = if in_code { next == '`' } else { RESERVED.contains(next) };
        if !reserved {
            self.show(next);
            self.skip(next.len_utf8());
            return Ok(());
        }
        if self.ends() {
            return self.close();
        }
        // A backtick that does not end code has no meaning in it.
        if in_code { Err(reserved_char(next)) } else { self.begin(next) }
    }

    fn show(&mut self, char: char) {
        self.shown.text.push(char);
        self.at += char.len_utf16();
        self.line_begins = matches!(char, '\n') || (self.line_begins && char == '\r');
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn byte(&self) -> usize {
        self.all.len() - self.rest.len()
    }

    /// Whether the innermost entity ends here. Two underscores are one mark wherever they can be.
    fn ends(&self) -> bool {
        self.open.last().is_some_and(|open| match open.kind {
            Kind::Italic => self.rest.starts_with('_') && !self.rest.starts_with("__"),
            _ => self.rest.starts_with(open.kind.end()),
        })
    }

    fn begin(&mut self, next: char) -> Result<(), String> {
        let (kind, mark) = match next {
            '_' if self.rest.starts_with("__") => (Kind::Underline, 2),
            '_' => (Kind::Italic, 1),
            '*' => (Kind::Bold, 1),
            '~' => (Kind::Strikethrough, 1),
            '|' if self.rest.starts_with("||") => (Kind::Spoiler, 2),
            '[' => (Kind::TextLink { url: String::new() }, 1),
            '`' if self.rest.starts_with("```") => {
                let (language, used) = language(&self.rest[3..]);
                (Kind::Pre { language: language.to_owned() }, 3 + used)
            }
            '`' => (Kind::Code, 1),
            '>' if self.line_begins => {
                // A quotation; what it shows is the same text.
                self.skip(1);
                self.line_begins = false;
                return Ok(());
            }
            other => return Err(reserved_char(other)),
        };
        self.open.push(Open { kind, byte: self.byte(), offset: self.at });
        self.skip(mark);
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(Open { mut kind, offset, .. }) = self.open.pop() else { return Ok(()) };
        self.skip(kind.end().len());
        if let Kind::TextLink { url } = &mut kind {
            match self.rest.strip_prefix('(') {
                Some(rest) => {
                    let begins = self.byte() + 1;
                    let (found, used) =
                        address(rest).ok_or_else(|| format!("Can't find end of a URL at byte offset {begins}"))?;
                    *url = found;
                    self.skip(1 + used);
                }
                None => *url = self.shown.text.chars().skip(offset).collect(),
            }
        }
        if self.at > offset {
            self.shown.entities.push(Entity { kind, offset, length: self.at - offset });
        }
        Ok(())
    }
}

fn reserved_char(char: char) -> String {
    format!("Character '{char}' is reserved and must be escaped with the preceding '\\'")
}

/// The language of a listing and how much of the source says it, one line's end included.
fn language(text: &str) -> (&str, usize) {
    let end = text.find(|char: char| char.is_ascii_whitespace() || char == '`').unwrap_or(text.len());
    let said = if text[end..].starts_with(|char: char| char.is_ascii_whitespace()) { &text[..end] } else { "" };
    let rest = &text[said.len()..];
    let line = ["\r\n", "\n\r", "\n", "\r"].iter().find(|line| rest.starts_with(**line)).map_or(0, |line| line.len());
    (said, said.len() + line)
}

/// The address up to its bracket, and how much of the source that is.
fn address(text: &str) -> Option<(String, usize)> {
    let mut url = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            ')' => return Some((url, at + 1)),
            '\\' => match chars.next_if(|(_, next)| ('\u{1}'..='\u{7e}').contains(next)) {
                Some((_, escaped)) => url.push(escaped),
                None => url.push('\\'),
            },
            other => url.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, Vec<(&'static str, usize, usize)>) {
        let shown = read(text).expect("it is taken");
        let entities = shown.entities.iter().map(|entity| (entity.kind.name(), entity.offset, entity.length)).collect();
        (shown.text, entities)
    }

    #[test]
    fn what_the_documentation_shows_is_read_as_it_says() {
        assert_eq!(shown("*bold \\*text*"), ("bold *text".into(), vec![("bold", 0, 10)]));
        assert_eq!(shown("_italic_ __under__"), ("italic under".into(), vec![("italic", 0, 6), ("underline", 7, 5)]));
        assert_eq!(shown("||s|| ~d~"), ("s d".into(), vec![("spoiler", 0, 1), ("strikethrough", 2, 1)]));
        assert_eq!(shown("[a\\.b](http://x.y/\\))"), ("a.b".into(), vec![("text_link", 0, 3)]));
        assert_eq!(shown("`a\\`b.`"), ("a`b.".into(), vec![("code", 0, 4)]));
        assert_eq!(shown("```rust\nfn a() {}\n```"), ("fn a() {}\n".into(), vec![("pre", 0, 10)]));
        assert_eq!(shown("```\nx\n```"), ("x\n".into(), vec![("pre", 0, 2)]));
        assert_eq!(shown("*a _b_ c*"), ("a b c".into(), vec![("italic", 2, 1), ("bold", 0, 5)]));
        assert_eq!(shown("😀*é*"), ("😀é".into(), vec![("bold", 2, 1)]));
        assert_eq!(shown(">quoted\n\\> not"), ("quoted\n> not".into(), vec![]));
    }

    #[test]
    fn what_is_reserved_is_refused() {
        for char in "()>#+-=|{}.!]".chars() {
            let error = read(&format!("a{char}b")).expect_err("it is refused");
            assert_eq!(error, format!("Character '{char}' is reserved and must be escaped with the preceding '\\'"));
            assert_eq!(read(&format!("a\\{char}b")).expect("escaped").text, format!("a{char}b"));
        }
    }

    #[test]
    fn what_is_not_closed_is_refused() {
        for (text, title, byte) in [("*a", "Bold", 0), ("a _b", "Italic", 2), ("`a", "Code", 0), ("é```x", "Pre", 2)] {
            let error = read(text).expect_err("it is refused");
            assert_eq!(error, format!("Can't find end of {title} entity at byte offset {byte}"));
        }
        assert_eq!(read("[a](b"), Err("Can't find end of a URL at byte offset 4".into()));
    }

    #[test]
    fn a_lone_backslash_is_a_letter() {
        assert_eq!(read("\\").expect("a letter").text, "\\");
        assert_eq!(read("\\é").expect("letters").text, "\\é");
    }
}
