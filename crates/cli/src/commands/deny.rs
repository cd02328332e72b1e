//! `tl deny`: a no, with a reason if there is one.

use super::Context;
use crate::approvals::{self, Word};
use crate::failure::Outcome;

/// Say no to what an agent asks to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The approval's id, or the first six characters or more of it
    #[arg(value_name = "ID")]
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    approvals::decide(&context, &args.id, Word::Deny, args.reason).await
}
