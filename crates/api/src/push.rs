//! Web push, as it travels.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who sends: what a browser is told when it subscribes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PushKey {
    /// The public key of this home, base64url, for `applicationServerKey`.
    pub key: String,
}

/// Where a browser is told things, as its own `PushSubscription` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// The address at its push service; `https` only.
    pub endpoint: String,
    /// What messages are sealed with.
    pub keys: PushKeys,
    /// The language of what it is told, such as `zh`.
    #[serde(default)]
    pub locale: String,
}

/// A browser's keys, base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushKeys {
    /// Its public key.
    pub p256dh: String,
    /// Its secret.
    pub auth: String,
}
