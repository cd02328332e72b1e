//! Long texts go to blobs before the event that names them: an event row stays small.

use throughline_model::approval::Ask;
use throughline_model::content::{ContentBlock, Text};
use throughline_model::item::{Item, ItemBody};
use throughline_store::port::{Store, StoreError};

/// An item whose long texts are in blobs. If a blob cannot be written, the text stays where it is: better a large row
/// than a lost word.
pub(crate) async fn item(store: &dyn Store, mut item: Item) -> Item {
    match &mut item.body {
        ItemBody::Message { text, .. } | ItemBody::Thought { text } => keep(store, text).await,
        ItemBody::Note(note) => keep(store, &mut note.text).await,
        ItemBody::ToolCall(call) => {
            for text in [&mut call.input, &mut call.output].into_iter().flatten() {
                keep(store, text).await;
            }
            for change in &mut call.changes {
                keep(store, &mut change.after).await;
                if let Some(before) = &mut change.before {
                    keep(store, before).await;
                }
            }
        }
    }
    item
}

pub(crate) async fn keep(store: &dyn Store, text: &mut Text) {
    if let Err(error) = offload(store, text).await {
        tracing::error!(%error, "a long text stays in its event");
    }
}

/// What an agent asks to do: longer than anybody can be shown means that it is opened from a blob.
pub(crate) async fn input(store: &dyn Store, input: &mut Text) {
    if let Err(error) = over(store, input, Ask::INPUT_MAX_BYTES).await {
        tracing::error!(%error, "a long input stays in its event");
    }
}

/// A message whose long texts are in blobs.
pub(crate) async fn content(store: &dyn Store, content: &mut [ContentBlock]) -> Result<(), StoreError> {
    for block in content {
        if let ContentBlock::Text { text } = block {
            offload(store, text).await?;
        }
    }
    Ok(())
}

async fn offload(store: &dyn Store, text: &mut Text) -> Result<(), StoreError> {
    over(store, text, Text::INLINE_MAX_BYTES).await
}

async fn over(store: &dyn Store, text: &mut Text, max_bytes: usize) -> Result<(), StoreError> {
    let Text::Inline(words) = text else { return Ok(()) };
    if words.len() <= max_bytes {
        return Ok(());
    }
    let mut end = Text::HEAD_BYTES;
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    let head = words[..end].to_owned();
    // A copy goes, so that a failure leaves the text where it is.
    let blob = store.put_blob(words.clone().into_bytes()).await?;
    *text = Text::Blob { blob, head };
    Ok(())
}
