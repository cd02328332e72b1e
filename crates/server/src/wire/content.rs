//! Content blocks to the wire.

use throughline_api::content as api;
use throughline_model::content::{BlobRef, ContentBlock, Text};

fn blob(blob: &BlobRef) -> api::Blob {
    api::Blob { sha256: blob.sha256.clone(), bytes: blob.bytes }
}

pub(crate) fn text(text: &Text) -> api::Text {
    match text {
        Text::Inline(text) => api::Text { text: text.clone(), blob: None },
        Text::Blob { blob: whole, head } => api::Text { text: head.clone(), blob: Some(blob(whole)) },
    }
}

pub(crate) fn block(block: &ContentBlock) -> api::ContentBlock {
    match block {
        ContentBlock::Text { text: words } => api::ContentBlock::Text(text(words)),
        ContentBlock::Image { blob: bytes, mime, name } => {
            api::ContentBlock::Image { blob: blob(bytes), mime: mime.clone(), name: name.clone() }
        }
        ContentBlock::File { blob: bytes, mime, name } => {
            api::ContentBlock::File { blob: blob(bytes), mime: mime.clone(), name: name.clone() }
        }
    }
}
