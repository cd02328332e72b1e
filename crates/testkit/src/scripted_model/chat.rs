//! OpenAI chat completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::answer::{Answer, Step, data};
use super::asked::{Tool, Turns, list, text_of};

/// Reads what was said and which tools there are.
pub(super) fn read(body: &Value) -> (Turns, Vec<Tool>) {
    let mut turns = Turns::default();
    for message in list(body, "messages") {
        match message["role"].as_str() {
            Some("user") => turns.said(&text_of(&message["content"])),
            Some("tool") => turns.answered(&message["content"]),
            _ => {}
        }
    }
    let tools = list(body, "tools").iter().filter_map(|tool| Tool::read(&tool["function"])).collect();
    (turns, tools)
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text()});
    if let Some(call) = call(answer) {
        message["tool_calls"] = json!([call]);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(answer)});
    completion(answer, "chat.completion", json!([choice]), usage())
}

/// The answer as events.
pub(super) fn streamed(answer: &Answer) -> Vec<Step> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        data(&completion(answer, "chat.completion.chunk", json!([choice]), Value::Null))
    };
    let mut steps = vec![Step::Send(chunk(json!({"role": "assistant", "content": ""}), None))];
    steps.extend(answer.deltas(|text| chunk(json!({"content": text}), None)));
    if let Some(mut call) = call(answer) {
        call["index"] = json!(0);
        steps.push(Step::Send(chunk(json!({"tool_calls": [call]}), None)));
    }
    steps.push(Step::Send(chunk(json!({}), Some(finish(answer)))));
    let last = completion(answer, "chat.completion.chunk", json!([]), usage());
    steps.push(Step::Send(data(&last)));
    steps.push(Step::Send("data: [DONE]\n\n".into()));
    steps
}

fn call(answer: &Answer) -> Option<Value> {
    let call = answer.call.as_ref()?;
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    Some(json!({"id": answer.id("call"), "type": "function", "function": function}))
}

fn finish(answer: &Answer) -> &'static str {
    if answer.call.is_some() { "tool_calls" } else { "stop" }
}

fn completion(answer: &Answer, object: &str, choices: Value, usage: Value) -> Value {
    let mut completion = json!({
        "id": answer.id("chatcmpl"), "object": object, "created": 1_700_000_000, "model": answer.model,
        "choices": choices
    });
    if !usage.is_null() {
        completion["usage"] = usage;
    }
    completion
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
}
