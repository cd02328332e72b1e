//! `tl route`: the router, looked at from outside. Nothing is changed, and scoring cases needs no daemon.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use throughline_api::message::{Explain, Explained, FocusSource};
use throughline_model::router::decide;
use throughline_model::router::input::Case;
use throughline_model::router::score::{Judgement, Report};
use throughline_model::router::verdict::Decision;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::message_content;
use crate::output::{Output, write_stdout};
use crate::place;
use crate::safe_text::{safe_glance, safe_line};

/// Look at how messages are routed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Explain(ExplainArgs),
    Eval(EvalArgs),
}

/// Say what would be made of a message, and why
///
/// Nothing is sent and nothing changes.
#[derive(Debug, clap::Args)]
struct ExplainArgs {
    /// The words
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<OsString>,
    /// As if said in this conversation: an id, or its name
    #[arg(long, value_name = "C")]
    conversation: Option<String>,
}

/// Score routing cases
///
/// A case is one JSON object per line: a message, the work that stands around it, and what it means.
#[derive(Debug, clap::Args)]
pub(super) struct EvalArgs {
    /// Files of cases
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Show the cases that were not right
    #[arg(long)]
    failures: bool,
    /// Print the decision of each case instead, one JSON object per line
    #[arg(long)]
    decisions: bool,
}

impl Args {
    /// What to score, if that is wanted.
    pub(super) fn eval(&self) -> Option<&EvalArgs> {
        match &self.action {
            Action::Eval(args) => Some(args),
            Action::Explain(_) => None,
        }
    }
}

pub(super) async fn explain(context: Context, args: Args) -> Outcome {
    let Action::Explain(args) = args.action else { return Ok(()) };
    let text = message_content::text(&args.text)?;
    let explained = context
        .ask(async |client| {
            let project = place::here(client).await?;
            let conversation = place::conversation(client, args.conversation.as_deref(), project.as_ref()).await?;
            let explain = Explain {
                text: text.clone(),
                conversation: Some(conversation.to_string()),
                project: project.map(|project| project.id.to_string()),
                reply_to: None,
            };
            Ok(client.explain(&explain).await?)
        })
        .await?;
    context.output.document(&serde_json::to_value(&explained).unwrap_or_default(), || told(&explained))
}

/// A decision in plain words.
fn told(explained: &Explained) -> String {
    let decision = &explained.decision;
    let named = match (&explained.task, &explained.title) {
        (Some(task), Some(title)) => format!(": *{}* ({})", safe_glance(title, 60), safe_line(&task.key)),
        _ => String::new(),
    };
    let percent = decision.confidence * 100.0;
    let mut text = format!("→ {}{named}, {percent:.0} % sure\n", decision.aim.intent.replace('_', " "));
    for why in &decision.evidence {
        text.push_str(&format!("  because {}\n", safe_line(why)));
    }
    if let Some(focus) = &decision.focus {
        let source = match focus.source {
            FocusSource::Conversation => "this conversation's own",
            FocusSource::Elsewhere => "addressed last in this project, in another conversation",
        };
        text.push_str(&format!("  focus: {source}\n"));
    }
    let others: Vec<String> = decision.alternatives.iter().map(|aim| aim.intent.replace('_', " ")).collect();
    if !others.is_empty() {
        text.push_str(&format!("  or else: {}\n", others.join(", ")));
    }
    text
}

/// What became of all cases.
#[derive(Default)]
struct Evaluation {
    report: Report,
    micros: Vec<f64>,
    wrong: Vec<Value>,
}

pub(super) fn eval(output: Output, args: &EvalArgs) -> Outcome {
    let mut evaluation = Evaluation::default();
    for file in &args.files {
        for case in cases(file)? {
            let decision = evaluation.take(&case);
            if args.decisions {
                write_stdout(&format!("{}\n", json!({"id": case.id, "decision": decision})))?;
            }
        }
    }
    if args.decisions {
        return Ok(());
    }
    let document = evaluation.document(args.failures);
    output.document(&document, || text(&document))
}

fn cases(file: &Path) -> Outcome<Vec<Case>> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::new("bad_path", format!("`{name}` cannot be read: {error}"))
            .hint("name a file of cases, one JSON object per line")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::invalid_utf8(&format!("`{name}`")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                let message = format!("`{name}`, line {}: {error}", number + 1);
                Failure::new("bad_case", message).hint("a case has id, lang, message, context and expect")
            })
        })
        .collect()
}

impl Evaluation {
    #[expect(clippy::disallowed_methods, reason = "the pure function is timed from outside")]
    fn take(&mut self, case: &Case) -> Decision {
        // The weights are read once, by whoever comes first; that is not what is timed.
        if self.micros.is_empty() {
            let _ = decide(&case.message, &case.context);
        }
        let start = Instant::now();
        let decision = decide(&case.message, &case.context);
        self.micros.push(start.elapsed().as_secs_f64() * 1e6);
        let judgement = self.report.add(case, &decision);
        if judgement != Judgement::Right {
            self.wrong.push(json!({
                "id": case.id,
                "message": case.message,
                "judgement": format!("{judgement:?}").to_lowercase(),
                "expect": case.expect,
                "decision": decision,
            }));
        }
        decision
    }

    fn document(mut self, failures: bool) -> Value {
        self.micros.sort_by(f64::total_cmp);
        let place = (self.micros.len() * 99 / 100).min(self.micros.len().saturating_sub(1));
        let mut document = serde_json::to_value(&self.report).unwrap_or_default();
        document["accuracy"] = self.report.accuracy().into();
        document["p99_us"] = self.micros.get(place).copied().unwrap_or_default().into();
        document["calibration_error"] = self.report.calibration_error().into();
        if failures {
            document["failures"] = self.wrong.into();
        }
        document
    }
}

fn text(document: &Value) -> String {
    let percent = document["accuracy"].as_f64().unwrap_or_default() * 100.0;
    let mut text = format!(
        "{} of {} right ({percent:.1} %), {} harmful, {} of them approvals\n",
        document["right"], document["cases"], document["harmful"], document["harmful_approvals"]
    );
    let error = document["calibration_error"].as_f64().unwrap_or_default();
    let p99 = document["p99_us"].as_f64().unwrap_or_default();
    text.push_str(&format!("calibration error {error:.3}, p99 {p99:.0} µs\n"));
    for failure in document["failures"].as_array().into_iter().flatten() {
        let decided = &failure["decision"];
        text.push_str(&format!(
            "{} {}: {}\n  expected {}\n  decided  {decided}\n",
            failure["judgement"].as_str().unwrap_or_default(),
            failure["id"].as_str().unwrap_or_default(),
            failure["message"],
            failure["expect"],
        ));
    }
    text
}
