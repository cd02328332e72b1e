//! Errors as they travel: RFC 9457 problem documents with a stable code and a hint.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong, for machines (`code`) and for people (`detail`, `hint`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `urn:throughline:error:CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code, the same as in the CLI and in the docs.
    pub code: String,
    /// What happened.
    pub detail: String,
    /// What to do next.
    pub hint: String,
    /// The id of the request, to find it in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}
