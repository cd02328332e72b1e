//! A task's card, as it travels: rendered, in the caller's language.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::message::Choice;

/// All that a person has to know of a task before they act. Every text is safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Card {
    /// The whole card as text of at most 1,500 characters.
    pub text: String,
    /// What there is to know, most important first.
    pub fields: Vec<CardField>,
    /// What can be done, most likely first.
    pub buttons: Vec<Choice>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardField {
    /// `state`, `request`, `agent`, `said`, `plan`, `changed`, `note`, `queued` or `place`.
    pub about: String,
    /// The same in the caller's language.
    pub label: String,
    /// What there is to say.
    pub lines: Vec<String>,
}
