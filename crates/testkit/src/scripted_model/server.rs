//! The HTTP side: which path is which API, and a response that waits where its script says.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer::{Answer, Step};
use super::asked::{Api, Asked, Delivery};
use super::ledger::Ledger;
use super::script::{self, Piece, Refusal, Reply};
use super::{chat, gemini, messages, responses, shell_tool};

pub(super) fn router(ledger: Arc<Ledger>) -> Router {
    Router::new().fallback(handle).layer(DefaultBodyLimit::disable()).with_state(ledger)
}

async fn handle(State(ledger): State<Arc<Ledger>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    if method != Method::POST {
        return if path.ends_with("/models") { Json(models()).into_response() } else { not_found() };
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streams = Delivery::asked_by(&body);
    if path.ends_with("/count_tokens") {
        return Json(json!({"input_tokens": 100})).into_response();
    }
    if path.ends_with("/responses") {
        return answer(&ledger, Api::Responses, named(&body), streams, body).await;
    }
    if path.ends_with("/chat/completions") {
        return answer(&ledger, Api::Chat, named(&body), streams, body).await;
    }
    if path.ends_with("/messages") {
        return answer(&ledger, Api::Messages, named(&body), streams, body).await;
    }
    match path.rsplit_once("/models/").and_then(|(_, rest)| rest.split_once(':')) {
        Some((_, "countTokens")) => Json(json!({"totalTokens": 100})).into_response(),
        Some((model, "streamGenerateContent")) => {
            answer(&ledger, Api::Gemini, model.to_owned(), Delivery::Streamed, body).await
        }
        Some((model, "generateContent")) => answer(&ledger, Api::Gemini, model.to_owned(), Delivery::Whole, body).await,
        _ => not_found(),
    }
}

fn named(body: &Value) -> String {
    body["model"].as_str().unwrap_or_default().to_owned()
}

fn models() -> Value {
    let model = |id: &str| {
        json!({"id": id, "name": format!("models/{id}"), "object": "model", "type": "model",
                                  "display_name": id, "created_at": "2026-01-01T00:00:00Z", "owned_by": "script"})
    };
    let all = json!([model("fake-a"), model("fake-b")]);
    json!({"object": "list", "data": all, "models": all, "has_more": false})
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({"error": {"message": "not found"}}))).into_response()
}

async fn answer(ledger: &Arc<Ledger>, api: Api, model: String, delivery: Delivery, body: Value) -> Response {
    let (turns, tools) = match api {
        Api::Responses => responses::read(&body),
        Api::Chat => chat::read(&body),
        Api::Messages => messages::read(&body),
        Api::Gemini => gemini::read(&body),
    };
    let asked = ledger.change(|known| {
        let number = known.asked.len();
        let asked = Asked { number, api, model, users: turns.users, results: turns.results, tools, delivery, body };
        known.asked.push(asked.clone());
        asked
    });
    match plan(&asked) {
        Err(refusal) => failure(api, refusal),
        Ok(answer) if delivery == Delivery::Streamed => stream(Arc::clone(ledger), steps(api, &answer)),
        Ok(answer) => {
            for step in answer.waits() {
                wait(ledger, &step).await;
            }
            Json(whole(api, &answer)).into_response()
        }
    }
}

/// What to answer, or how to fail.
fn plan(asked: &Asked) -> Result<Answer, Refusal> {
    let answer = |pieces, call| Answer { number: asked.number, model: asked.model.clone(), pieces, call };
    if asked.is_aside() {
        return Ok(answer(vec![Piece::Text(aside(&asked.body))], None));
    }
    match script::reply(&asked.users, &asked.results) {
        Reply::Fail(refusal) => Err(refusal),
        Reply::Answer { pieces, call: None } => Ok(answer(pieces, None)),
        Reply::Answer { mut pieces, call: Some(wanted) } => {
            let call = shell_tool::call(&asked.tools, &wanted);
            if call.is_none() {
                pieces.push(Piece::Text("There is no shell tool.".into()));
            }
            Ok(answer(pieces, call))
        }
    }
}

/// What is said to a request beside the conversation: a title, as JSON where a schema is asked for.
fn aside(body: &Value) -> String {
    let text = body.to_string();
    let structured = ["json_schema", "responseJsonSchema", "responseSchema"].iter().any(|word| text.contains(word));
    if structured { json!({"title": "A title", "isNewTopic": false}).to_string() } else { "A title".into() }
}

fn steps(api: Api, answer: &Answer) -> Vec<Step> {
    match api {
        Api::Responses => responses::streamed(answer),
        Api::Chat => chat::streamed(answer),
        Api::Messages => messages::streamed(answer),
        Api::Gemini => gemini::streamed(answer),
    }
}

fn whole(api: Api, answer: &Answer) -> Value {
    match api {
        Api::Responses => responses::whole(answer),
        Api::Chat => chat::whole(answer),
        Api::Messages => messages::whole(answer),
        Api::Gemini => gemini::whole(answer),
    }
}

/// A failure as the real services word it: agents tell limits from faults by these words.
fn failure(api: Api, Refusal { status, hours }: Refusal) -> Response {
    let limited = status == 429;
    let until = hours.map(|hours| format!(". Please try again in {hours}h.")).unwrap_or_default();
    let message = match limited {
        true => format!("Rate limit reached: scripted failure {status}{until}"),
        false => format!("scripted failure {status}"),
    };
    let body = match api {
        Api::Responses | Api::Chat => {
            let kind = match (limited, hours) {
                (true, Some(_)) => "usage_limit_reached",
                (true, None) => "rate_limit_exceeded",
                (false, _) => "server_error",
            };
            json!({"error": {"message": message, "type": kind, "code": kind, "resets_at": hours.map(in_hours)}})
        }
        Api::Messages => {
            let kind = if limited { "rate_limit_error" } else { "api_error" };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Api::Gemini => {
            let kind = if limited { "RESOURCE_EXHAUSTED" } else { "INTERNAL" };
            json!({"error": {"code": status, "message": message, "status": kind}})
        }
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // An agent that tries again does so at once: its patience is not what is tested.
    (status, [("retry-after-ms", "10")], Json(body)).into_response()
}

/// Seconds since the epoch, so many hours from now.
#[allow(clippy::disallowed_methods, reason = "a service says when by the clock of the machine")]
fn in_hours(hours: u32) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() + u64::from(hours) * 3_600
}

/// Sends the steps one by one. The task ends when they are all sent, or when the agent hangs up.
fn stream(ledger: Arc<Ledger>, steps: Vec<Step>) -> Response {
    let (sender, receiver) = mpsc::channel::<String>(1);
    tokio::spawn(async move {
        for step in steps {
            let gone = match step {
                Step::Send(text) => sender.send(text).await.is_err(),
                step => tokio::select! {
                    () = wait(&ledger, &step) => false,
                    () = sender.closed() => {
                        abandoned(&ledger, step);
                        true
                    }
                },
            };
            if gone {
                return;
            }
        }
    });
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        let text = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), receiver))
    });
    ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], Body::from_stream(chunks))
        .into_response()
}

fn abandoned(ledger: &Ledger, step: Step) {
    if let Step::Hold(name) = step {
        ledger.change(|known| known.abandoned.insert(name));
    }
}

async fn wait(ledger: &Ledger, step: &Step) {
    match step {
        Step::Send(_) => {}
        Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        Step::Hold(name) => {
            ledger.change(|known| known.reached.insert(name.clone()));
            ledger.release_of(name).await;
        }
    }
}
