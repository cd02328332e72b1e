//! `tl status`: a glance at everything, or where each named task stands, from the record.

use serde_json::json;
use throughline_api::daemon::Status;
use throughline_model::present::Locale;

use super::{Context, stand};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::safe_text::safe;
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
        let locale = context.locale().await?;
        return output.document(&document, || match stand::text(output, locale, &status) {
            text if text.is_empty() => locale.nothing_open() + "\n",
            text => text,
        });
    }
    let mut tasks = Vec::with_capacity(args.keys.len());
    for key in &args.keys {
        let standing = context.ask(async |client| Ok((client.task(key).await?, client.status_of(key).await?))).await?;
        tasks.push(standing);
    }
    let document = json!({
        "tasks": tasks.iter().map(|(task, _)| task).collect::<Vec<_>>(),
        "replies": tasks.iter().map(|(_, status)| &status.reply).collect::<Vec<_>>(),
    });
    let locale = context.locale().await?;
    output.document(&document, || {
        let told: Vec<String> = tasks.iter().map(|(_, status)| told(output, locale, status)).collect();
        told.join("\n")
    })
}

/// How one task stands, in words, and what it waits for.
fn told(output: Output, locale: Locale, status: &Status) -> String {
    let mut text = status.reply.as_ref().map(|reply| safe(&reply.text).into_owned() + "\n").unwrap_or_default();
    text.push_str(&task_view::requests(output, locale, &status.approvals));
    text
}
