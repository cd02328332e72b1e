//! `tl answer`: what an agent is told that waits with a question in the middle of its turn.

use std::ffi::OsString;

use throughline_api::task::AnswerQuestion;

use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::message_content;
use crate::task_change;

/// Answer the question that an agent waits with, or decline to
///
/// `tl say` answers too. This one never means anything else.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not answer: the agent is told so, and goes on without
    #[arg(long, conflicts_with = "text")]
    decline: bool,
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// The answer; several fields as `name: value`, a line each; `-` reads it from stdin
    #[arg(required_unless_present = "decline", value_name = "TEXT")]
    text: Vec<OsString>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let answer = match args.decline {
        true => AnswerQuestion { decline: true, ..AnswerQuestion::default() },
        false => AnswerQuestion { text: Some(message_content::text(&args.text)?), ..AnswerQuestion::default() },
    };
    let change = context.tell(async |client| Ok(client.answer(&args.key, &answer).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    let done = if args.decline { Locale::told_no_answer } else { Locale::has_its_answer };
    task_change::print(&context, &change, done).await
}
