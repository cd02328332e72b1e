//! Identity: one newtype per entity, over a UUID.
//!
//! This file never draws randomness and never reads a clock. Fresh ids are version 7 and come out of a
//! [`Mint`], whose entropy was drawn outside; ids that must come out the same after a replay are version 5.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

use crate::time::Timestamp;

/// Anything that is a newtype over a UUID.
pub trait Id: Copy {
    /// Wraps a UUID.
    fn from_uuid(uuid: Uuid) -> Self;
    /// The UUID inside.
    fn uuid(self) -> Uuid;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// The id that a name always has under a parent: the same on every replay.
            #[must_use]
            pub fn derive(parent: Uuid, name: &str) -> Self {
                Self(Uuid::new_v5(&parent, name.as_bytes()))
            }
        }

        impl Id for $name {
            fn from_uuid(uuid: Uuid) -> Self { Self(uuid) }
            fn uuid(self) -> Uuid { self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> { text.parse().map(Self) }
        }
    )*};
}

ids! {
    /// Who works.
    PersonId;
    /// A body of code.
    ProjectId;
    /// A long-lived place to talk.
    ConversationId;
    /// What the person thinks they are doing.
    TaskId;
    /// One agent's attempt to move a task forward.
    ExecutionId;
    /// The provider's session and process under an execution.
    RuntimeSessionId;
    /// One prompt and all that follows until the agent stops.
    TurnId;
    /// One entry of a turn.
    ItemId;
    /// A person's message as received.
    InputId;
    /// What the router made of an input.
    DecisionId;
    /// An agent's request to do one exact thing.
    ApprovalId;
    /// An agent's question in the middle of a turn.
    QuestionId;
    /// The agent-neutral brief that carries a task on.
    HandoffId;
    /// The state of a workspace before or after a turn.
    CheckpointId;
    /// One outbound message to one conversation.
    DeliveryId;
    /// A folder that turns write in, one at a time.
    WorkspaceId;
    /// What is done to a workspace outside of turns.
    ChangeId;
}

/// The namespace of ids that are derived from names outside of Throughline.
const NAMES: Uuid = Uuid::from_u128(0x7468_726f_7567_686c_696e_652e_6e61_6d65);

impl WorkspaceId {
    /// A root folder has one workspace, however many projects name it.
    #[must_use]
    pub fn of_root(root: &str) -> Self {
        Self::derive(NAMES, &format!("workspace:{root}"))
    }
}

impl ConversationId {
    /// A terminal's conversation is the OS user and the project root (DESIGN §3.8).
    #[must_use]
    pub fn of_terminal(person: PersonId, root: &str) -> Self {
        Self::derive(person.uuid(), &format!("terminal:{root}"))
    }
}

impl ConversationId {
    /// A place on a platform: a person's own with us alone, or one that several people share.
    #[must_use]
    pub fn of_place(person: Option<PersonId>, channel: &str, place: &str) -> Self {
        Self::derive(person.map_or(NAMES, |person| person.uuid()), &format!("{channel}:{place}"))
    }
}

impl TaskId {
    /// A native session becomes one task, however often it is imported.
    #[must_use]
    pub fn of_native(agent: &str, native: &str) -> Self {
        Self::derive(NAMES, &format!("native:{agent}:{native}"))
    }
}

impl PersonId {
    /// The person behind an OS user of this home.
    #[must_use]
    pub fn of_os_user(uid: u32) -> Self {
        Self::derive(NAMES, &format!("os-user:{uid}"))
    }
}

/// Fresh ids, from entropy that was drawn outside. The same mint yields the same ids in the same order.
#[derive(Clone, Debug)]
pub struct Mint {
    at: Timestamp,
    entropy: u128,
    drawn: u64,
}

impl Mint {
    /// A mint for one decision.
    #[must_use]
    pub fn new(at: Timestamp, entropy: u128) -> Self {
        Self { at, entropy, drawn: 0 }
    }

    /// The next id, a UUID of version 7.
    pub fn id<T: Id>(&mut self) -> T {
        self.drawn += 1;
        let salt = Uuid::new_v5(&Uuid::from_u128(self.entropy), &self.drawn.to_be_bytes());
        let mut tail = [0u8; 10];
        tail.copy_from_slice(&salt.as_bytes()[..10]);
        let millis = u64::try_from(self.at.millis()).unwrap_or_default();
        T::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid())
    }
}
