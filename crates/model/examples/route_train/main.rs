//! Trains the router's speech-act classifier from `routing/corpus` and writes `src/router/weights.bin`.
//!
//! `cargo run --release -p throughline-model --example route_train [-- --check | --folds N | --without-lang]`
//! The same corpus gives the same bytes: the order, the draws and the arithmetic are fixed, and the
//! exponential is computed here instead of by the platform.

mod corpus;
mod learn;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use throughline_model::router::decide_with;
use throughline_model::router::input::Case;
use throughline_model::router::score::Report;
use throughline_model::router::weights::Weights;

use corpus::{Corpus, Sample};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let corpus = corpus::read(&root().join("routing/corpus"));
    match arguments.first().map(String::as_str) {
        Some("--folds") => folds(&corpus, arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(5)),
        Some("--without-lang") => without_language(&corpus),
        Some("--check") => return check(&corpus),
        _ => return write(&corpus),
    }
    ExitCode::SUCCESS
}

fn train(corpus: &Corpus, samples: &[Sample]) -> Weights {
    learn::learn(samples, corpus)
}

fn shipped() -> PathBuf {
    root().join("crates/model/src/router/weights.bin")
}

fn check(corpus: &Corpus) -> ExitCode {
    let bytes = train(corpus, &corpus.samples).bytes();
    if std::fs::read(shipped()).is_ok_and(|shipped| shipped == bytes) {
        println!("weights.bin is what the corpus gives");
        return ExitCode::SUCCESS;
    }
    println!("weights.bin differs from what the corpus gives");
    ExitCode::FAILURE
}

fn write(corpus: &Corpus) -> ExitCode {
    let bytes = train(corpus, &corpus.samples).bytes();
    println!("{} samples, {} bytes", corpus.samples.len(), bytes.len());
    match std::fs::write(shipped(), bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", shipped().display());
            ExitCode::FAILURE
        }
    }
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(root().join("routing/cases.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn judge(report: &mut Report, weights: &Weights, case: &Case) {
    report.add(case, &decide_with(weights, &case.message, &case.context));
}

/// Cross-validation by id: each fold is judged by weights trained on the corpus and the other folds.
fn folds(corpus: &Corpus, count: usize) {
    let cases = cases();
    let labels = corpus::labels(&root().join("routing/case_acts.tsv"));
    let mut total = Report::default();
    for fold in 0..count {
        let in_fold = |case: &Case| corpus::fold_of(&case.id, count) == fold;
        let mut samples = corpus.samples.clone();
        for case in cases.iter().filter(|case| !in_fold(case)) {
            samples.extend(corpus::labelled(case, &labels));
        }
        let weights = train(corpus, &samples);
        let mut report = Report::default();
        for case in cases.iter().filter(|case| in_fold(case)) {
            judge(&mut report, &weights, case);
            judge(&mut total, &weights, case);
        }
        println!("fold {fold}: {} of {}, harmful {}", report.right, report.cases, report.harmful);
    }
    println!("all: {:.3} right, harmful {}, approvals {}", total.accuracy(), total.harmful, total.harmful_approvals);
}

/// Each language of the cases is judged by weights that never saw its corpus file.
fn without_language(corpus: &Corpus) {
    let cases = cases();
    let mut langs: Vec<String> = cases.iter().map(|case| case.lang.clone()).collect();
    langs.sort();
    langs.dedup();
    for lang in langs {
        let samples: Vec<Sample> =
            corpus.samples.iter().filter(|s| s.lang.split('-').next() != Some(&lang)).cloned().collect();
        let weights = train(corpus, &samples);
        let mut report = Report::default();
        for case in cases.iter().filter(|case| case.lang == lang) {
            judge(&mut report, &weights, case);
        }
        println!("without {lang}: {} of {}, harmful {}", report.right, report.cases, report.harmful);
    }
}
