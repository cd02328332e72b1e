//! The engine: the imperative shell around the pure model.
//!
//! An input is decided on, committed together with its projections and effects, and only then are the effects
//! performed; their results come back as commands. Everything that matters is in the store, so a daemon can be killed
//! at any moment and the next one goes on.
//!
//! **Invariant:** no file here decides anything about a task; it asks the model.

mod agents;
#[cfg(test)]
mod approval_campaign;
pub mod checkpoints;
mod clock;
mod config;
mod core;
mod correct;
mod driver;
mod effects;
mod engine;
mod environment;
mod error;
#[cfg(test)]
mod fated_store;
mod gateway;
mod home;
mod hub;
mod import;
mod letter;
mod notices;
mod offload;
mod outbox;
mod pairing;
mod parcel;
mod policy;
mod projects;
mod quiet;
mod retention;
mod say;
mod sites;
mod standing;
mod surroundings;
mod tie;
mod trace;
mod workspaces;

pub use agents::{AgentStatus, RunningKeeper};
pub use clock::{Clock, SystemClock};
pub use config::{AgentProfile, Config, ConfigError, PublicUrl, Reach, TlsSettings};
pub use correct::Meant;
pub use engine::{Engine, Options, Shutdown};
pub use error::EngineError;
pub use home::{Home, HomeError, HomeLock};
pub use hub::{Hub, LiveKind, LiveText, Published, SoFar};
pub use import::{Imported, NativeSession};
pub use notices::{ChatNotices, Notices, Readers};
pub use pairing::Pairing;
pub use policy::{Always, Author};
pub use retention::{Freed, FreedKind};
pub use say::{Brought, Explain, Explained, Idempotency, MAX_MESSAGE_BYTES, Message, Said};
pub use sites::{Comparison, ForkWish, PastTurn, Restoration, RestorePoint, Side, TurnChoice};
pub use throughline_channels::CallError;
pub use workspaces::{Changes, TurnDiff};
