//! `tl deliveries`: what was to be said in chats, and what became of it.

use throughline_api::client::DeliveryListQuery;
use throughline_api::delivery::{Delivery, DeliveryList};

use super::{Context, notify};
use crate::failure::Outcome;
use crate::moment::clock;
use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table};

/// How much of a message a list shows.
const GLANCE_CHARS: usize = 60;

/// Show what became of messages to chats
///
/// A message is pending, sending, or held for quiet hours. It ends as sent; unknown, if nobody can know whether it
/// arrived; dead, if it cannot be sent; expired, if it was too old by then; or superseded by a newer one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only about this task
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// Only in this chat: its channel, your identity there such as `telegram:4711`, or the conversation's id
    #[arg(long, value_name = "CHAT")]
    chat: Option<String>,
    /// Only in these states, such as unknown,dead
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    state: Vec<String>,
    /// Only what somebody may have missed: unknown, dead and expired ones
    #[arg(long, conflicts_with = "state")]
    undelivered: bool,
    /// Also every change of a message that tells how far work is
    #[arg(long)]
    all: bool,
    /// The newest, at most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let list = context
        .ask(async |client| {
            let conversations = match &args.chat {
                // Groups are not among one's own chats, and are named by their id.
                Some(chat) if chat.parse::<uuid::Uuid>().is_ok() => vec![chat.clone()],
                Some(chat) => notify::chats(&client.notices().await?, chat)?.iter().map(ToString::to_string).collect(),
                None => vec![],
            };
            let query = DeliveryListQuery {
                task: args.key.clone(),
                conversations,
                states: args.state.clone(),
                undelivered: args.undelivered,
                all: args.all,
                before: None,
                limit: Some(args.limit.into()),
            };
            Ok(client.deliveries(&query).await?)
        })
        .await?;
    output.document(&list, || text(output, &list, &args))
}

fn text(output: Output, list: &DeliveryList, args: &Args) -> String {
    if list.deliveries.is_empty() {
        return match args.undelivered {
            true => "nothing is known to be missing\n".to_owned(),
            false => "nothing was sent to a chat: `tl pair CHANNEL` links one\n".to_owned(),
        };
    }
    let mut text = table(output, &list.deliveries.iter().map(row).collect::<Vec<_>>());
    if list.before.is_some() {
        text.push_str(&output.paint(Style::Faint, "… and more: --limit N"));
        text.push('\n');
    }
    text
}

fn row(delivery: &Delivery) -> Vec<Cell> {
    let style = match delivery.state.as_str() {
        "sent" => Style::Good,
        "unknown" | "dead" | "expired" => Style::Bad,
        "superseded" => Style::Faint,
        _ => Style::Warn,
    };
    let task = delivery.task.as_ref().map(|task| safe_line(&task.key)).unwrap_or_default();
    vec![
        Cell::styled(safe_line(&delivery.state), style),
        Cell::new(clock(&delivery.at)),
        Cell::new(whom(delivery)),
        Cell::new(task),
        Cell::new(safe_line(&delivery.kind)),
        Cell::new(why(delivery).unwrap_or_else(|| safe_glance(&delivery.text, GLANCE_CHARS))),
    ]
}

/// To whom it was said.
pub(super) fn whom(delivery: &Delivery) -> String {
    let group = || format!("a group on {}", delivery.channel);
    safe_line(&delivery.to.clone().unwrap_or_else(group)).into_owned()
}

fn why(delivery: &Delivery) -> Option<String> {
    let why = safe_line(&delivery.why.as_ref()?.text);
    Some(match delivery.tries {
        0 | 1 => why.into_owned(),
        tries => format!("{why} ({tries} tries)"),
    })
}
