//! `tl tasks`: the list.

use serde_json::json;
use throughline_api::client::TaskListQuery;

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
    let daemon = context.daemon().await?;
    let project = match &args.project {
        Some(name) => Some(place::named(&daemon.client, name).await?.id.to_string()),
        None => None,
    };
    let mut query = TaskListQuery {
        all: args.all,
        needs_me: args.needs_me,
        project,
        ..TaskListQuery::default()
    };
    let mut tasks = Vec::new();
    loop {
        let missing = args.limit.saturating_sub(tasks.len());
        if missing == 0 {
            break;
        }
        query.limit = Some(missing.min(PAGE));
        let page = daemon.client.tasks(&query).await?;
        tasks.extend(page.tasks);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let more = query.after.is_some();
    let output = context.output;
    output.document(&json!({ "tasks": tasks, "more": more }), || {
        let mut text = task_view::list(output, &tasks, "");
        if tasks.is_empty() {
            text.push_str(match (args.needs_me, args.all) {
                (true, _) => "nothing needs you\n",
                (false, true) => "there are no tasks yet: tl say \"…\" starts one\n",
                (false, false) => "no task is open: tl tasks --all lists the closed ones too\n",
            });
        }
        if more {
            text.push_str("… and more: --limit N\n");
        }
        text
    })
}
