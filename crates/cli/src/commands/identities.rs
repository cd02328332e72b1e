//! `tl identities`: where a person is recognised, and where no longer.

use clap::Subcommand;

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe_line;

/// List where you are recognised, and revoke it
///
/// `tl pair CHANNEL` adds one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Recognise you there no longer, at once
    Revoke {
        /// As it is listed, such as `telegram:4711`
        #[arg(value_name = "IDENTITY")]
        identity: String,
    },
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    match args.verb {
        None => {
            let list = context.ask(async |client| Ok(client.identities().await?)).await?;
            context.output.document(&list, || {
                list.identities.iter().map(|identity| format!("{}\n", safe_line(&identity.id))).collect()
            })
        }
        Some(Verb::Revoke { identity }) => {
            let revoked = context.tell(async |client| Ok(client.revoke_identity(&identity).await?)).await?;
            context.output.document(&revoked, || format!("{} is nobody from now on\n", safe_line(&revoked.id)))
        }
    }
}
