//! Approval: an agent's request to do one exact thing, and its decision.
//!
//! A decision binds to a digest over all that was shown. No decision means no. It is a row, not a channel
//! sender, so it survives the daemon.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ids::{ApprovalId, ExecutionId, PersonId, RuntimeSessionId, TurnId};
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
    /// The exact input as the agent sent it, as JSON text. Some agents send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Where it would run.
    pub cwd: String,
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

/// How an approval ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Settlement {
    /// A person said yes.
    Approved {
        /// Who.
        by: PersonId,
    },
    /// A person said no.
    Denied {
        /// Who.
        by: PersonId,
        /// Why, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody said anything in time.
    Expired,
    /// There is nothing left to decide: the turn ended, the process changed or died.
    Void {
        /// What happened, in words.
        cause: String,
    },
}

impl Settlement {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Settlement::Approved { .. } => "approved",
            Settlement::Denied { .. } => "denied",
            Settlement::Expired => "expired",
            Settlement::Void { .. } => "void",
        }
    }
}

impl Approval {
    /// What a decision binds to: a digest over everything that decides what would happen.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        field(self.execution.to_string().as_bytes());
        field(self.session.to_string().as_bytes());
        field(&self.epoch.to_be_bytes());
        field(self.turn.to_string().as_bytes());
        field(self.ask.call.as_bytes());
        field(self.ask.title.as_bytes());
        field(self.ask.input.as_deref().unwrap_or("\u{0}none").as_bytes());
        field(self.ask.cwd.as_bytes());
        for option in &self.options {
            field(option.id.as_bytes());
        }
        field(&self.expires_at.millis().to_be_bytes());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The agent's option that says this once and no more.
    #[must_use]
    pub fn option_for(&self, verdict: Verdict) -> Option<&ApprovalOption> {
        let kind = match verdict {
            Verdict::Approve => OptionKind::AllowOnce,
            Verdict::Deny => OptionKind::RejectOnce,
        };
        self.options.iter().find(|option| option.kind == kind)
    }
}
