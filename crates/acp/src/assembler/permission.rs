//! `session/request_permission`: the call is recorded as asked about, then the question is told.
//!
//! A request that names no call or no options cannot be shown to anyone, so it is refused at once: an agent
//! that waits for an answer must get one.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use throughline_model::approval::{ApprovalOption, OptionKind};
use throughline_model::item::{NoteKind, ToolCall};

use super::Assembler;
use super::calls::Form;
use super::patch::Patch;
use crate::happening::{Happening, PermissionRequest};
use crate::outgoing;
use crate::request_id::AgentRequestId;

impl Assembler {
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
        let patch = asked.as_ref().and_then(|asked| Patch::read(asked.tool_call, Form::Asked));
        let (Some(asked), Some(patch)) = (asked, patch) else {
            self.note(NoteKind::Refused, format!("session/request_permission {params}"));
            return self
                .reply(|at| outgoing::refuse_params(at, request, "the request names no tool call or no options"));
        };
        let options = asked.options.into_iter().map(|option| ApprovalOption {
            id: option.option_id,
            name: option.name,
            kind: option_kind(&option.kind),
        });
        let options = options.collect();
        let (turn, at) = (self.turn(), self.position.line);
        let Some(call) = self.merge(Form::Asked, patch) else {
            return;
        };
        let ToolCall { call: name, title, tool, input, .. } = call.body.clone();
        let item = call.item;
        let is_news = matches!(self.out.last(), Some(Happening::Recorded(last)) if last.id == item);
        let request = request.clone();
        let asked = PermissionRequest { request, at, item, is_news, turn, call: name, title, tool, input, options };
        self.out.push(Happening::PermissionRequested(asked));
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
