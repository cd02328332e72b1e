//! Scores routing cases: `cargo run --release -p throughline-model --example route_eval -- FILE… [--failures] [--decisions]`.
//!
//! Prints the JSON of `tl route eval`, with the calibration error.

use std::process::ExitCode;
use std::time::Instant;

use throughline_model::router::input::Case;
use throughline_model::router::score::{Judgement, Report};
use throughline_model::router::{decide, masked};

#[expect(clippy::disallowed_methods, reason = "a development tool that times the pure function from outside")]
fn now() -> Instant {
    Instant::now()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wants = |flag: &str| arguments.iter().any(|a| a == flag);
    let mut report = Report::default();
    let mut micros: Vec<f64> = vec![];
    for path in arguments.iter().filter(|a| !a.starts_with("--")) {
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("cannot read {path}");
            return ExitCode::FAILURE;
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case: Case = match serde_json::from_str(line) {
                Ok(case) => case,
                Err(error) => {
                    eprintln!("{path}: {error}");
                    return ExitCode::FAILURE;
                }
            };
            let _warm = decide(&case.message, &case.context);
            let start = now();
            let decision = decide(&case.message, &case.context);
            micros.push(start.elapsed().as_secs_f64() * 1e6);
            let judgement = report.add(&case, &decision);
            if wants("--decisions") {
                println!("{}", serde_json::json!({"id": case.id, "decision": decision}));
            } else if wants("--failures") && judgement != Judgement::Right {
                let decided = serde_json::to_string(&decision).unwrap_or_default();
                let heard = masked(&case.message, &case.context);
                println!(
                    "{judgement:?} {} {:?}\n  heard   {heard:?}\n  expect  {}\n  decided {decided}",
                    case.id, case.message, case.expect
                );
            }
        }
    }
    if wants("--decisions") {
        return ExitCode::SUCCESS;
    }
    micros.sort_by(f64::total_cmp);
    let p99 = micros.get((micros.len() * 99 / 100).min(micros.len().saturating_sub(1))).copied().unwrap_or(0.0);
    let mut json = serde_json::to_value(&report).unwrap_or_default();
    json["accuracy"] = report.accuracy().into();
    json["p99_us"] = p99.into();
    json["calibration_error"] = report.calibration_error().into();
    println!("{}", serde_json::to_string_pretty(&json).unwrap_or_default());
    ExitCode::SUCCESS
}
