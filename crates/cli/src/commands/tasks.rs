//! `tl tasks`: the list.

use serde_json::json;
use throughline_api::client::{Client, TaskListQuery};
use throughline_api::task::TaskSummary;

use super::Context;
use crate::failure::Outcome;
use crate::place;
use crate::task_view;

/// How many are asked for at once.
const PAGE: usize = 200;

/// List tasks, most urgent first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Closed ones too
    #[arg(long)]
    all: bool,
    /// Only those that wait for you
    #[arg(long)]
    needs_me: bool,
    /// Only of this project: its name or folder
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let (tasks, more) = context.ask(async |client| list(client, &args).await).await?;
    let output = context.output;
    let locale = context.locale().await?;
    output.document(&json!({ "tasks": tasks, "more": more }), || {
        let mut text = task_view::list(output, locale, &tasks, "");
        if tasks.is_empty() {
            text.push_str(&match (args.needs_me, args.all) {
                (true, _) => locale.nothing_needs_you(),
                (false, true) => locale.no_tasks_yet(),
                (false, false) => locale.no_task_open(),
            });
            text.push('\n');
        }
        if more {
            text.push_str(&(locale.more_with_limit() + "\n"));
        }
        text
    })
}

/// As many pages as it takes; true if there is more.
async fn list(client: &Client, args: &Args) -> Outcome<(Vec<TaskSummary>, bool)> {
    let project = match &args.project {
        Some(name) => Some(place::named(client, name).await?.id.to_string()),
        None => None,
    };
    let mut query = TaskListQuery { all: args.all, needs_me: args.needs_me, project, ..TaskListQuery::default() };
    let mut tasks = Vec::new();
    loop {
        let missing = args.limit.saturating_sub(tasks.len());
        query.limit = Some(missing.clamp(1, PAGE));
        let page = client.tasks(&query).await?;
        tasks.extend(page.tasks);
        query.after = page.next;
        if query.after.is_none() || tasks.len() >= args.limit {
            return Ok((tasks, query.after.is_some()));
        }
    }
}
