//! Question: what an agent asks the person in the middle of a turn, with a form for the answer.
//!
//! The words of a person become what the form asks for, or a reason why they cannot. Nothing is guessed: an answer that
//! does not fit is not given.

mod text;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::approval::VoidKind;
use crate::ids::{InputId, PersonId, QuestionId};
use crate::rejection::Rejection;
use text::Look;

/// A question of a running turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Which.
    pub id: QuestionId,
    /// The agent's own id of the request, as JSON text.
    pub request: String,
    /// What it asks, in its words.
    pub message: String,
    /// The form of the answer: a JSON schema as the agent sent it, as JSON text.
    pub schema: String,
    /// Whether it was answered, or void. It is remembered while its turn runs, so that nothing is asked twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
}

/// What a person makes of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// They answer in words.
    Words {
        /// Theirs.
        text: String,
    },
    /// They filled the form in.
    Form {
        /// JSON text.
        content: String,
    },
    /// They do not want to answer.
    Decline,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum QuestionSettlement {
    /// A person answered.
    Answered {
        /// Who.
        by: PersonId,
        /// With which message, where it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// The form, filled in, as JSON text.
        content: String,
    },
    /// A person did not want to answer.
    Declined {
        /// Who.
        by: PersonId,
    },
    /// There is nothing left to answer.
    Void {
        /// What happened, in words.
        cause: String,
        /// What sort of thing that was.
        #[serde(default, skip_serializing_if = "VoidKind::is_gone")]
        kind: VoidKind,
    },
}

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FormAnswer {
    /// The form, filled in.
    Accept {
        /// JSON text.
        content: String,
    },
    /// The person does not want to answer.
    Decline,
    /// Nobody will answer.
    Cancel,
}

impl Question {
    /// More of a question, or of its form, is not taken: nobody reads it.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// Whether it waits under this id of the agent's.
    #[must_use]
    pub fn waits_as(&self, request: &str) -> bool {
        !self.settled && self.request == request
    }

    /// What an answer comes to: the form, filled in, as JSON text.
    ///
    /// # Errors
    /// If it does not fit the form.
    pub fn filled_in(&self, answer: &Answer) -> Result<String, Rejection> {
        let form = Form::read(&self.schema);
        let content = match answer {
            Answer::Words { text } => form.of_words(text),
            Answer::Form { content } => serde_json::from_str(content).map_err(|_| no("it is not JSON")),
            Answer::Decline => Err(no("it was declined")),
        }?;
        form.check(&content)?;
        Ok(Value::Object(content).to_string())
    }

    /// What the form asks for, a line each; nothing where any words will do.
    #[must_use]
    pub fn fields(&self) -> Vec<String> {
        let form = Form::read(&self.schema);
        match form.fields.as_slice() {
            [Field { kind: Kind::Text(look), .. }] if look.is_free() => vec![],
            fields => fields.iter().map(Field::words).collect(),
        }
    }
}

fn no(why: impl Into<String>) -> Rejection {
    Rejection::BadAnswer { why: why.into() }
}

/// A form with named fields. What this version does not know in a schema does not constrain.
struct Form {
    fields: Vec<Field>,
}

struct Field {
    name: String,
    title: Option<String>,
    required: bool,
    kind: Kind,
}

enum Kind {
    Text(Look),
    Choice(Vec<Choice>),
    Several { choices: Vec<Choice>, min: u64, max: u64 },
    Number { whole: bool, min: f64, max: f64 },
    Switch,
    Other,
}

struct Choice {
    value: String,
    title: String,
}

impl Form {
    fn read(schema: &str) -> Self {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let required: Vec<&str> = texts(&schema["required"]);
        let properties = schema["properties"].as_object();
        let fields = properties.into_iter().flatten().map(|(name, field)| Field {
            name: name.clone(),
            title: field["title"].as_str().map(str::to_owned),
            required: required.contains(&name.as_str()),
            kind: Kind::read(field),
        });
        Form { fields: fields.collect() }
    }

    /// One field takes the words as they are. Several are named: as JSON, or a line each.
    fn of_words(&self, words: &str) -> Result<Map<String, Value>, Rejection> {
        let words = words.trim();
        if let Ok(Value::Object(content)) = serde_json::from_str(words) {
            return Ok(content);
        }
        let all: Vec<&Field> = self.fields.iter().collect();
        let needed: Vec<&Field> = self.fields.iter().filter(|field| field.required).collect();
        let only = match (all.as_slice(), needed.as_slice()) {
            // Without a field it is a yes or a no, and a no is to decline.
            ([], _) if said_yes(words) == Some(true) => return Ok(Map::new()),
            ([], _) => return Err(no("it asks for a yes; to say no is to decline it")),
            ([only], _) | (_, [only]) if !self.names_a_field(words) => *only,
            (_, []) if !self.names_a_field(words) => match self.only_that_takes(words) {
                Some(only) => only,
                None => return self.of_lines(words),
            },
            _ => return self.of_lines(words),
        };
        Ok(Map::from_iter([(only.name.clone(), only.value(words)?)]))
    }

    /// Where one question may be answered by a choice or in one's own words, the field that these words are for.
    fn only_that_takes(&self, words: &str) -> Option<&Field> {
        let questions = self.fields.iter().filter(|field| !matches!(field.kind, Kind::Text(_)));
        let takes = |field: &&Field| field.value(words).and_then(|value| field.check(&value)).is_ok();
        (questions.count() == 1).then(|| self.fields.iter().find(takes)).flatten()
    }

    fn names_a_field(&self, words: &str) -> bool {
        !words.is_empty() && words.lines().all(|line| self.named(line).is_some())
    }

    fn named<'a>(&self, line: &'a str) -> Option<(&Field, &'a str)> {
        let (name, value) = line.split_once(':')?;
        let same = |field: &&Field| {
            field.name.eq_ignore_ascii_case(name.trim())
                || field.title.as_ref().is_some_and(|title| title.eq_ignore_ascii_case(name.trim()))
        };
        Some((self.fields.iter().find(same)?, value.trim()))
    }

    fn of_lines(&self, words: &str) -> Result<Map<String, Value>, Rejection> {
        let mut content = Map::new();
        for line in words.lines().filter(|line| !line.trim().is_empty()) {
            let named = self.named(line);
            let (field, value) = named.ok_or_else(|| no(format!("it asks for {}, a line each", self.names())))?;
            content.insert(field.name.clone(), field.value(value)?);
        }
        Ok(content)
    }

    fn names(&self) -> String {
        self.fields.iter().map(|field| format!("`{}: …`", field.name)).collect::<Vec<_>>().join(", ")
    }

    fn check(&self, content: &Map<String, Value>) -> Result<(), Rejection> {
        for field in &self.fields {
            match content.get(&field.name) {
                Some(value) => field.check(value)?,
                None if field.required => return Err(no(format!("`{}` is missing", field.name))),
                None => {}
            }
        }
        let unknown = content.keys().find(|name| self.fields.iter().all(|field| field.name != **name));
        match unknown {
            Some(name) => Err(no(format!("it does not ask for `{name}`"))),
            None => Ok(()),
        }
    }
}

impl Kind {
    fn read(field: &Value) -> Self {
        let bound = |name: &str, otherwise: u64| field[name].as_u64().unwrap_or(otherwise);
        match field["type"].as_str() {
            Some("string") if field["enum"].is_array() || field["oneOf"].is_array() => Kind::Choice(choices(field)),
            Some("string") => Kind::Text(Look::read(field)),
            Some("boolean") => Kind::Switch,
            Some(number @ ("number" | "integer")) => Kind::Number {
                whole: number == "integer",
                min: field["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
                max: field["maximum"].as_f64().unwrap_or(f64::INFINITY),
            },
            Some("array") => Kind::Several {
                choices: choices(&field["items"]),
                min: bound("minItems", 0),
                max: bound("maxItems", u64::MAX),
            },
            _ => Kind::Other,
        }
    }
}

fn choices(field: &Value) -> Vec<Choice> {
    let titled = ["oneOf", "anyOf"].iter().filter_map(|name| field[*name].as_array()).flatten();
    let titled = titled.filter_map(|option| {
        let value = option["const"].as_str()?;
        Some(Choice { value: value.into(), title: option["title"].as_str().unwrap_or(value).into() })
    });
    let plain = texts(&field["enum"]).into_iter().map(|value| Choice { value: value.into(), title: value.into() });
    titled.chain(plain).collect()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Field {
    /// What words mean in this field.
    fn value(&self, words: &str) -> Result<Value, Rejection> {
        let wrong = || no(self.words());
        match &self.kind {
            Kind::Text(_) | Kind::Other => Ok(words.into()),
            Kind::Choice(choices) => chosen(choices, words).map(Into::into).ok_or_else(wrong),
            Kind::Several { choices, .. } => {
                let parts = words.split([',', '，', '\n']).map(str::trim).filter(|part| !part.is_empty());
                let values: Option<Vec<Value>> = parts.map(|part| chosen(choices, part).map(Into::into)).collect();
                values.map(Value::Array).ok_or_else(wrong)
            }
            Kind::Number { whole: true, .. } => words.parse::<i64>().map(Into::into).map_err(|_| wrong()),
            Kind::Number { whole: false, .. } => {
                let number = words.parse::<f64>().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or_else(wrong)
            }
            Kind::Switch => said_yes(words).map(Into::into).ok_or_else(wrong),
        }
    }

    fn check(&self, value: &Value) -> Result<(), Rejection> {
        let has = |choices: &[Choice], value: &Value| {
            value.as_str().is_some_and(|value| choices.iter().any(|choice| choice.value == value))
        };
        let fits = match &self.kind {
            Kind::Other => true,
            Kind::Switch => value.is_boolean(),
            Kind::Choice(choices) => has(choices, value),
            Kind::Text(look) => value.as_str().is_some_and(|text| look.fits(text)),
            Kind::Several { choices, min, max } => value.as_array().is_some_and(|values| {
                (*min..=*max).contains(&(values.len() as u64)) && values.iter().all(|value| has(choices, value))
            }),
            Kind::Number { whole, min, max } => {
                let whole_enough = !whole || value.is_i64() || value.is_u64();
                whole_enough && value.as_f64().is_some_and(|number| (*min..=*max).contains(&number))
            }
        };
        if fits { Ok(()) } else { Err(no(self.words())) }
    }

    /// What it asks for: `colour: one of red, green`.
    fn words(&self) -> String {
        let list =
            |choices: &[Choice]| choices.iter().map(|choice| choice.title.as_str()).collect::<Vec<_>>().join(", ");
        let what = match &self.kind {
            Kind::Text(look) => look.words(),
            Kind::Choice(choices) => format!("one of {}", list(choices)),
            Kind::Several { choices, .. } => format!("any of {}, with commas between them", list(choices)),
            Kind::Number { whole, min, max } => {
                let what = if *whole { "a whole number" } else { "a number" };
                match (min.is_finite(), max.is_finite()) {
                    (true, true) => format!("{what} from {min} to {max}"),
                    (true, false) => format!("{what} from {min}"),
                    (false, true) => format!("{what} up to {max}"),
                    (false, false) => what.to_owned(),
                }
            }
            Kind::Switch => "yes or no".to_owned(),
            Kind::Other => "something".to_owned(),
        };
        let optional = if self.required { "" } else { " (can be left out)" };
        format!("{}: {what}{optional}", self.name)
    }
}

fn said_yes(words: &str) -> Option<bool> {
    match words.to_lowercase().as_str() {
        "yes" | "y" | "true" | "on" | "是" | "好" => Some(true),
        "no" | "n" | "false" | "off" | "否" | "不" => Some(false),
        _ => None,
    }
}

/// A choice by its value, its title, or its number in the list.
fn chosen(choices: &[Choice], words: &str) -> Option<String> {
    let same = |choice: &&Choice| {
        choice.value.eq_ignore_ascii_case(words) || choice.title.to_lowercase() == words.to_lowercase()
    };
    let exact = choices.iter().find(|choice| choice.value == words);
    let by_number = || words.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    exact.or_else(|| choices.iter().find(same)).or_else(by_number).map(|choice| choice.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(schema: Value) -> Question {
        let id = crate::ids::Id::from_uuid(uuid::Uuid::nil());
        Question { id, request: "1".into(), message: "Which?".into(), schema: schema.to_string(), settled: false }
    }

    fn form(properties: Value, required: &[&str]) -> Question {
        question(json!({"type": "object", "properties": properties, "required": required}))
    }

    fn said(question: &Question, text: &str) -> Result<Value, String> {
        match question.filled_in(&Answer::Words { text: text.into() }) {
            Ok(content) => Ok(serde_json::from_str(&content).expect("JSON")),
            Err(Rejection::BadAnswer { why }) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_fill_the_only_field() {
        let text = form(json!({"answer": {"type": "string"}}), &["answer"]);
        assert_eq!(said(&text, " green "), Ok(json!({"answer": "green"})));
        assert_eq!(said(&text, "a: b"), Ok(json!({"answer": "a: b"})));
        assert_eq!(said(&text, "answer: b"), Ok(json!({"answer": "b"})), "whoever names it means it");
        assert!(text.fields().is_empty());
        let short = form(json!({"answer": {"type": "string", "minLength": 2, "maxLength": 3}}), &["answer"]);
        assert_eq!(said(&short, "好的"), Ok(json!({"answer": "好的"})));
        assert_eq!(said(&short, "long"), Err("answer: a text of 2 to 3 characters".into()));
        assert_eq!(said(&short, "x"), Err("answer: a text of 2 to 3 characters".into()));
        assert_eq!(short.fields(), ["answer: a text of 2 to 3 characters"]);
        let ticket = form(json!({"key": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}}), &["key"]);
        assert_eq!(said(&ticket, "SHOP-12"), Ok(json!({"key": "SHOP-12"})));
        assert_eq!(said(&ticket, "twelve"), Err("key: a text that matches `^[A-Z]+-[0-9]+$`".into()));
        let due = form(json!({"due": {"type": "string", "format": "date"}}), &["due"]);
        assert_eq!(said(&due, "tomorrow"), Err("due: a date such as 2026-01-31".into()));
        let optional = form(json!({"a": {"type": "string"}, "b": {"type": "string"}}), &["b"]);
        assert_eq!(said(&optional, "x"), Ok(json!({"b": "x"})), "only one is needed");
        assert_eq!(said(&optional, "a: 1\nB: 2"), Ok(json!({"a": "1", "b": "2"})));
    }

    #[test]
    fn a_choice_may_be_made_in_ones_own_words_and_whoever_names_a_field_means_it() {
        let colour = json!({"type": "string", "enum": ["red", "green"]});
        let fields = json!({"colour": colour, "note": {"type": "string"}, "reason": {"type": "string"}});
        let either = form(fields, &[]);
        assert_eq!(said(&either, "green"), Ok(json!({"colour": "green"})));
        assert_eq!(said(&either, "none of them"), Ok(json!({"note": "none of them"})));
        assert_eq!(said(&either, "note: soon"), Ok(json!({"note": "soon"})));
        assert!(said(&either, r#"{"colour": "purple"}"#).is_err(), "filled in or in words, it is one of them");
        assert_eq!(said(&either, r#"{"colour": "red"}"#), Ok(json!({"colour": "red"})));
    }

    #[test]
    fn a_whole_number_may_be_below_nothing_or_very_large() {
        let whole = form(json!({"n": {"type": "integer"}}), &["n"]);
        assert_eq!(said(&whole, "-3"), Ok(json!({"n": -3})));
        let large = format!(r#"{{"n": {}}}"#, u64::MAX);
        assert_eq!(said(&whole, &large), Ok(json!({"n": u64::MAX})));
        assert!(said(&whole, r#"{"n": 1.5}"#).is_err());
    }

    #[test]
    fn numbers_and_switches_are_what_they_are() {
        let whole = form(json!({"n": {"type": "integer", "minimum": 1, "maximum": 9}}), &["n"]);
        assert_eq!(said(&whole, "3"), Ok(json!({"n": 3})));
        for wrong in ["3.5", "0", "10", "three", ""] {
            assert_eq!(said(&whole, wrong), Err("n: a whole number from 1 to 9".into()), "{wrong}");
        }
        let number = form(json!({"n": {"type": "number", "minimum": 0.5}}), &["n"]);
        assert_eq!(said(&number, "3.5"), Ok(json!({"n": 3.5})));
        for wrong in ["0.4", "NaN", "inf", "x"] {
            assert_eq!(said(&number, wrong), Err("n: a number from 0.5".into()), "{wrong}");
        }
        let switch = form(json!({"ok": {"type": "boolean"}}), &["ok"]);
        assert_eq!(said(&switch, "Yes"), Ok(json!({"ok": true})));
        assert_eq!(said(&switch, "不"), Ok(json!({"ok": false})));
        assert_eq!(said(&switch, "perhaps"), Err("ok: yes or no".into()));
    }

    #[test]
    fn choices_are_taken_by_value_title_or_number() {
        let one = form(json!({"c": {"type": "string", "enum": ["red", "green"]}}), &["c"]);
        assert_eq!(said(&one, "GREEN"), Ok(json!({"c": "green"})));
        assert_eq!(said(&one, "1"), Ok(json!({"c": "red"})));
        for wrong in ["0", "3", "blue", ""] {
            assert_eq!(said(&one, wrong), Err("c: one of red, green".into()), "{wrong}");
        }
        let titled = json!([{"const": "r", "title": "Deep red"}, {"const": "g", "title": "Green"}]);
        let one = form(json!({"c": {"type": "string", "oneOf": titled}}), &["c"]);
        assert_eq!(said(&one, "deep red"), Ok(json!({"c": "r"})));
        let several = json!({"c": {"type": "array", "items": {"anyOf": titled}, "minItems": 1, "maxItems": 1}});
        let several = form(several, &["c"]);
        assert_eq!(said(&several, "g"), Ok(json!({"c": ["g"]})));
        let wrong = "c: any of Deep red, Green, with commas between them";
        assert_eq!(said(&several, "g, r"), Err(wrong.into()));
        assert_eq!(said(&several, "g, x"), Err(wrong.into()));
    }

    #[test]
    fn a_choice_with_a_box_for_other_words_takes_either() {
        let options = json!([{"const": "Red"}, {"const": "Green"}]);
        let pick = json!({"question_0": {"type": "string", "oneOf": options}, "question_0_custom": {"type": "string"}});
        let one = form(pick, &[]);
        assert_eq!(said(&one, "green"), Ok(json!({"question_0": "Green"})));
        assert_eq!(said(&one, "something bluish"), Ok(json!({"question_0_custom": "something bluish"})));
        let two = json!({"a": {"type": "string", "oneOf": options}, "b": {"type": "string", "oneOf": options}});
        assert!(said(&form(two, &[]), "green").is_err(), "nobody can tell which");
    }

    #[test]
    fn several_fields_are_named_and_nothing_is_left_out_or_added() {
        let both = form(json!({"a": {"type": "string", "title": "First"}, "n": {"type": "integer"}}), &["a", "n"]);
        assert_eq!(said(&both, "first: x y\n\nn: 2"), Ok(json!({"a": "x y", "n": 2})));
        assert_eq!(said(&both, r#"{"a":"x","n":2}"#), Ok(json!({"a": "x", "n": 2})));
        assert_eq!(said(&both, "just words"), Err("it asks for `a: …`, `n: …`, a line each".into()));
        assert_eq!(said(&both, "a: x"), Err("`n` is missing".into()));
        assert_eq!(said(&both, r#"{"a":"x","n":2,"z":1}"#), Err("it does not ask for `z`".into()));
        assert_eq!(said(&both, r#"{"a":1,"n":2}"#), Err("a: a text".into()));
        assert_eq!(both.fields(), ["a: a text", "n: a whole number"]);
        let filled = |content: &str| both.filled_in(&Answer::Form { content: content.into() });
        assert_eq!(filled(r#"{"a":"x","n":2}"#), Ok(r#"{"a":"x","n":2}"#.into()));
        assert!(filled("[]").is_err() && filled("{}").is_err());
        assert!(both.filled_in(&Answer::Decline).is_err());
    }

    #[test]
    fn a_form_without_fields_takes_a_yes_and_nothing_else() {
        for schema in [json!({"type": "object"}), json!(null), json!({"properties": 7})] {
            assert_eq!(said(&question(schema.clone()), "yes"), Ok(json!({})));
            for other in ["no", "wait, no", "go on", ""] {
                assert!(said(&question(schema.clone()), other).is_err(), "{other}");
            }
        }
        let odd = form(json!({"x": {"type": "object"}}), &[]);
        assert_eq!(said(&odd, "y"), Ok(json!({"x": "y"})));
        assert_eq!(odd.fields(), ["x: something (can be left out)"]);
    }
}
