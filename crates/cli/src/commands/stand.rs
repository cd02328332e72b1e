//! `tl` alone: where things stand, what needs the person first.

use throughline_api::daemon::Status;
use throughline_model::present::Locale;

use super::Context;
use crate::approval_view;
use crate::failure::Outcome;
use crate::output::{Output, Style};
use crate::place;
use crate::safe_text::safe_line;
use crate::task_view;

pub(super) async fn run(context: Context) -> Outcome {
    let status = context.ask(async |client| Ok(client.status().await?)).await?;
    if context.output.is_json() {
        return context.output.json(&status);
    }
    let locale = context.locale().await?;
    if is_blank(&status) {
        let here = context.ask(async |client| place::here(client).await).await?;
        let folder = here.map(|project| project.name);
        return context.output.piece(&how_to_start(locale, folder.as_deref()));
    }
    context.output.piece(&text(context.output, locale, &status))
}

fn is_blank(status: &Status) -> bool {
    status.needs_me.is_empty() && status.running.is_empty() && status.resting.is_empty() && status.approvals.is_empty()
}

fn how_to_start(locale: Locale, project: Option<&str>) -> String {
    let place = match project {
        Some(name) => locale.in_project(safe_line(name)),
        None => locale.in_no_project(),
    };
    locale.how_to_start(place)
}

/// The three sections, each only if it has something.
pub(super) fn text(output: Output, locale: Locale, status: &Status) -> String {
    let sections = [
        (locale.needs_you(), &status.needs_me),
        (locale.running(), &status.running),
        (locale.resting(), &status.resting),
    ];
    let mut text = String::new();
    for (title, tasks) in sections {
        if tasks.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&output.paint(Style::Strong, &title));
        text.push('\n');
        text.push_str(&task_view::list(output, locale, tasks, "  "));
    }
    for approval in &status.approvals {
        let key = safe_line(&approval.task.key).into_owned();
        text.push_str(&format!("\n{key} {}", approval_view::request(output, locale, approval)));
        text.push_str(&approval_view::how_to_answer(locale, approval));
    }
    text
}
