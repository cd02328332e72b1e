//! Tool calls: fields are merged as they come, in whatever order the frames come.
//!
//! - A later value of a field wins; what a frame leaves out stays. An ended status never goes back.
//! - File changes stay until there are other ones: an agent that reports its output afterwards does not mean
//!   that the edit did not happen.
//! - Output is the text of the call's content; where there is none, the raw output.
//! - A call holds the safe mark from its first frame until it ends or its turn does. The mark never falls
//!   between two frames of a call, so that no call is read again in part.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde_json::value::RawValue;
use throughline_model::approval::{ApprovalOption, OptionKind};
use throughline_model::content::Text;
use throughline_model::ids::{ItemId, TurnId};
use throughline_model::item::{FileChange, Item, ItemBody, NoteKind, ToolCall, ToolStatus};

use super::Assembler;
use crate::happening::{Happening, Live, LiveKind, PermissionRequest, Reason};
use crate::outgoing;
use crate::request_id::AgentRequestId;

/// Calls that are kept in mind for late updates, and of how much text.
const KEPT: Bound = Bound {
    calls: 1024,
    bytes: 8 << 20,
};
/// Calls that are kept in mind although they are not ended, and of how much text.
const OPEN: Bound = Bound {
    calls: 4096,
    bytes: 64 << 20,
};

#[derive(Clone, Copy)]
struct Bound {
    calls: usize,
    bytes: usize,
}

/// What sort of frame a patch came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `tool_call`
    Announced,
    /// `tool_call_update`
    Updated,
    /// `session/request_permission`
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputSource {
    Raw,
    Content,
}

#[derive(Debug)]
struct Call {
    item: ItemId,
    turn: Option<TurnId>,
    body: ToolCall,
    source: OutputSource,
    /// More is expected of it: it has not ended, nor has its turn.
    open: bool,
    /// Where its first and its latest frame begin; none once the safe mark has passed it.
    span: Option<(u64, u64)>,
    /// Its output has grown since it was recorded.
    grown: bool,
}

impl Call {
    fn item(&self) -> Item {
        Item {
            id: self.item,
            turn: self.turn,
            body: ItemBody::ToolCall(self.body.clone()),
        }
    }

    fn output(&self) -> &str {
        self.body.output.as_ref().map_or("", Text::head)
    }

    fn bytes(&self) -> usize {
        let texts = [&self.body.input, &self.body.output].into_iter().flatten();
        let changes = self
            .body
            .changes
            .iter()
            .flat_map(|change| change.before.iter().chain([&change.after]));
        texts.chain(changes).map(|text| text.head().len()).sum()
    }
}

/// The calls in mind, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: VecDeque<Call>,
    /// The length of all their texts.
    bytes: usize,
    /// Ids of calls that were open when another assembler stopped, by the agent's names. They have held the
    /// safe mark since their first frame, so they will be read again from there.
    awaited: HashMap<String, ItemId>,
}

impl Calls {
    /// The calls on record, at the time of a turn or between turns.
    pub(super) fn from_record(items: Vec<Item>, now: Option<TurnId>) -> Self {
        let mut calls = Self::default();
        for Item {
            id: item,
            turn,
            body,
        } in items
        {
            let ItemBody::ToolCall(body) = body else {
                continue;
            };
            if turn == now && !body.status.ended() {
                calls.awaited.insert(body.call, item);
                continue;
            }
            let source = OutputSource::Raw;
            let call = Call {
                item,
                turn,
                body,
                source,
                open: false,
                span: None,
                grown: false,
            };
            calls.bytes += call.bytes();
            calls.calls.push_back(call);
        }
        calls
    }

    /// The latest offset, not after `safe`, from which on every call can be read again as a whole.
    pub(super) fn safe(&self, mut safe: u64) -> u64 {
        let spans = || {
            self.calls
                .iter()
                .filter_map(|call| call.span.map(|(first, last)| (call.open, first, last)))
        };
        while let Some(cut) = spans().find_map(|(open, first, last)| {
            (first < safe && (open || safe <= last)).then_some(first)
        }) {
            safe = cut;
        }
        safe
    }

    /// The safe mark has moved: what lies before it will not be read again.
    pub(super) fn settle(&mut self, safe: u64) {
        for call in &mut self.calls {
            call.span = call.span.filter(|(first, _)| *first >= safe);
        }
    }

    pub(super) fn so_far(&self) -> impl Iterator<Item = Live> + '_ {
        self.calls
            .iter()
            .filter(|call| call.grown)
            .map(|call| Live {
                item: call.item,
                turn: call.turn,
                kind: LiveKind::ToolOutput,
                at: 0,
                text: call.output().to_owned(),
            })
    }

    /// Lets go of the calls that are not ended; gives those that have more than is on record.
    pub(super) fn release(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        for call in &mut self.calls {
            call.open = false;
            call.span = None;
            if std::mem::take(&mut call.grown) {
                items.push(call.item());
            }
        }
        items
    }

    fn latest(&mut self, name: &str) -> Option<&mut Call> {
        self.calls
            .iter_mut()
            .rev()
            .find(|call| call.body.call == name)
    }

    /// Forgets the oldest calls: first those that nothing is expected of, in need the others as well. Gives
    /// those that have more than is on record.
    fn forget(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while self.over(KEPT) {
            let settled = self.calls.iter().position(|call| !call.open);
            let Some(oldest) = settled.or_else(|| self.over(OPEN).then_some(0)) else {
                break;
            };
            let Some(gone) = self.calls.remove(oldest) else {
                break;
            };
            self.bytes -= gone.bytes();
            if gone.grown {
                items.push(gone.item());
            }
        }
        items
    }

    fn over(&self, bound: Bound) -> bool {
        self.calls.len() > bound.calls || self.bytes > bound.bytes
    }
}

/// What a frame says about a call. What it leaves out is none.
#[derive(Debug)]
struct Patch {
    call: String,
    title: Option<String>,
    tool: Option<String>,
    status: Option<ToolStatus>,
    content: Option<(String, Vec<FileChange>)>,
    locations: Option<Vec<String>>,
    input: Option<String>,
    raw_output: Option<String>,
}

/// What a merge did.
struct Merged {
    /// Something other than the output differs.
    durable: bool,
    /// The output differs, from this byte on.
    output_from: Option<usize>,
}

impl Patch {
    fn read(json: &RawValue, form: Form) -> Option<Self> {
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
            locations
                .into_iter()
                .map(|location| location.path.to_string_lossy().into_owned())
                .collect()
        };
        Some(Self {
            call: update.tool_call_id.to_string(),
            title: fields.title,
            tool: verbatim
                .kind
                .and_then(|kind| serde_json::from_str(kind.get()).ok()),
            status: fields.status.and_then(status),
            content: fields
                .content
                .filter(|content| given(content.is_empty()))
                .map(contents),
            locations: fields
                .locations
                .filter(|locations| given(locations.is_empty()))
                .map(paths),
            input: verbatim.raw_input.map(|raw| raw.get().to_owned()),
            raw_output: verbatim.raw_output.map(raw_text),
        })
    }

    fn merge(self, call: &mut Call) -> Merged {
        let body = &mut call.body;
        let ended = body.status.ended();
        let mut durable = set(&mut body.title, self.title) | set(&mut body.tool, self.tool);
        durable |= set(
            &mut body.status,
            self.status.filter(|new| new.ended() || !ended),
        );
        durable |= set(&mut body.locations, self.locations);
        durable |= set(&mut body.input, self.input.map(|input| Some(input.into())));
        let mut output = None;
        if let Some((text, changes)) = self.content {
            durable |= set(
                &mut body.changes,
                Some(changes).filter(|changes| !changes.is_empty()),
            );
            if !text.is_empty() {
                output = Some(Some(text));
                call.source = OutputSource::Content;
            } else if call.source == OutputSource::Content {
                output = Some(None);
                call.source = OutputSource::Raw;
            }
        }
        if let Some(raw) = self.raw_output.filter(|_| call.source == OutputSource::Raw) {
            output = Some(Some(raw));
        }
        let output_from = output.and_then(|output| {
            let from = differs_from(call.output(), output.as_deref().unwrap_or_default());
            call.body.output = output.map(Text::from);
            from
        });
        Merged {
            durable,
            output_from,
        }
    }
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

impl Assembler {
    pub(super) fn tool(&mut self, form: Form, update: &RawValue) {
        let Some(patch) = Patch::read(update, form) else {
            return self.unknown(update);
        };
        if self.passes_replay(Some(self.id_of("call", &patch.call))) {
            return;
        }
        let told = self.out.len();
        if self.merge(form, patch).is_none() {
            return self.note(NoteKind::UnknownUpdate, update.get().to_owned());
        }
        if self.out.len() == told {
            self.out.push(Happening::Passed(Reason::Unchanged));
        }
    }

    /// Merges a patch into its call and tells what changed. None if the call is one that was forgotten: its
    /// item must not be replaced by what a late update alone says.
    fn merge(&mut self, form: Form, patch: Patch) -> Option<&Call> {
        for item in self.calls.forget() {
            self.record(item);
        }
        let name = patch.call.clone();
        let turn = self.turn();
        // Some agents count their calls anew in each turn.
        let is_new = self.calls.latest(&name).is_none_or(|call| match form {
            Form::Announced => call.turn != turn && !call.open,
            Form::Asked => call.turn != turn && call.body.status.ended(),
            Form::Updated => false,
        });
        if is_new {
            let item = self.id_of_call(form, &name)?;
            let (source, span) = (
                OutputSource::Raw,
                Some((self.position.line, self.position.line)),
            );
            self.calls.calls.push_back(Call {
                item,
                turn,
                body: blank(&name),
                source,
                open: true,
                span,
                grown: false,
            });
        }
        self.finish_message_for(form);
        let line = self.position.line;
        let call = self.calls.latest(&name)?;
        call.span = call.span.map(|(first, _)| (first, line));
        let bytes_before = call.bytes();
        let merged = patch.merge(call);
        let bytes = call.bytes();
        call.open &= !call.body.status.ended();
        if is_new || merged.durable || (!call.open && merged.output_from.is_some()) {
            call.grown = false;
            let item = call.item();
            self.record(item);
        } else if let Some(from) = merged.output_from {
            call.grown = true;
            let (item, text) = (call.item, call.output()[from..].to_owned());
            self.live(item, LiveKind::ToolOutput, from, text);
        }
        self.calls.bytes = self.calls.bytes + bytes - bytes_before;
        self.calls.latest(&name).map(|call| &*call)
    }

    /// The id of a call that is not in mind.
    fn id_of_call(&mut self, form: Form, name: &str) -> Option<ItemId> {
        if let Some(item) = self.calls.awaited.remove(name) {
            return Some(item);
        }
        let named = self.id_of("call", name);
        if !self.ledger.is_taken(named) {
            Some(named)
        } else if form == Form::Updated {
            None
        } else {
            Some(self.id_here(&format!("call:{name}")))
        }
    }

    pub(super) fn asked(&mut self, request: &AgentRequestId, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked<'a> {
            #[serde(borrow)]
            tool_call: &'a RawValue,
            options: Vec<Offered<'a>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Offered<'a> {
            option_id: String,
            name: String,
            #[serde(borrow, default)]
            kind: Cow<'a, str>,
        }
        self.finish_message();
        let asked = serde_json::from_str::<Asked<'_>>(params.get()).ok();
        let patch = asked
            .as_ref()
            .and_then(|asked| Patch::read(asked.tool_call, Form::Asked));
        let (Some(asked), Some(patch)) = (asked, patch) else {
            self.note(
                NoteKind::Refused,
                format!("session/request_permission {params}"),
            );
            let reply =
                outgoing::refuse_params(request, "the request names no tool call or no options");
            return self.out.push(Happening::Reply(reply));
        };
        let options = asked.options.into_iter().map(|option| ApprovalOption {
            id: option.option_id,
            name: option.name,
            kind: option_kind(&option.kind),
        });
        let options = options.collect();
        let turn = self.turn();
        let Some(call) = self.merge(Form::Asked, patch) else {
            return;
        };
        let ToolCall {
            call: name,
            title,
            tool,
            input,
            ..
        } = call.body.clone();
        // A head of the input would not be the exact thing that is asked for.
        let input = input.and_then(|input| match input {
            Text::Inline(input) => Some(input),
            Text::Blob { .. } => None,
        });
        let item = call.item;
        let request = request.clone();
        let asked = PermissionRequest {
            request,
            item,
            turn,
            call: name,
            title,
            tool,
            input,
            options,
        };
        self.out.push(Happening::PermissionRequested(asked));
    }
}

fn blank(name: &str) -> ToolCall {
    ToolCall {
        call: name.to_owned(),
        title: String::new(),
        tool: "other".to_owned(),
        status: ToolStatus::Pending,
        input: None,
        output: None,
        changes: Vec::new(),
        locations: Vec::new(),
    }
}

fn option_kind(kind: &str) -> OptionKind {
    match kind {
        "allow_once" => OptionKind::AllowOnce,
        "allow_always" => OptionKind::AllowAlways,
        "reject_once" => OptionKind::RejectOnce,
        "reject_always" => OptionKind::RejectAlways,
        _ => OptionKind::Other,
    }
}
