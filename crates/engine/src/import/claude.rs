//! What Claude Code writes: `~/.claude/projects/<folder>/<id>.jsonl`, seen with version 2.1.312.
//!
//! A line is a message of the person or of the agent, with blocks as the model's API has them; what a tool gave back is
//! a block of a message of the `user`. Lines of subagents (`isSidechain`), of the program itself (`isMeta`) and of
//! bookkeeping are passed over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use throughline_model::item::ToolStatus;

use super::transcript::{CallLine, Transcript, moment};
use super::{Head, Reading, Source};

pub(super) const SOURCE: Source =
    Source { agent: "claude-code", programs: &["claude", "claude-agent-acp"], folder, files, head, read };

/// How words begin that the program put into the person's mouth.
const NOT_SAID: [&str; 6] = [
    "<command-",
    "<local-command",
    "<system-reminder>",
    "<bash-",
    "[Request interrupted",
    "Caveat: The messages below",
];

fn folder(env: &HashMap<String, String>) -> Option<PathBuf> {
    let named = env.get("CLAUDE_CONFIG_DIR").filter(|home| !home.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(Path::new(env.get("HOME")?).join(".claude")))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let is_own = |name: &str| name.ends_with(".jsonl") && !name.starts_with("agent-");
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let projects: Vec<PathBuf> = entries(&folder.join("projects")).map(|entry| entry.path()).collect();
    let paths = projects.iter().flat_map(|project| entries(project)).map(|entry| entry.path());
    paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_own)).collect()
}

fn head(head: &mut Head, line: &Value) -> Reading {
    let own = |field: &str| line[field].as_str().map(str::to_owned);
    head.id = head.id.take().or_else(|| own("sessionId"));
    head.folder = head.folder.take().or_else(|| own("cwd").map(PathBuf::from));
    head.hidden |= line["isSidechain"] == true;
    head.title = head.title.take().or_else(|| said(line));
    let known = head.title.is_some() && head.folder.is_some();
    if known || head.hidden { Reading::Done } else { Reading::GoOn }
}

fn read(transcript: &mut Transcript, line: &Value) {
    if let Some(text) = said(line) {
        transcript.prompt(&text, moment(line));
    }
    if line["isSidechain"] == true {
        return;
    }
    let uuid = line["uuid"].as_str().unwrap_or_default();
    let blocks = line["message"]["content"].as_array().into_iter().flatten();
    for (number, block) in blocks.enumerate() {
        let text = |field: &str| block[field].as_str().unwrap_or_default();
        let name = format!("{uuid}:{number}");
        match (line["type"].as_str().unwrap_or_default(), text("type")) {
            ("assistant", "text") => transcript.message(&name, text("text")),
            ("assistant", "thinking") => transcript.thought(&name, text("thinking")),
            ("assistant", "tool_use") => {
                let title = title(text("name"), &block["input"]);
                let input = Some(block["input"].to_string());
                transcript.call(CallLine { call: text("id"), name: text("name"), title, input });
            }
            ("user", "tool_result") => {
                let status = if block["is_error"] == true { ToolStatus::Failed } else { ToolStatus::Completed };
                transcript.output(text("tool_use_id"), &words(&block["content"]), status);
            }
            _ => {}
        }
    }
}

/// What the person said, if the line says it.
fn said(line: &Value) -> Option<String> {
    let own = line["type"] == "user" && line["isSidechain"] != true && line["isMeta"] != true;
    let compacted = line["isCompactSummary"] == true;
    let content = Some(&line["message"]["content"]).filter(|_| own && !compacted)?;
    let is_result = |block: &Value| block["type"] == "tool_result";
    if content.as_array().is_some_and(|blocks| blocks.iter().any(is_result)) {
        return None;
    }
    let text = words(content);
    let spoken = !text.trim().is_empty() && !NOT_SAID.iter().any(|start| text.starts_with(start));
    spoken.then_some(text)
}

/// What a call is about, in a line.
fn title(name: &str, input: &Value) -> String {
    let about = ["command", "file_path", "path", "pattern", "url", "query", "description"];
    match about.iter().find_map(|field| input[*field].as_str()) {
        Some(command) if name == "Bash" => command.to_owned(),
        Some(about) => format!("{name} {about}"),
        None => name.to_owned(),
    }
}

/// The text of a message: a string, or blocks.
fn words(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let texts = content.as_array().into_iter().flatten().map(|block| match block["text"].as_str() {
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

    /// As Claude Code 2.1.312 wrote it, with what is not read left out.
    const WRITTEN: &str = include_str!("fixtures/claude.jsonl");

    #[test]
    fn the_head_says_where_and_what() {
        let mut found = Head::default();
        for line in WRITTEN.lines() {
            if head(&mut found, &serde_json::from_str(line).expect("json")) == Reading::Done {
                break;
            }
        }
        assert_eq!(found.id.as_deref(), Some("cbb4015e-7ddb-471e-a85b-7182da0ba80c"));
        assert_eq!(found.folder.as_deref(), Some(Path::new("/home/ada/shop")));
        assert_eq!(found.title.as_deref(), Some("please write the hello file"));
    }

    #[test]
    fn the_transcript_has_turns_messages_and_calls_with_their_output() {
        let turns = all(&SOURCE, WRITTEN);
        let said: Vec<&str> = turns.iter().map(|turn| turn.said.head()).collect();
        assert_eq!(said, ["please write the hello file", "stop quickly"]);
        let ItemBody::ToolCall(call) = &turns[0].items[1].body else { panic!("{turns:?}") };
        assert_eq!((call.tool.as_str(), call.status), ("execute", ToolStatus::Completed));
        assert_eq!(call.output.as_ref().map(throughline_model::content::Text::head), Some("hello-from-agent"));
        let ItemBody::Message { text, .. } = &turns[1].items[0].body else { panic!("{turns:?}") };
        assert_eq!(text.head(), "Stopped quickly.");
    }

    #[test]
    fn what_the_program_said_itself_is_no_prompt() {
        let line = |content: &str| serde_json::json!({"type": "user", "message": {"content": content}});
        assert_eq!(said(&line("<command-name>/clear</command-name>")), None);
        assert_eq!(said(&line("go on")).as_deref(), Some("go on"));
        let mut subagent = line("look around");
        subagent["isSidechain"] = true.into();
        assert_eq!(said(&subagent), None);
    }
}
