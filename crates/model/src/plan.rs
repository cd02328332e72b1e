//! Plan: the task's durable plan. It belongs to the task, so it survives sessions and agents.

use serde::{Deserialize, Serialize};

/// One version of a task's plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Counts from one; zero means that there is no plan.
    pub version: u32,
    /// The steps, in order.
    pub entries: Vec<PlanEntry>,
}

impl Plan {
    /// How many steps are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count()
    }

    /// How many steps are done, and of how many; none if there is no plan.
    #[must_use]
    pub fn progress(&self) -> Option<(usize, usize)> {
        (!self.entries.is_empty()).then(|| (self.done(), self.entries.len()))
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: PlanPriority,
    /// Where it stands.
    pub status: PlanStatus,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// How much a step matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// First.
    High,
    /// As it comes.
    #[default]
    Medium,
    /// If there is time.
    Low,
}
