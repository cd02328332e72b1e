//! Writes a brief. Each section has a share of the budget that it never exceeds; what the others leave goes to the diff.
//! Where something has to go, the oldest goes first, and the brief says how much was left out.

use std::fmt::Write as _;

use super::{Budget, FailingCommand, FileTold, Material, OpenQuestion, Patch, TurnTold, head, tail};
use crate::plan::{Plan, PlanStatus};

/// The sections' shares, in 48ths of the budget. The diff has what is left: a quarter at least.
mod share {
    pub(super) const GOAL: usize = 4;
    pub(super) const PLAN: usize = 4;
    pub(super) const NOTES: usize = 4;
    pub(super) const DECISIONS: usize = 3;
    pub(super) const TURNS: usize = 12;
    pub(super) const FAILING: usize = 6;
    pub(super) const OPEN: usize = 3;
    pub(super) const WHOLE: usize = 48;
}

/// How much of what a person said is told of one turn.
const SAID_BYTES: usize = 600;
/// How much of what an agent answered is told of one turn.
const ANSWERED_BYTES: usize = 1_200;
/// How much of one command's output is shown.
const OUTPUT_BYTES: usize = 1_000;

/// Writes the brief: deterministic, and never longer than the budget.
#[must_use]
pub fn compose(material: &Material, budget: Budget) -> String {
    let of = |share: usize| budget.max_bytes * share / share::WHOLE;
    let goal = goal(material, of(share::GOAL));
    let plan = section("Plan", &plan_lines(&material.plan), "steps", of(share::PLAN));
    let notes = section("Pinned notes", &note_lines(material), "notes", of(share::NOTES));
    let decisions = section("Decisions", &decision_lines(material), "decisions", of(share::DECISIONS));
    let turns = turns(material, of(share::TURNS));
    let failing =
        section("Commands that fail", &failing_lines(&material.failing), "failing commands", of(share::FAILING));
    let open = section("Open questions", &open_lines(&material.open), "questions", of(share::OPEN));
    let before = [goal, plan, notes, decisions, turns].concat();
    let after = [failing, open].concat();
    let left = budget.max_bytes.saturating_sub(before.len() + after.len());
    let files = files(&material.files, left);
    let mut brief = [before, files, after].concat();
    let end = head(&brief, budget.max_bytes).len();
    brief.truncate(end);
    brief
}

fn goal(material: &Material, limit: usize) -> String {
    let title = head(&material.goal.title, limit / 4);
    let text = format!("This is the record of a task that is under way.\n\n# {title}\n\nGoal: ");
    let words = clipped(&material.goal.words, limit.saturating_sub(text.len() + 1));
    format!("{text}{words}\n")
}

/// A heading and its lines, the newest where not all fit; nothing if there are none.
fn section(title: &str, lines: &[String], what: &str, limit: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let heading = format!("\n## {title}\n");
    let room = limit.saturating_sub(heading.len());
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    if whole <= room {
        return format!("{heading}{}\n", lines.join("\n"));
    }
    let note = |left_out: usize| format!("({left_out} earlier {what} left out)\n");
    let room = room.saturating_sub(note(lines.len()).len());
    let mut used = 0;
    let kept = lines
        .iter()
        .rev()
        .take_while(|line| {
            used += line.len() + 1;
            used <= room
        })
        .count();
    let from = lines.len() - kept;
    let mut text = format!("{heading}{}", note(from));
    for line in &lines[from..] {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn plan_lines(plan: &Plan) -> Vec<String> {
    let line = |entry: &crate::plan::PlanEntry| {
        let mark = match entry.status {
            PlanStatus::Pending => " ",
            PlanStatus::InProgress => "~",
            PlanStatus::Completed => "x",
        };
        format!("- [{mark}] {}", clipped(&entry.content, SAID_BYTES))
    };
    plan.entries.iter().map(line).collect()
}

fn note_lines(material: &Material) -> Vec<String> {
    let project = material.notes.project.iter().map(|note| format!("- (project) {}", indented(note, SAID_BYTES)));
    let task = material.notes.task.iter().map(|note| format!("- {}", indented(note, SAID_BYTES)));
    project.chain(task).collect()
}

fn decision_lines(material: &Material) -> Vec<String> {
    let line = |decision: &super::Decision| {
        let who = material.people.get(&decision.by).map_or("someone", String::as_str);
        let what = indented(&decision.what, SAID_BYTES);
        match &decision.reason {
            Some(reason) => format!("- {who} {}: {what} ({})", decision.verdict, indented(reason, SAID_BYTES)),
            None => format!("- {who} {}: {what}", decision.verdict),
        }
    };
    material.decisions.iter().map(line).collect()
}

fn turns(material: &Material, limit: usize) -> String {
    let line = |told: &TurnTold| {
        let said = indented(&told.said, SAID_BYTES);
        let answered = match told.answered.is_empty() {
            true => "(no words)".to_owned(),
            false => indented(&told.answered, ANSWERED_BYTES),
        };
        format!("- asked: {said}\n  {}, {}: {answered}", told.who, told.outcome)
    };
    let mut lines: Vec<String> = material.turns.iter().map(line).collect();
    if material.more_before && !lines.is_empty() {
        lines.insert(0, "(there were turns before these)".into());
    }
    section("What was done so far", &lines, "turns", limit)
}

fn failing_lines(failing: &[FailingCommand]) -> Vec<String> {
    let line = |known: &FailingCommand| {
        let code = known.exit_code.map_or_else(|| "failed".to_owned(), |code| format!("exit code {code}"));
        let command = indented(&known.command, SAID_BYTES);
        let output = tail(known.output.head().trim_end(), OUTPUT_BYTES);
        match output.is_empty() {
            true => format!("- `{command}`: {code}"),
            false => format!("- `{command}`: {code}\n{}", fenced("", output)),
        }
    };
    failing.iter().map(line).collect()
}

fn open_lines(open: &[OpenQuestion]) -> Vec<String> {
    open.iter().map(|asks| format!("- {}: {}", asks.who, indented(&asks.text, SAID_BYTES))).collect()
}

/// The files by name, then their patches, the newest change first.
fn files(files: &[FileTold], limit: usize) -> String {
    let name = |file: &FileTold| {
        let shown = match file.patch {
            Patch::Text(_) | Patch::Unknown => "",
            Patch::Binary => ", binary",
            Patch::Huge => ", too long to show",
        };
        format!("- {} {} (+{} −{}{shown})", file.change.replace('_', " "), file.path, file.added, file.removed)
    };
    // The oldest change comes first in a section, as everywhere: what has to go is at its beginning.
    let names: Vec<String> = files.iter().rev().map(name).collect();
    let mut text = section("Files changed", &names, "files", limit / 3);
    let patches: Vec<&str> = files
        .iter()
        .filter_map(|file| match &file.patch {
            Patch::Text(patch) => Some(patch.as_str()),
            Patch::Unknown | Patch::Binary | Patch::Huge => None,
        })
        .collect();
    for (count, patch) in patches.iter().enumerate() {
        let left = limit.saturating_sub(text.len());
        // One long patch must not starve the files behind it.
        let room = if count + 1 < patches.len() { left / 2 } else { left };
        text.push_str(&trimmed(patch, room));
    }
    text
}

/// A patch, or as many of its hunks as there is room for.
fn trimmed(patch: &str, room: usize) -> String {
    const FRAME: usize = 80;
    let whole = format!("\n{}\n", fenced("diff", patch.trim_end()));
    if whole.len() <= room {
        return whole;
    }
    let starts: Vec<usize> = patch.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    let Some(first) = starts.first() else { return String::new() };
    let mut shown = patch[..*first].to_owned();
    let mut kept = 0;
    for (count, start) in starts.iter().enumerate() {
        let end = starts.get(count + 1).copied().unwrap_or(patch.len());
        if shown.len() + (end - start) + FRAME > room {
            break;
        }
        shown.push_str(&patch[*start..end]);
        kept += 1;
    }
    if kept == 0 {
        return String::new();
    }
    format!("\n{}\n({} more hunks left out)\n", fenced("diff", shown.trim_end()), starts.len() - kept)
}

/// A block that its content cannot end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

fn clipped(text: &str, max_bytes: usize) -> String {
    let text = text.trim();
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", head(text, max_bytes.saturating_sub('…'.len_utf8())).trim_end())
}

/// The same, with its later lines under the first one's words.
fn indented(text: &str, max_bytes: usize) -> String {
    clipped(text, max_bytes).replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Role;
    use crate::handoff::{Decision, Goal, Notes, Who};
    use crate::ids::Mint;
    use crate::plan::{PlanEntry, PlanPriority};
    use crate::time::Timestamp;

    fn who(agent: &str, role: Role) -> Who {
        Who { agent: agent.into(), role }
    }

    fn everything() -> Material {
        let mut mint = Mint::new(Timestamp::from_millis(1), 7);
        let ada = mint.id();
        let step =
            |content: &str, status| PlanEntry { content: content.into(), priority: PlanPriority::Medium, status };
        let told = |turn, who, said: &str, answered: &str, outcome: &str| TurnTold {
            turn,
            who,
            said: said.into(),
            answered: answered.into(),
            outcome: outcome.into(),
        };
        Material {
            goal: Goal { title: "Fix routing".into(), words: "fix routing\nand its tests".into() },
            plan: Plan {
                version: 2,
                entries: vec![
                    step("look", PlanStatus::Completed),
                    step("mend", PlanStatus::InProgress),
                    step("test", PlanStatus::Pending),
                ],
            },
            notes: Notes { task: vec!["mind the gap".into()], project: vec!["tabs, not spaces".into()] },
            decisions: vec![Decision {
                by: ada,
                verdict: "denied",
                what: "git push".into(),
                reason: Some("not yet".into()),
            }],
            turns: vec![
                told(mint.id(), who("codex", Role::Editor), "fix routing", "Done.\nAll of it.", "completed"),
                told(mint.id(), who("claude-code", Role::Reviewer), "review it", "", "interrupted (signal 9)"),
            ],
            files: vec![
                FileTold {
                    path: "src/route.rs".into(),
                    change: "modified".into(),
                    added: 1,
                    removed: 1,
                    patch: Patch::Text(
                        "diff --git a/src/route.rs b/src/route.rs\n--- a/src/route.rs\n+++ b/src/route.rs\n@@ -1 +1 @@\n-old ```\n+new\n"
                            .into(),
                    ),
                },
                FileTold { path: "logo.png".into(), change: "added".into(), added: 0, removed: 0, patch: Patch::Binary },
            ],
            failing: vec![FailingCommand {
                command: "cargo test".into(),
                exit_code: Some(101),
                output: "1 failed\n".into(),
            }],
            open: vec![OpenQuestion { who: who("codex", Role::Editor), text: "Which port?".into() }],
            people: [(ada, "Ada".to_owned())].into(),
            ..Material::default()
        }
    }

    #[test]
    fn a_brief_tells_what_the_record_holds_and_nothing_else() {
        insta::assert_snapshot!(compose(&everything(), Budget::default()));
    }

    #[test]
    fn what_there_is_nothing_of_has_no_section() {
        let goal = Goal { title: "Fix".into(), words: "fix".into() };
        let material = Material { goal, ..Material::default() };
        assert_eq!(
            compose(&material, Budget::default()),
            "This is the record of a task that is under way.\n\n# Fix\n\nGoal: fix\n"
        );
    }

    #[test]
    fn the_oldest_turns_go_first_and_their_number_is_said() {
        let mut material = everything();
        let told = material.turns[0].clone();
        material.turns = (0..500).map(|count| TurnTold { said: format!("turn {count}."), ..told.clone() }).collect();
        let text = compose(&material, Budget::default());
        assert!(text.contains("turn 499.") && !text.contains("turn 0."), "{text}");
        assert!(text.contains("earlier turns left out"), "{text}");
        assert!(text.contains("## Open questions"), "the other sections stay: {text}");
    }

    #[test]
    fn a_patch_is_trimmed_hunk_by_hunk_and_the_files_behind_it_keep_theirs() {
        let hunk = |count: usize| format!("@@ -{count} +{count} @@\n-{}\n+hunk {count}\n", "x".repeat(400));
        let long = |name: &str| {
            let hunks: String = (0..100).map(hunk).collect();
            format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{hunks}")
        };
        let file = |name: &str, patch: String| FileTold {
            path: name.into(),
            change: "modified".into(),
            added: 1,
            removed: 1,
            patch: Patch::Text(patch),
        };
        let small = "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-o\n+small\n".to_owned();
        let material = Material { files: vec![file("a", long("a")), file("b", small)], ..everything() };
        let text = compose(&material, Budget::default());
        assert!(text.len() <= 24 * 1024, "{}", text.len());
        assert!(text.contains("+hunk 0\n") && !text.contains("+hunk 99\n"), "{text}");
        assert!(text.contains("more hunks left out)"), "{text}");
        assert!(text.contains("+small\n"), "{text}");
    }

    #[test]
    fn no_budget_is_ever_exceeded() {
        let mut material = everything();
        let told = material.turns[0].clone();
        material.turns = (0..50).map(|_| TurnTold { answered: "语".repeat(2_000), ..told.clone() }).collect();
        material.notes.task = vec!["n".repeat(3_000); 50];
        material.goal.words = "g".repeat(10_000);
        for max_bytes in [0, 1, 50, 200, 1_000, 5_000, 24 * 1024, 100_000] {
            let text = compose(&material, Budget { max_bytes });
            assert!(text.len() <= max_bytes, "{max_bytes}: {}", text.len());
        }
    }
}
