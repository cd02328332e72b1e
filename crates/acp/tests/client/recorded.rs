//! What real agents wrote, recorded against a scripted model: see `recorded/`. Each file is the output of one
//! process; prompts were sent as soon as the session was open, and after each answer.

use throughline_acp::{Happening, Opening, Phase, Start};

use crate::script::*;

const NEW: &str = include_str!("recorded/codex-acp-2.6.0-new.jsonl");
const LOAD: &str = include_str!("recorded/codex-acp-2.6.0-load.jsonl");

/// Everything durable that a process wrote, its turns counted from `first`.
fn durable(opening: Opening, output: &str, first: u32) -> Vec<String> {
    let mut reader = Reader::new(Start::new(session(), 1, Phase::Opening(opening)));
    let mut next = first;
    let mut told = Vec::new();
    for line in output.lines() {
        for happening in reader.line(line) {
            if matches!(happening, Happening::Opened { .. } | Happening::TurnAnswered { .. }) {
                reader.assembler.begin_turn(turn(next));
                next += 1;
            }
            if happening.durable() {
                told.push(happening);
            }
        }
    }
    let shape = |line: &String| !line.starts_with("UsageChanged") && !line.starts_with("Commands");
    brief(&told).into_iter().filter(shape).collect()
}

fn assert_begins(told: &[String], expected: &[&str]) {
    for (line, begin) in told.iter().zip(expected) {
        assert!(line.starts_with(begin), "{line} does not begin with {begin}");
    }
    assert_eq!(told.len(), expected.len(), "{told:#?}");
}

#[test]
fn codex_works_asks_edits_and_its_failures_do_not_look_like_success() {
    let told = durable(Opening::New, NEW, 1);
    assert_begins(
        &told,
        &[
            "Initialized(",
            "opened New Some(",
            r#"message "Plan: 1. run a command 2. report.""#,
            "call call_1794783319264_3 InProgress execute ",
            "asks 0 for call_1794783319264_3 ",
            "call call_1794783319264_3 Completed execute ",
            "TitleChanged(",
            r#"message "All done. "#,
            "turn EndTurn",
            r#"message "Stopped quickly.""#,
            "turn EndTurn",
            r#"message "I will edit a file.""#,
            "call call_1794783319610_23 InProgress edit ",
            "call call_1794783319610_23 Completed edit ",
            r#"message "All done. "#,
            "turn EndTurn",
            "turn Limited 0: exceeded retry limit, last status: 429 Too Many Requests",
            "note UnknownUpdate ",
            "turn Failed 0: ",
        ],
    );
    assert!(told[5].ends_with(r#" -> "hello-from-agent\n""#), "{}", told[5]);
    assert!(told[13].ends_with(" changes /work/demo/edited.txt"), "{}", told[13]);
}

#[test]
fn codex_tells_its_past_and_it_is_not_recorded_again() {
    assert_begins(
        &durable(Opening::Load, LOAD, 6),
        &["Initialized(", "TitleChanged(", "opened Load None", r#"message "HISTORY user_turns=6 "#, "turn EndTurn"],
    );
}
