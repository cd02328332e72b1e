//! Tool calls: fields are merged as they come, in whatever order the frames come.
//!
//! - A later value of a field wins; what a frame leaves out stays. An ended status never goes back.
//! - File changes stay until there are other ones: an agent that reports its output afterwards does not mean
//!   that the edit did not happen.
//! - Output is the text of the call's content, with what a command printed since; where there is neither, the
//!   raw output.
//! - A call holds the safe mark from its first frame until it ends or its turn does. The mark never falls
//!   between two frames of a call, so that no call is read again in part.

use std::collections::{HashMap, VecDeque};

use serde_json::value::RawValue;
use throughline_model::content::Text;
use throughline_model::ids::{ItemId, TurnId};
use throughline_model::item::{Item, ItemBody, NoteKind, ToolCall, ToolStatus};

use super::patch::Patch;
use super::{Assembler, Position};
use crate::happening::{Happening, Live, LiveKind, Reason};

/// Calls that are kept in mind for late updates, and of how much text.
const KEPT: Bound = Bound { calls: 1024, bytes: 8 << 20 };
/// Calls that are kept in mind although they are not ended, and of how much text.
const OPEN: Bound = Bound { calls: 4096, bytes: 64 << 20 };

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

/// What a call's output was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputSource {
    Raw,
    Content,
    Printed,
}

/// A call as far as it is known.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) item: ItemId,
    turn: Option<TurnId>,
    pub(super) body: ToolCall,
    pub(super) source: OutputSource,
    /// More is expected of it: it has not ended, nor has its turn.
    pub(super) open: bool,
    /// Where its first and its latest frame begin; none once the safe mark has passed it.
    span: Option<(u64, u64)>,
    recorded: bool,
    /// Its output has grown since it was recorded.
    grown: bool,
    /// It was taken from the record, and so is what it was when the spool was last read.
    from_record: bool,
}

impl Call {
    fn item(&self) -> Item {
        Item { id: self.item, turn: self.turn, body: ItemBody::ToolCall(self.body.clone()) }
    }

    pub(super) fn output(&self) -> &str {
        self.body.output.as_ref().map_or("", Text::head)
    }

    fn bytes(&self) -> usize {
        let texts = [&self.body.input, &self.body.output].into_iter().flatten();
        let changes = self.body.changes.iter().flat_map(|change| change.before.iter().chain([&change.after]));
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
        for Item { id: item, turn, body } in items {
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
                recorded: true,
                grown: false,
                from_record: true,
            };
            calls.bytes += call.bytes();
            calls.calls.push_back(call);
        }
        calls
    }

    /// The latest offset, not after `safe`, from which on every call can be read again as a whole.
    pub(super) fn safe(&self, mut safe: u64) -> u64 {
        let spans = || self.calls.iter().filter_map(|call| call.span.map(|(first, last)| (call.open, first, last)));
        while let Some(cut) =
            spans().find_map(|(open, first, last)| (first < safe && (open || safe <= last)).then_some(first))
        {
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
        self.calls.iter().filter(|call| call.grown).map(|call| Live {
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
        self.calls.iter_mut().rev().find(|call| call.body.call == name)
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
    pub(super) fn merge(&mut self, form: Form, patch: Patch) -> Option<&Call> {
        for item in self.calls.forget() {
            self.record(item);
        }
        let name = patch.call.clone();
        let turn = self.turn();
        // Some agents count their calls anew in each turn. What is asked then must not be shown as what it was.
        let is_new = self.calls.latest(&name).is_none_or(|call| match form {
            Form::Announced | Form::Asked => call.turn != turn && !call.open,
            Form::Updated => false,
        });
        if is_new {
            let item = self.id_of_call(form, &name)?;
            let (source, span) = (OutputSource::Raw, Some((self.position.line, self.position.line)));
            self.calls.calls.push_back(Call {
                item,
                turn,
                body: blank(&name),
                source,
                open: true,
                span,
                recorded: false,
                grown: false,
                from_record: false,
            });
        }
        self.finish_message_for(form);
        self.apply(&name, patch);
        self.calls.latest(&name).map(|call| &*call)
    }

    fn apply(&mut self, name: &str, patch: Patch) {
        let Position { line, seen, .. } = self.position;
        let Some(call) = self.calls.latest(name) else {
            return;
        };
        if call.from_record && line < seen {
            return;
        }
        call.span = call.span.map(|(first, _)| (first, line));
        let bytes_before = call.bytes();
        let merged = patch.merge(call);
        let bytes = call.bytes();
        call.open &= !call.body.status.ended();
        let is_news = !call.recorded || merged.durable;
        if is_news || (!call.open && merged.output_from.is_some()) {
            call.recorded = true;
            call.grown = false;
            let item = call.item();
            self.record(item);
        } else if let Some(from) = merged.output_from {
            call.grown = true;
            let (item, text) = (call.item, call.output()[from..].to_owned());
            self.live(item, LiveKind::ToolOutput, from, text);
        }
        self.calls.bytes = self.calls.bytes + bytes - bytes_before;
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
}

fn blank(name: &str) -> ToolCall {
    ToolCall {
        call: name.to_owned(),
        title: String::new(),
        tool: "other".to_owned(),
        status: ToolStatus::Pending,
        input: None,
        output: None,
        exit_code: None,
        changes: Vec::new(),
        locations: Vec::new(),
        unasked: false,
    }
}
