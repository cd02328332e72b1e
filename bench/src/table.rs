//! Figures: what was measured, beside its baseline and its goal.

use std::fmt::Write as _;

use serde::Serialize;

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    bench: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Goal {
    fn holds(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(bound) => value >= bound,
            Goal::AtMost(bound) => value <= bound,
            Goal::Below(bound) => value < bound,
        }
    }

    fn shown(self, unit: &str) -> String {
        let (sign, bound) = match self {
            Goal::AtLeast(bound) => ("≥", bound),
            Goal::AtMost(bound) => ("≤", bound),
            Goal::Below(bound) => ("<", bound),
        };
        format!("{sign} {bound} {unit}").trim_end().to_owned()
    }
}

impl Figure {
    pub(crate) fn new(bench: &'static str, what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Figure { bench, what: what.into(), value, unit, beside: None, goal: None, verdict: None }
    }

    /// What it should be.
    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self.verdict = Some(if goal.holds(self.value) { "ok" } else { "missed" });
        self
    }

    /// What it is compared with, in words.
    pub(crate) fn beside(mut self, beside: impl Into<String>) -> Self {
        self.beside = Some(beside.into());
        self
    }

    /// The same without a verdict, for a run whose times say nothing.
    pub(crate) fn unjudged(mut self) -> Self {
        self.verdict = None;
        self
    }

    pub(crate) fn missed(&self) -> bool {
        self.verdict == Some("missed")
    }

    fn cells(&self) -> [String; 6] {
        [
            self.bench.to_owned(),
            self.what.clone(),
            format!("{} {}", short(self.value), self.unit).trim_end().to_owned(),
            self.goal.map(|goal| goal.shown(self.unit)).unwrap_or_default(),
            self.verdict.unwrap_or_default().to_owned(),
            self.beside.clone().unwrap_or_default(),
        ]
    }
}

/// Three digits that matter.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The figures as aligned lines.
pub(crate) fn render(figures: &[Figure]) -> String {
    let head = ["bench", "figure", "value", "goal", "", "beside"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(figures.iter().map(Figure::cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stands_beside_its_goal() {
        let kept = Figure::new("a", "ratio", 0.75, "").goal(Goal::AtLeast(0.7)).beside("bare 10/s");
        let missed = Figure::new("a", "p50", 3.0, "ms").goal(Goal::Below(3.0));
        assert!(!kept.missed() && missed.missed());
        let text = render(&[kept, missed]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a", "ratio", "0.75", "≥", "0.7", "ok", "bare", "10/s"]);
        assert_eq!(lines[2], ["a", "p50", "3.00", "ms", "<", "3", "ms", "missed"]);
    }
}
