//! The router against the development cases, and what must hold for any message.

use std::path::Path;

use proptest::prelude::*;
use throughline_model::router::decide;
use throughline_model::router::input::{Case, Context};
use throughline_model::router::score::Report;
use throughline_model::router::verdict::Verdict;

fn read(name: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../routing").join(name);
    let text = std::fs::read_to_string(&path).expect("the cases");
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect("a case")).collect()
}

fn report(cases: &[Case]) -> Report {
    let mut report = Report::default();
    for case in cases {
        report.add(case, &decide(&case.message, &case.context));
    }
    report
}

#[test]
fn development_cases_are_right_and_do_no_harm() {
    let report = report(&read("cases.jsonl"));
    assert!(report.accuracy() >= 0.97, "{report:?}");
    assert_eq!(report.harmful_approvals, 0);
    assert!(report.harmful * 100 <= report.cases, "{report:?}");
    assert!(report.calibration_error() < 0.1);
}

#[test]
fn held_out_cases_are_mostly_right_and_decide_no_approval_wrongly() {
    for name in ["heldout.jsonl", "heldout2.jsonl"] {
        let report = report(&read(name));
        assert!(report.accuracy() >= 0.92, "{name}: {report:?}");
        assert_eq!(report.harmful_approvals, 0, "{name}");
    }
}

/// Every phrase of the corpus, with its speech act, its slots filled plainly.
fn phrases() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../routing/corpus");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("the corpus").flatten().map(|e| e.path()).collect();
    paths.sort();
    let mut out = vec![];
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "tsv")) {
        let text = std::fs::read_to_string(path).expect("a corpus file");
        for (act, line) in text.lines().filter_map(|line| line.split_once('\t')) {
            if !act.starts_with('$') {
                out.extend(line.split(" | ").map(|phrase| (act.to_owned(), plain(phrase))));
            }
        }
    }
    out
}

fn plain(phrase: &str) -> String {
    let fills = [("{A}", "codex"), ("{K}", "mob-44"), ("{C}", "npm install"), ("{LIB}", "redis"), ("{UI}", "button")];
    let filled = fills.iter().fold(phrase.to_owned(), |text, (slot, fill)| text.replace(slot, fill));
    let mut out = String::new();
    let mut rest = filled.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push_str("cache");
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    out + rest
}

fn with_one_approval() -> Context {
    let case = read("cases.jsonl").into_iter().find(|case| case.id == "en-approve-001").expect("a case");
    case.context
}

#[test]
fn nothing_but_a_yes_approves_in_any_language() {
    let context = with_one_approval();
    for (act, phrase) in phrases() {
        let approves = matches!(decide(&phrase, &context).verdict, Verdict::Approve { .. });
        assert!(!approves || matches!(act.as_str(), "yes" | "always"), "{act}: {phrase}");
    }
}

#[test]
fn a_yes_with_an_unknown_word_beside_it_does_not_approve() {
    let context = with_one_approval();
    let beside =
        ["manually", "tomorrow", "friday", "staging", "slowly", "twice", "yesterday", "v2", "offline", "five", "but"];
    for yes in ["yes", "ok", "sure", "go ahead", "好", "ja", "sí", "oui", "да", "はい", "evet", "네"] {
        for word in beside {
            let message = format!("{yes} {word}");
            assert!(!matches!(decide(&message, &context).verdict, Verdict::Approve { .. }), "{message}");
        }
    }
}

fn approvals_of(context: &Context, keep: usize) -> Context {
    let mut context = context.clone();
    let mut template = context.approvals[0].clone();
    context.approvals.clear();
    for number in 0..keep {
        template.id = format!("A{number}");
        context.approvals.push(template.clone());
    }
    context
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// With no approval in reach, or with several alike, no words approve or deny.
    #[test]
    fn words_decide_only_an_approval_that_is_alone(pick in 0usize..100_000, keep in prop_oneof![Just(0usize), 2usize..5], tail in "[a-z ]{0,12}") {
        let phrases = phrases();
        let message = format!("{} {tail}", phrases[pick % phrases.len()].1);
        let context = approvals_of(&with_one_approval(), keep);
        let verdict = decide(&message, &context).verdict;
        let decides = matches!(verdict, Verdict::Approve { .. } | Verdict::Deny { .. });
        prop_assert!(!decides, "{}", message);
    }

    /// Any text is survived and decided the same way twice.
    #[test]
    fn any_text_is_decided_the_same_way_twice(message in "\\PC{0,200}") {
        let context = with_one_approval();
        prop_assert_eq!(decide(&message, &context), decide(&message, &context));
    }
}

/// A context as large as they come: the first case's, with its tasks repeated up to two hundred.
#[test]
fn two_hundred_tasks_are_decided_like_four() {
    let case = read("cases.jsonl").into_iter().find(|case| case.id == "en-continue-018").expect("a case");
    let mut context = case.context.clone();
    let template = context.tasks[0].clone();
    for number in context.tasks.len()..200 {
        let mut task = template.clone();
        task.id = format!("X{number}");
        task.key = format!("old-{number}");
        task.title = format!("Chore number {number} of the backlog");
        context.tasks.push(task);
    }
    assert_eq!(decide(&case.message, &context).verdict, decide(&case.message, &case.context).verdict);
}

#[test]
fn a_no_with_more_words_gives_a_reason() {
    for bare in ["no", "No.", "nope", "不行"] {
        assert_eq!(throughline_model::router::reason(bare), None, "{bare}");
    }
    for more in ["no, use make instead", "no: not that", "不行，用 make"] {
        assert_eq!(throughline_model::router::reason(more).as_deref(), Some(more));
    }
}
