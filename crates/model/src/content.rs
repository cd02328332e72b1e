//! What people and agents say: content blocks. Bytes of any size live in blobs, never in a block.

use serde::{Deserialize, Serialize};

/// A content-addressed piece of bytes in the blob store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Text as recorded: in the event itself, or in a blob when it is long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// Short enough to stand in the event.
    Inline(String),
    /// Over the bound: the bytes are in a blob, the head is here for a glance.
    Blob {
        /// Where the whole text is.
        blob: BlobRef,
        /// Its first bytes, cut at a character.
        head: String,
    },
}

impl Text {
    /// Text longer than this many bytes goes to a blob.
    pub const INLINE_MAX_BYTES: usize = 64 * 1024;
    /// How much of a blob's text stays readable in the event.
    pub const HEAD_BYTES: usize = 1024;

    /// What can be read without opening a blob.
    #[must_use]
    pub fn head(&self) -> &str {
        match self {
            Text::Inline(text) => text,
            Text::Blob { head, .. } => head,
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Text::Inline(String::new())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::Inline(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::Inline(text)
    }
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The words.
        text: Text,
    },
    /// A picture, in a blob.
    Image {
        /// The bytes.
        blob: BlobRef,
        /// Such as `image/png`.
        mime: String,
        /// The file's name where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Any other file, in a blob.
    File {
        /// The bytes.
        blob: BlobRef,
        /// Such as `text/plain`.
        mime: String,
        /// The file's name.
        name: String,
    },
}

impl ContentBlock {
    /// A block of inline text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        ContentBlock::Text { text: Text::Inline(text.into()) }
    }
}

/// A file by its name, with its bytes in a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedBlob {
    /// What it is called.
    pub name: String,
    /// Such as `text/plain`.
    pub mime: String,
    /// The bytes.
    pub blob: BlobRef,
}

/// The words of a message, blocks joined by newlines, files by their names.
#[must_use]
pub fn plain_text(blocks: &[ContentBlock]) -> String {
    let mut words = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            ContentBlock::Text { text } => words.push(text.head().to_owned()),
            ContentBlock::Image { name, .. } => words.push(format!("[image {}]", name.as_deref().unwrap_or("unnamed"))),
            ContentBlock::File { name, .. } => words.push(format!("[file {name}]")),
        }
    }
    words.join("\n")
}

/// The first line of a text, cut to a number of characters: for titles and glances.
#[must_use]
pub fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= max_chars {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}
