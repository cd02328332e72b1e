//! Sending, answering and changing messages, with the platform's own rules and codes.

use serde_json::{Value, json};

use super::state::{Message, Platform};

/// The largest request with a card or a post.
const MAX_RICH: usize = 30 << 10;
/// The largest request with a text.
const MAX_TEXT: usize = 150 << 10;
/// The longest idempotency key.
const MAX_UUID: usize = 50;

/// A no.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: i64,
    pub(super) why: String,
}

pub(super) fn bad<T>(code: i64, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status: 400, code, why: why.into() })
}

pub(super) fn send(platform: &mut Platform, kind: &str, body: &Value) -> Result<Value, Refusal> {
    let to = body["receive_id"].as_str().unwrap_or_default();
    let chat = match kind {
        "chat_id" => to.to_owned(),
        "open_id" => super::private_chat(to),
        "user_id" | "union_id" | "email" => return bad(230_013, "Bot has NO availability to this user."),
        _ => return bad(99_992_402, "field validation failed: receive_id_type"),
    };
    if !platform.chats.contains_key(&chat) {
        return bad(230_002, "The bot can not be outside the group.");
    }
    post(platform, &chat, None, None, body)
}

pub(super) fn reply(platform: &mut Platform, id: &str, body: &Value) -> Result<Value, Refusal> {
    let Some((chat, root)) = platform.known.get(id).cloned() else {
        return bad(230_001, "Your request contains an invalid request parameter, ext=invalid message_id");
    };
    if chat.is_empty() {
        return bad(230_011, "The message is recalled.");
    }
    // An answer in a thread begins one where there is none; in a thread every answer is in it.
    let root = root.or_else(|| (body["reply_in_thread"] == true).then(|| id.to_owned()));
    post(platform, &chat, root, Some(id), body)
}

fn post(
    platform: &mut Platform,
    chat: &str,
    root: Option<String>,
    parent: Option<&str>,
    body: &Value,
) -> Result<Value, Refusal> {
    let uuid = body["uuid"].as_str().unwrap_or_default();
    if uuid.len() > MAX_UUID {
        return bad(99_992_402, "field validation failed: the max len of uuid is 50");
    }
    if let Some(known) = platform.uuids.get(uuid).and_then(|id| platform.sent.iter().find(|sent| &sent.id == id)) {
        return Ok(platform.told(known));
    }
    let kind = body["msg_type"].as_str().unwrap_or_default().to_owned();
    let content = body["content"].as_str().unwrap_or_default().to_owned();
    check(platform, &kind, &content, body)?;
    let (id, parent) = (platform.name("om"), parent.map(str::to_owned));
    let message = Message { id: id.clone(), chat: chat.to_owned(), root, parent, kind, content, edits: 0 };
    platform.known.insert(id.clone(), (message.chat.clone(), message.root.clone()));
    if !uuid.is_empty() {
        platform.uuids.insert(uuid.to_owned(), id);
    }
    let told = platform.told(&message);
    platform.sent.push(message);
    Ok(told)
}

pub(super) fn patch(platform: &mut Platform, id: &str, body: &Value) -> Result<Value, Refusal> {
    let content = body["content"].as_str().unwrap_or_default().to_owned();
    let Some(at) = platform.sent.iter().position(|sent| sent.id == id) else {
        return bad(230_001, "Your request contains an invalid request parameter, ext=invalid message_id");
    };
    if platform.sent[at].kind != "interactive" {
        return bad(230_001, "Your request contains an invalid request parameter, ext=This message is NOT a card.");
    }
    check(platform, "interactive", &content, body)?;
    for card in [&platform.sent[at].content, &content] {
        let card: Value = serde_json::from_str(card).unwrap_or_default();
        if card["config"]["update_multi"] != true {
            return bad(230_001, "Your request contains an invalid request parameter, ext=the card is not shared");
        }
    }
    platform.sent[at].content = content;
    platform.sent[at].edits += 1;
    Ok(json!({}))
}

fn check(platform: &Platform, kind: &str, content: &str, body: &Value) -> Result<(), Refusal> {
    let most = if kind == "text" { MAX_TEXT } else { MAX_RICH };
    if body.to_string().len() > most {
        return bad(230_025, "The length of the message content reaches its limit.");
    }
    let invalid = |why: &str| bad(230_001, format!("Your request contains an invalid request parameter, ext={why}"));
    let Ok(value) = serde_json::from_str::<Value>(content) else { return invalid("invalid content") };
    match kind {
        "text" if value["text"].as_str().is_none_or(str::is_empty) => invalid("text is empty"),
        "text" | "post" => Ok(()),
        "file" if platform.files.contains_key(value["file_key"].as_str().unwrap_or_default()) => Ok(()),
        "file" => invalid("invalid file_key"),
        "interactive" => card(&value).or_else(|why| bad(230_099, format!("Failed to create card content, ext={why}"))),
        _ => invalid("invalid msg_type"),
    }
}

/// Cards of version 2.0: the elements that we use, and the fields that they need.
fn card(card: &Value) -> Result<(), String> {
    if card["schema"] != "2.0" {
        return Err("ErrCode: 200621; ErrMsg: unknown schema".into());
    }
    let Some(elements) = card["body"]["elements"].as_array() else {
        return Err("ErrCode: 200621; ErrMsg: body.elements is missing".into());
    };
    elements.iter().try_for_each(element)
}

fn element(element: &Value) -> Result<(), String> {
    let fault = |why: &str| Err(format!("ErrCode: 200861; ErrMsg: {why}"));
    match element["tag"].as_str() {
        Some("markdown") if element["content"].is_string() => Ok(()),
        Some("hr") => Ok(()),
        Some("column_set") => {
            let columns = element["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
            if columns.is_empty() || columns.iter().any(|column| column["tag"] != "column") {
                return fault("column_set needs columns");
            }
            let inside = columns.iter().flat_map(|column| column["elements"].as_array().into_iter().flatten());
            inside.into_iter().try_for_each(self::element)
        }
        Some("button") => {
            let text = &element["text"];
            if text["tag"] != "plain_text" || text["content"].as_str().is_none_or(str::is_empty) {
                return fault("a button needs a text");
            }
            let sound = |behavior: &Value| behavior["type"] == "callback" && behavior["value"].is_object();
            let behaviors = element["behaviors"].as_array().map(Vec::as_slice).unwrap_or_default();
            if behaviors.is_empty() || !behaviors.iter().all(sound) {
                fault("a button needs a callback")
            } else {
                Ok(())
            }
        }
        tag => fault(&format!("unknown element {tag:?}")),
    }
}
