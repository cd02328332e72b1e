//! What a person wants to be told: for which reasons, in which conversation, and at which hours not.
//!
//! There are four reasons to tell somebody something unasked (DESIGN §7). Whether it is quiet at some moment depends on
//! time zones, which are data of the outside: the engine looks that up ([`Quiet`] only says what was chosen).

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::delivery::{Delivery, PushReason};
use crate::ids::{ApprovalId, ConversationId};
use crate::time::Timestamp;

/// A reason to tell somebody something unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// An agent waits for a yes.
    Approval,
    /// An agent asked a question.
    Question,
    /// A turn completed.
    Completed,
    /// A turn failed.
    Failed,
}

impl Reason {
    /// All four.
    pub const ALL: [Reason; 4] = [Reason::Approval, Reason::Question, Reason::Completed, Reason::Failed];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Reason::Approval => "approval",
            Reason::Question => "question",
            Reason::Completed => "completed",
            Reason::Failed => "failed",
        }
    }

    /// Why something is sent, if it is for one of the four.
    #[must_use]
    pub fn of(push: PushReason) -> Option<Self> {
        match push {
            PushReason::NeedsApproval => Some(Reason::Approval),
            PushReason::AsksQuestion => Some(Reason::Question),
            PushReason::Completed => Some(Reason::Completed),
            PushReason::Failed => Some(Reason::Failed),
            PushReason::Reply
            | PushReason::Decided
            | PushReason::Progress
            | PushReason::Worked
            | PushReason::Unsure
            | PushReason::Digest { .. } => None,
        }
    }

    /// Whether somebody waits for the person.
    #[must_use]
    pub fn asks(self) -> bool {
        matches!(self, Reason::Approval | Reason::Question)
    }
}

/// A word that names no reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of approval, question, completed, failed")]
pub struct NoReason(pub String);

impl FromStr for Reason {
    type Err = NoReason;

    /// By its word, in the singular or the plural.
    fn from_str(text: &str) -> Result<Self, NoReason> {
        let word = text.trim().to_lowercase();
        match word.as_str() {
            "approval" | "approvals" | "批准" | "审批" => Ok(Reason::Approval),
            "question" | "questions" | "提问" | "问题" => Ok(Reason::Question),
            "completed" | "done" | "result" | "results" | "完成" | "结果" => Ok(Reason::Completed),
            "failed" | "failure" | "failures" | "失败" => Ok(Reason::Failed),
            _ => Err(NoReason(text.trim().to_owned())),
        }
    }
}

/// Some of the four reasons; all of them if nobody chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reasons(pub BTreeSet<Reason>);

impl Default for Reasons {
    fn default() -> Self {
        Self(Reason::ALL.into())
    }
}

impl Reasons {
    /// None of them.
    #[must_use]
    pub fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// Whether it is one of them.
    #[must_use]
    pub fn has(&self, reason: Reason) -> bool {
        self.0.contains(&reason)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// A list of words, with commas or blanks between them.
    ///
    /// # Errors
    /// If one of them names no reason.
    pub fn parse(text: &str) -> Result<Self, NoReason> {
        let words = text.split([',', ' ', '，', '、']).filter(|word| !word.trim().is_empty());
        words.map(Reason::from_str).collect::<Result<_, _>>().map(Self)
    }
}

/// A time of the day, to the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay {
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
}

/// A text that is no time of the day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no time of the day such as 22:00")]
pub struct NoTime(pub String);

impl FromStr for TimeOfDay {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        let wrong = || NoTime(text.trim().to_owned());
        let (hour, minute) = text.trim().split_once([':', '：']).unwrap_or((text.trim(), "0"));
        let number = |part: &str| part.parse::<u8>().ok().filter(|_| part.len() <= 2).ok_or_else(wrong);
        let time = TimeOfDay { hour: number(hour)?, minute: number(minute)? };
        if time.hour < 24 && time.minute < 60 { Ok(time) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = NoTime;

    fn try_from(text: String) -> Result<Self, NoTime> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:02}:{:02}", self.hour, self.minute)
    }
}

/// The hours at which a person is not told things unasked. What comes then is held, and told as one digest when they
/// end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    /// They begin.
    pub from: TimeOfDay,
    /// They end; the next day if that is not later.
    pub until: TimeOfDay,
    /// By the clocks of this time zone, such as `Europe/Berlin`.
    pub zone: String,
    /// What is told all the same. Nothing, unless the person says so: who sleeps decides nothing.
    #[serde(default = "Reasons::none", skip_serializing_if = "Reasons::is_none")]
    pub except: Reasons,
}

/// What a person chose, and where they were last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notices {
    /// When they want quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    /// Where they want to hear of tasks in which none of their chats takes part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<ConversationId>,
    /// The chat that they wrote from last: there, if they chose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<ConversationId>,
    /// Where they were asked about such tasks, so that the message can say how it ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<ApprovalId, ConversationId>,
}

/// What a conversation is told, and what waits there for quiet hours to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// For which reasons.
    #[serde(default)]
    pub reasons: Reasons,
    /// When its person wants quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    /// When somebody last said something there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken_at: Option<Timestamp>,
    /// What waits for quiet hours to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Delivery>,
    /// Since when something waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_since: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_words_in_a_list() {
        let asks = Reasons([Reason::Approval, Reason::Question].into());
        for text in ["approval,question", "Approvals questions", "批准、提问", " question , approval "] {
            assert_eq!(Reasons::parse(text), Ok(asks.clone()), "{text}");
        }
        assert_eq!(Reasons::parse("approval,everything"), Err(NoReason("everything".into())));
    }

    #[test]
    fn a_time_of_the_day_reads_as_it_is_written() {
        for (text, written) in [("22:00", "22:00"), ("7", "07:00"), (" 0:05 ", "00:05"), ("23：59", "23:59")] {
            assert_eq!(text.parse::<TimeOfDay>().map(|time| time.to_string()), Ok(written.into()), "{text}");
        }
        for text in ["", "24:00", "12:60", "noon", "1:2:3", "-1:00", "012:00"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
    }
}
