//! Feishu's events, and what they mean. Whatever is not a message or a press of a button by a user means nothing.

use serde::Deserialize;
use serde_json::Value;

use crate::channel::{MessageRef, Place};
use crate::update::{Beyond, Press, RemoteFile, Setting, Update, What};

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
    #[serde(default)]
    name: String,
    #[serde(default)]
    mentioned_type: String,
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
    let (sender, place, setting, what) = match header.event_type.as_str() {
        "im.message.receive_v1" => {
            let Received { sender, message } = serde_json::from_value(event).ok()?;
            if sender.sender_type != "user" {
                return None;
            }
            (sender.sender_id.open_id?, message.place(), message.setting(), message.said()?)
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
    // An id of no letters is nobody's.
    (!sender.is_empty()).then(|| Update { key, raw: raw.to_owned(), place, setting, sender, what })
}

impl Message {
    /// A thread is known by its first message: only by answering that one can something be said in it.
    fn place(&self) -> Place {
        match &self.thread_id {
            Some(_) => Place(format!("{}/{}", self.chat_id, self.root_id.as_ref().unwrap_or(&self.message_id))),
            None => Place(self.chat_id.clone()),
        }
    }

    fn setting(&self) -> Setting {
        if self.chat_type == "p2p" { Setting::Private } else { Setting::Group }
    }

    fn said(&self) -> Option<What> {
        let content: Value = serde_json::from_str(&self.content).ok()?;
        let (text, files) = match self.message_type.as_str() {
            "text" => (word(&content, "text").to_owned(), vec![]),
            "post" => {
                (post(&content), pieces(&content).filter_map(|piece| self.file(piece, word(piece, "tag"))).collect())
            }
            kind => (String::new(), self.file(&content, kind).into_iter().collect()),
        };
        let text = self.named(&text);
        if text.is_empty() && files.is_empty() {
            // In a group much comes that nobody says to us.
            return (self.setting() == Setting::Private).then_some(What::Beyond(Beyond::Kind));
        }
        let message = MessageRef(self.message_id.clone());
        Some(What::Said { message, text, answers: self.parent_id.clone().map(MessageRef), files })
    }

    /// The file that a message is, or that stands in one.
    fn file(&self, content: &Value, kind: &str) -> Option<RemoteFile> {
        let (key, resource, name, mime) = match kind {
            "image" | "img" => ("image_key", "image", "image.png", "image/png"),
            "audio" => ("file_key", "file", "audio.opus", "audio/ogg"),
            "media" => ("file_key", "file", "video.mp4", "video/mp4"),
            "file" => ("file_key", "file", "file", "application/octet-stream"),
            _ => return None,
        };
        let said = Some(word(content, "file_name")).filter(|name| !name.is_empty());
        let handle = format!("{}/{resource}/{}", self.message_id, word(content, key));
        Some(RemoteFile::new(said.unwrap_or(name), mime, None, handle))
    }

    /// The text with names where the platform has marks. Who is spoken to at its beginning, and a bot, are left out: that is us.
    fn named(&self, text: &str) -> String {
        let mut mentions: Vec<&Mention> = self.mentions.iter().filter(|mention| !mention.key.is_empty()).collect();
        // The mark of the tenth begins like that of the first.
        mentions.sort_by_key(|mention| std::cmp::Reverse(mention.key.len()));
        let mut rest = text.trim();
        while let Some(mention) = mentions.iter().find(|mention| rest.starts_with(&mention.key)) {
            rest = rest[mention.key.len()..].trim_start();
        }
        let mut text = rest.to_owned();
        for mention in mentions {
            let us = mention.mentioned_type == "bot" || mention.name.is_empty();
            let name = if us { String::new() } else { format!("@{}", mention.name) };
            text = text.replace(&mention.key, &name);
        }
        text.trim().to_owned()
    }
}

fn word<'a>(content: &'a Value, key: &str) -> &'a str {
    content.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn paragraphs(content: &Value) -> impl Iterator<Item = &Vec<Value>> {
    content.get("content").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_array)
}

fn pieces(content: &Value) -> impl Iterator<Item = &Value> {
    paragraphs(content).flatten()
}

/// The words of a rich message: its title, and a line for each paragraph.
fn post(content: &Value) -> String {
    let title = Some(word(content, "title").to_owned()).filter(|title| !title.is_empty());
    let words = |piece: &Value| match (word(piece, "tag"), word(piece, "text")) {
        // Who is named is known by the same mark as in a text.
        ("at", _) => word(piece, "user_id").to_owned(),
        ("a", text) if text != word(piece, "href") => format!("{text} ({})", word(piece, "href")),
        ("code_block", text) => format!("```{}\n{}\n```", word(piece, "language").to_lowercase(), text.trim_end()),
        (_, text) => text.to_owned(),
    };
    let lines = paragraphs(content).map(|pieces| pieces.iter().map(words).collect::<String>());
    title.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(kind: &str, content: &Value) -> String {
        json!({"schema": "2.0", "header": {"event_id": "e1", "event_type": "im.message.receive_v1", "app_id": "cli"},
            "event": {"sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"},
                "message": {"message_id": "om_1", "parent_id": "om_0", "chat_id": "oc_1", "chat_type": "p2p",
                    "message_type": kind, "content": content.to_string(), "mentions": [{"key": "@_user_1", "name": "Us"},
                        {"key": "@_user_2", "name": "Bob"}, {"key": "@_user_3", "name": "Us", "mentioned_type": "bot"},
                        {"key": "@_user_10", "name": "Ada"}]}}})
        .to_string()
    }

    #[test]
    fn text_without_its_mentions() {
        let update = read(&message("text", &json!({"text": "@_user_1 fix it"}))).expect("a message");
        assert_eq!(update.sender, "ou_1");
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

    fn said(kind: &str, content: &Value) -> (String, Vec<RemoteFile>) {
        match read(&message(kind, content)).expect("a message").what {
            What::Said { text, files, .. } => (text, files),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_post_is_its_lines_its_links_and_its_pictures() {
        let content = json!({"title": "T", "content": [
            [{"tag": "text", "text": "a "}, {"tag": "a", "text": "b", "href": "https://b"}],
            [{"tag": "img", "image_key": "k"}, {"tag": "text", "text": "c "}, {"tag": "at", "user_id": "@_user_2"}],
            [{"tag": "code_block", "language": "RUST", "text": "fn x() {}\n"}, {"tag": "media", "file_key": "v"}]]});
        let (text, files) = said("post", &content);
        assert_eq!(text, "T\na b (https://b)\nc @Bob\n```rust\nfn x() {}\n```");
        let handles: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.handle.as_str())).collect();
        assert_eq!(handles, [("image.png", "om_1/image/k"), ("video.mp4", "om_1/file/v")]);
        let (text, files) = said("post", &json!({"content": [[{"tag": "img", "image_key": "k"}]]}));
        assert_eq!((text.as_str(), files.len()), ("", 1), "a picture alone is something too");
    }

    #[test]
    fn whatever_is_recorded_or_filmed_is_a_file() {
        for (kind, content, name, mime) in [
            ("audio", json!({"file_key": "f", "duration": 9}), "audio.opus", "audio/ogg"),
            ("media", json!({"file_key": "f", "file_name": "v.mov"}), "v.mov", "video/mp4"),
            ("file", json!({"file_key": "f", "file_name": "../a\n.txt"}), "a.txt", "application/octet-stream"),
        ] {
            let file = RemoteFile { name: name.into(), mime: mime.into(), bytes: None, handle: "om_1/file/f".into() };
            assert_eq!(said(kind, &content), (String::new(), vec![file]));
        }
    }

    #[test]
    fn others_keep_their_names_and_ours_is_left_out() {
        for (text, heard) in [
            ("@_user_1 fix it", "fix it"),
            ("@_user_1 ask @_user_2 and @_user_10", "ask @Bob and @Ada"),
            ("ask @_user_3 too", "ask  too"),
        ] {
            assert_eq!(said("text", &json!({"text": text})).0, heard, "{text}");
        }
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
        let sticker = message("sticker", &json!({}));
        let group = sticker.replace("p2p", "group");
        for raw in [bot.as_str(), "", "{}", &group] {
            assert_eq!(read(raw), None, "{raw}");
        }
        assert_eq!(read(&sticker).map(|update| update.what), Some(What::Beyond(Beyond::Kind)), "they should hear so");
    }
}
