//! How a decision is judged against a labelled case, and how many are right, harmful and well calibrated.
//!
//! Harm is read strictly: a wrong decision that approves, denies, stops or closes, or that gives the message to
//! a task (an existing or a new one) which no label names. Asking is never harmful.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::input::{Case, Context};
use super::verdict::{Decision, Verdict};

/// How a decision was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It matches a label.
    Right,
    /// It matches none and does no harm.
    Wrong,
    /// It acts on a task where it must not.
    Harmful,
    /// It decides an approval that the person did not decide.
    HarmfulApproval,
}

/// Judges a verdict against a case's labels.
#[must_use]
pub fn score(case: &Case, verdict: &Verdict) -> Judgement {
    let given = complete(verdict, &case.context);
    let labels: Vec<&Map<String, Value>> =
        [&case.expect].into_iter().chain(&case.accept).filter_map(Value::as_object).collect();
    if labels.iter().any(|label| label.iter().all(|(field, value)| matches(field, value, &given, &case.context))) {
        return Judgement::Right;
    }
    let is = |field: &str, value: &str| labels.iter().any(|l| l.get(field).and_then(Value::as_str) == Some(value));
    match verdict {
        Verdict::Clarify { .. } | Verdict::Ack | Verdict::Help | Verdict::Status { .. } | Verdict::Focus { .. } => {
            Judgement::Wrong
        }
        Verdict::Approve { .. } | Verdict::Deny { .. } => Judgement::HarmfulApproval,
        Verdict::Cancel { task } | Verdict::Close { task } => {
            let stops = is("intent", "cancel") || is("intent", "close");
            if stops && is("task", task) { Judgement::Wrong } else { Judgement::Harmful }
        }
        Verdict::NewTask { project, .. } => {
            let meant = is("intent", "new_task");
            let elsewhere = labels.iter().any(|l| l.get("project").is_some_and(|p| p != project.as_str()));
            if meant && !elsewhere { Judgement::Wrong } else { Judgement::Harmful }
        }
        Verdict::Continue { task, .. }
        | Verdict::Answer { task, .. }
        | Verdict::AddExecution { task, .. }
        | Verdict::SwitchAgent { task, .. }
        | Verdict::FreshSession { task }
        | Verdict::Retry { task, .. }
        | Verdict::Fork { task, .. } => {
            if is("task", task) {
                Judgement::Wrong
            } else {
                Judgement::Harmful
            }
        }
    }
}

/// A verdict with what it leaves to the defaults.
fn complete(verdict: &Verdict, context: &Context) -> Map<String, Value> {
    let mut given = match serde_json::to_value(verdict) {
        Ok(Value::Object(given)) => given,
        Ok(_) | Err(_) => Map::new(),
    };
    if let Verdict::NewTask { .. } = verdict {
        given.entry("agent").or_insert_with(|| context.default_agent.clone().into());
    }
    given
}

fn matches(field: &str, expected: &Value, given: &Map<String, Value>, context: &Context) -> bool {
    let found = given.get(field);
    match field {
        "candidates" => {
            let set = |value: &Value| {
                let mut ids: Vec<String> =
                    value.as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect();
                ids.sort();
                ids
            };
            found.is_some_and(|found| set(found) == set(expected))
        }
        // A model name alone implies its agent, and a decision that gives either counts.
        "model" => {
            found == Some(expected) || (found.is_none() && owner(expected, context) == given.get("agent").cloned())
        }
        _ => found == Some(expected),
    }
}

fn owner(model: &Value, context: &Context) -> Option<Value> {
    let agent = context.agents.iter().find(|a| a.models.iter().any(|m| Some(m.as_str()) == model.as_str()))?;
    Some(agent.id.clone().into())
}

/// Right and all of one intent or language.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tally {
    /// How many.
    pub cases: usize,
    /// How many of them right.
    pub right: usize,
}

/// What came out over many cases.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// How many.
    pub cases: usize,
    /// How many of them right.
    pub right: usize,
    /// Wrong decisions that act where they must not, approvals included.
    pub harmful: usize,
    /// Approvals decided that the person did not decide.
    pub harmful_approvals: usize,
    /// By expected intent.
    pub by_intent: BTreeMap<String, Tally>,
    /// By language.
    pub by_lang: BTreeMap<String, Tally>,
    /// Confidence and rightness, by tenths of confidence.
    #[serde(skip)]
    bins: [Bin; 10],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    cases: usize,
    right: usize,
    confidence: f64,
}

impl Report {
    /// Takes one decided case in.
    pub fn add(&mut self, case: &Case, decision: &Decision) -> Judgement {
        let judgement = score(case, &decision.verdict);
        let right = usize::from(judgement == Judgement::Right);
        self.cases += 1;
        self.right += right;
        self.harmful += usize::from(matches!(judgement, Judgement::Harmful | Judgement::HarmfulApproval));
        self.harmful_approvals += usize::from(judgement == Judgement::HarmfulApproval);
        let intent = case.expect.get("intent").and_then(Value::as_str).unwrap_or("").to_owned();
        for tally in [self.by_intent.entry(intent).or_default(), self.by_lang.entry(case.lang.clone()).or_default()] {
            tally.cases += 1;
            tally.right += right;
        }
        let bin = &mut self.bins[((decision.confidence * 10.0) as usize).min(9)];
        bin.cases += 1;
        bin.right += right;
        bin.confidence += f64::from(decision.confidence);
        judgement
    }

    /// The share that is right.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.cases.max(1) as f64
    }

    /// The expected calibration error over ten bins: how far confidence is from rightness, on average.
    #[must_use]
    pub fn calibration_error(&self) -> f64 {
        let gaps: f64 = self.bins.iter().map(|bin| (bin.confidence - bin.right as f64).abs()).sum();
        gaps / self.cases.max(1) as f64
    }

    /// Each tenth of confidence with its cases, its mean confidence and its share of right ones.
    #[must_use]
    pub fn calibration(&self) -> Vec<(usize, f64, f64)> {
        let full = self.bins.iter().filter(|bin| bin.cases > 0);
        full.map(|b| (b.cases, b.confidence / b.cases as f64, b.right as f64 / b.cases as f64)).collect()
    }
}
