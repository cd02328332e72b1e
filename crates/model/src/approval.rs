//! Approval: an agent's request to do one exact thing, and its decision.
//!
//! A decision binds to a digest over all that was shown. No decision means no. It is a row, not a channel
//! sender, so it survives the daemon.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::channel::Channel;
use crate::content::Text;
use crate::identity::Identity;
use crate::ids::{ApprovalId, ConversationId, ExecutionId, PersonId, RuntimeSessionId, TurnId};
use crate::item::Item;
use crate::policy::Ruling;
use crate::raw_input;
use crate::rejection::Rejection;
use crate::shown::{Shown, View};
use crate::time::Timestamp;

/// A request as the agent made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Which.
    pub id: ApprovalId,
    /// Who would do it.
    pub execution: ExecutionId,
    /// The runtime session whose agent waits.
    pub session: RuntimeSessionId,
    /// The process that asked; a later one has nothing to do with it.
    pub epoch: u64,
    /// In which turn.
    pub turn: TurnId,
    /// The agent's own id of the request, as JSON text.
    pub request: String,
    /// What is asked.
    pub ask: Ask,
    /// What can be answered.
    pub options: Vec<ApprovalOption>,
    /// After this moment nobody can say yes.
    pub expires_at: Timestamp,
    /// Whether a rule or an allowance decides it at once: then nobody is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ruled: bool,
}

/// What an agent asks to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The agent's id of the tool call.
    pub call: String,
    /// The agent's description.
    pub title: String,
    /// What sort of tool, as the agent says.
    pub tool: String,
    /// The exact input as the agent sent it, as JSON text. Some agents send none. One that is too long to be shown
    /// is in a blob: it can be opened and denied, not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Text>,
    /// Where it would run.
    pub cwd: String,
}

impl Ask {
    /// An input of more bytes goes to a blob. What a person can be shown at all fits in.
    pub const INPUT_MAX_BYTES: usize = 128 * 1024;
}

/// A request on its way in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The approval's id.
    pub approval: ApprovalId,
    /// The agent's own id of the request, as JSON text.
    pub request: String,
    /// The call as the request tells of it, where that is news. It is recorded unless the agent asks for too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Box<Item>>,
    /// What it asks.
    pub ask: Ask,
    /// What can be answered.
    pub options: Vec<ApprovalOption>,
    /// How long it can be decided.
    pub expires_secs: u64,
    /// What decides it in the place of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
}

/// One answer that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalOption {
    /// The agent's id of it.
    pub id: String,
    /// What the agent calls it.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// What an answer means. Throughline only ever gives the *once* ones: rules are ours (DESIGN §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    /// No, this once.
    RejectOnce,
    /// No, and do not ask again.
    RejectAlways,
    /// Something that this version has no word for.
    Other,
}

/// A person's word on an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Do it.
    Approve,
    /// Do not.
    Deny,
}

/// A person's decision, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Yes or no.
    pub verdict: Verdict,
    /// Who.
    pub by: PersonId,
    /// From where.
    pub source: Source,
    /// The digest of what they were shown. A yes in words has none: it is checked against what its place shows.
    pub digest: Option<String>,
    /// The agent's id of the option that they chose, where they chose among several.
    pub option: Option<String>,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// Where a decision, or a rule, comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Through what.
    pub surface: Channel,
    /// As whom they were recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// In which conversation, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
}

/// What a decision was given on, for the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// From where.
    pub source: Source,
    /// On what.
    pub digest: String,
    /// The agent's option, where the person chose among several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// How an approval ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Settlement {
    /// A person said yes.
    Approved {
        /// Who.
        by: PersonId,
        /// From where, on what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<Given>,
    },
    /// A person said no.
    Denied {
        /// Who.
        by: PersonId,
        /// Why, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// From where, on what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<Given>,
    },
    /// A rule or an allowance decided, in the same moment in which it was asked. It is never judged again.
    Ruled {
        /// What decided, in which version of the policy.
        ruling: Ruling,
    },
    /// Nobody said anything in time.
    Expired,
    /// There is nothing left to decide.
    Void {
        /// What happened, in words.
        cause: String,
        /// What sort of thing that was.
        #[serde(default, skip_serializing_if = "VoidKind::is_gone")]
        kind: VoidKind,
    },
}

/// Why there is nothing left to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidKind {
    /// The turn ended, or the process died.
    #[default]
    Gone,
    /// The agent took it back.
    Withdrawn,
    /// The turn is to stop: the agent is told that nothing was chosen.
    Stopped,
    /// The agent did it without waiting for an answer: *not asked*.
    NotAsked,
}

impl VoidKind {
    pub(crate) fn is_gone(&self) -> bool {
        *self == VoidKind::Gone
    }

    /// Whether the agent may still wait for an answer.
    #[must_use]
    pub fn waits(self) -> bool {
        match self {
            VoidKind::Stopped | VoidKind::NotAsked => true,
            VoidKind::Gone | VoidKind::Withdrawn => false,
        }
    }
}

impl Settlement {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Settlement::Approved { .. } => "approved",
            Settlement::Denied { .. } => "denied",
            Settlement::Ruled { ruling } => match ruling.standing.verdict() {
                Verdict::Approve => "approved",
                Verdict::Deny => "denied",
            },
            Settlement::Expired => "expired",
            Settlement::Void { .. } => "void",
        }
    }
}

/// What says which digest this is. Another encoding gets another name.
const DIGEST: &str = "throughline approval 1";

impl Approval {
    /// What a decision binds to: a digest over everything that decides what would happen. Every field has its length
    /// before it, so that no two requests share an encoding.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        field(DIGEST.as_bytes());
        field(self.execution.to_string().as_bytes());
        field(self.session.to_string().as_bytes());
        field(&self.epoch.to_be_bytes());
        field(self.turn.to_string().as_bytes());
        field(self.request.as_bytes());
        field(self.ask.call.as_bytes());
        field(self.ask.title.as_bytes());
        field(self.ask.tool.as_bytes());
        match &self.ask.input {
            None => field(b"none"),
            Some(Text::Inline(input)) => {
                field(b"exact");
                field(input.as_bytes());
            }
            Some(Text::Blob { blob, .. }) => {
                field(b"blob");
                field(blob.sha256.as_bytes());
                field(&blob.bytes.to_be_bytes());
            }
        }
        field(self.ask.cwd.as_bytes());
        field(&(self.options.len() as u64).to_be_bytes());
        for option in &self.options {
            field(option.id.as_bytes());
            field(option.name.as_bytes());
            field(option.kind.word().as_bytes());
        }
        field(&self.expires_at.millis().to_be_bytes());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What a view shows of it: the full command or edit, or the agent's description where it sent nothing else.
    #[must_use]
    pub fn shown(&self, view: View) -> Shown {
        let words = raw_input::words(&self.ask);
        let shown = view.show(&words.text);
        Shown { complete: shown.complete && words.complete, ..shown }
    }

    /// The agent's option that says this once and no more. The kind alone decides, never a name or an id; the one
    /// that was chosen where there are several. None if it is not clear which one it would be.
    #[must_use]
    pub fn option_for(&self, verdict: Verdict, chosen: Option<&str>) -> Option<&ApprovalOption> {
        let kind = match verdict {
            Verdict::Approve => OptionKind::AllowOnce,
            Verdict::Deny => OptionKind::RejectOnce,
        };
        let same_id = |option: &ApprovalOption| self.options.iter().filter(|other| other.id == option.id).count();
        let fits = |option: &&ApprovalOption| option.kind == kind && chosen.is_none_or(|id| option.id == id);
        let mut fitting = self.options.iter().filter(fits);
        let first = fitting.next().filter(|option| same_id(option) == 1)?;
        // Any plain no will do. A yes has to be the only one.
        match verdict {
            Verdict::Deny => Some(first),
            Verdict::Approve => fitting.next().is_none().then_some(first),
        }
    }

    /// Whether a decision is one on exactly this.
    ///
    /// # Errors
    /// If it was made on something else or on a part, or if the agent has no such answer.
    pub fn check(&self, decision: &Decision) -> Result<(), Rejection> {
        if decision.digest.as_ref().is_some_and(|digest| *digest != self.digest()) {
            return Err(Rejection::DigestMismatch);
        }
        // A no needs neither: an agent that offers none is told that nothing was chosen.
        if decision.verdict == Verdict::Deny {
            return Ok(());
        }
        // Who has the digest got it from a view that showed everything, or from nowhere.
        let view = if decision.digest.is_some() { View::FULL } else { decision.source.surface.view() };
        if !self.shown(view).complete {
            return Err(Rejection::NotShown);
        }
        match self.option_for(Verdict::Approve, decision.option.as_deref()) {
            Some(_) => Ok(()),
            None => Err(Rejection::NoSuchOption),
        }
    }
}

impl Channel {
    /// How much of a request is shown there.
    #[must_use]
    pub fn view(self) -> View {
        if self.pushes() { View::CHAT } else { View::FULL }
    }
}

impl OptionKind {
    /// The word for it, the protocol's own.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            OptionKind::AllowOnce => "allow_once",
            OptionKind::AllowAlways => "allow_always",
            OptionKind::RejectOnce => "reject_once",
            OptionKind::RejectAlways => "reject_always",
            OptionKind::Other => "other",
        }
    }
}
