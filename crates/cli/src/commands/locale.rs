//! `tl locale`: the language that a person is spoken to in, on every channel.

use throughline_api::person::{ChangeMe, Me};

use super::Context;
use crate::failure::Outcome;
use crate::safe_text::safe_line;

/// Show or choose the language that you are spoken to in
///
/// It holds wherever you are: in terminals, on the web, in chats. English and Chinese are spoken; for any other
/// language it is English. What agents say is never translated.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A language tag such as `zh` or `en-GB`; `auto` leaves it to each terminal and browser
    #[arg(value_name = "TAG")]
    tag: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let me = match args.tag {
        None => context.ask(async |client| Ok(client.me().await?)).await?,
        Some(tag) => {
            let locale = if tag == "auto" { String::new() } else { tag };
            let change = ChangeMe { locale: Some(locale) };
            // Choosing the same again changes nothing.
            context.ask(async |client| Ok(client.change_me(&change).await?)).await?
        }
    };
    context.output.document(&me, || line(&me))
}

fn line(me: &Me) -> String {
    match &me.locale {
        Some(chosen) => format!("{} (chosen: {})\n", me.speaks, safe_line(chosen)),
        None => format!("{} (auto)\n", me.speaks),
    }
}
