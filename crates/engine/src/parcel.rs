//! Files on their way to a chat: what of them may leave, and when words are better sent as one.

use throughline_channels::mask::Mask;
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{Abilities, Place, Upload, file_name};
use throughline_model::delivery::Delivery;

use crate::core::Core;
use crate::error::EngineError;

/// Words that fill more messages than this go as a file.
const MAX_PAGES: usize = 3;
/// What stands where the rest would.
const CUT: &str = "\n…";

/// What of a file may leave: text without its secrets; anything else as it is, unless a secret is in it.
pub(crate) fn masked(mask: &Mask, bytes: Vec<u8>) -> Option<Vec<u8>> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(mask.apply(&text).into_bytes()),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes());
            (mask.apply(&text) == text).then(|| error.into_bytes())
        }
    }
}

/// The file that a delivery is; none if it is not one. Nothing inside if it cannot be sent.
pub(crate) async fn of(
    core: &Core,
    mask: &Mask,
    delivery: &Delivery,
    place: &Place,
) -> Result<Option<Option<Upload>>, EngineError> {
    let Some(file) = &delivery.file else { return Ok(None) };
    let Some(bytes) = core.store.blob(&file.blob.sha256).await? else { return Ok(Some(None)) };
    let (name, mask) = (file_name(&mask.apply(&file.name)), mask.clone());
    // A large one takes a while.
    let bytes = tokio::task::spawn_blocking(move || masked(&mask, bytes)).await.ok().flatten();
    let upload = bytes.map(|bytes| Upload {
        delivery: delivery.id,
        place: place.clone(),
        answers: delivery.answers.clone().map(throughline_channels::MessageRef),
        name,
        mime: file.mime.clone(),
        bytes,
    });
    Ok(Some(upload))
}

/// Words that are too many for messages, as a file; none where the platform would not take it.
pub(crate) fn long(text: &Rich, abilities: &Abilities, delivery: &Delivery, place: &Place) -> Option<Upload> {
    let bytes = is_long(text, abilities).then(|| text.to_markdown().into_bytes());
    bytes.filter(|bytes| bytes.len() as u64 <= abilities.max_upload_bytes).map(|bytes| Upload {
        delivery: delivery.id,
        place: place.clone(),
        answers: delivery.answers.clone().map(throughline_channels::MessageRef),
        name: "answer.md".into(),
        mime: "text/markdown".into(),
        bytes,
    })
}

fn is_long(text: &Rich, abilities: &Abilities) -> bool {
    text.len(abilities.unit) > MAX_PAGES * abilities.max_length
}

/// Words as messages. Where there are too many and no file can be sent, the first of them, and a sign that there is
/// more: better than nothing, and nobody reads fifty.
pub(crate) fn pages(text: Rich, abilities: &Abilities) -> Vec<Rich> {
    if !is_long(&text, abilities) {
        return text.split(abilities.unit, abilities.max_length);
    }
    let mut pages = text.split(abilities.unit, abilities.max_length.saturating_sub(CUT.len()));
    pages.truncate(MAX_PAGES);
    if let Some(last) = pages.last_mut() {
        *last = std::mem::take(last).and(Look::Plain, CUT);
    }
    pages
}
