//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::answer::{Answer, Step, event};
use super::asked::{Tool, Turns, list};

/// Reads what was said and which tools there are.
pub(super) fn read(body: &Value) -> (Turns, Vec<Tool>) {
    let mut turns = Turns::default();
    for message in list(body, "messages").iter().filter(|message| message["role"] == "user") {
        if let Some(text) = message["content"].as_str() {
            turns.said(text);
        }
        let blocks = list(message, "content");
        for result in blocks.iter().filter(|block| block["type"] == "tool_result") {
            turns.answered(&result["content"]);
        }
        // Messages that got no answer stand side by side in one.
        for text in blocks.iter().filter_map(|block| block["text"].as_str()) {
            turns.said(text);
        }
    }
    let tools = list(body, "tools").iter().filter_map(Tool::read).collect();
    (turns, tools)
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut content = vec![json!({"type": "text", "text": answer.text()})];
    content.extend(tool_use(answer));
    let mut message = message(answer);
    message["content"] = json!(content);
    message["stop_reason"] = json!(stop_reason(answer));
    message
}

/// The answer as events.
pub(super) fn streamed(answer: &Answer) -> Vec<Step> {
    let say = |kind: &str, mut fields: Value| {
        fields["type"] = json!(kind);
        event(kind, &fields)
    };
    let mut steps = vec![
        Step::Send(say("message_start", json!({"message": message(answer)}))),
        Step::Send(say("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}}))),
    ];
    steps.extend(
        answer.deltas(|text| {
            say("content_block_delta", json!({"index": 0, "delta": {"type": "text_delta", "text": text}}))
        }),
    );
    steps.push(Step::Send(say("content_block_stop", json!({"index": 0}))));
    if let Some(used) = tool_use(answer) {
        let mut begun = used.clone();
        begun["input"] = json!({});
        let input = json!({"type": "input_json_delta", "partial_json": used["input"].to_string()});
        steps.push(Step::Send(say("content_block_start", json!({"index": 1, "content_block": begun}))));
        steps.push(Step::Send(say("content_block_delta", json!({"index": 1, "delta": input}))));
        steps.push(Step::Send(say("content_block_stop", json!({"index": 1}))));
    }
    let end = json!({"delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
                     "usage": {"output_tokens": 20}});
    steps.push(Step::Send(say("message_delta", end)));
    steps.push(Step::Send(say("message_stop", json!({}))));
    steps
}

fn tool_use(answer: &Answer) -> Option<Value> {
    let call = answer.call.as_ref()?;
    Some(json!({"type": "tool_use", "id": answer.id("toolu"), "name": call.name, "input": call.arguments}))
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.call.is_some() { "tool_use" } else { "end_turn" }
}

fn message(answer: &Answer) -> Value {
    json!({
        "id": answer.id("msg"), "type": "message", "role": "assistant", "model": answer.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0
        }
    })
}
