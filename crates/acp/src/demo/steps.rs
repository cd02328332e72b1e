//! A prompt's content blocks as the steps of a turn, and as the one line that `recall` says. Pure.
//!
//! What is not text is acknowledged with its kind, type and size; it is never looked into, and the
//! agent says no more about it than that it came.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

use super::line::{self, Line};

/// One thing to do in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A line that is understood, or at least begun.
    Do(Line),
    /// Lines in a row that are not: one answer is enough for all of them.
    Explain(Vec<String>),
    /// Something that is not text, described.
    Acknowledge(String),
}

/// The steps of a prompt, in the order of its blocks and lines.
pub fn of(prompt: &[ContentBlock]) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in prompt {
        match describe(block) {
            Described::Text(text) => text.lines().filter_map(line::parse).for_each(|line| push(&mut steps, line)),
            Described::Attachment(attachment) => steps.push(Step::Acknowledge(attachment)),
        }
    }
    steps
}

fn push(steps: &mut Vec<Step>, line: Line) {
    match (line, steps.last_mut()) {
        (Line::Unknown(text), Some(Step::Explain(lines))) => lines.push(text),
        (Line::Unknown(text), _) => steps.push(Step::Explain(vec![text])),
        (line, _) => steps.push(Step::Do(line)),
    }
}

/// A prompt on one line: `⏎` where it had a line break, brackets around what was not text.
pub fn on_one_line(prompt: &[ContentBlock]) -> String {
    let blocks = prompt.iter().map(|block| match describe(block) {
        Described::Text(text) => text.lines().collect::<Vec<_>>().join(" ⏎ "),
        Described::Attachment(attachment) => format!("[{attachment}]"),
    });
    blocks.collect::<Vec<_>>().join(" ⏎ ")
}

enum Described<'a> {
    Text(&'a str),
    Attachment(String),
}

fn describe(block: &ContentBlock) -> Described<'_> {
    let attachment = match block {
        ContentBlock::Text(text) => return Described::Text(&text.text),
        ContentBlock::Image(image) => {
            let bytes = decoded_len(&image.data);
            format!("image, {}, {bytes} bytes", image.mime_type)
        }
        ContentBlock::Audio(audio) => {
            let bytes = decoded_len(&audio.data);
            format!("audio, {}, {bytes} bytes", audio.mime_type)
        }
        ContentBlock::ResourceLink(link) => {
            let mime_type = mime(link.mime_type.as_deref());
            let size = link.size.map_or_else(|| "size not given".to_owned(), |size| format!("{size} bytes"));
            format!("resource link {}, {mime_type}, {size}", link.uri)
        }
        ContentBlock::Resource(embedded) => match &embedded.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                let mime_type = mime(text.mime_type.as_deref());
                format!("resource {}, {mime_type}, {} bytes", text.uri, text.text.len())
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let mime_type = mime(blob.mime_type.as_deref());
                let bytes = decoded_len(&blob.blob);
                format!("resource {}, {mime_type}, {bytes} bytes", blob.uri)
            }
            // The schema may grow kinds that this build does not know.
            _ => "resource of an unknown kind".to_owned(),
        },
        _ => "content of an unknown kind".to_owned(),
    };
    Described::Attachment(attachment)
}

fn mime(mime_type: Option<&str>) -> &str {
    mime_type.unwrap_or("type not given")
}

/// How many bytes a base64 text stands for, without decoding it.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{ImageContent, ResourceLink};

    use super::*;

    #[test]
    fn blocks_and_lines_keep_their_order_and_prose_is_grouped() {
        let prompt = [
            ContentBlock::from("hello\n\nthere\nsay a"),
            ContentBlock::Image(ImageContent::new("aGVsbG8=", "image/png")),
            ContentBlock::from("recall\n"),
        ];
        assert_eq!(
            of(&prompt),
            [
                Step::Explain(vec!["hello".into(), "there".into()]),
                Step::Do(Line::Say("a".into())),
                Step::Acknowledge("image, image/png, 5 bytes".into()),
                Step::Do(Line::Recall),
            ]
        );
    }

    #[test]
    fn a_prompt_of_many_lines_is_recalled_on_one() {
        let prompt = [
            ContentBlock::from("say 一\nsay b"),
            ContentBlock::ResourceLink(ResourceLink::new("a.rs", "file:///a.rs")),
        ];
        assert_eq!(
            on_one_line(&prompt),
            "say 一 ⏎ say b ⏎ [resource link file:///a.rs, type not given, size not given]"
        );
    }

    #[test]
    fn an_empty_prompt_has_no_steps() {
        assert!(of(&[]).is_empty());
        assert!(of(&[ContentBlock::from(" \n ")]).is_empty());
    }
}
