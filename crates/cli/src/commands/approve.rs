//! `tl approve`: a yes, this once, to exactly what is shown.

use super::Context;
use crate::approvals::{self, Word};
use crate::failure::{Failure, Outcome};

/// Say yes to what an agent asks to do, this once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The approval's id, or the first six characters or more of it
    #[arg(value_name = "ID")]
    id: String,
    /// And to everything like it from now on
    #[arg(long)]
    always: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    if args.always {
        return Err(Failure::new("not_available", "rules for approvals are not available in this version")
            .hint(format!("say yes once: tl approve {}", args.id)));
    }
    approvals::decide(&context, &args.id, Word::Allow, None).await
}
