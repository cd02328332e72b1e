//! Browsers that are let in, as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A link that lets one browser in, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginLink {
    /// Open it in a browser. The code is behind the `#`, so that it reaches neither logs nor other servers.
    pub url: String,
    /// After this moment it lets nobody in, RFC 3339.
    pub expires_at: String,
}

/// Where the browser is that a link is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On this machine.
    #[default]
    Here,
    /// Anywhere: the link is below the `public_url` of the settings.
    Elsewhere,
}

/// What a browser shows to be let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterLogin {
    /// The code of a link.
    pub code: String,
}

/// A browser that is let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// Which.
    pub id: Uuid,
    /// What the browser calls itself.
    pub browser: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// Until when, RFC 3339.
    pub until: String,
    /// Whether it is the one that asks.
    pub current: bool,
    /// Whether it is told things by push.
    #[serde(default)]
    pub push: bool,
}

/// All browsers that are let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginList {
    /// Newest first.
    pub logins: Vec<Login>,
}
