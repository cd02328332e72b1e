//! OpenAI Responses: `POST /v1/responses`.

use serde_json::{Value, json};

use super::answer::{Answer, Step, event};
use super::asked::{Tool, Turns, list, text_of};

/// Reads what was said and which tools there are.
pub(super) fn read(body: &Value) -> (Turns, Vec<Tool>) {
    let mut turns = Turns::default();
    let mut tools = vec![];
    collect_tools(list(body, "tools"), &mut tools);
    if let Some(text) = body["input"].as_str() {
        turns.said(text);
    }
    for item in list(body, "input") {
        match item["type"].as_str().unwrap_or("message") {
            "message" if item["role"] == "user" => turns.said(&text_of(&item["content"])),
            "additional_tools" => collect_tools(list(item, "tools"), &mut tools),
            kind if kind.ends_with("_output") => turns.answered(&item["output"]),
            _ => {}
        }
    }
    (turns, tools)
}

fn collect_tools(described: &[Value], into: &mut Vec<Tool>) {
    for tool in described {
        if tool["type"] == "namespace" {
            collect_tools(list(tool, "tools"), into);
        } else {
            into.extend(Tool::read(tool));
        }
    }
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, "completed", outputs(answer))
}

/// The answer as events.
pub(super) fn streamed(answer: &Answer) -> Vec<Step> {
    let mut count = 0;
    let mut say = |kind: &str, mut fields: Value| {
        count += 1;
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(count);
        event(kind, &fields)
    };
    let id = answer.id("msg");
    let open = json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []});
    let part = json!({"type": "output_text", "text": "", "annotations": []});
    let mut steps = vec![
        Step::Send(say("response.created", json!({"response": response(answer, "in_progress", vec![])}))),
        Step::Send(say("response.output_item.added", json!({"output_index": 0, "item": open}))),
        Step::Send(say(
            "response.content_part.added",
            json!({"item_id": id, "output_index": 0, "content_index": 0, "part": part}),
        )),
    ];
    steps.extend(answer.deltas(|text| {
        let fields = json!({"item_id": id, "output_index": 0, "content_index": 0, "delta": text});
        say("response.output_text.delta", fields)
    }));
    let outputs = outputs(answer);
    let text = json!({"item_id": id, "output_index": 0, "content_index": 0, "text": answer.text()});
    steps.push(Step::Send(say("response.output_text.done", text)));
    for (index, item) in outputs.iter().enumerate() {
        if item["type"] == "function_call" {
            let mut begun = item.clone();
            begun["arguments"] = json!("");
            begun["status"] = json!("in_progress");
            steps.push(Step::Send(say("response.output_item.added", json!({"output_index": index, "item": begun}))));
        }
        steps.push(Step::Send(say("response.output_item.done", json!({"output_index": index, "item": item}))));
    }
    let done = response(answer, "completed", outputs);
    steps.push(Step::Send(say("response.completed", json!({"response": done}))));
    steps
}

fn outputs(answer: &Answer) -> Vec<Value> {
    let content = json!([{"type": "output_text", "text": answer.text(), "annotations": []}]);
    let mut outputs = vec![json!({
        "type": "message", "id": answer.id("msg"), "role": "assistant", "status": "completed", "content": content
    })];
    if let Some(call) = &answer.call {
        outputs.push(json!({
            "type": "function_call", "id": answer.id("fc"), "call_id": answer.id("call"), "name": call.name,
            "arguments": call.arguments.to_string(), "status": "completed"
        }));
    }
    outputs
}

fn response(answer: &Answer, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": answer.id("resp"), "object": "response", "created_at": 1_700_000_000, "model": answer.model,
        "status": status, "output": output,
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120
        }
    })
}
