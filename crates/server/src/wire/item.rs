//! Items to the wire.

use throughline_api::timeline::{self as api, EntryBody};
use throughline_model::ids::{ExecutionId, Id as _};
use throughline_model::item::{Item, ItemBody, NoteKind, ToolCall, ToolStatus};

use super::{block, text};

pub(super) fn item(execution: ExecutionId, item: &Item) -> EntryBody {
    let place =
        api::ItemRef { item: item.id.uuid(), execution: execution.uuid(), turn: item.turn.map(|turn| turn.uuid()) };
    match &item.body {
        ItemBody::Message { text: words, attachments, question } => EntryBody::Message(api::AgentMessage {
            item: place,
            text: text(words),
            attachments: attachments.iter().map(block).collect(),
            question: *question,
        }),
        ItemBody::Thought { text: words } => EntryBody::Thought { item: place, text: text(words) },
        ItemBody::ToolCall(call) => EntryBody::ToolCall(Box::new(tool_call(place, call))),
        ItemBody::Note(note) => {
            EntryBody::AgentNote { item: place, about: note_kind(note.about).into(), text: text(&note.text) }
        }
    }
}

fn tool_call(item: api::ItemRef, call: &ToolCall) -> api::ToolCall {
    api::ToolCall {
        item,
        call: call.call.clone(),
        title: call.title.clone(),
        tool: call.tool.clone(),
        status: match call.status {
            ToolStatus::Pending => api::ToolStatus::Pending,
            ToolStatus::InProgress => api::ToolStatus::InProgress,
            ToolStatus::Completed => api::ToolStatus::Completed,
            ToolStatus::Failed => api::ToolStatus::Failed,
        },
        input: call.input.as_ref().map(text),
        output: call.output.as_ref().map(text),
        exit_code: call.exit_code,
        changes: call
            .changes
            .iter()
            .map(|change| api::FileChange {
                path: change.path.clone(),
                before: change.before.as_ref().map(text),
                after: text(&change.after),
            })
            .collect(),
        locations: call.locations.clone(),
        not_asked: call.unasked,
    }
}

fn note_kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::NotJson => "not_json",
        NoteKind::UnknownUpdate => "unknown_update",
        NoteKind::Stderr => "stderr",
        NoteKind::Refused => "refused",
    }
}
