//! Telegram's updates, and what they mean. Whatever is not a message, a change of one or a press of a button by a person
//! means nothing.

use serde::Deserialize;

use crate::channel::{MessageRef, Place};
use crate::update::{Beyond, Press, RemoteFile, Setting, Update, What};

#[derive(Deserialize)]
pub(super) struct Raw {
    pub(super) update_id: i64,
    message: Option<Message>,
    edited_message: Option<Message>,
    callback_query: Option<Callback>,
}

/// Only the number: enough to go on after an update that cannot be read.
#[derive(Deserialize)]
pub(super) struct Numbered {
    pub(super) update_id: i64,
}

#[derive(Deserialize)]
struct Message {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    from: Option<User>,
    chat: Chat,
    text: Option<String>,
    caption: Option<String>,
    reply_to_message: Option<Box<Message>>,
    #[serde(flatten)]
    media: Media,
}

/// The files that a message can have: one of them, in whatever shape it was sent.
#[derive(Deserialize)]
struct Media {
    document: Option<Document>,
    animation: Option<Document>,
    video: Option<Document>,
    video_note: Option<Document>,
    audio: Option<Document>,
    voice: Option<Document>,
    #[serde(default)]
    photo: Vec<Photo>,
}

#[derive(Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Document {
    file_id: String,
    file_name: Option<String>,
    mime_type: Option<String>,
    file_size: Option<u64>,
}

#[derive(Deserialize)]
struct Photo {
    file_id: String,
    file_size: Option<u64>,
}

#[derive(Deserialize)]
struct Callback {
    id: String,
    from: User,
    message: Option<Message>,
    data: Option<String>,
}

/// Who we are there.
#[derive(Clone, Copy)]
pub(super) struct Me<'a> {
    /// Our number: two bots count their updates apart.
    pub(super) bot: &'a str,
    /// What others call us with, once we know it.
    pub(super) name: Option<&'a str>,
}

impl Raw {
    /// What it means, if anything.
    pub(super) fn read(self, me: Me<'_>, raw: &str) -> Option<Update> {
        let bot = me.bot;
        let key = format!("telegram:{bot}:{}", self.update_id);
        let (sender, message, what) = match (self.message, self.edited_message, self.callback_query) {
            (Some(mut message), ..) => {
                let sender = message.from.take()?;
                let what = message.said(me)?;
                (sender, message, what)
            }
            (None, Some(mut message), _) => {
                // Places that move and polls that go on are edits too; only words are somebody's.
                message.text.take().or_else(|| message.caption.take())?;
                (message.from.take()?, message, What::Beyond(Beyond::Edit))
            }
            (None, None, Some(callback)) => {
                let message = callback.message?;
                let press = Press { token: callback.data?, under: message.name(), id: callback.id };
                (callback.from, message, What::Pressed(press))
            }
            (None, None, None) => return None,
        };
        if sender.is_bot {
            return None;
        }
        let setting = message.setting();
        let sender = sender.id.to_string();
        Some(Update { key, raw: raw.to_owned(), place: message.place(), setting, sender, what })
    }
}

impl Me<'_> {
    /// The words without our name where they begin with it, as people write in groups: `/stop@name` or `@name stop`.
    /// Nothing if a command is for another bot.
    fn addressed(self, text: String) -> Option<String> {
        let Some(name) = self.name else { return Some(text) };
        let first = text.split_whitespace().next().unwrap_or_default();
        match first.split_once('@') {
            Some(("", named)) if named.eq_ignore_ascii_case(name) && text.starts_with('@') => {
                Some(text[first.len()..].trim_start().to_owned())
            }
            Some((command, named)) if command.starts_with('/') && text.starts_with('/') => {
                let ours = named.eq_ignore_ascii_case(name);
                // A path such as `/etc/@x` is no command.
                let is_command = command[1..].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                match (is_command && command.len() > 1, ours) {
                    (true, true) => Some(format!("{command}{}", &text[first.len()..])),
                    (true, false) => None,
                    (false, _) => Some(text),
                }
            }
            Some(_) | None => Some(text),
        }
    }
}

impl Message {
    fn place(&self) -> Place {
        match self.message_thread_id.filter(|_| self.is_topic_message) {
            Some(topic) => Place(format!("{}/{topic}", self.chat.id)),
            None => Place(self.chat.id.to_string()),
        }
    }

    fn setting(&self) -> Setting {
        if self.chat.kind == "private" { Setting::Private } else { Setting::Group }
    }

    fn name(&self) -> MessageRef {
        MessageRef(format!("{}:{}", self.chat.id, self.message_id))
    }

    fn said(&mut self, me: Me<'_>) -> Option<What> {
        let text = self.text.take().or_else(|| self.caption.take()).unwrap_or_default();
        let text = me.addressed(text)?;
        let files = self.media.files();
        if text.trim().is_empty() && files.is_empty() {
            // In a group much comes that nobody says to us, such as who joined.
            return (self.setting() == Setting::Private).then_some(What::Beyond(Beyond::Kind));
        }
        // In a topic every message answers the topic's first one, which says nothing.
        let topic = self.message_thread_id.filter(|_| self.is_topic_message);
        let answers = self.reply_to_message.take().filter(|known| Some(known.message_id) != topic);
        Some(What::Said { message: self.name(), text, answers: answers.map(|known| known.name()), files })
    }
}

impl Media {
    fn files(&mut self) -> Vec<RemoteFile> {
        let photo = self.photo.iter().max_by_key(|photo| photo.file_size);
        let photo =
            photo.map(|photo| RemoteFile::new("photo.jpg", "image/jpeg", photo.file_size, photo.file_id.clone()));
        // What moves comes as a document as well.
        let moving = self.animation.take().map(|file| (file, "animation.mp4", "video/mp4"));
        let known = [
            moving.or(self.document.take().map(|file| (file, "file", "application/octet-stream"))),
            self.video.take().map(|file| (file, "video.mp4", "video/mp4")),
            self.video_note.take().map(|file| (file, "video.mp4", "video/mp4")),
            self.audio.take().map(|file| (file, "audio.mp3", "audio/mpeg")),
            self.voice.take().map(|file| (file, "voice.ogg", "audio/ogg")),
        ];
        let file = |(file, name, mime): (Document, &str, &str)| {
            let name = file.file_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(name);
            RemoteFile::new(name, file.mime_type.as_deref().unwrap_or(mime), file.file_size, file.file_id)
        };
        known.into_iter().flatten().map(file).chain(photo).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Update> {
        serde_json::from_str::<Raw>(json).expect("an update").read(Me { bot: "7", name: Some("our_bot") }, json)
    }

    #[test]
    fn our_name_is_left_out_and_commands_for_others_are_not_ours() {
        let said = |text: &str| {
            let json = serde_json::json!({"update_id": 1, "message": {"message_id": 1, "from": {"id": 1},
                "chat": {"id": -1, "type": "group"}, "text": text}});
            match read(&json.to_string())?.what {
                What::Said { text, .. } => Some(text),
                What::Pressed(_) | What::Beyond(_) => None,
            }
        };
        for (text, heard) in [
            ("/new@our_bot fix it", Some("/new fix it")),
            ("/stop@OUR_bot", Some("/stop")),
            ("@our_bot  fix it", Some("fix it")),
            ("/new@other_bot fix it", None),
            ("@other fix it", Some("@other fix it")),
            ("@our_bot", None),
            ("/etc/x@our_bot", Some("/etc/x@our_bot")),
            ("/@our_bot", Some("/@our_bot")),
            ("mail me@our_bot", Some("mail me@our_bot")),
            ("//compact now", Some("//compact now")),
        ] {
            assert_eq!(said(text).as_deref(), heard, "{text}");
        }
    }

    #[test]
    fn a_message_in_a_private_chat() {
        let update = read(
            r#"{"update_id":5,"message":{"message_id":9,"from":{"id":42,"is_bot":false,"first_name":"A"},
            "chat":{"id":42,"type":"private"},"date":1,"text":"hi","reply_to_message":{"message_id":3,
            "chat":{"id":42,"type":"private"},"date":1}}}"#,
        )
        .expect("it means something");
        assert_eq!((update.key.as_str(), update.setting), ("telegram:7:5", Setting::Private));
        assert_eq!(update.sender, "42");
        let answers = Some(MessageRef("42:3".into()));
        assert_eq!(
            update.what,
            What::Said { message: MessageRef("42:9".into()), text: "hi".into(), answers, files: vec![] }
        );
    }

    #[test]
    fn a_topic_is_a_place_of_its_own_and_its_first_message_is_not_answered() {
        let update = read(
            r#"{"update_id":5,"message":{"message_id":9,"message_thread_id":4,"is_topic_message":true,
            "from":{"id":42},"chat":{"id":-100,"type":"supergroup"},"text":"hi",
            "reply_to_message":{"message_id":4,"chat":{"id":-100,"type":"supergroup"}}}}"#,
        )
        .expect("it means something");
        assert_eq!((update.place, update.setting), (Place("-100/4".into()), Setting::Group));
        assert!(matches!(update.what, What::Said { answers: None, .. }));
    }

    #[test]
    fn a_press_is_by_who_pressed() {
        let update = read(
            r#"{"update_id":6,"callback_query":{"id":"cb","from":{"id":1},"data":"x",
            "message":{"message_id":2,"from":{"id":7,"is_bot":true},"chat":{"id":-3,"type":"group"}}}}"#,
        )
        .expect("it means something");
        assert_eq!(update.sender, "1");
        let press = Press { token: "x".into(), under: MessageRef("-3:2".into()), id: "cb".into() };
        assert_eq!(update.what, What::Pressed(press));
    }

    #[test]
    fn the_rest_means_nothing() {
        for json in [
            r#"{"update_id":1}"#,
            r#"{"update_id":1,"edited_message":{"message_id":1,"chat":{"id":1,"type":"private"},"text":"no sender"}}"#,
            r#"{"update_id":1,"message":{"message_id":1,"chat":{"id":1,"type":"channel"},"text":"no sender"}}"#,
            r#"{"update_id":1,"message":{"message_id":1,"from":{"id":1,"is_bot":true},"chat":{"id":1},"text":"bot"}}"#,
            r#"{"update_id":1,"message":{"message_id":1,"from":{"id":1},"chat":{"id":1},"text":"  "}}"#,
            r#"{"update_id":1,"callback_query":{"id":"a","from":{"id":1},"data":"x"}}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn whatever_is_recorded_or_filmed_is_a_file() {
        for (kind, file, name, mime) in [
            ("voice", r#"{"file_id":"f","duration":1,"mime_type":"audio/ogg"}"#, "voice.ogg", "audio/ogg"),
            ("audio", r#"{"file_id":"f","file_name":"a.flac","mime_type":"audio/flac"}"#, "a.flac", "audio/flac"),
            ("video", r#"{"file_id":"f","file_name":"../v\n.mov"}"#, "v.mov", "video/mp4"),
            ("video_note", r#"{"file_id":"f","length":240}"#, "video.mp4", "video/mp4"),
            (
                "document",
                r#"{"file_id":"f","file_name":"","mime_type":"no\r\ntype"}"#,
                "file",
                "application/octet-stream",
            ),
            ("document", r#"{"file_id":"g"},"animation":{"file_id":"f"}"#, "animation.mp4", "video/mp4"),
        ] {
            let json = format!(
                r#"{{"update_id":1,"message":{{"message_id":1,"from":{{"id":1}},"chat":{{"id":1,"type":"private"}},
                "caption":"see","{kind}":{file}}}}}"#
            );
            let What::Said { text, files, .. } = read(&json).expect(kind).what else { panic!("said") };
            let file = RemoteFile { name: name.into(), mime: mime.into(), bytes: None, handle: "f".into() };
            assert_eq!((text.as_str(), files), ("see", vec![file]), "{kind}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_known_as_that() {
        let what = |json: &str| read(json).map(|update| update.what);
        let from = r#""message_id":1,"from":{"id":1},"chat":{"id":1,"type":"private"}"#;
        let edit = format!(r#"{{"update_id":1,"edited_message":{{{from},"text":"not that"}}}}"#);
        assert_eq!(what(&edit), Some(What::Beyond(Beyond::Edit)));
        let moved = format!(r#"{{"update_id":1,"edited_message":{{{from},"location":{{}}}}}}"#);
        assert_eq!(what(&moved), None);
        let sticker = format!(r#"{{"update_id":1,"message":{{{from},"sticker":{{"file_id":"s"}}}}}}"#);
        assert_eq!(what(&sticker), Some(What::Beyond(Beyond::Kind)));
        assert_eq!(what(&sticker.replace("private", "group")), None);
    }

    #[test]
    fn the_largest_photo_and_its_caption() {
        let update = read(
            r#"{"update_id":1,"message":{"message_id":1,"from":{"id":1},"chat":{"id":1,"type":"private"},"caption":"see",
            "photo":[{"file_id":"s","file_size":10},{"file_id":"l","file_size":99}]}}"#,
        )
        .expect("it means something");
        let What::Said { text, files, .. } = update.what else { panic!("said") };
        assert_eq!((text.as_str(), files[0].handle.as_str()), ("see", "l"));
    }
}
