//! A request to the model, whichever API it came by: what the user said, what the tools answered, which tools
//! there are.

use serde_json::Value;

/// The API that a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Responses.
    Responses,
    /// OpenAI chat completions.
    Chat,
    /// Anthropic Messages.
    Messages,
    /// Gemini `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// A request, as tests look at it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How many came before it.
    pub number: usize,
    /// How it came.
    pub api: Api,
    /// The model that was asked for.
    pub model: String,
    /// What the user said in this conversation, without what agents add to it; the newest last.
    pub users: Vec<String>,
    /// What tools answered since the user's last message.
    pub results: Vec<String>,
    /// The tools that may be called.
    pub tools: Vec<Tool>,
    /// Whether the answer is to be streamed.
    pub delivery: Delivery,
    /// All of it.
    pub body: Value,
}

/// How an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// As events.
    Streamed,
}

impl Delivery {
    pub(super) fn asked_by(body: &Value) -> Self {
        if body["stream"] == true { Delivery::Streamed } else { Delivery::Whole }
    }
}

impl Asked {
    /// The user's last message.
    #[must_use]
    pub fn last(&self) -> &str {
        self.users.last().map_or("", String::as_str)
    }

    /// A request for something beside the conversation, such as a title: it comes without tools, or the agent
    /// says so.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        // Not only the last: the prompt that it quotes may have been parted from its beginning.
        let says_so = |said: &String| ASIDES.iter().any(|begin| said.starts_with(begin));
        self.tools.is_empty() || self.users.iter().any(says_so)
    }
}

/// A tool of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

impl Tool {
    /// A tool as any of the APIs describes it.
    pub(super) fn read(tool: &Value) -> Option<Self> {
        let name = tool["name"].as_str().or_else(|| tool["type"].as_str())?.to_owned();
        let keys = ["parameters", "input_schema", "parametersJsonSchema"];
        let schema = keys.iter().find_map(|key| tool.get(*key)).cloned().unwrap_or(Value::Null);
        Some(Self { name, schema })
    }
}

/// The line with which a message of the user begins anew.
const NOW: &str = "NOW";

/// The parts of a conversation, as they are read from the oldest to the newest.
#[derive(Default)]
pub(super) struct Turns {
    pub(super) users: Vec<String>,
    pub(super) results: Vec<String>,
}

impl Turns {
    /// The user said something; what agents say in the user's name is left out. Some agents make one message
    /// of those that got no answer: a line [`NOW`] parts them again.
    pub(super) fn said(&mut self, text: &str) {
        let text = own_words(text);
        let mut messages = vec![String::new()];
        for line in text.lines() {
            match messages.last_mut() {
                Some(message) if line.trim() != NOW => *message += &format!("{line}\n"),
                _ => messages.push(String::new()),
            }
        }
        for message in messages.iter().map(|message| message.trim()).filter(|message| !message.is_empty()) {
            self.users.push(message.to_owned());
            self.results.clear();
        }
    }

    /// A tool answered.
    pub(super) fn answered(&mut self, result: &Value) {
        self.results.push(match result {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => texts(blocks),
            other => other.to_string(),
        });
    }
}

/// The texts of content blocks, or a plain text.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => texts(blocks),
        _ => String::new(),
    }
}

fn texts(blocks: &[Value]) -> String {
    let all: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    all.join("\n")
}

/// The list at this key, empty if there is none.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// How an agent begins a request beside the conversation that it makes with all its tools.
const ASIDES: [&str; 2] = ["This is an app-generated request", "Your task is to generate a very short title"];

/// How messages begin that agents send in the user's name.
const AGENTS_OWN: [&str; 2] = ["# AGENTS.md", "This is the Gemini CLI"];

/// A user message without the `<tag>…</tag>` blocks that agents put into it.
fn own_words(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(at) = rest.find('<') {
        let (before, block) = rest.split_at(at);
        kept.push_str(before);
        match end_of_block(block) {
            Some(end) => rest = &block[end..],
            None => {
                kept.push('<');
                rest = &block[1..];
            }
        }
    }
    kept.push_str(rest);
    let kept = kept.trim();
    if AGENTS_OWN.iter().any(|begin| kept.starts_with(begin)) { String::new() } else { kept.to_owned() }
}

/// Where the block ends that begins here with `<tag`, if it is one.
fn end_of_block(text: &str) -> Option<usize> {
    let name_end = text[1..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))? + 1;
    let name = &text[1..name_end];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let close = format!("</{name}>");
    Some(text.find(&close)? + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_add_is_no_word_of_the_user() {
        assert_eq!(own_words("<env x=\"1\">cwd</env>\nSAY a <b> < c"), "SAY a <b> < c");
        assert_eq!(own_words("<system-reminder>x</system-reminder>"), "");
        assert_eq!(own_words("# AGENTS.md instructions"), "");
    }

    #[test]
    fn messages_that_were_made_one_are_parted() {
        let mut turns = Turns::default();
        turns.said("SAY a\nSAY b\nNOW\nRECALL");
        assert_eq!(turns.users, ["SAY a\nSAY b", "RECALL"]);
    }

    #[test]
    fn a_request_for_a_title_is_one_whatever_prompt_it_quotes() {
        let asked = |text: &str| {
            let mut turns = Turns::default();
            turns.said(text);
            Asked {
                number: 0,
                api: Api::Responses,
                model: String::new(),
                users: turns.users,
                results: vec![],
                tools: vec![Tool { name: "shell".into(), schema: Value::Null }],
                delivery: Delivery::Whole,
                body: Value::Null,
            }
        };
        let quoted = asked("Your task is to generate a very short title for:\nNOW\nRECALL");
        assert_eq!(quoted.last(), "RECALL");
        assert!(quoted.is_aside());
        assert!(!asked("SAY a\nNOW\nRECALL").is_aside());
    }

    #[test]
    fn results_are_those_since_the_last_message() {
        let mut turns = Turns::default();
        turns.said("a");
        turns.answered(&serde_json::json!("1"));
        turns.said("b");
        turns.answered(&serde_json::json!([{"type": "text", "text": "2"}]));
        turns.said("<x>not said</x>");
        assert_eq!((turns.users, turns.results), (vec!["a".into(), "b".into()], vec!["2".into()]));
    }
}
