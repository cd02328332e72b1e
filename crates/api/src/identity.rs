//! Identities: where a person is recognised, and the codes that link more of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a person is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Identity {
    /// Such as `telegram:4711`: the channel, and who they are there.
    pub id: String,
    /// The channel, such as `telegram`; `os` for a user of the daemon's machine.
    pub channel: String,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IdentityList {
    /// In the order in which they were linked.
    pub identities: Vec<Identity>,
    /// The channels that are set up: a chat there can be paired.
    #[serde(default)]
    pub channels: Vec<String>,
}

/// What a code is to be good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferPairing {
    /// The channel, such as `telegram`, that is set up.
    pub channel: String,
}

/// A one-time code. Whoever says it on the channel is recognised as the caller from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pairing {
    /// Where it works.
    pub channel: String,
    /// The code.
    pub code: String,
    /// What to say there.
    pub say: String,
    /// An address that brings the code, where the platform has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Until when it works: RFC 3339.
    pub expires_at: String,
}
