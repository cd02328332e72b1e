//! What each method does, with the platform's own rules and words.

use serde_json::{Value, json};

use super::markdown_v2::{self, Shown};
use super::state::{Document, Hook, Key, Platform, Sent};

/// The longest message, in UTF-16 units after its markup is read.
const MAX_TEXT: usize = 4096;
/// The longest caption.
const MAX_CAPTION: usize = 1024;
/// The largest file that a bot can fetch.
const MAX_DOWNLOAD: usize = 20 << 20;

/// A no.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) why: String,
}

fn bad<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { code: 400, why: format!("Bad Request: {}", why.into()) })
}

/// Does what is asked for. A file, where one came along, is beside the body.
pub(super) fn call(
    platform: &mut Platform,
    method: &str,
    body: &Value,
    file: Option<Document>,
) -> Result<Value, Refusal> {
    match method {
        "getMe" => Ok(json!({"id": 7_000_000_007_i64, "is_bot": true, "first_name": "Stub", "username": "stub_bot"})),
        "sendMessage" => send_message(platform, body),
        "sendDocument" => send_document(platform, body, file),
        "editMessageText" => edit(platform, body),
        "answerCallbackQuery" => answer_press(platform, body),
        "sendChatAction" => chat_action(platform, body),
        "getFile" => get_file(platform, body),
        "setWebhook" => set_webhook(platform, body),
        "deleteWebhook" => {
            platform.feed.hook = None;
            Ok(json!(true))
        }
        _ => Err(Refusal { code: 404, why: "Not Found".into() }),
    }
}

fn send_message(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    let (chat, topic) = place(platform, body)?;
    let shown = text(body, "text", MAX_TEXT)?;
    if shown.text.trim().is_empty() {
        return bad("message text is empty");
    }
    let answers = answered(platform, chat, body)?;
    let buttons = keyboard(body)?;
    let sent = Sent { chat, topic, id: 0, shown, buttons, answers, silent: silent(body), edits: 0, document: None };
    Ok(post(platform, sent))
}

fn send_document(platform: &mut Platform, body: &Value, file: Option<Document>) -> Result<Value, Refusal> {
    let (chat, topic) = place(platform, body)?;
    let Some(document) = file else { return bad("there is no document in the request") };
    if document.bytes.is_empty() {
        return bad("file must be non-empty");
    }
    let shown = text(body, "caption", MAX_CAPTION)?;
    let answers = answered(platform, chat, body)?;
    let (buttons, document) = (keyboard(body)?, Some(document));
    let sent = Sent { chat, topic, id: 0, shown, buttons, answers, silent: silent(body), edits: 0, document };
    Ok(post(platform, sent))
}

fn post(platform: &mut Platform, mut sent: Sent) -> Value {
    sent.id = platform.number(sent.chat);
    let told = platform.told(&sent);
    platform.sent.push(sent);
    told
}

fn edit(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    let (chat, _) = place(platform, body)?;
    let id = body["message_id"].as_i64();
    let shown = text(body, "text", MAX_TEXT)?;
    if shown.text.trim().is_empty() {
        return bad("message text is empty");
    }
    let buttons = keyboard(body)?;
    let known = platform.sent.iter_mut().find(|sent| sent.chat == chat && Some(sent.id) == id);
    let Some(known) = known else { return bad("message to edit not found") };
    if known.document.is_some() {
        return bad("there is no text in the message to edit");
    }
    if (&known.shown, &known.buttons) == (&shown, &buttons) {
        return bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        );
    }
    (known.shown, known.buttons) = (shown, buttons);
    known.edits += 1;
    let known = known.clone();
    Ok(platform.told(&known))
}

fn answer_press(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    let words = body["text"].as_str().unwrap_or_default();
    if words.chars().count() > 200 {
        return bad("MESSAGE_TOO_LONG");
    }
    let id = body["callback_query_id"].as_str().unwrap_or_default();
    match platform.presses.get_mut(id) {
        Some(answer) => {
            *answer = Some(words.to_owned());
            Ok(json!(true))
        }
        None => bad("query is too old and response timeout expired or query ID is invalid"),
    }
}

fn chat_action(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    place(platform, body)?;
    match body["action"].as_str() {
        Some("typing" | "upload_document" | "upload_photo") => Ok(json!(true)),
        _ => bad("wrong parameter action in request"),
    }
}

fn get_file(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    let id = body["file_id"].as_str().unwrap_or_default();
    match platform.files.get(id) {
        None => bad("invalid file_id"),
        Some(bytes) if bytes.len() > MAX_DOWNLOAD => bad("file is too big"),
        Some(bytes) => Ok(
            json!({"file_id": id, "file_unique_id": id, "file_size": bytes.len(), "file_path": format!("documents/{id}")}),
        ),
    }
}

/// Plain HTTP is taken on loopback only, where tests are: the real one wants HTTPS everywhere.
fn set_webhook(platform: &mut Platform, body: &Value) -> Result<Value, Refusal> {
    let url = body["url"].as_str().unwrap_or_default();
    let secret = body["secret_token"].as_str().map(str::to_owned);
    if url.is_empty() {
        platform.feed.hook = None;
        return Ok(json!(true));
    }
    if !url.starts_with("https://") && !url.starts_with("http://127.0.0.1:") {
        return bad("bad webhook: An HTTPS URL must be provided for webhook");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if secret.as_ref().is_some_and(|text| text.is_empty() || text.len() > 256 || !text.bytes().all(plain)) {
        return bad("secret token contains unallowed characters");
    }
    platform.feed.hook = Some(Hook { url: url.to_owned(), secret });
    Ok(json!(true))
}

/// The chat and the topic that a call is for. A bot cannot write to whom never wrote to it.
fn place(platform: &Platform, body: &Value) -> Result<(i64, Option<i64>), Refusal> {
    let number = |value: &Value| value.as_i64().or_else(|| value.as_str()?.parse().ok());
    let Some(id) = number(&body["chat_id"]) else { return bad("chat_id is empty") };
    let Some(chat) = platform.chats.get(&id) else { return bad("chat not found") };
    if chat.blocked {
        return Err(Refusal { code: 403, why: "Forbidden: bot was blocked by the user".into() });
    }
    let topic = number(&body["message_thread_id"]);
    match topic {
        Some(topic) if !chat.topics.contains(&topic) => bad("message thread not found"),
        topic => Ok((id, topic)),
    }
}

fn text(body: &Value, key: &str, most: usize) -> Result<Shown, Refusal> {
    let source = body[key].as_str().unwrap_or_default();
    let shown = match body.get("parse_mode").map(Value::as_str) {
        Some(Some("MarkdownV2")) => {
            markdown_v2::read(source).or_else(|why| bad(format!("can't parse entities: {why}")))?
        }
        None => Shown { text: source.to_owned(), entities: vec![] },
        // A `null` is read as the word.
        Some(Some(_) | None) => return bad("unsupported parse_mode"),
    };
    match shown.text.encode_utf16().count() > most {
        true if key == "caption" => bad("message caption is too long"),
        true => bad("message is too long"),
        false => Ok(shown),
    }
}

fn answered(platform: &Platform, chat: i64, body: &Value) -> Result<Option<i64>, Refusal> {
    let parameters = match &body["reply_parameters"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        other => other.clone(),
    };
    let Some(id) = parameters["message_id"].as_i64() else { return Ok(None) };
    let known = platform.chats.get(&chat).is_some_and(|chat| chat.messages.contains(&id));
    match (known, parameters["allow_sending_without_reply"].as_bool()) {
        (true, _) => Ok(Some(id)),
        (false, Some(true)) => Ok(None),
        (false, _) => bad("message to be replied not found"),
    }
}

fn keyboard(body: &Value) -> Result<Vec<Vec<Key>>, Refusal> {
    let mut rows = vec![];
    for row in body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten() {
        let mut keys = vec![];
        for button in row.as_array().into_iter().flatten() {
            let word = |key: &str| button[key].as_str().unwrap_or_default().to_owned();
            let key = Key { text: word("text"), data: word("callback_data") };
            if key.text.is_empty() {
                return bad("inline keyboard button text must be non-empty");
            }
            if key.data.is_empty() || key.data.len() > 64 {
                return bad("BUTTON_DATA_INVALID");
            }
            keys.push(key);
        }
        if !keys.is_empty() {
            rows.push(keys);
        }
    }
    Ok(rows)
}

fn silent(body: &Value) -> bool {
    body["disable_notification"].as_bool().unwrap_or_default() || body["disable_notification"] == "true"
}
