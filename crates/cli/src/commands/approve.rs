//! `tl approve`: a yes to exactly what is shown, this once; with `--always` a rule besides.

use super::Context;
use crate::approvals::{self, Always, Word};
use crate::failure::Outcome;
use crate::span;

/// Say yes to what an agent asks to do, this once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The approval's id, or the first six characters or more of it
    #[arg(value_name = "ID")]
    id: String,
    /// And make a rule that allows the same command from now on; where no rule can be about it, it says why
    #[arg(long)]
    always: bool,
    /// The rule holds no longer than this: 30m, 12h, 7d
    #[arg(long, value_name = "SPAN", requires = "always", value_parser = span::secs)]
    expires: Option<u64>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let always = if args.always { Always::Yes { expires_in_secs: args.expires } } else { Always::No };
    approvals::decide(&context, &args.id, Word::Allow(always), None).await
}
