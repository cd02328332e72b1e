//! What holds for any output of an agent, whatever its order, wherever the daemon dies.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_acp::assembler::Memory;
use throughline_acp::{Assembler, Happening, Start};
use throughline_model::ids::ItemId;
use throughline_model::item::{Item, ItemBody};

use crate::script::*;

/// One frame about a call.
#[derive(Clone, Debug)]
struct Frame {
    call: u8,
    announced: bool,
    title: Option<String>,
    status: Option<&'static str>,
    output: Option<String>,
    printed: Option<String>,
}

impl Frame {
    fn line(&self) -> String {
        let mut fields = json!({});
        if let Some(title) = &self.title {
            fields["title"] = json!(title);
        }
        if let Some(status) = self.status {
            fields["status"] = json!(status);
        }
        if let Some(text) = &self.output {
            fields["content"] = output(text);
        }
        if let Some(text) = &self.printed {
            fields["_meta"] = json!({"terminal_output_delta": {"data": text}});
        }
        let id = format!("c{}", self.call);
        if self.announced { call(&id, fields) } else { call_update(&id, fields) }
    }
}

fn frame() -> impl Strategy<Value = Frame> {
    let status = prop::sample::select(vec!["pending", "in_progress", "completed", "failed"]);
    let texts = (prop::option::of("[a-c]{1,2}"), prop::option::of("[x-z]{1,3}"), prop::option::of("[p-r]{1,3}"));
    (0..3u8, any::<bool>(), prop::option::of(status), texts).prop_map(
        |(call, announced, status, (title, output, printed))| Frame { call, announced, title, status, output, printed },
    )
}

/// A line of a turn: calls, texts with and without ids, noise, things that are unknown.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => frame().prop_map(|frame| frame.line()),
        4 => "[a-z]{1,4}".prop_map(|text| said(&text)),
        4 => (0..2u8, "[a-z]{1,4}").prop_map(|(id, text)| said_as(&format!("m{id}"), &text)),
        2 => "[a-z]{1,4}".prop_map(|text| thought(&text)),
        1 => Just("noise".to_owned()),
        1 => Just(update(json!({"sessionUpdate": "dream"}))),
        1 => Just(update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}))),
    ]
}

/// A call as the specification has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Expected {
    title: String,
    status: String,
    output: String,
}

/// The merge as it is specified, without any of the machinery: the last value wins, an end is final, and what
/// is printed is added.
fn reference(frames: &[Frame]) -> BTreeMap<String, Expected> {
    let mut calls: BTreeMap<String, Expected> = BTreeMap::new();
    let ends = |status: &str| status == "completed" || status == "failed";
    for frame in frames {
        let call = calls.entry(format!("c{}", frame.call)).or_default();
        if call.status.is_empty() {
            call.status = "pending".to_owned();
        }
        if let Some(new) = &frame.title {
            call.title.clone_from(new);
        }
        if let Some(new) = frame.status.filter(|new| ends(new) || !ends(&call.status)) {
            call.status = new.to_owned();
        }
        if let Some(new) = &frame.output {
            call.output.clone_from(new);
        }
        if let Some(new) = &frame.printed {
            call.output.push_str(new);
        }
    }
    calls
}

/// Items by id, as a store that upserts would hold them.
fn latest<'a>(happenings: impl IntoIterator<Item = &'a Happening>) -> BTreeMap<ItemId, Item> {
    let mut items = BTreeMap::new();
    for happening in happenings {
        if let Happening::Recorded(item) = happening {
            items.insert(item.id, item.clone());
        }
    }
    items
}

fn durable(happenings: Vec<Happening>) -> Vec<Happening> {
    happenings.into_iter().filter(Happening::durable).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn calls_merge_the_same_in_any_order_and_number(frames in prop::collection::vec(frame(), 0..24)) {
        let mut lines: Vec<String> = frames.iter().map(Frame::line).collect();
        lines.push(turn_done(1));
        let happened = Reader::new(in_turn()).lines(lines);
        let mut calls = BTreeMap::new();
        for item in latest(&happened).into_values() {
            let ItemBody::ToolCall(call) = item.body else { continue };
            let status = serde_json::to_value(call.status).expect("a word");
            let status = status.as_str().unwrap_or_default().to_owned();
            let output = call.output.map(|text| text.head().to_owned()).unwrap_or_default();
            let before = calls.insert(call.call, Expected { title: call.title, status, output });
            prop_assert!(before.is_none(), "one item per call");
        }
        prop_assert_eq!(calls, reference(&frames));
    }

    /// Killed after any line, with the mark and the happenings committed together: nothing durable is told
    /// twice, nothing is missing, and all ids are the same.
    #[test]
    fn a_restart_changes_nothing(lines in prop::collection::vec(line(), 0..24), cuts in prop::collection::vec(0..25usize, 1..4)) {
        let mut spool = Spool::of(lines);
        spool.push(turn_done(1));
        let whole = durable(spool.feed(&mut Assembler::new(in_turn()), 0));

        let mut committed: Vec<Happening> = Vec::new();
        let mut assembler = Assembler::new(in_turn());
        for (count, (start, end, line)) in spool.lines.iter().enumerate() {
            committed.extend(durable(assembler.feed(*start, *end, line)));
            if cuts.contains(&count) && count + 1 < spool.lines.len() {
                let mark = assembler.mark();
                let current = latest(&committed).into_values().collect();
                let memory = Memory { current, ..Memory::default() };
                assembler = Assembler::new(Start { mark, memory, ..in_turn() });
                let ahead = spool.lines.iter().take(count + 1).filter(|(start, ..)| *start >= mark.safe);
                for (start, end, line) in ahead {
                    prop_assert_eq!(assembler.feed(*start, *end, line), vec![]);
                }
                // What the record holds need not be read again.
                prop_assert!(assembler.mark().safe >= mark.safe);
                prop_assert_eq!(assembler.mark().seen, mark.seen);
            }
        }
        prop_assert_eq!(committed, whole);
    }

    /// A driver that keeps nothing but the safe mark gets the same items again, as the same upserts, as long
    /// as no call is spoken of after its end and no message after it was finished.
    #[test]
    fn the_safe_mark_alone_gives_the_same_items(lines in prop::collection::vec(line(), 0..24), cut in 0..25usize) {
        let mut spool = Spool::of(in_good_order(lines));
        spool.push(turn_done(1));
        let whole = latest(&spool.feed(&mut Assembler::new(in_turn()), 0));

        let cut = cut.min(spool.lines.len() - 1);
        let mut first = Assembler::new(in_turn());
        let mut told: Vec<Happening> = Vec::new();
        for (start, end, line) in &spool.lines[..cut] {
            told.extend(first.feed(*start, *end, line));
        }
        let safe = first.safe_mark();
        let mark = throughline_acp::Mark { safe, seen: safe, not_json: 0 };
        told.extend(spool.feed(&mut Assembler::new(Start { mark, ..in_turn() }), safe));
        prop_assert_eq!(latest(&told), whole);
    }

    #[test]
    fn no_line_is_lost_and_none_is_fatal(lines in prop::collection::vec(any_line(), 0..20)) {
        let mut reader = Reader::new(in_turn());
        for line in lines {
            let blank = String::from_utf8_lossy(&line).trim().is_empty();
            let happened = reader.line(&line);
            prop_assert_eq!(happened.is_empty(), blank, "{:?}", String::from_utf8_lossy(&line));
            let mark = reader.mark();
            prop_assert!(mark.safe <= mark.seen);
        }
    }
}

/// Leaves out what is said of a call after its end, and gives each run of a message an id of its own.
fn in_good_order(lines: Vec<String>) -> Vec<String> {
    let mut ended = Vec::new();
    let mut kept = Vec::new();
    for (count, line) in lines.into_iter().enumerate() {
        let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
        let update = &mut message["params"]["update"];
        if let Some(call) = update["toolCallId"].as_str().map(ToOwned::to_owned) {
            if ended.contains(&call) {
                continue;
            }
            if matches!(update["status"].as_str(), Some("completed" | "failed")) {
                ended.push(call);
            }
        }
        if update["messageId"].is_string() {
            update["messageId"] = json!(format!("m{count}"));
            kept.push(message.to_string());
        } else {
            kept.push(line);
        }
    }
    kept
}

/// Any JSON, of words that mean something in some place.
fn tree() -> impl Strategy<Value = Value> + Clone {
    const WORDS: &str = "text tool_call plan agent_message_chunk native-1 session/update init";
    const KEYS: &str = "id method params result error update sessionUpdate sessionId toolCallId content type text \
                        status title entries options toolCall _meta messageId code message";
    let word = |words: &'static str| prop::sample::select(words.split(' ').collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        word(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        let pairs = prop::collection::vec((word(KEYS), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            pairs.prop_map(|pairs| pairs.into_iter().collect::<Value>()),
        ]
    })
}

/// Bytes, JSON, and messages that are nearly right.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let methods = prop::sample::select(vec!["session/update", "session/request_permission", "$/cancel_request", "x"]);
    let ids = prop::sample::select(vec!["init", "open:new", "open:load", "list:1", "configure:1"]);
    let request =
        (methods.clone(), tree()).prop_map(|(method, params)| json!({"id": 1, "method": method, "params": params}));
    let notification = (methods, tree()).prop_map(|(method, params)| json!({"method": method, "params": params}));
    let response = (ids, tree()).prop_map(|(id, result)| json!({"id": id, "result": result}));
    let call = tree().prop_map(|tree| call_update("c", json!({"content": tree, "rawInput": tree, "status": tree})));
    let json = prop_oneof![tree(), request, notification, response];
    let byte = any::<u8>().prop_filter("one line", |byte| *byte != b'\n');
    let text = prop_oneof![
        4 => json.prop_map(|json| json.to_string()),
        1 => tree().prop_map(update),
        1 => call,
        1 => line(),
    ];
    prop_oneof![
        1 => prop::collection::vec(byte, 0..40),
        4 => text.prop_map(String::into_bytes),
    ]
}
