//! Content blocks and blobs as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of bytes in the blob store, by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Blob {
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    /// How many bytes it has.
    #[serde(default)]
    pub bytes: u64,
}

/// Words. When there is a blob, `text` is only their head and the blob has all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Text {
    /// The words, or their head.
    pub text: String,
    /// Where all of them are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text(Text),
    /// A picture that was put into the blob store before.
    Image {
        /// The bytes.
        blob: Blob,
        /// Such as `image/png`.
        mime: String,
        /// The file's name, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Any other file that was put into the blob store before.
    File {
        /// The bytes.
        blob: Blob,
        /// Such as `text/plain`.
        mime: String,
        /// The file's name.
        name: String,
    },
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text { text, blob: None }
    }
}
