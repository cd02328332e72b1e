//! `tl pair`: a one-time code that links a channel identity to a person.

use throughline_api::identity::{OfferPairing, Pairing};

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe_line;

/// Get a one-time code that links you to a chat
///
/// Send the code to the bot or app within ten minutes: from then on it knows you, and you can work from there. Until
/// then it answers nobody. `tl identities` lists where you are known.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Such as `telegram`; it has to be set up in config.toml
    #[arg(value_name = "CHANNEL")]
    channel: String,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let offer = OfferPairing { channel: args.channel };
    let pairing = context.tell(async |client| Ok(client.pair(&offer).await?)).await?;
    context.output.document(&pairing, || text(&pairing))
}

fn text(pairing: &Pairing) -> String {
    let link = match &pairing.link {
        Some(link) => format!("or open {}\n", safe_line(link)),
        None => String::new(),
    };
    format!(
        "say this to the bot on {}, alone with it:\n\n  {}\n\n{link}it works once, within ten minutes\n",
        safe_line(&pairing.channel),
        safe_line(&pairing.say)
    )
}
