//! Delivery: one outbound message to one conversation. It ends as sent, unknown, dead, expired or superseded,
//! and each of them can be seen.

use serde::{Deserialize, Serialize};

use std::time::Duration;

use crate::content::NamedBlob;
use crate::conversation::Received;
use crate::ids::{ApprovalId, DeliveryId, Id as _, InputId, TaskId, TurnId};
use crate::notice::Reason;
use crate::time::Timestamp;

/// After this long nobody wants to hear of it.
pub(crate) const TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// What kept an answer from coming is over by then, as a rule.
const UNSURE_AFTER: Duration = Duration::from_secs(10);

/// A message on its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Which.
    pub id: DeliveryId,
    /// The task it tells about. It never goes to a conversation that the task does not belong to. None for an answer
    /// that is about no task, to who asked.
    pub task: Option<TaskId>,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// The turn that it tells the end of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The message of a person that it answers: what is said to it is in its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
    /// The platform's name of the message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The file that it is, instead of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<NamedBlob>,
    /// Why it is sent.
    pub push: PushReason,
    /// The glance to send.
    pub text: String,
    /// It leaves no sooner; at once if it does not say. What comes after it need not wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// After this moment nobody wants it.
    pub expires_at: Timestamp,
    /// Whether and how often it was handed to the platform.
    #[serde(flatten)]
    pub handed: Handed,
}

/// How often something was handed to a platform, and what came of it so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// It was, and nothing is known of that yet. Should the daemon die now, it may have arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attempted: bool,
    /// So often.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// Why the last try came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(tries: &u32) -> bool {
    *tries == 0
}

/// Why a delivery did not arrive, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Cause {
    /// The platform asked to come again later.
    Busy,
    /// The platform does not take it, and says why.
    Refused {
        /// In its words.
        words: String,
    },
    /// No answer came, so the platform may have it.
    NoAnswer {
        /// What came instead.
        words: String,
    },
    /// The daemon ended while it was handed over.
    Interrupted,
    /// A part of it arrived.
    InPart,
    /// Whom it was for is not paired there any more, or groups are not told any more.
    NobodyThere,
    /// The channel is not set up any more.
    NoChannel,
    /// The platform cannot show such a thing.
    Unable,
    /// Its file is gone, or has a secret in it that cannot be masked.
    NoFile,
    /// It is quiet, and this is of no use later.
    Quiet,
}

impl Cause {
    /// How much of a platform's own words is kept.
    const WORDS_CHARS: usize = 200;

    /// The platform does not take it.
    #[must_use]
    pub fn refused(words: &str) -> Self {
        Cause::Refused { words: words.chars().take(Self::WORDS_CHARS).collect() }
    }

    /// No answer came.
    #[must_use]
    pub fn no_answer(words: &str) -> Self {
        Cause::NoAnswer { words: words.chars().take(Self::WORDS_CHARS).collect() }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Cause::Busy => "busy",
            Cause::Refused { .. } => "refused",
            Cause::NoAnswer { .. } => "no_answer",
            Cause::Interrupted => "interrupted",
            Cause::InPart => "in_part",
            Cause::NobodyThere => "nobody_there",
            Cause::NoChannel => "no_channel",
            Cause::Unable => "unable",
            Cause::NoFile => "no_file",
            Cause::Quiet => "quiet",
        }
    }
}

impl Delivery {
    /// When it was queued, at the earliest.
    #[must_use]
    pub fn queued_at(&self) -> Timestamp {
        self.expires_at.before(TTL)
    }

    /// Whether it may leave at this time.
    #[must_use]
    pub fn is_due(&self, at: Timestamp) -> bool {
        self.due_at.is_none_or(|due| due <= at)
    }

    /// What follows if nobody can know whether this arrived; nothing, if nobody would miss it. It tells nothing twice: a
    /// request is asked again, of the rest is said that there is something. Of itself nothing follows.
    pub(crate) fn unsure(&self, at: Timestamp) -> Option<Self> {
        Reason::of(self.push)?;
        let due_at = at.after(UNSURE_AFTER);
        Some(Delivery {
            id: DeliveryId::derive(self.id.uuid(), "unsure"),
            push: PushReason::Unsure,
            due_at: Some(due_at),
            expires_at: due_at.after(TTL),
            handed: Handed::default(),
            ..self.clone()
        })
    }

    /// What is said to a message: what was made of it, and the choices that there are.
    #[must_use]
    pub(crate) fn answer(received: &Received, at: Timestamp) -> Self {
        Delivery {
            id: Self::answer_id(received.input),
            task: received.task(),
            approval: None,
            turn: None,
            input: Some(received.input),
            answers: received.message.clone(),
            file: None,
            push: PushReason::Reply,
            text: received.reply.as_ref().map(|reply| reply.text.clone()).unwrap_or_default(),
            due_at: None,
            expires_at: at.after(TTL),
            handed: Handed::default(),
        }
    }

    /// By which the answer to a message is found.
    #[must_use]
    pub fn answer_id(input: InputId) -> DeliveryId {
        DeliveryId::derive(input.uuid(), "answer")
    }

    /// Words to somebody who did something, known by that.
    #[must_use]
    pub fn words(id: DeliveryId, text: impl Into<String>, task: Option<TaskId>, at: Timestamp) -> Self {
        Delivery {
            id,
            task,
            approval: None,
            turn: None,
            input: None,
            answers: None,
            file: None,
            push: PushReason::Reply,
            text: text.into(),
            due_at: None,
            expires_at: at.after(TTL),
            handed: Handed::default(),
        }
    }

    /// A file for who asked for it with this message.
    #[must_use]
    pub fn file(id: DeliveryId, file: NamedBlob, task: TaskId, answers: &str, at: Timestamp) -> Self {
        let words = Self::words(id, file.name.clone(), Some(task), at);
        Delivery { answers: Some(answers.to_owned()), file: Some(file), ..words }
    }
}

/// The only four reasons to push (DESIGN §7), and the answer to who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushReason {
    /// An agent waits for a yes.
    NeedsApproval,
    /// An agent asked a question.
    AsksQuestion,
    /// A turn completed.
    Completed,
    /// A turn failed.
    Failed,
    /// The person said something, and this is the answer.
    Reply,
    /// What an agent waited for was decided: the message that asked says so. It never rings.
    Decided,
    /// A task is at work: one message tells how far it is. It never rings.
    Progress,
    /// The work is over: the message that told of it says so. It never rings.
    Worked,
    /// Nobody can know whether one of the four arrived: what was asked is asked again, of the rest is said that it is there.
    Unsure,
    /// What happened since then, in one message: quiet hours are over, or the person asked.
    Digest {
        /// Since when.
        since: Timestamp,
    },
}

impl PushReason {
    /// Whether it may ring: the four reasons, and an answer to who waits for one.
    #[must_use]
    pub fn rings(self) -> bool {
        match self {
            PushReason::NeedsApproval
            | PushReason::AsksQuestion
            | PushReason::Completed
            | PushReason::Failed
            | PushReason::Unsure
            | PushReason::Digest { .. }
            | PushReason::Reply => true,
            PushReason::Decided | PushReason::Progress | PushReason::Worked => false,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PushReason::NeedsApproval => "approval",
            PushReason::AsksQuestion => "question",
            PushReason::Completed => "completed",
            PushReason::Failed => "failed",
            PushReason::Reply => "reply",
            PushReason::Decided => "decided",
            PushReason::Progress => "progress",
            PushReason::Worked => "worked",
            PushReason::Unsure => "unsure",
            PushReason::Digest { .. } => "digest",
        }
    }
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The platform took it.
    Sent,
    /// It may or may not have arrived.
    Unknown,
    /// It cannot be sent.
    Dead,
    /// It was too old to send.
    Expired,
    /// A newer one took its place.
    Superseded,
}

impl DeliveryOutcome {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            DeliveryOutcome::Sent => "sent",
            DeliveryOutcome::Unknown => "unknown",
            DeliveryOutcome::Dead => "dead",
            DeliveryOutcome::Expired => "expired",
            DeliveryOutcome::Superseded => "superseded",
        }
    }
}
