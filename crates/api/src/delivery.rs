//! Deliveries: what was to be said in chats, and what became of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::task::TaskRef;

/// A page of deliveries, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// What was to be said.
    pub deliveries: Vec<Delivery>,
    /// Where the next page begins; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Uuid>,
}

/// One message to one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Which.
    pub id: Uuid,
    /// To which conversation.
    pub conversation: Uuid,
    /// The channel, such as `telegram`.
    pub channel: String,
    /// To whom, such as `telegram:4711`; none in a place where others read along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// About which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// Why it is sent: `approval`, `question`, `completed`, `failed`, `reply`, `digest`, `unsure` (one of the first four may
    /// not have arrived), or a change of a message that is there (`decided`, `progress`, `worked`).
    pub kind: String,
    /// What it is about. What is sent is written from the record when it leaves.
    pub text: String,
    /// `pending`, `sending`, `held` (it is quiet), or how it ended: `sent`, `unknown`, `dead`, `expired`, `superseded`.
    pub state: String,
    /// Why it is not sent, if there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<DeliveryWhy>,
    /// How often it was handed to the platform.
    pub tries: u32,
    /// When its state changed last: RFC 3339.
    pub at: String,
}

/// Why a delivery did not arrive, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryWhy {
    /// A stable word: `busy`, `refused`, `no_answer`, `interrupted`, `in_part`, `nobody_there`, `no_channel`, `unable`,
    /// `no_file`, `quiet`, `newer` or `too_old`.
    pub code: String,
    /// In words of the caller's language.
    pub text: String,
}
