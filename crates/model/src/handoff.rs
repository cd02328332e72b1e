//! Handoff: the agent-neutral brief that carries a task to another session, agent or fork.
//!
//! Built from the record alone, deterministically and bounded: nothing in it is invented.

use serde::{Deserialize, Serialize};

use crate::ids::{ExecutionId, HandoffId};
use crate::plan::{Plan, PlanStatus};

/// A brief that waits for the first prompt of a new runtime session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// Which.
    pub id: HandoffId,
    /// Who gets it.
    pub to: ExecutionId,
    /// The brief.
    pub text: String,
}

/// A turn as a brief tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// What the person said.
    pub said: String,
    /// The agent's last words.
    pub answered: String,
    /// How it ended.
    pub outcome: String,
}

/// The facts a brief is made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The task's title.
    pub title: &'a str,
    /// What the person wanted.
    pub goal: &'a str,
    /// The plan as it stands.
    pub plan: &'a Plan,
    /// What was pinned.
    pub notes: &'a [String],
    /// What was done, oldest first.
    pub turns: &'a [TurnSummary],
}

/// A brief is never longer than this.
pub const MAX_BYTES: usize = 24 * 1024;

/// Writes the brief. The oldest turns go first when it would be too long.
#[must_use]
pub fn brief(facts: Facts<'_>) -> String {
    for skip in 0..=facts.turns.len() {
        let text = write(facts, skip);
        if text.len() <= MAX_BYTES {
            return text;
        }
    }
    let mut text = write(facts, facts.turns.len());
    let mut end = MAX_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

fn write(facts: Facts<'_>, skip: usize) -> String {
    let mut out = format!("You take over a task that is under way.\n\n# {}\n\nGoal: {}\n", facts.title, facts.goal);
    if !facts.plan.entries.is_empty() {
        out.push_str("\n## Plan\n");
        for entry in &facts.plan.entries {
            let mark = match entry.status {
                PlanStatus::Pending => " ",
                PlanStatus::InProgress => "~",
                PlanStatus::Completed => "x",
            };
            out.push_str(&format!("- [{mark}] {}\n", entry.content));
        }
    }
    if !facts.notes.is_empty() {
        out.push_str("\n## Pinned notes\n");
        for note in facts.notes {
            out.push_str(&format!("- {note}\n"));
        }
    }
    if !facts.turns.is_empty() {
        out.push_str("\n## What was done so far\n");
        if skip > 0 {
            out.push_str(&format!("({skip} earlier turns left out)\n"));
        }
        for turn in &facts.turns[skip..] {
            out.push_str(&format!("- asked: {}\n  {}: {}\n", turn.said, turn.outcome, turn.answered));
        }
    }
    out
}
