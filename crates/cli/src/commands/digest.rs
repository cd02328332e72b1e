//! `tl digest`: what happened lately, and what needs the person.

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe;

/// Tell what happened lately, and what needs you
///
/// From the record, without waking an agent. In a chat `/digest` does the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look back so many hours
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=744))]
    hours: u64,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let digest = context.ask(async |client| Ok(client.digest(args.hours).await?)).await?;
    context.output.document(&digest, || format!("{}\n", safe(&digest.text)))
}
