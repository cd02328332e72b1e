//! What one frame says about a tool call, and how it changes what was known.

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde_json::value::RawValue;
use throughline_model::content::Text;
use throughline_model::item::{FileChange, ToolStatus};

use super::calls::{Call, Form, OutputSource};

/// Where agents put what a command printed since the last frame, if the client says that it can read it
/// (`clientCapabilities._meta`). A convention of several agents and not of the protocol.
const PRINTED: [&str; 2] = ["terminal_output_delta", "terminal_output"];
/// Of what a command prints, this much is kept.
const PRINTED_BYTES: usize = 8 << 20;
const MORE: &str = "\n[more was printed]\n";

/// What a frame says about a call. What it leaves out is none.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) call: String,
    title: Option<String>,
    tool: Option<String>,
    status: Option<ToolStatus>,
    content: Option<(String, Vec<FileChange>)>,
    locations: Option<Vec<String>>,
    input: Option<String>,
    raw_output: Option<String>,
    exit_code: Option<i32>,
    printed: Option<String>,
}

/// What a merge did.
pub(super) struct Merged {
    /// Something other than the output differs.
    pub(super) durable: bool,
    /// The output differs, from this byte on.
    pub(super) output_from: Option<usize>,
}

impl Patch {
    pub(super) fn read(json: &RawValue, form: Form) -> Option<Self> {
        /// Read beside the schema's type, to keep what the agent wrote byte for byte.
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Verbatim<'a> {
            #[serde(borrow)]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            raw_input: Option<&'a RawValue>,
            #[serde(borrow)]
            raw_output: Option<&'a RawValue>,
        }
        let update: acp::ToolCallUpdate = serde_json::from_str(json.get()).ok()?;
        let verbatim: Verbatim<'_> = serde_json::from_str(json.get()).unwrap_or_default();
        let fields = update.fields;
        // `tool_call` has no way to say that a list is empty on purpose.
        let given = |empty: bool| form != Form::Announced || !empty;
        let paths = |locations: Vec<acp::ToolCallLocation>| {
            locations.into_iter().map(|location| location.path.to_string_lossy().into_owned()).collect()
        };
        Some(Self {
            call: update.tool_call_id.to_string(),
            title: fields.title,
            tool: verbatim.kind.and_then(|kind| serde_json::from_str(kind.get()).ok()),
            status: fields.status.and_then(status),
            content: fields.content.filter(|content| given(content.is_empty())).map(contents),
            locations: fields.locations.filter(|locations| given(locations.is_empty())).map(paths),
            input: verbatim.raw_input.map(|raw| raw.get().to_owned()),
            raw_output: verbatim.raw_output.map(raw_text),
            exit_code: verbatim.raw_output.and_then(exit_code),
            printed: update.meta.as_ref().and_then(printed),
        })
    }

    pub(super) fn merge(self, call: &mut Call) -> Merged {
        let body = &mut call.body;
        let ended = body.status.ended();
        let mut durable = set(&mut body.title, self.title) | set(&mut body.tool, self.tool);
        durable |= set(&mut body.status, self.status.filter(|new| new.ended() || !ended));
        durable |= set(&mut body.locations, self.locations);
        durable |= set(&mut body.input, self.input.map(|input| Some(input.into())));
        durable |= set(&mut body.exit_code, self.exit_code.map(Some));
        let mut output = None;
        if let Some((text, changes)) = self.content {
            durable |= set(&mut body.changes, Some(changes).filter(|changes| !changes.is_empty()));
            if !text.is_empty() {
                output = Some(Some(text));
                call.source = OutputSource::Content;
            } else if call.open && call.source == OutputSource::Content {
                output = Some(None);
                call.source = OutputSource::Raw;
            }
        }
        // Of a call that is settled it may not be known any more where its output came from.
        let takes_raw = match call.open {
            true => call.source == OutputSource::Raw,
            false => call.body.output.is_none() && output.is_none(),
        };
        if let Some(raw) = self.raw_output.filter(|_| takes_raw) {
            output = Some(Some(raw));
        }
        let mut output_from = output.and_then(|output| {
            let from = differs_from(call.output(), output.as_deref().unwrap_or_default());
            call.body.output = output.map(Text::from);
            from
        });
        if let Some(printed) = self.printed {
            let from = append(call, &printed);
            output_from = output_from.or(from);
        }
        Merged { durable, output_from }
    }
}

/// Adds what a command has printed; says where it begins.
fn append(call: &mut Call, printed: &str) -> Option<usize> {
    call.source = OutputSource::Printed;
    let output = call.body.output.get_or_insert_default();
    let Text::Inline(output) = output else {
        return None;
    };
    let from = output.len();
    if from > PRINTED_BYTES {
        return None;
    }
    output.push_str(printed);
    if output.len() > PRINTED_BYTES {
        output.push_str(MORE);
    }
    Some(from)
}

fn printed(meta: &acp::Meta) -> Option<String> {
    let data = PRINTED.iter().find_map(|key| meta.get(*key)?.get("data")?.as_str())?;
    (!data.is_empty()).then(|| data.to_owned())
}

fn set<T: PartialEq>(slot: &mut T, new: Option<T>) -> bool {
    match new {
        Some(new) if *slot != new => {
            *slot = new;
            true
        }
        _ => false,
    }
}

/// Where a text begins to differ: at its end if it only grew, else at its beginning.
fn differs_from(before: &str, after: &str) -> Option<usize> {
    if before == after {
        None
    } else if after.starts_with(before) {
        Some(before.len())
    } else {
        Some(0)
    }
}

fn status(status: acp::ToolCallStatus) -> Option<ToolStatus> {
    match status {
        acp::ToolCallStatus::Pending => Some(ToolStatus::Pending),
        acp::ToolCallStatus::InProgress => Some(ToolStatus::InProgress),
        acp::ToolCallStatus::Completed => Some(ToolStatus::Completed),
        acp::ToolCallStatus::Failed => Some(ToolStatus::Failed),
        _ => None,
    }
}

fn raw_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// How a command ended. Agents agree on saying it in the raw output, not on the spelling.
fn exit_code(raw: &RawValue) -> Option<i32> {
    #[derive(Deserialize)]
    struct Ended {
        #[serde(alias = "exitCode", alias = "exit")]
        exit_code: i32,
    }
    serde_json::from_str::<Ended>(raw.get()).ok().map(|ended| ended.exit_code)
}

fn contents(contents: Vec<acp::ToolCallContent>) -> (String, Vec<FileChange>) {
    let mut texts = Vec::new();
    let mut changes = Vec::new();
    for content in contents {
        match content {
            acp::ToolCallContent::Content(content) => texts.push(words(content.content)),
            acp::ToolCallContent::Diff(diff) => changes.push(FileChange {
                path: diff.path.to_string_lossy().into_owned(),
                before: diff.old_text.map(Text::from),
                after: diff.new_text.into(),
            }),
            // We offer no terminals, so there is nothing behind the id of one.
            _ => {}
        }
    }
    (texts.join("\n"), changes)
}

fn words(block: acp::ContentBlock) -> String {
    match block {
        acp::ContentBlock::Text(text) => text.text,
        acp::ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        acp::ContentBlock::Image(image) => format!("[{}]", image.mime_type),
        acp::ContentBlock::Audio(audio) => format!("[{}]", audio.mime_type),
        acp::ContentBlock::Resource(resource) => match resource.resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => text.text,
            acp::EmbeddedResourceResource::BlobResourceContents(blob) => format!("[{}]", blob.uri),
            _ => String::new(),
        },
        _ => String::new(),
    }
}
