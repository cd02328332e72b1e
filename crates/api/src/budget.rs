//! Budgets as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::task::TaskRef;

/// How much a task may use. What is left out has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// So many turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// So many minutes in which agents work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// So many tokens, as far as the agent reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// So much money, in the agent's currency, as far as the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A task's budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// Of which task.
    pub task: TaskRef,
    /// What it may use.
    pub caps: Caps,
    /// What it has used since they were set or extended. Minutes are rounded down to hundredths.
    pub used: Caps,
    /// Which cap was reached: `turns`, `minutes`, `tokens` or `cost`. Nothing starts until a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
}
