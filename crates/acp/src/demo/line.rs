//! One line of a prompt, as a value. Pure: it reads text and does nothing.
//!
//! A line that starts with a known word but lacks what the word needs is [`Line::Incomplete`], never a
//! guess. A line that starts with no known word is [`Line::Unknown`]: the agent has no model behind it
//! and says so. A leading `/` is accepted, so that slash commands and lines are the same language.

use std::fmt::Write as _;

use super::offer::Mode;

/// The most chunks that one `stream` line may ask for.
pub const MAX_CHUNKS: u64 = 100_000;
/// The most bytes that one `flood` line may ask for: enough to pass any sane frame limit.
pub const MAX_FLOOD_BYTES: u64 = 256 * 1024 * 1024;
/// The longest wait that `sleep` (in milliseconds), `spawn` (in seconds) and `limit` (in minutes) accept: a day.
const MAX_WAIT_SECS: u64 = 24 * 60 * 60;

/// What one line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Run a shell command, with permission.
    Run(String),
    /// Replace a file's text.
    Write { path: String, text: String },
    /// Add a line of text to the end of a file.
    Append { path: String, text: String },
    /// Show a file.
    Read(String),
    /// Publish a plan and work through its entries.
    Plan(Vec<String>),
    /// Ask the person something, as the end of the turn.
    Ask(String),
    /// Ask the person something in the middle of the turn, by a form.
    Form(String),
    /// Say a text.
    Say(String),
    /// Stream a message in so many chunks.
    Stream(u64),
    /// Wait for so many milliseconds.
    Sleep(u64),
    /// Report that the context holds so many tokens, and that the session has cost so many cents.
    Spend { tokens: u64, cents: u64 },
    /// Say every earlier prompt of this session.
    Recall,
    /// Say the current model.
    Model,
    /// Go into another mode.
    Mode(Mode),
    /// Say what this session was opened with.
    Given,
    /// Say which lines are understood.
    Help,
    /// Answer the prompt with an error.
    Fail,
    /// Answer it as an agent does whose usage limit is reached, for so many minutes.
    Limit(u64),
    /// Kill the agent's own process.
    Crash,
    /// Never answer, until cancelled.
    Hang,
    /// Send so many bytes of tool output in one update.
    Flood(u64),
    /// Leave a detached process running for so many seconds.
    Spawn(u64),
    /// A known word without what it needs; the usage says what that is.
    Incomplete(&'static Word),
    /// Anything else.
    Unknown(String),
}

/// A word that starts a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    /// The word itself.
    pub name: &'static str,
    /// What follows it; empty if the word stands alone.
    pub argument: &'static str,
    /// What the line does.
    pub effect: &'static str,
}

const fn word(name: &'static str, argument: &'static str, effect: &'static str) -> Word {
    Word { name, argument, effect }
}

/// Every word that is understood, in the order in which help lists them.
pub const WORDS: &[Word] = &[
    word("run", "CMD", "asks permission, then runs CMD in the workspace"),
    word("write", "PATH TEXT", "replaces the file with TEXT and a newline"),
    word("append", "PATH TEXT", "adds TEXT and a newline to the file"),
    word("read", "PATH", "shows the file"),
    word("plan", "A; B; C", "publishes a plan and ticks its entries off"),
    word("ask", "QUESTION", "asks you, and ends the turn with that"),
    word("form", "QUESTION", "asks you in the middle of the turn, and waits for your answer"),
    word("say", "TEXT", "says TEXT"),
    word("stream", "N", "streams a message in N chunks"),
    word("sleep", "MS", "waits for MS milliseconds"),
    word("spend", "TOKENS [CENTS]", "reports that the context holds TOKENS, and that all of it has cost CENTS"),
    word("recall", "", "says every earlier prompt of this session"),
    word("model", "", "says the current model"),
    word("mode", "ask|auto", "goes into that mode by itself: auto runs without asking"),
    word("given", "", "says which MCP servers and folders this session was opened with"),
    word("help", "", "says this"),
    word("fail", "", "fails the turn"),
    word("limit", "MINUTES", "fails the turn as if a usage limit were reached for MINUTES minutes"),
    word("crash", "", "kills the agent's process"),
    word("hang", "", "never answers, until cancelled"),
    word("flood", "BYTES", "sends BYTES bytes of tool output at once"),
    word("spawn", "SECS", "leaves a detached process running for SECS seconds"),
];

impl Word {
    /// The word and what follows it: `write PATH TEXT`.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.argument).trim_end().to_owned()
    }
}

/// The list of all lines that are understood, one per line.
pub fn usage_list() -> String {
    WORDS.iter().fold(String::new(), |mut list, word| {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "- `{}` {}", word.usage(), word.effect);
        list
    })
}

/// Reads one line. `None` for a blank one.
pub fn parse(line: &str) -> Option<Line> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let spoken = line.strip_prefix('/').unwrap_or(line);
    let (first, rest) = split_word(spoken);
    let known = WORDS.iter().find(|word| word.name.eq_ignore_ascii_case(first));
    let parsed = known.and_then(|word| match (word.argument.is_empty(), rest.is_empty()) {
        // "crash the party" is prose, not an order to crash.
        (true, false) => None,
        (true, true) => bare(word),
        (false, true) => Some(Line::Incomplete(word)),
        (false, false) => Some(with_argument(word, rest).unwrap_or(Line::Incomplete(word))),
    });
    Some(parsed.unwrap_or_else(|| Line::Unknown(line.to_owned())))
}

fn bare(word: &Word) -> Option<Line> {
    Some(match word.name {
        "recall" => Line::Recall,
        "model" => Line::Model,
        "given" => Line::Given,
        "help" => Line::Help,
        "fail" => Line::Fail,
        "crash" => Line::Crash,
        "hang" => Line::Hang,
        _ => return None,
    })
}

fn with_argument(word: &Word, rest: &str) -> Option<Line> {
    let text = || rest.to_owned();
    Some(match word.name {
        "run" => Line::Run(text()),
        "write" => path_and_text(rest).map(|(path, text)| Line::Write { path, text })?,
        "append" => path_and_text(rest).map(|(path, text)| Line::Append { path, text })?,
        "read" => Line::Read(text()),
        "mode" => Line::Mode(Mode::of_id(rest)?),
        "plan" => Line::Plan(plan_entries(rest)?),
        "ask" => Line::Ask(text()),
        "form" => Line::Form(text()),
        "say" => Line::Say(text()),
        "stream" => Line::Stream(number(rest, 1, MAX_CHUNKS)?),
        "sleep" => Line::Sleep(number(rest, 0, MAX_WAIT_SECS * 1_000)?),
        "spend" => {
            let (tokens, cents) = split_word(rest);
            let cents = if cents.is_empty() { Some(0) } else { number(cents, 0, u64::from(u32::MAX)) };
            Line::Spend { tokens: number(tokens, 0, u64::from(u32::MAX))?, cents: cents? }
        }
        "limit" => Line::Limit(number(rest, 1, MAX_WAIT_SECS / 60)?),
        "flood" => Line::Flood(number(rest, 1, MAX_FLOOD_BYTES)?),
        "spawn" => Line::Spawn(number(rest, 1, MAX_WAIT_SECS)?),
        _ => return None,
    })
}

fn split_word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

/// A path with spaces can be put in double quotes.
fn path_and_text(rest: &str) -> Option<(String, String)> {
    let (path, text) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => split_word(rest),
    };
    (!path.is_empty()).then(|| (path.to_owned(), text.trim_start().to_owned()))
}

fn plan_entries(rest: &str) -> Option<Vec<String>> {
    let entries: Vec<String> =
        rest.split([';', '；']).map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    (!entries.is_empty()).then_some(entries)
}

fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    let value = text.parse().ok()?;
    (least..=most).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incomplete(name: &str) -> Option<Line> {
        WORDS.iter().find(|word| word.name == name).map(Line::Incomplete)
    }

    #[test]
    fn each_word_is_read() {
        let text = |text: &str| text.to_owned();
        let cases = [
            ("run echo hi && ls", Line::Run(text("echo hi && ls"))),
            ("read src/a b.rs", Line::Read(text("src/a b.rs"))),
            ("ask which colour?", Line::Ask(text("which colour?"))),
            ("form which colour?", Line::Form(text("which colour?"))),
            ("say  你好, мир ", Line::Say(text("你好, мир"))),
            ("stream 3", Line::Stream(3)),
            ("sleep 0", Line::Sleep(0)),
            ("flood 1048576", Line::Flood(1_048_576)),
            ("spawn 30", Line::Spawn(30)),
            ("recall", Line::Recall),
            ("model", Line::Model),
            ("mode auto", Line::Mode(Mode::Auto)),
            ("given", Line::Given),
            ("help", Line::Help),
            ("fail", Line::Fail),
            ("limit 90", Line::Limit(90)),
            ("crash", Line::Crash),
            ("hang", Line::Hang),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn every_listed_word_is_either_read_or_asks_for_its_argument() {
        for word in WORDS {
            let parsed = parse(word.name).expect("a word is not blank");
            assert!(!matches!(parsed, Line::Unknown(_)), "{}", word.name);
        }
    }

    #[test]
    fn slash_and_capitals_are_the_same_line() {
        assert_eq!(parse("/recall"), Some(Line::Recall));
        assert_eq!(parse("Say hi"), Some(Line::Say("hi".into())));
        assert_eq!(parse("/run ls"), Some(Line::Run("ls".into())));
    }

    #[test]
    fn write_takes_a_path_and_the_rest() {
        let write = |path: &str, text: &str| Some(Line::Write { path: path.into(), text: text.into() });
        assert_eq!(parse("write a.txt two words"), write("a.txt", "two words"));
        assert_eq!(parse("write a.txt"), write("a.txt", ""));
        assert_eq!(parse("write \"a b.txt\" text"), write("a b.txt", "text"));
        assert_eq!(parse("write \"a b.txt"), incomplete("write"));
        assert_eq!(parse("append 笔记.md 一行"), Some(Line::Append { path: "笔记.md".into(), text: "一行".into() }));
    }

    #[test]
    fn plan_entries_are_split_and_trimmed() {
        let plan = |entries: &[&str]| Some(Line::Plan(entries.iter().map(|e| (*e).into()).collect()));
        assert_eq!(parse("plan A; B ;C;"), plan(&["A", "B", "C"]));
        assert_eq!(parse("plan 先看；再改"), plan(&["先看", "再改"]));
        assert_eq!(parse("plan ;;"), incomplete("plan"));
    }

    #[test]
    fn numbers_out_of_range_are_incomplete_not_guessed() {
        for line in ["stream", "stream x", "stream 0", "stream -1", "stream 99999999"] {
            assert_eq!(parse(line), incomplete("stream"), "{line}");
        }
        assert_eq!(parse("flood 99999999999"), incomplete("flood"));
        assert_eq!(parse("sleep 1.5"), incomplete("sleep"));
        assert_eq!(parse("spend 5 x"), incomplete("spend"));
        assert_eq!(parse("spend 5 25"), Some(Line::Spend { tokens: 5, cents: 25 }));
        assert_eq!(parse("spend 5"), Some(Line::Spend { tokens: 5, cents: 0 }));
    }

    #[test]
    fn prose_is_unknown_and_blank_is_nothing() {
        for line in ["crash the party", "runs fine", "fix the bug", "修一下", "/"] {
            assert_eq!(parse(line), Some(Line::Unknown(line.into())), "{line}");
        }
        assert_eq!(parse(" \t "), None);
    }
}
