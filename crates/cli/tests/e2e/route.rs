//! `tl route eval`: needs no daemon and no home.

use std::path::Path;

use crate::support::World;

fn routing(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../routing").join(name).display().to_string()
}

#[test]
fn cases_are_scored_without_a_daemon() {
    let world = World::bare();
    let cases = routing("cases.jsonl");
    let report = world.json(&["route", "eval", &cases]);
    assert!(report["accuracy"].as_f64().is_some_and(|accuracy| accuracy >= 0.97), "{report:#}");
    assert_eq!(report["harmful_approvals"], 0, "{report:#}");
    for field in ["cases", "right", "harmful", "by_intent", "by_lang", "p99_us"] {
        assert!(!report[field].is_null(), "{field}: {report:#}");
    }
    let decisions = world.ok(&["route", "eval", &cases, "--decisions"]);
    assert_eq!(decisions.stdout.lines().count() as u64, report["cases"].as_u64().expect("a count"));
    assert!(!world.home.exists());
}

#[test]
fn a_file_that_is_none_and_a_line_that_is_no_case_are_named() {
    let world = World::bare();
    world.fails(&["route", "eval", "/nowhere"], 1, "bad_path");
    let file = world.project.join("cases.jsonl");
    std::fs::write(&file, "{}\n").expect("written");
    world.fails(&["route", "eval", file.to_str().expect("text")], 1, "bad_case");
}
