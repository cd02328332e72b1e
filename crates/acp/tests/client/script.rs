//! A spool made of lines, an assembler that reads it, and a short way to write down what happened.

use serde_json::{Value, json};
use throughline_acp::happening::{LiveKind, TurnEnd};
use throughline_acp::{Assembler, Happening, Mark, Phase, Start};
use throughline_model::ids::{RuntimeSessionId, TurnId};
use throughline_model::item::{Item, ItemBody};

pub const NATIVE: &str = "native-1";

pub fn session() -> RuntimeSessionId {
    "0199d6a0-0000-7000-8000-00000000aaaa".parse().expect("a uuid")
}

pub fn turn(count: u32) -> TurnId {
    format!("0199d6a0-0000-7000-8000-{count:012}").parse().expect("a uuid")
}

/// An assembler in the middle of turn 1.
pub fn in_turn() -> Start {
    Start { native: Some(NATIVE.to_owned()), ..Start::new(session(), 1, Phase::Turn(turn(1))) }
}

/// An assembler in another phase.
pub fn in_phase(phase: Phase) -> Start {
    Start { phase, ..in_turn() }
}

/// Lines and where they stand.
#[derive(Clone, Debug, Default)]
pub struct Spool {
    pub lines: Vec<(u64, u64, Vec<u8>)>,
}

impl Spool {
    pub fn of(lines: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let mut spool = Self::default();
        for line in lines {
            spool.push(line);
        }
        spool
    }

    pub fn push(&mut self, line: impl Into<Vec<u8>>) {
        let line = line.into();
        let start = self.lines.last().map_or(0, |(_, end, _)| *end);
        self.lines.push((start, start + line.len() as u64 + 1, line));
    }

    /// Feeds what begins at an offset or later.
    pub fn feed(&self, assembler: &mut Assembler, from: u64) -> Vec<Happening> {
        let ahead = self.lines.iter().filter(|(start, ..)| *start >= from);
        ahead.flat_map(|(start, end, line)| assembler.feed(*start, *end, line)).collect()
    }
}

/// An assembler and the offset of its next line.
pub struct Reader {
    pub assembler: Assembler,
    at: u64,
}

impl Reader {
    pub fn new(start: Start) -> Self {
        let at = start.mark.safe;
        Self { assembler: Assembler::new(start), at }
    }

    pub fn line(&mut self, line: impl AsRef<[u8]>) -> Vec<Happening> {
        let line = line.as_ref();
        let (start, end) = (self.at, self.at + line.len() as u64 + 1);
        self.at = end;
        self.assembler.feed(start, end, line)
    }

    pub fn lines<L: AsRef<[u8]>>(&mut self, lines: impl IntoIterator<Item = L>) -> Vec<Happening> {
        lines.into_iter().flat_map(|line| self.line(line)).collect()
    }

    pub fn mark(&self) -> Mark {
        self.assembler.mark()
    }
}

/// What an assembler makes of some lines, in short.
pub fn told<L: AsRef<[u8]>>(start: Start, lines: impl IntoIterator<Item = L>) -> Vec<String> {
    brief(&Reader::new(start).lines(lines))
}

pub fn update(update: Value) -> String {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": NATIVE, "update": update}}).to_string()
}

/// A request for permission, under this id (JSON text).
pub fn permission(id: &str, tool_call: Value) -> String {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    let params = json!({"sessionId": NATIVE, "toolCall": tool_call, "options": options});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{params}}}"#)
}

pub fn said(text: &str) -> String {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

pub fn said_as(id: &str, text: &str) -> String {
    update(json!({
        "sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": text}
    }))
}

pub fn thought(text: &str) -> String {
    update(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}))
}

pub fn user(text: &str) -> String {
    update(json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}))
}

/// `fields` are those of the protocol; the id and the kind of update are added.
pub fn call(id: &str, fields: Value) -> String {
    tool("tool_call", id, fields)
}

pub fn call_update(id: &str, fields: Value) -> String {
    tool("tool_call_update", id, fields)
}

fn tool(kind: &str, id: &str, mut fields: Value) -> String {
    fields["sessionUpdate"] = kind.into();
    fields["toolCallId"] = id.into();
    update(fields)
}

pub fn output(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

pub fn answer(id: &str, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

pub fn error(id: &str, error: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

pub fn turn_done(count: u32) -> String {
    answer(&format!("turn:{}", turn(count)), json!({"stopReason": "end_turn"}))
}

/// The items among what happened.
pub fn items(happenings: &[Happening]) -> Vec<Item> {
    let items = happenings.iter().filter_map(|happening| match happening {
        Happening::Recorded(item) => Some(item.clone()),
        _ => None,
    });
    items.collect()
}

pub fn brief(happenings: &[Happening]) -> Vec<String> {
    happenings.iter().map(brief_one).collect()
}

fn brief_one(happening: &Happening) -> String {
    match happening {
        Happening::Recorded(item) => brief_item(item),
        Happening::Live(live) => {
            let kind = match live.kind {
                LiveKind::Message => "message",
                LiveKind::Thought => "thought",
                LiveKind::ToolOutput => "output",
            };
            format!("live {kind} @{} {:?}", live.at, live.text)
        }
        Happening::PermissionRequested(asked) => format!(
            "asks {} for {} {:?} input {:?} options {}",
            asked.request.as_json(),
            asked.call,
            asked.title,
            asked.input.as_ref().map(|input| input.head()),
            asked.options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>().join(",")
        ),
        Happening::TurnAnswered { outcome: Ok(TurnEnd { stop_reason, .. }), .. } => format!("turn {stop_reason:?}"),
        Happening::TurnAnswered { outcome: Err(failure), .. } => {
            format!("turn {:?} {}: {}", failure.kind, failure.code, failure.message)
        }
        Happening::Reply { frame, .. } => {
            format!("reply {}", String::from_utf8_lossy(&frame.bytes).trim_end())
        }
        Happening::OpenFailed { kind, .. } => format!("open failed {kind:?}"),
        Happening::Opened { opening, native, .. } => format!("opened {opening:?} {native:?}"),
        Happening::Retold { text, .. } => format!("retold {text:?}"),
        Happening::Attached { bytes, .. } => format!("attached {} bytes", bytes.len()),
        Happening::PlanRevised(entries) => {
            let steps: Vec<_> = entries.iter().map(|entry| format!("{}={:?}", entry.content, entry.status)).collect();
            format!("plan {}", steps.join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn brief_item(item: &Item) -> String {
    let astray = if item.turn.is_none() { " (between turns)" } else { "" };
    let body = match &item.body {
        ItemBody::Message { text, question: true, .. } => format!("question {:?}", text.head()),
        ItemBody::Message { text, attachments, .. } if attachments.is_empty() => format!("message {:?}", text.head()),
        ItemBody::Message { text, attachments, .. } => format!("message {:?} with {}", text.head(), attachments.len()),
        ItemBody::Thought { text } => format!("thought {:?}", text.head()),
        ItemBody::Note(note) => format!("note {:?} {}", note.about, note.text.head()),
        ItemBody::ToolCall(call) => {
            let mut words = format!("call {} {:?} {} {:?}", call.call, call.status, call.tool, call.title);
            if let Some(output) = &call.output {
                words += &format!(" -> {:?}", output.head());
            }
            for change in &call.changes {
                words += &format!(" changes {}", change.path);
            }
            words
        }
    };
    body + astray
}
