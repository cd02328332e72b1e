//! What Codex writes: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, seen with version 0.166.
//!
//! The first line is `session_meta`. What a person said is an `event_msg` (`item_completed` of a `UserMessage`, or
//! `user_message` in older versions), because a `response_item` of the role `user` may also be context that Codex adds.
//! Everything else is taken from `response_item`, which all versions write.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use throughline_model::item::ToolStatus;

use super::transcript::{CallLine, Transcript, moment};
use super::{Head, Reading, Source};

pub(super) const SOURCE: Source =
    Source { agent: "codex", programs: &["codex", "codex-acp"], folder, files, head, read };

fn folder(env: &HashMap<String, String>) -> Option<PathBuf> {
    let named = env.get("CODEX_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(Path::new(env.get("HOME")?).join(".codex")))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let is_rollout = |name: &str| name.starts_with("rollout-") && name.ends_with(".jsonl");
    let sessions = ignore::WalkBuilder::new(folder.join("sessions")).standard_filters(false).max_depth(Some(4)).build();
    let paths = sessions.filter_map(Result::ok).map(ignore::DirEntry::into_path);
    paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_rollout)).collect()
}

fn head(head: &mut Head, line: &Value) -> Reading {
    let payload = &line["payload"];
    if line["type"] == "session_meta" {
        head.id = payload["id"].as_str().map(str::to_owned);
        head.folder = payload["cwd"].as_str().map(PathBuf::from);
        // Sessions that Codex starts by itself say from where, as an object.
        head.hidden = payload["source"].is_object();
    }
    head.title = said(line).filter(|text| !text.trim().is_empty());
    if head.title.is_some() || head.hidden { Reading::Done } else { Reading::GoOn }
}

fn read(transcript: &mut Transcript, line: &Value) {
    if let Some(text) = said(line) {
        return transcript.prompt(&text, moment(line));
    }
    if line["type"] != "response_item" {
        return;
    }
    let item = &line["payload"];
    let text = |field: &str| item[field].as_str().unwrap_or_default();
    match text("type") {
        "message" if text("role") == "assistant" => transcript.message(text("id"), &words(&item["content"])),
        "reasoning" => transcript.thought(text("id"), &words(&item["summary"])),
        "function_call" => {
            let input = text("arguments");
            let parsed: Value = serde_json::from_str(input).unwrap_or_default();
            let title = command(&parsed).unwrap_or_else(|| text("name").to_owned());
            let (call, name) = (text("call_id"), text("name"));
            transcript.call(CallLine { call, name, title, input: Some(input.to_owned()) });
        }
        "custom_tool_call" => {
            let (call, name) = (text("call_id"), text("name"));
            let input = Some(text("input").to_owned());
            transcript.call(CallLine { call, name, title: name.to_owned(), input });
        }
        "local_shell_call" => {
            let title = command(&item["action"]).unwrap_or_else(|| "shell".to_owned());
            let input = Some(item["action"].to_string());
            transcript.call(CallLine { call: text("call_id"), name: "local_shell", title, input });
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = match &item["output"] {
                Value::String(output) => output.clone(),
                Value::Array(blocks) => words(&Value::Array(blocks.clone())),
                other => other["content"].as_str().map_or_else(|| other.to_string(), str::to_owned),
            };
            transcript.output(text("call_id"), &output, ToolStatus::Completed);
        }
        _ => {}
    }
}

/// What the person said, if the line says it.
fn said(line: &Value) -> Option<String> {
    let payload = &line["payload"];
    if line["type"] != "event_msg" {
        return None;
    }
    match payload["type"].as_str()? {
        "user_message" => payload["message"].as_str().map(str::to_owned),
        "item_completed" if payload["item"]["type"] == "UserMessage" => Some(words(&payload["item"]["content"])),
        _ => None,
    }
}

/// The command that a shell tool was given: a string, or words.
fn command(input: &Value) -> Option<String> {
    let command = [&input["cmd"], &input["command"]].into_iter().find(|value| !value.is_null())?;
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

/// The text of content blocks, whatever kind of text they are.
fn words(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.map(|block| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("something else")),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use throughline_model::item::ItemBody;

    use super::*;
    use crate::import::transcript::all;

    /// As Codex 0.166 wrote it, with what is not read left out.
    const WRITTEN: &str = include_str!("fixtures/codex.jsonl");

    #[test]
    fn the_head_says_where_and_what() {
        let mut found = Head::default();
        let lines = WRITTEN.lines().map(|line| serde_json::from_str::<Value>(line).expect("json"));
        let read = lines.take_while(|line| head(&mut found, line) == Reading::GoOn).count();
        assert_eq!(found.id.as_deref(), Some("01a1e20a-b6a0-7c73-9074-c2f38f77ec8e"));
        assert_eq!(found.folder.as_deref(), Some(Path::new("/home/ada/shop")));
        assert_eq!(found.title.as_deref(), Some("please write the hello file"));
        assert_eq!(read, 4, "the rest need not be read");
    }

    #[test]
    fn the_transcript_has_turns_messages_and_calls_with_their_output() {
        let turns = all(&SOURCE, WRITTEN);
        let said: Vec<&str> = turns.iter().map(|turn| turn.said.head()).collect();
        assert_eq!(said, ["please write the hello file", "stop quickly"]);
        let bodies: Vec<&ItemBody> = turns[0].items.iter().map(|item| &item.body).collect();
        assert!(matches!(bodies[0], ItemBody::Message { text, .. } if text.head().starts_with("Plan")));
        let ItemBody::ToolCall(call) = bodies[1] else { panic!("{bodies:?}") };
        assert_eq!((call.tool.as_str(), call.status), ("execute", ToolStatus::Completed));
        assert_eq!(call.title, "echo hello-from-agent > hello.txt && cat hello.txt");
        assert!(call.output.as_ref().expect("some").head().contains("hello-from-agent"));
        assert_eq!(all(&SOURCE, WRITTEN), turns, "the same ids every time");
        assert_eq!(turns[1].said_at.millis(), 1_794_793_716_380);
    }

    #[test]
    fn older_versions_and_unknown_lines_are_taken_too() {
        let turns = all(
            &SOURCE,
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"hi"}}
{"type":"brand_new","payload":7}
[]
{"type":"response_item","payload":{"type":"local_shell_call","call_id":"c","action":{"command":["ls","-l"]}}}"#,
        );
        assert_eq!(turns.len(), 1);
        let ItemBody::ToolCall(call) = &turns[0].items[0].body else { panic!("{turns:?}") };
        assert_eq!((call.title.as_str(), call.status), ("ls -l", ToolStatus::Failed), "its end is not in the file");
    }
}
