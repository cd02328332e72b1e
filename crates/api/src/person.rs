//! Whoever calls, as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Whoever calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// Which person.
    pub id: Uuid,
    /// What to call them.
    pub name: String,
    /// The language that they chose, as a BCP-47 tag; none if they leave it to each client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The language that this request is answered in: `en` or `zh`.
    pub speaks: String,
}

/// What is to be different about whoever calls. What is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMe {
    /// The language to speak, as a BCP-47 tag; empty to leave it to each client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}
