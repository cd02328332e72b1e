//! Feishu's events, and what they mean. Whatever is not a message or a press of a button by a user means nothing.

use serde::Deserialize;
use serde_json::Value;
use throughline_model::person::Identity;

use crate::channel::{MessageRef, Place};
use crate::update::{Press, RemoteFile, Setting, Update, What};

#[derive(Deserialize)]
struct Envelope {
    header: Header,
    event: Value,
}

#[derive(Deserialize)]
struct Header {
    event_id: String,
    event_type: String,
    app_id: Option<String>,
}

#[derive(Deserialize)]
struct Received {
    sender: Sender,
    message: Message,
}

#[derive(Deserialize)]
struct Sender {
    sender_id: Ids,
    #[serde(default)]
    sender_type: String,
}

#[derive(Deserialize)]
struct Ids {
    open_id: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    message_id: String,
    parent_id: Option<String>,
    root_id: Option<String>,
    thread_id: Option<String>,
    chat_id: String,
    #[serde(default)]
    chat_type: String,
    message_type: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    mentions: Vec<Mention>,
}

#[derive(Deserialize)]
struct Mention {
    key: String,
}

#[derive(Deserialize)]
struct Acted {
    operator: Ids,
    action: Action,
    context: Where,
}

#[derive(Deserialize)]
struct Action {
    value: Value,
}

#[derive(Deserialize)]
struct Where {
    open_message_id: String,
    open_chat_id: String,
}

/// What an event means, if anything.
pub(super) fn read(raw: &str) -> Option<Update> {
    let Envelope { header, event } = serde_json::from_str(raw).ok()?;
    let key = format!("feishu:{}:{}", header.app_id.unwrap_or_default(), header.event_id);
    let (open_id, place, setting, what) = match header.event_type.as_str() {
        "im.message.receive_v1" => {
            let Received { sender, message } = serde_json::from_value(event).ok()?;
            if sender.sender_type != "user" {
                return None;
            }
            let setting = if message.chat_type == "p2p" { Setting::Private } else { Setting::Group };
            (sender.sender_id.open_id?, message.place(), setting, message.said()?)
        }
        "card.action.trigger" => {
            let Acted { operator, action, context } = serde_json::from_value(event).ok()?;
            let token = action.value.get("token")?.as_str()?.to_owned();
            let under = MessageRef(context.open_message_id);
            // The press says neither the kind of chat nor the thread; who presses is checked as in a group.
            let press = Press { token, under, id: header.event_id };
            (operator.open_id?, Place(context.open_chat_id), Setting::Group, What::Pressed(press))
        }
        _ => return None,
    };
    Some(Update { key, raw: raw.to_owned(), place, setting, sender: Identity::Feishu { open_id }, what })
}

impl Message {
    /// A thread is known by its first message: only by answering that one can something be said in it.
    fn place(&self) -> Place {
        match &self.thread_id {
            Some(_) => Place(format!("{}/{}", self.chat_id, self.root_id.as_ref().unwrap_or(&self.message_id))),
            None => Place(self.chat_id.clone()),
        }
    }

    fn said(&self) -> Option<What> {
        let content: Value = serde_json::from_str(&self.content).ok()?;
        let word = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let file = |key: &str, kind: &str, name: String, mime: &str| RemoteFile {
            name,
            mime: mime.into(),
            bytes: None,
            handle: format!("{}/{kind}/{}", self.message_id, word(key)),
        };
        let (mut text, files) = match self.message_type.as_str() {
            "text" => (word("text"), vec![]),
            "post" => (post(&content), vec![]),
            "image" => (String::new(), vec![file("image_key", "image", "image.png".into(), "image/png")]),
            "file" => (String::new(), vec![file("file_key", "file", word("file_name"), "application/octet-stream")]),
            _ => return None,
        };
        for mention in &self.mentions {
            text = text.replace(&mention.key, "");
        }
        let text = text.trim().to_owned();
        if text.is_empty() && files.is_empty() {
            return None;
        }
        let message = MessageRef(self.message_id.clone());
        Some(What::Said { message, text, answers: self.parent_id.clone().map(MessageRef), files })
    }
}

/// The words of a rich message: its title, and a line for each paragraph.
fn post(content: &Value) -> String {
    let title = content.get("title").and_then(Value::as_str).filter(|title| !title.is_empty());
    let paragraphs = content.get("content").and_then(Value::as_array).into_iter().flatten();
    let words = |paragraph: &Value| {
        let pieces = paragraph.as_array().into_iter().flatten();
        pieces.filter_map(|piece| piece.get("text").and_then(Value::as_str)).collect::<String>()
    };
    let lines = paragraphs.map(words);
    title.map(str::to_owned).into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(kind: &str, content: &Value) -> String {
        json!({"schema": "2.0", "header": {"event_id": "e1", "event_type": "im.message.receive_v1", "app_id": "cli"},
            "event": {"sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"},
                "message": {"message_id": "om_1", "parent_id": "om_0", "chat_id": "oc_1", "chat_type": "p2p",
                    "message_type": kind, "content": content.to_string(), "mentions": [{"key": "@_user_1"}]}}})
        .to_string()
    }

    #[test]
    fn text_without_its_mentions() {
        let update = read(&message("text", &json!({"text": "@_user_1 fix it"}))).expect("a message");
        assert_eq!(update.sender, Identity::Feishu { open_id: "ou_1".into() });
        assert_eq!((update.key.as_str(), update.setting), ("feishu:cli:e1", Setting::Private));
        let answers = Some(MessageRef("om_0".into()));
        assert_eq!(
            update.what,
            What::Said { message: MessageRef("om_1".into()), text: "fix it".into(), answers, files: vec![] }
        );
    }

    #[test]
    fn a_thread_is_the_place_that_its_first_message_begins() {
        let place = |extra: Value| {
            let mut raw: Value = serde_json::from_str(&message("text", &json!({"text": "x"}))).expect("JSON");
            raw["event"]["message"].as_object_mut().expect("an object").extend(extra.as_object().expect("one").clone());
            read(&raw.to_string()).expect("a message").place
        };
        assert_eq!(place(json!({"thread_id": "omt_1"})), Place("oc_1/om_1".into()));
        assert_eq!(place(json!({"thread_id": "omt_1", "root_id": "om_r"})), Place("oc_1/om_r".into()));
        assert_eq!(place(json!({"root_id": "om_r"})), Place("oc_1".into()));
    }

    #[test]
    fn a_post_is_its_lines() {
        let content = json!({"title": "T", "content": [[{"tag": "text", "text": "a "}, {"tag": "a", "text": "b"}],
            [{"tag": "img", "image_key": "k"}, {"tag": "text", "text": "c"}]]});
        let What::Said { text, .. } = read(&message("post", &content)).expect("a message").what else { panic!("said") };
        assert_eq!(text, "T\na b\nc");
    }

    #[test]
    fn a_press_carries_its_token() {
        let raw = json!({"schema": "2.0", "header": {"event_id": "e2", "event_type": "card.action.trigger"},
            "event": {"operator": {"open_id": "ou_2"}, "action": {"tag": "button", "value": {"token": "t"}},
                "context": {"open_message_id": "om_9", "open_chat_id": "oc_1"}}});
        let update = read(&raw.to_string()).expect("a press");
        let press = Press { token: "t".into(), under: MessageRef("om_9".into()), id: "e2".into() };
        assert_eq!(update.what, What::Pressed(press));
    }

    #[test]
    fn the_rest_means_nothing() {
        let bot = message("text", &json!({"text": "x"})).replace(r#""sender_type":"user""#, r#""sender_type":"app""#);
        for raw in [bot.as_str(), "", "{}", &message("sticker", &json!({})), &message("text", &json!({"text": " "}))] {
            assert_eq!(read(raw), None, "{raw}");
        }
    }
}
