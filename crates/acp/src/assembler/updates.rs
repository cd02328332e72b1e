//! `session/update`: one arm per kind. Kinds without an arm are kept as notes.
//!
//! What the session *is* now (mode, commands, options, title, usage) is taken at any time; what *happened* in
//! it (texts, calls, plans) is a replay while the session's past is told.

use std::borrow::Cow;

use agent_client_protocol_schema::MaybeUndefined;
use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use throughline_model::item::NoteKind;
use throughline_model::plan::{PlanEntry, PlanPriority, PlanStatus};
use throughline_model::runtime_session::Choice;
use throughline_model::turn::Usage;

use super::answers::words_of;
use super::calls::Form;
use super::messages::Voice;
use super::{Assembler, settings};
use crate::happening::{Happening, Reason};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    update: &'a RawValue,
    #[serde(default, rename = "_meta")]
    meta: Option<acp::Meta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind<'a> {
    #[serde(borrow)]
    session_update: Cow<'a, str>,
}

impl Assembler {
    pub(super) fn updated(&mut self, params: &RawValue) {
        let Ok(Params { session_id, update, meta }) = serde_json::from_str(params.get()) else {
            return self.unknown(params);
        };
        if self.native.as_deref().is_some_and(|native| native != session_id) {
            return self.note(NoteKind::UnknownUpdate, params.get().to_owned());
        }
        let Ok(Kind { session_update }) = serde_json::from_str(update.get()) else {
            return self.unknown(update);
        };
        match session_update.as_ref() {
            "agent_message_chunk" => self.chunk(Voice::Agent, update, meta.as_ref()),
            "agent_thought_chunk" => self.chunk(Voice::Thought, update, meta.as_ref()),
            "user_message_chunk" => self.chunk(Voice::Person, update, meta.as_ref()),
            "tool_call" => self.tool(Form::Announced, update),
            "tool_call_update" => self.tool(Form::Updated, update),
            "plan" => self.plan(update),
            "available_commands_update" => self.state(update, commands),
            "current_mode_update" => self.state(update, |update: acp::CurrentModeUpdate| {
                Happening::ModeChanged(update.current_mode_id.to_string())
            }),
            "config_option_update" => self.state(update, |update: acp::ConfigOptionUpdate| {
                Happening::SettingsChanged(settings::from_options(update.config_options))
            }),
            "usage_update" => self.state(update, usage),
            "session_info_update" => self.session_info(update),
            _ => self.unknown(update),
        }
    }

    fn state<T: DeserializeOwned>(&mut self, update: &RawValue, tell: impl FnOnce(T) -> Happening) {
        match serde_json::from_str(update.get()) {
            Ok(read) => self.out.push(tell(read)),
            Err(_) => self.unknown(update),
        }
    }

    fn plan(&mut self, update: &RawValue) {
        if self.passes_replay(None) {
            return;
        }
        self.finish_message();
        self.state(update, |plan: acp::Plan| {
            Happening::PlanRevised(plan.entries.into_iter().map(plan_entry).collect())
        });
    }

    fn session_info(&mut self, update: &RawValue) {
        let Ok(info) = serde_json::from_str::<acp::SessionInfoUpdate>(update.get()) else {
            return self.unknown(update);
        };
        match info.title {
            MaybeUndefined::Value(title) => self.out.push(Happening::TitleChanged(Some(title))),
            MaybeUndefined::Null => self.out.push(Happening::TitleChanged(None)),
            MaybeUndefined::Undefined => match self.trouble(update) {
                Some(words) if !self.passes_replay(None) => self.note(NoteKind::UnknownUpdate, words),
                Some(_) => {}
                None => self.out.push(Happening::Passed(Reason::Unchanged)),
            },
        }
    }

    /// Agents put warnings, and much that only their own client knows, into this update's meta data.
    fn trouble(&self, update: &RawValue) -> Option<String> {
        let update = serde_json::from_str(update.get()).unwrap_or_default();
        self.quirks.trouble(&update).next().map(words_of)
    }
}

fn commands(update: acp::AvailableCommandsUpdate) -> Happening {
    let choice = |command: acp::AvailableCommand| Choice { id: command.name, name: command.description };
    Happening::Commands(update.available_commands.into_iter().map(choice).collect())
}

fn usage(update: acp::UsageUpdate) -> Happening {
    Happening::UsageChanged(Usage {
        context_tokens: Some(update.used),
        context_limit: Some(update.size),
        cost: update.cost.map(|cost| format!("{} {}", cost.amount, cost.currency)),
        ..Usage::default()
    })
}

fn plan_entry(entry: acp::PlanEntry) -> PlanEntry {
    let priority = match entry.priority {
        acp::PlanEntryPriority::High => PlanPriority::High,
        acp::PlanEntryPriority::Low => PlanPriority::Low,
        _ => PlanPriority::Medium,
    };
    let status = match entry.status {
        acp::PlanEntryStatus::InProgress => PlanStatus::InProgress,
        acp::PlanEntryStatus::Completed => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    };
    PlanEntry { content: entry.content, priority, status }
}
