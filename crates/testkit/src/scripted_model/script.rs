//! What the words of a user message make the model do. Pure.
//!
//! A message is read line by line; lines without a word of the script are ignored. `RUN` ends the model's
//! reply with a call of the agent's shell tool, and the lines after it are what follows the tool's result.

/// Part of what the model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, sent as one delta.
    Text(String),
    /// Nothing more is sent until the test releases this name.
    Hold(String),
    /// Nothing more is sent for so many milliseconds.
    Pause(u64),
}

/// A command for the agent's shell tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// What to run.
    pub command: String,
    /// Whether to ask for more rights than the agent's sandbox gives, where its tool has a way to.
    pub rights: Rights,
}

/// The rights that a command is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Those of the agent's mode.
    Usual,
    /// More than the sandbox gives.
    Escalated,
}

/// What the model does with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It answers.
    Answer {
        /// What it says.
        pieces: Vec<Piece>,
        /// What it wants to be run then.
        call: Option<ShellCall>,
    },
    /// It refuses.
    Fail(Refusal),
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// With this HTTP status.
    pub status: u16,
    /// For so many hours, where it says that.
    pub hours: Option<u32>,
}

impl Refusal {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        Some(Self { status: words.next()?.parse().ok()?, hours: words.next().and_then(|word| word.parse().ok()) })
    }
}

/// With this line Gemini begins what was attached: material, and no part of the script.
const ATTACHED: &str = "--- Content from referenced";
/// How many characters of a tool's result are repeated.
const RESULT_HEAD: usize = 200;
/// How many characters a delta has.
const DELTA: usize = 16;

/// What follows from the user's messages so far (the last one has the script) and the results of the tools
/// that were called since.
#[must_use]
pub fn reply(users: &[String], results: &[String]) -> Reply {
    let (message, earlier) = users.split_last().map_or(("", [].as_slice()), |(last, rest)| (last.as_str(), rest));
    let mut stretch = Stretch::default();
    let mut run = 0;
    let own = message.lines().map(str::trim).take_while(|line| !line.starts_with(ATTACHED));
    for line in own {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(word, "RUN" | "ESCALATE") {
            if run == results.len() {
                let rights = if word == "RUN" { Rights::Usual } else { Rights::Escalated };
                let call = ShellCall { command: rest.to_owned(), rights };
                return Reply::Answer { pieces: stretch.pieces, call: Some(call) };
            }
            run += 1;
            stretch = Stretch::default();
        } else if let Some(refusal) = stretch.take(word, rest, earlier)
            && run == results.len()
        {
            return Reply::Fail(refusal);
        }
    }
    if stretch.pieces.is_empty() {
        let said = match results.last() {
            Some(result) => format!("The tool said: {}", head(result)),
            None => "Understood.".to_owned(),
        };
        stretch.say(&said);
    }
    Reply::Answer { pieces: stretch.pieces, call: None }
}

/// The lines between two calls.
#[derive(Default)]
struct Stretch {
    pieces: Vec<Piece>,
    pause_ms: u64,
}

impl Stretch {
    /// Takes a line in; gives the refusal if it says that the request fails.
    fn take(&mut self, word: &str, rest: &str, earlier: &[String]) -> Option<Refusal> {
        match word {
            "SAY" => self.say(&format!("{rest}\n")),
            "HOLD" => self.pieces.push(Piece::Hold(rest.to_owned())),
            "SLOW" => self.pause_ms = rest.parse().unwrap_or(0),
            "STREAM" => {
                for number in 1..=rest.parse::<u32>().unwrap_or(0) {
                    self.piece(format!("word-{number} "));
                }
            }
            "RECALL" => {
                let numbered = earlier.iter().enumerate();
                let listed: String =
                    numbered.map(|(at, text)| format!("{}. {}\n", at + 1, text.replace('\n', " / "))).collect();
                self.say(&format!("I recall {} messages:\n{listed}", earlier.len()));
            }
            "FAIL" => return Refusal::read(rest),
            _ => {}
        }
        None
    }

    fn say(&mut self, text: &str) {
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(DELTA) {
            self.piece(chunk.iter().collect());
        }
    }

    fn piece(&mut self, text: String) {
        self.pieces.push(Piece::Text(text));
        if self.pause_ms > 0 {
            self.pieces.push(Piece::Pause(self.pause_ms));
        }
    }
}

fn head(text: &str) -> String {
    text.chars().take(RESULT_HEAD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str, results: &[&str]) -> (String, Option<String>) {
        let users = ["hello there".to_owned(), message.to_owned()];
        let results: Vec<String> = results.iter().map(|&text| text.to_owned()).collect();
        match reply(&users, &results) {
            Reply::Answer { pieces, call } => {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Hold(name) => format!("<{name}>"),
                    Piece::Pause(ms) => format!("<{ms} ms>"),
                };
                (pieces.iter().map(text).collect(), call.map(|call| call.command))
            }
            Reply::Fail(Refusal { status, hours: None }) => (format!("fails with {status}"), None),
            Reply::Fail(Refusal { status, hours: Some(hours) }) => (format!("fails with {status} for {hours} h"), None),
        }
    }

    #[test]
    fn a_message_without_words_is_understood() {
        assert_eq!(said("please do it", &[]), ("Understood.".into(), None));
    }

    #[test]
    fn calls_are_made_one_after_the_other() {
        let message = "SAY one\nRUN a\nSAY two\nRUN b";
        assert_eq!(said(message, &[]), ("one\n".into(), Some("a".into())));
        assert_eq!(said(message, &["A"]), ("two\n".into(), Some("b".into())));
        assert_eq!(said(message, &["A", "B"]), ("The tool said: B".into(), None));
    }

    #[test]
    fn a_response_is_held_where_the_script_says() {
        assert_eq!(said("SAY a\nHOLD gate\nSAY b", &[]).0, "a\n<gate>b\n");
        assert_eq!(said("SLOW 5\nSTREAM 2", &[]).0, "word-1 <5 ms>word-2 <5 ms>");
    }

    #[test]
    fn failures_come_at_their_place() {
        assert_eq!(said("FAIL 429", &[]).0, "fails with 429");
        assert_eq!(said("FAIL 429 2", &[]).0, "fails with 429 for 2 h");
        assert_eq!(said("RUN a\nFAIL 500", &[]).1, Some("a".into()));
        assert_eq!(said("RUN a\nFAIL 500", &["A"]).0, "fails with 500");
        assert_eq!(said("FAIL 500\nRUN a", &["A"]).0, "The tool said: A");
    }

    #[test]
    fn recall_lists_what_was_said_before() {
        assert_eq!(said("RECALL", &[]).0, "I recall 1 messages:\n1. hello there\n");
    }
}
