//! Notices: what a person is told unasked, where, and at which hours not.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A reason to tell somebody something unasked. There are four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeReason {
    /// An agent waits for a yes.
    Approval,
    /// An agent asked a question.
    Question,
    /// A turn completed.
    Completed,
    /// A turn failed.
    Failed,
}

/// What the caller is told, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notices {
    /// When they want quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietHours>,
    /// Until when it is quiet, if it is now: RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_until: Option<String>,
    /// The chat that they chose for tasks in which none of their chats takes part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<Uuid>,
    /// The chat in which they hear of such tasks: the chosen one, else the one that they wrote from last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_in: Option<Uuid>,
    /// Their chats, in the order in which they began, and then the groups that they spoke in.
    pub chats: Vec<ChatNotices>,
    /// Their browsers that are told things by push.
    #[serde(default)]
    pub browsers: Vec<BrowserNotices>,
}

/// What one chat is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatNotices {
    /// Which conversation.
    pub conversation: Uuid,
    /// As whom the caller is there, such as `telegram:4711`; the channel and the place of a group.
    pub identity: String,
    /// The channel, such as `telegram`.
    pub channel: String,
    /// Whether others read along. Their quiet hours differ, so a group keeps none.
    #[serde(default)]
    pub group: bool,
    /// For which reasons; nothing is told unasked if there is none.
    pub reasons: Vec<NoticeReason>,
    /// How many messages wait for quiet hours to end.
    pub held: usize,
}

/// What one browser is told by push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BrowserNotices {
    /// Its login.
    pub login: Uuid,
    /// What the browser calls itself.
    pub browser: String,
    /// Whether it is the one that asks.
    pub current: bool,
    /// For which reasons; nothing if there is none.
    pub reasons: Vec<NoticeReason>,
}

/// Hours at which nothing is told unasked. What comes then is told as one digest when they end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// They begin, such as `22:00`.
    pub from: String,
    /// They end, such as `07:00`; the next day if that is not later.
    pub until: String,
    /// The time zone, such as `Europe/Berlin`; the one before, else the daemon's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// What is told all the same; as before, else nothing, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<Vec<NoticeReason>>,
}

/// What a chat is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChooseReasons {
    /// For these reasons; for none if empty.
    pub reasons: Vec<NoticeReason>,
}

/// Where to hear of tasks in which none of one's chats takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChooseMain {
    /// In this chat; in the one that one wrote from last if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Uuid>,
}

/// What happened lately, and what needs the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Digest {
    /// In words.
    pub text: String,
    /// The keys of the tasks that it names.
    pub tasks: Vec<String>,
}
