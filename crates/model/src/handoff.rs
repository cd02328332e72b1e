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
            let answered = if turn.answered.is_empty() { "(no words)" } else { &turn.answered };
            out.push_str(&format!("- asked: {}\n  {}: {answered}\n", turn.said, turn.outcome));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanEntry, PlanPriority};

    fn turn(said: &str, answered: &str, outcome: &str) -> TurnSummary {
        TurnSummary { said: said.into(), answered: answered.into(), outcome: outcome.into() }
    }

    #[test]
    fn a_brief_tells_what_the_record_holds_and_nothing_else() {
        let entry =
            |content: &str, status| PlanEntry { content: content.into(), priority: PlanPriority::Medium, status };
        let plan = Plan {
            version: 2,
            entries: vec![
                entry("look", PlanStatus::Completed),
                entry("mend", PlanStatus::InProgress),
                entry("test", PlanStatus::Pending),
            ],
        };
        let notes = ["mind the gap".to_owned()];
        let turns = [turn("fix routing", "Done.", "completed"), turn("and now?", "", "interrupted")];
        let facts = Facts { title: "Fix routing", goal: "fix routing", plan: &plan, notes: &notes, turns: &turns };
        insta::assert_snapshot!(brief(facts));
    }

    #[test]
    fn a_brief_is_bounded_and_the_oldest_turns_go_first() {
        let turns: Vec<_> =
            (0..500).map(|count| turn(&format!("turn {count}"), &"x".repeat(200), "completed")).collect();
        let facts = Facts { title: "Long", goal: "long", plan: &Plan::default(), notes: &[], turns: &turns };
        let text = brief(facts);
        assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES / 2);
        assert!(text.contains("turn 499") && !text.contains("turn 0\n"), "the newest stay");
        assert!(text.contains("earlier turns left out"));
    }
}
