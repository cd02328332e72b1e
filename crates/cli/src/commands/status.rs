//! `tl status`: a glance at everything, or a card per task.

use serde_json::json;

use super::{Context, stand};
use crate::failure::{Failure, Outcome};
use crate::task_view;

/// Show where things stand, or one task closer
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tasks to look at
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    if args.keys.is_empty() {
        let (version, status) =
            context.ask(async |client| Ok((client.version().await?, client.status().await?))).await?;
        let document = serde_json::to_value(&status)
            .and_then(|mut document| {
                document["daemon"] = serde_json::to_value(&version)?;
                Ok(document)
            })
            .map_err(|error| Failure::new("internal", error.to_string()))?;
        return output.document(&document, || match stand::text(output, &status) {
            text if text.is_empty() => "nothing runs and nothing rests\n".to_owned(),
            text => text,
        });
    }
    let mut tasks = Vec::with_capacity(args.keys.len());
    for key in &args.keys {
        let task = context.ask(async |client| Ok(client.task(key).await?)).await?;
        tasks.push(task);
    }
    output.document(&json!({ "tasks": tasks }), || {
        let cards: Vec<String> = tasks.iter().map(|task| task_view::card(output, task)).collect();
        cards.join("\n")
    })
}
