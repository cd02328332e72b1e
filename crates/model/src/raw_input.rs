//! The raw input of a tool call: read strictly, and put into words for a person.
//!
//! Two readers of the same JSON must not see different things, so a text with a name twice is not read at all: it is
//! shown as it came, and no rule fits it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::approval::Ask;
use crate::content::Text;

/// A JSON value whose names are unique, in the order in which they came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `null`, `true`, `12.5`: as JSON writes it.
    Plain(String),
    /// A text, unescaped.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Fields(Vec<(String, Json)>),
}

/// Reads a text; none if it is not JSON, or has a name twice.
pub(crate) fn read(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok()
}

/// What a request says in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// Whether all of it is there.
    pub(crate) complete: bool,
}

/// The full command or edit; the agent's description where it sent nothing else; the head of what is too long.
///
/// A command stands first. Every other field starts a line with its name, and the further lines of a text are indented:
/// what an agent puts into a text cannot pass for a field.
pub(crate) fn words(ask: &Ask) -> Words {
    let complete = |text| Words { text, complete: true };
    match &ask.input {
        None => complete(ask.title.clone()),
        Some(Text::Blob { head, .. }) => Words { text: head.clone(), complete: false },
        Some(Text::Inline(input)) => match read(input) {
            Some(Json::Fields(fields)) if !fields.is_empty() => complete(lines(&fields, &ask.cwd)),
            _ => complete(input.clone()),
        },
    }
}

fn lines(fields: &[(String, Json)], cwd: &str) -> String {
    let command = fields.iter().find(|(name, _)| name == "command").and_then(|(_, value)| command_line(value));
    let mut lines: Vec<String> = command.iter().map(|line| indented(line)).collect();
    for (name, value) in fields {
        // The folder is shown anyway.
        let told = (name == "command" && command.is_some()) || (name == "cwd" && *value == Json::Text(cwd.to_owned()));
        if told {
            continue;
        }
        let plain = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let name = if plain { name.clone() } else { quoted(name) };
        lines.push(match value {
            Json::Text(text) if text.contains('\n') => format!("{name}:\n  {}", indented(text)),
            Json::Text(text) => format!("{name}: {text}"),
            Json::Plain(_) | Json::List(_) | Json::Fields(_) => format!("{name}: {}", indented(&value.to_string())),
        });
    }
    lines.join("\n")
}

/// A command as a shell would read it.
fn command_line(command: &Json) -> Option<String> {
    match command {
        Json::Text(line) if !line.is_empty() => Some(line.clone()),
        Json::List(words) if !words.is_empty() => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.text().map(shell_word)).collect();
            words.map(|words| words.join(" "))
        }
        Json::Text(_) | Json::List(_) | Json::Plain(_) | Json::Fields(_) => None,
    }
}

/// A word of a shell, quoted where it has to be.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@=:,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Json {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Plain(_) | Json::List(_) | Json::Fields(_) => None,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separated = |f: &mut fmt::Formatter<'_>, at: usize| if at > 0 { f.write_str(", ") } else { Ok(()) };
        match self {
            Json::Plain(word) => f.write_str(word),
            Json::Text(text) => f.write_str(&quoted(text)),
            Json::List(values) => {
                f.write_str("[")?;
                for (at, value) in values.iter().enumerate() {
                    separated(f, at)?;
                    write!(f, "{value}")?;
                }
                f.write_str("]")
            }
            Json::Fields(fields) => {
                f.write_str("{")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    separated(f, at)?;
                    write!(f, "{}: {value}", quoted(name))?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON whose names are unique")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Plain("null".into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut values = vec![];
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields: Vec<(String, Json)> = vec![];
        let mut names = std::collections::HashSet::new();
        while let Some((name, value)) = map.next_entry::<String, Json>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom("a name is there twice"));
            }
            fields.push((name, value));
        }
        Ok(Json::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::BlobRef;

    fn said(input: &str) -> String {
        let words = words(&ask(Some(input.into())));
        assert!(words.complete);
        words.text
    }

    fn ask(input: Option<Text>) -> Ask {
        let (call, title, tool) = ("c".into(), "Do it".into(), "execute".into());
        Ask { call, title, tool, input, cwd: "/shop".into() }
    }

    #[test]
    fn a_command_reads_as_one_and_nothing_else_is_left_out() {
        for (input, words) in [
            (r#"{"command":"ls -l"}"#, "ls -l"),
            (r#"{"command":["sh","-c","ls; it's"],"cwd":"/shop"}"#, r"sh -c 'ls; it'\''s'"),
            (r#"{"command":["",1]}"#, r#"command: ["", 1]"#),
            (r#"{"command":[]}"#, "command: []"),
            (r#"{"command":"","x":1}"#, "command: \nx: 1"),
            (r#"{"command":["a",""]}"#, "a ''"),
            (r#"{"description":"List","command":"ls","timeout":5}"#, "ls\ndescription: List\ntimeout: 5"),
            (r#"{"command":"ls","cwd":"/etc"}"#, "ls\ncwd: /etc"),
            (r#"{"command":"a\nb: c"}"#, "a\n  b: c"),
            (r#"{"file_path":"a.rs","new_string":"x\ny"}"#, "file_path: a.rs\nnew_string:\n  x\n  y"),
            (
                r#"{"a b":null,"":[true,-1,1.5],"c":{"d":"e","f":{}}}"#,
                "\"a b\": null\n\"\": [true, -1, 1.5]\nc: {\"d\": \"e\", \"f\": {}}",
            ),
        ] {
            assert_eq!(said(input), words, "{input}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_shown_as_it_came() {
        for input in [
            r#"{"command":"ls","command":"rm -rf /"}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"command":"ls","\u0063ommand":"rm"}"#,
            r#"["ls"]"#,
            r#""ls""#,
            "{}",
            "no JSON",
        ] {
            assert_eq!(said(input), input);
        }
    }

    #[test]
    fn what_is_no_json_is_told_what_was_expected() {
        use serde::de::value::{BytesDeserializer, Error};
        let error: Error = Json::deserialize(BytesDeserializer::new(b"ls")).expect_err("bytes are no JSON");
        assert!(error.to_string().contains("JSON whose names are unique"), "{error}");
    }

    #[test]
    fn without_an_input_there_is_the_agents_description_and_of_a_long_one_the_head() {
        assert_eq!(words(&ask(None)), Words { text: "Do it".into(), complete: true });
        let blob = BlobRef { sha256: "00".into(), bytes: 5_000_000 };
        let long = ask(Some(Text::Blob { blob, head: "the head".into() }));
        assert_eq!(words(&long), Words { text: "the head".into(), complete: false });
    }
}
