//! Text from agents, made safe to show: control and bidi characters are escaped, never sent to the terminal.
//!
//! An agent could otherwise move the cursor and repaint an approval, or make `rm` read as something
//! else. *Invariant:* what comes out has no control character but newline and tab.

use std::borrow::Cow;

/// The text with every dangerous character written out as `\u{…}`. Newlines and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    escape(text, |letter| matches!(letter, '\n' | '\t'))
}

/// The same on one line: newlines and tabs are written out too, so that nothing can hide below.
pub(crate) fn safe_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// The first line of a text that says anything, cut to so many characters, safe to show.
pub(crate) fn safe_glance(text: &str, max_chars: usize) -> String {
    safe_line(&throughline_model::content::one_line(text, max_chars)).into_owned()
}

/// One line of a tool's output: safe, and cut where nobody reads on.
pub(crate) fn safe_output(line: &str) -> String {
    const MAX_CHARS: usize = 200;
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", safe_line(&line[..end])),
        None => safe(line).into_owned(),
    }
}

/// A text as one word of a shell, quoted where it has to be.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%=:,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |letter: char| is_hidden(letter) && !keep(letter);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if hidden(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character changes how others are shown, or shows nothing itself.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{00ad}'                  // soft hyphen
            | '\u{061c}'                // Arabic letter mark
            | '\u{180e}'
            | '\u{200b}'                // zero width space
            | '\u{200e}'..='\u{200f}'   // direction marks
            | '\u{2028}'..='\u{202e}'   // separators, embeddings and overrides
            | '\u{2060}'..='\u{206f}'   // invisible operators, isolates
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' // tags
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in ["", "plain", "zwei\nZeilen\tund", "修复路由 👩\u{200d}💻"] {
            assert!(matches!(safe(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn what_could_repaint_the_screen_is_written_out() {
        assert_eq!(safe("a\u{1b}[2Jb\r"), "a\\u{1b}[2Jb\\r");
        assert_eq!(safe("rm \u{202e}fdp.x"), "rm \\u{202e}fdp.x");
    }

    #[test]
    fn a_word_of_a_shell_is_quoted_where_it_has_to_be() {
        assert_eq!(shell_word("/work/a-b"), "/work/a-b");
        assert_eq!(shell_word("/it's here"), r"'/it'\''s here'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_line_of_output_ends_where_nobody_reads_on() {
        assert_eq!(safe_output("short\tline"), "short\tline");
        assert_eq!(safe_output(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
    }

    #[test]
    fn on_one_line_nothing_hides_below() {
        assert_eq!(safe_line("ls\nrm -rf ~"), "ls\\nrm -rf ~");
    }
}
