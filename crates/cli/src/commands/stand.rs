//! `tl` alone: where things stand, what needs the person first.

use throughline_api::daemon::Status;

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
    if is_blank(&status) {
        let here = context.ask(async |client| place::here(client).await).await?;
        let folder = here.map(|project| project.name);
        return context.output.piece(&how_to_start(folder.as_deref()));
    }
    context.output.piece(&text(context.output, &status))
}

fn is_blank(status: &Status) -> bool {
    status.needs_me.is_empty() && status.running.is_empty() && status.resting.is_empty() && status.approvals.is_empty()
}

fn how_to_start(project: Option<&str>) -> String {
    let place = match project {
        Some(name) => format!("You are in project {}.", safe_line(name)),
        None => "You are in no project yet: go to a repository, and `tl project add .`".to_owned(),
    };
    format!(
        "Nothing runs yet. {place}\n\
         \n\
         Say what you want:   tl say \"plan look around; write notes\"\n\
         Go on with it:       tl say recall\n\
         See what happened:   tl tasks, tl show KEY\n\
         Use another agent:   tl agents, then tl say --agent NAME \"…\"\n"
    )
}

/// The three sections, each only if it has something.
pub(super) fn text(output: Output, status: &Status) -> String {
    let sections = [("Needs you", &status.needs_me), ("Running", &status.running), ("Resting", &status.resting)];
    let mut text = String::new();
    for (title, tasks) in sections {
        if tasks.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&output.paint(Style::Strong, title));
        text.push('\n');
        text.push_str(&task_view::list(output, tasks, "  "));
    }
    for approval in &status.approvals {
        let key = safe_line(&approval.task.key).into_owned();
        text.push_str(&format!("\n{key} {}", approval_view::request(output, approval)));
        text.push_str(&approval_view::how_to_answer(approval));
    }
    text
}
