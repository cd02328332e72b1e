//! What a person is shown of something that an agent wrote: every character visible, and nothing left out unsaid.
//!
//! Control, bidi, zero-width, other invisible and format characters, whitespace that looks like a space, and spaces
//! that nobody would see are written as `\u{202e}`. A backslash that would read as such an escape is written as one
//! itself, so two different texts never look the same.
//!
//! **Invariant:** [`Shown::complete`] is true only if the whole text is there. What was not shown as a whole cannot
//! be approved from that view.

use std::fmt::Write as _;

/// A text as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// With every character visible.
    pub text: String,
    /// Whether all of it is there.
    pub complete: bool,
}

/// How many characters a view shows. What is longer can be opened there, not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The bound, counted after escaping.
    pub max_chars: usize,
    /// What becomes of line ends.
    pub lines: Lines,
}

/// What becomes of line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// They stay line ends.
    Kept,
    /// They are written as `\u{a}`: the view has one line.
    Escaped,
}

impl View {
    /// A chat message.
    pub const CHAT: View = View { max_chars: 4_000, lines: Lines::Kept };
    /// The web and the terminal.
    pub const FULL: View = View { max_chars: 100_000, lines: Lines::Kept };

    /// One line of so many characters.
    #[must_use]
    pub const fn line(max_chars: usize) -> View {
        View { max_chars, lines: Lines::Escaped }
    }

    /// A text as this view shows it.
    #[must_use]
    pub fn show(self, text: &str) -> Shown {
        let mut out = String::with_capacity(text.len().min(self.max_chars));
        let mut left = self.max_chars;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            // Runs are looked at whole: whether a space can be seen depends on what follows it.
            let run = match first {
                ' ' | '\n' => rest.len() - rest.trim_start_matches(first).len(),
                _ => first.len_utf8(),
            };
            let after = &rest[run..];
            let plain = match first {
                ' ' => run <= MAX_SPACES && !matches!(after.chars().next(), None | Some('\n' | '\r')),
                '\n' => self.lines == Lines::Kept && run <= MAX_LINE_ENDS && !after.is_empty(),
                '\\' => !after.starts_with("u{"),
                _ => visible(first),
            };
            for character in rest[..run].chars() {
                let cost = if plain { 1 } else { escaped_len(character) };
                if cost > left {
                    return Shown { text: out, complete: false };
                }
                left -= cost;
                if plain {
                    out.push(character);
                } else {
                    let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
                }
            }
            rest = after;
        }
        Shown { text: out, complete: true }
    }
}

/// More spaces in a row could push what follows out of sight.
const MAX_SPACES: usize = 32;
/// More line ends in a row could, too.
const MAX_LINE_ENDS: usize = 4;

/// The length of `\u{…}` around a character's number.
fn escaped_len(character: char) -> usize {
    let digits = u32::from(character).max(1).ilog2() / 4 + 1;
    digits as usize + 4
}

/// Whether a character can be seen for what it is. Spaces, line ends and backslashes depend on their neighbours.
fn visible(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_graphic();
    }
    !blank(character) && printable(character)
}

/// Assigned to something that leaves a mark, or to a mark on what precedes it. The standard library's own judgement,
/// which it makes for debug output: not a control, format, surrogate, private, unassigned or separator character.
fn printable(character: char) -> bool {
    // A mark that extends its neighbour is escaped at the start of a text only, so something has to precede it.
    let mut bytes = [b'a'; 5];
    let end = 1 + character.encode_utf8(&mut bytes[1..]).len();
    std::str::from_utf8(&bytes[..end]).is_ok_and(|pair| pair.escape_debug().count() == 2)
}

/// Letters and marks by category that leave nothing to see, or strike out or enclose what precedes them.
fn blank(character: char) -> bool {
    matches!(u32::from(character),
        0x034f                      // combining grapheme joiner
        | 0x0334..=0x0338           // overlays
        | 0x115f..=0x1160           // Hangul fillers
        | 0x17b4..=0x17b5           // Khmer inherent vowels
        | 0x180b..=0x180f           // Mongolian variation selectors
        | 0x20d0..=0x20ff           // marks that enclose or strike out
        | 0x2800                    // the Braille pattern with no dots
        | 0x3164 | 0xffa0           // Hangul fillers
        | 0xfe00..=0xfe0f           // variation selectors
        | 0xfffc                    // stands for an object that is not there
        | 0x1d159                   // musical null notehead
        | 0xe0100..=0xe01ef         // variation selectors
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        let shown = View::FULL.show(text);
        assert!(shown.complete);
        shown.text
    }

    #[test]
    fn plain_text_is_shown_as_it_is() {
        for text in [
            "",
            "cargo test",
            "git commit -m 'a  b'",
            "a\n  b\n\nc",
            "查看 日志",
            "naïve café",
            "हिन्दी",
            "ไทย",
            r"a\n \\ \u",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, seen) in [
            ("ls\u{202e}txt.sh", "ls\\u{202e}txt.sh"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{1b}[2Kb\r\u{7}\u{0}\u{7f}", "a\\u{1b}[2Kb\\u{d}\\u{7}\\u{0}\\u{7f}"),
            ("a\tb", "a\\u{9}b"),
            ("a\u{a0}b\u{3000}c\u{2003}", "a\\u{a0}b\\u{3000}c\\u{2003}"),
            ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
            ("a\u{fe0f}\u{e0061}\u{3164}\u{2800}", "a\\u{fe0f}\\u{e0061}\\u{3164}\\u{2800}"),
            ("a\u{338}\u{20e0}\u{ad}\u{61c}", "a\\u{338}\\u{20e0}\\u{ad}\\u{61c}"),
            ("\u{e000}\u{378}\u{10ffff}", "\\u{e000}\\u{378}\\u{10ffff}"),
            ("a ", "a\\u{20}"),
            ("a  \nb \r\n", "a\\u{20}\\u{20}\nb\\u{20}\\u{d}\\u{a}"),
            ("a\n", "a\\u{a}"),
            ("\\u{202e}", "\\u{5c}u{202e}"),
            ("\\\\u{", "\\\\u{5c}u{"),
        ] {
            assert_eq!(shown(text), seen);
        }
    }

    #[test]
    fn nothing_is_pushed_out_of_sight() {
        let far = format!("ls{}; rm -rf /", " ".repeat(MAX_SPACES + 1));
        assert_eq!(shown(&far), format!("ls{}; rm -rf /", "\\u{20}".repeat(MAX_SPACES + 1)));
        let near = format!("ls{}; rm -rf /", " ".repeat(MAX_SPACES));
        assert_eq!(shown(&near), near);
        assert_eq!(shown("a\n\n\n\n\nb"), "a\\u{a}\\u{a}\\u{a}\\u{a}\\u{a}b");
        assert_eq!(shown("a\n\n\n\nb"), "a\n\n\n\nb");
    }

    #[test]
    fn a_line_has_no_line_ends() {
        assert_eq!(View::line(80).show("a\nb").text, "a\\u{a}b");
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_said_to_be() {
        let cut = |text: &str, max_chars| View { max_chars, lines: Lines::Kept }.show(text);
        assert_eq!(cut("abc", 3), Shown { text: "abc".into(), complete: true });
        assert_eq!(cut("abcd", 3), Shown { text: "abc".into(), complete: false });
        assert_eq!(cut("a\u{202e}", 8), Shown { text: "a".into(), complete: false }, "no half of an escape");
        assert_eq!(cut("a\u{202e}", 9), Shown { text: "a\\u{202e}".into(), complete: true });
        assert_eq!(cut("\u{0}", 5).text, "\\u{0}");
        assert_eq!(cut("\u{f}\u{10}", 11), Shown { text: "\\u{f}\\u{10}".into(), complete: true });
        assert_eq!(cut("", 0), Shown { text: String::new(), complete: true });
    }

    /// Undoes [`View::show`]: that it can be undone is what keeps two texts from looking alike.
    fn read(shown: &str) -> String {
        let mut text = String::new();
        let mut rest = shown;
        while let Some(at) = rest.find("\\u{") {
            text.push_str(&rest[..at]);
            let (digits, after) = rest[at + 3..].split_once('}').expect("closed");
            text.push(char::from_u32(u32::from_str_radix(digits, 16).expect("hex")).expect("a character"));
            rest = after;
        }
        text + rest
    }

    fn mixed() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            "[ -~]{0,6}",
            Just("\\u{".to_owned()),
            "[ \n]{0,40}",
            prop::sample::select(vec!['\u{202e}', '\u{200b}', '\u{a0}', '\t', '\r', '\u{fe0f}', '\u{1b}'])
                .prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_shown_says_exactly_what_is_there(text in mixed()) {
            prop_assert_eq!(read(&shown(&text)), text);
        }

        #[test]
        fn only_what_can_be_seen_is_shown(text in mixed()) {
            let shown = shown(&text);
            for character in shown.chars() {
                prop_assert!(matches!(character, ' ' | '\n') || visible(character), "{character:?}");
            }
            prop_assert!(shown.lines().all(|line| line.trim_end() == line));
        }

        #[test]
        fn a_bound_is_kept_and_a_part_is_a_beginning(text in mixed(), max_chars in 0..60_usize) {
            let whole = shown(&text);
            let part = View { max_chars, lines: Lines::Kept }.show(&text);
            prop_assert!(part.text.chars().count() <= max_chars);
            prop_assert!(whole.starts_with(&part.text));
            prop_assert_eq!(part.complete, part.text == whole);
        }
    }
}
