//! `elicitation/create`: a question of the running turn, with a form for the answer.
//!
//! What cannot be shown to anyone is refused at once: another mode than a form, no words, too much of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use throughline_model::item::NoteKind;
use throughline_model::question::Question;

use super::Assembler;
use crate::happening::{Happening, QuestionRequest};
use crate::outgoing;
use crate::request_id::AgentRequestId;

impl Assembler {
    pub(super) fn questioned(&mut self, request: &AgentRequestId, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked<'a> {
            #[serde(borrow, default)]
            mode: Cow<'a, str>,
            message: String,
            #[serde(borrow)]
            requested_schema: &'a RawValue,
        }
        self.finish_message();
        let asked = serde_json::from_str::<Asked<'_>>(params.get()).ok();
        let fits = |asked: &Asked<'_>| {
            asked.mode == "form"
                && !asked.message.trim().is_empty()
                && asked.message.len() + asked.requested_schema.get().len() <= Question::MAX_BYTES
        };
        let Some(asked) = asked.filter(fits) else {
            self.note(NoteKind::Refused, format!("elicitation/create {params}"));
            return self
                .reply(|at| outgoing::refuse_params(at, request, "only a form with a short question can be asked"));
        };
        let schema = asked.requested_schema.get().to_owned();
        let (turn, at) = (self.turn(), self.position.line);
        let asked = QuestionRequest { request: request.clone(), at, turn, message: asked.message, schema };
        self.out.push(Happening::QuestionAsked(asked));
    }
}
