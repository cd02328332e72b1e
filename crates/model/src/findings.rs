//! Findings: what executions that review, test or research found, passed on to the others. Each goes to each once: the
//! record says so ([`FindingsPassed`](crate::task::TaskEvent::FindingsPassed)).

use crate::handoff::{Budget, Who, head};

/// What one turn found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Who found it.
    pub who: Who,
    /// What they were asked.
    pub asked: String,
    /// Their last words.
    pub text: String,
}

/// How much of a question is repeated.
const ASKED_BYTES: usize = 600;

/// The findings as a document. Each has the same share of the budget, and one that is longer is cut.
#[must_use]
pub fn document(findings: &[Found], budget: Budget) -> String {
    let share = budget.max_bytes / findings.len().max(1);
    let section = |found: &Found| {
        let asked = head(found.asked.trim(), ASKED_BYTES).replace('\n', " ");
        let heading = format!("# Findings of {}\n\nAsked: {asked}\n\n", found.who);
        const CUT: &str = "\n(cut here)";
        let room = share.saturating_sub(heading.len() + CUT.len() + 2);
        let text = found.text.trim();
        let shown = head(text, room);
        let cut = if shown.len() < text.len() { CUT } else { "" };
        format!("{heading}{shown}{cut}\n")
    };
    let sections: Vec<String> = findings.iter().map(section).collect();
    let text = sections.join("\n");
    head(&text, budget.max_bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Role;

    fn found(agent: &str, text: &str) -> Found {
        let who = Who { agent: agent.into(), role: Role::Reviewer };
        Found { who, asked: "review it\nwell".into(), text: text.into() }
    }

    #[test]
    fn each_finding_is_labelled() {
        let text = document(
            &[found("claude-code", "The lock is held too long.\n"), found("codex", "Fine.")],
            Budget::default(),
        );
        assert_eq!(
            text,
            "# Findings of claude-code (reviewer)\n\nAsked: review it well\n\nThe lock is held too long.\n\n# Findings of \
             codex (reviewer)\n\nAsked: review it well\n\nFine.\n"
        );
    }

    #[test]
    fn a_long_finding_is_cut_and_starves_no_other() {
        let text = document(&[found("a", &"语".repeat(9_000)), found("b", "short")], Budget { max_bytes: 1_000 });
        assert!(text.len() <= 1_000, "{}", text.len());
        assert!(text.contains("(cut here)") && text.contains("short"), "{text}");
    }
}
