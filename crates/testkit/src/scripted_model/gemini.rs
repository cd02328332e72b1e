//! Gemini: `POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::answer::{Answer, Step, data};
use super::asked::{Tool, Turns, list};

/// Reads what was said and which tools there are.
pub(super) fn read(body: &Value) -> (Turns, Vec<Tool>) {
    let mut turns = Turns::default();
    for content in list(body, "contents").iter().filter(|content| content["role"] != "model") {
        let parts = list(content, "parts");
        let mut results = parts.iter().filter_map(|part| part.get("functionResponse")).peekable();
        if results.peek().is_none() {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            turns.said(&texts.join("\n"));
        }
        for result in results {
            turns.answered(&result["response"]);
        }
    }
    let declared = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    (turns, declared.filter_map(Tool::read).collect())
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut parts = vec![json!({"text": answer.text()})];
    parts.extend(call(answer));
    candidate(answer, json!(parts), Some("STOP"))
}

/// The answer as events.
pub(super) fn streamed(answer: &Answer) -> Vec<Step> {
    let mut steps = answer.deltas(|text| data(&candidate(answer, json!([{"text": text}]), None)));
    if let Some(call) = call(answer) {
        steps.push(Step::Send(data(&candidate(answer, json!([call]), None))));
    }
    steps.push(Step::Send(data(&candidate(answer, json!([{"text": ""}]), Some("STOP")))));
    steps
}

fn call(answer: &Answer) -> Option<Value> {
    let call = answer.call.as_ref()?;
    Some(json!({"functionCall": {"id": answer.id("fc"), "name": call.name, "args": call.arguments}}))
}

fn candidate(answer: &Answer, parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id("r"),
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    })
}
