//! What comes in through a channel, in words that no platform owns.

use async_trait::async_trait;

use crate::channel::{MessageRef, Place};

/// Something that somebody did on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The same for every time that the platform tells of it, and that of nothing else anywhere: it begins with the
    /// platform's name and our account there (`telegram:7:4711`).
    pub key: String,
    /// As the platform told it, for the record.
    pub raw: String,
    /// Where.
    pub place: Place,
    /// Among whom.
    pub setting: Setting,
    /// Who, by an id that the platform vouches for and never gives to another.
    pub sender: String,
    /// What they did.
    pub what: What,
}

/// Among whom something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Between one person and us.
    Private,
    /// Where others read along.
    Group,
}

/// What somebody did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// They said something.
    Said {
        /// The message itself.
        message: MessageRef,
        /// Their words; those under a file count too.
        text: String,
        /// The message that they answered.
        answers: Option<MessageRef>,
        /// Files that came along.
        files: Vec<RemoteFile>,
    },
    /// They pressed a button.
    Pressed(Press),
    /// They did something that we cannot follow, and should hear so.
    Beyond(Beyond),
}

/// What we cannot follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// A change to a message that was sent before.
    Edit,
    /// A message without words or a file, such as a sticker.
    Kind,
}

/// A button that was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Press {
    /// What the button carried.
    pub token: String,
    /// Under which message.
    pub under: MessageRef,
    /// By which the platform knows this press.
    pub id: String,
}

/// A file on the platform. Its name and kind are what a stranger's program said, made safe by [`RemoteFile::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub mime: String,
    /// Its size, where the platform says.
    pub bytes: Option<u64>,
    /// By which it is fetched.
    pub handle: String,
}

impl RemoteFile {
    /// A file, with a name that is one and a type that is one, whatever the platform says.
    #[must_use]
    pub fn new(name: &str, mime: &str, bytes: Option<u64>, handle: String) -> Self {
        let part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
        };
        let is_type = mime.split_once('/').is_some_and(|(kind, sort)| part(kind) && part(sort));
        let mime = if is_type { mime } else { "application/octet-stream" };
        Self { name: file_name(name), mime: mime.to_owned(), bytes, handle }
    }
}

/// The longest name of a file, in letters.
const NAME_CHARS: usize = 120;

/// A name that names a file and nothing else: without folders, without what is not seen or ends a line.
#[must_use]
pub fn file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let unseen = |char: &char| {
        char.is_control()
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let seen: String = last.chars().filter(|char| !unseen(char)).collect();
    let seen = seen.trim();
    match seen.trim_matches('.') {
        "" => "file".to_owned(),
        _ => {
            // The end of a name says what it is.
            let skip = seen.chars().count().saturating_sub(NAME_CHARS);
            seen.chars().skip(skip).collect()
        }
    }
}

/// Where updates go.
#[async_trait]
pub trait Inbox: Send + Sync + 'static {
    /// Takes an update. When this answers `Ok`, the update and what follows from it are durable, or it was known, or
    /// it is of nobody that we know; only then may the channel acknowledge it to its platform.
    async fn take(&self, update: Update) -> Result<(), NotTaken>;
}

/// The update could not be kept; the platform must tell it again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it could not be kept: {0}")]
pub struct NotTaken(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_file_is_called_its_name_is_one() {
        for (said, name) in [
            ("a.txt", "a.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\y.doc", "y.doc"),
            ("a\r\nb\u{202e}c.txt", "abc.txt"),
            (" 报告 1.pdf ", "报告 1.pdf"),
            (".env", ".env"),
            ("..", "file"),
            ("a/", "file"),
            ("\u{0}", "file"),
            ("", "file"),
        ] {
            assert_eq!(file_name(said), name, "{said:?}");
        }
        let long = format!("{}.tar.gz", "长".repeat(500));
        assert!(file_name(&long).ends_with(".tar.gz") && file_name(&long).chars().count() == NAME_CHARS);
    }

    #[test]
    fn whatever_a_type_is_said_to_be_it_is_one() {
        let mime = |said: &str| RemoteFile::new("a", said, None, "h".into()).mime;
        assert_eq!(mime("image/svg+xml"), "image/svg+xml");
        for said in ["", "text", "text/plain\r\nX-Evil: 1", "/", "a/b/c", "text/"] {
            assert_eq!(mime(said), "application/octet-stream", "{said:?}");
        }
    }
}
