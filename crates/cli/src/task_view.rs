//! Tasks as a person sees them: a line in a list, and a card with all that is under one.

use std::fmt::Write as _;

use throughline_api::approval::Approval;
use throughline_api::task::{ActivityWord, Task, TaskSummary};
use throughline_model::present::Locale;

use crate::approval_view;
use crate::moment::ago;
use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table, width};

/// A list, one line for each, behind an indent.
pub(crate) fn list(output: Output, locale: Locale, tasks: &[TaskSummary], indent: &str) -> String {
    let rows: Vec<Vec<Cell>> = tasks.iter().map(|task| row(locale, task)).collect();
    let table = table(output, &rows);
    table.lines().fold(String::new(), |mut text, line| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}{line}");
        text
    })
}

fn row(locale: Locale, task: &TaskSummary) -> Vec<Cell> {
    vec![
        Cell::styled(safe_line(&task.key), Style::Strong),
        Cell::styled(safe_line(&task.state), style(task)),
        Cell::new(safe_glance(&task.title, 40)),
        Cell::styled(safe_glance(&glance(task), 60), Style::Faint),
        Cell::styled(ago(locale, &task.updated_at), Style::Faint),
    ]
}

/// The glance without the key, which stands in front already.
fn glance(task: &TaskSummary) -> String {
    let prefix = format!("{}: ", task.key);
    let glance = task.glance.strip_prefix(&prefix).unwrap_or(&task.glance);
    glance.to_owned()
}

fn style(task: &TaskSummary) -> Style {
    match task.activity.word {
        ActivityWord::WaitingApproval | ActivityWord::WaitingAnswer => Style::Warn,
        ActivityWord::Blocked | ActivityWord::Failed => Style::Bad,
        ActivityWord::Working => Style::Good,
        ActivityWord::Queued => Style::Accent,
        ActivityWord::Resting | ActivityWord::Unknown => Style::Faint,
    }
}

/// One task closer: what the record's card says, and what waits for a decision.
pub(crate) fn card(output: Output, locale: Locale, task: &Task) -> String {
    let summary = &task.summary;
    let mut text = format!(
        "{}  {}\n",
        output.paint(Style::Strong, &safe_line(&summary.key)),
        output.paint(Style::Strong, &safe_line(&summary.title))
    );
    // Requests follow with their exact bytes and their ids.
    let fields = || task.card.fields.iter().filter(|field| field.about != "request");
    let widest = fields().map(|field| width(&field.label)).max().unwrap_or_default();
    for field in fields() {
        let label = format!("{}{}", field.label, " ".repeat(widest - width(&field.label)));
        let indent = " ".repeat(widest);
        for (number, line) in field.lines.iter().enumerate() {
            let label = if number == 0 { &label } else { &indent };
            let line = match field.about.as_str() {
                "state" => output.paint(style(summary), line),
                _ => line.clone(),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {label}  {line}");
        }
    }
    text.push_str(&requests(output, locale, &task.approvals));
    text
}

/// Requests that wait, and how to answer them.
pub(crate) fn requests(output: Output, locale: Locale, approvals: &[Approval]) -> String {
    let shown = |approval: &Approval| {
        approval_view::request(output, locale, approval) + &approval_view::how_to_answer(locale, approval)
    };
    approvals.iter().map(shown).collect()
}
