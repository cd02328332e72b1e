//! `tl show`: what happened on a task, and with `--follow` what happens.

use serde_json::json;
use throughline_api::client::{Client, DeliveryListQuery, TimelineQuery};
use throughline_api::delivery::Delivery;
use throughline_api::event::Frame;
use throughline_api::task::TaskRef;
use throughline_api::timeline::{TimelineEntry, TimelinePage};
use throughline_model::present::Locale;

use super::Context;
use super::deliveries::whom;
use crate::failure::Outcome;
use crate::interrupt::Interrupt;
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::task_view;
use crate::timeline_view::TimelineView;
use crate::watch::{Watch, tagged};

/// How many are asked for at once.
const PAGE: usize = 200;
/// How many messages to chats that did not arrive are named.
const UNDELIVERED: usize = 5;

/// Show a task's timeline
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Only the card: where it stands, who works on it, its plan, what changed
    #[arg(long, conflicts_with_all = ["follow", "limit"])]
    card: bool,
    /// Go on showing what happens, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// The newest entries, at most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let (output, locale) = (context.output, context.locale().await?);
    if args.card {
        let task = context.ask(async |client| Ok(client.task(&args.key).await?)).await?;
        return output.document(&task, || task_view::card(output, locale, &task));
    }
    let (task, page, undelivered) = context
        .ask(async |client| {
            let task = client.task(&args.key).await?;
            let page = newest(client, &args.key, args.limit).await?;
            Ok((task, page, undelivered(client, &args.key).await?))
        })
        .await?;
    let mut view = TimelineView::new(output, locale, &task);
    if !args.follow {
        let document = json!({
            "task": task, "entries": page.entries, "before": page.before, "after": page.after,
            "undelivered": undelivered,
        });
        return output.document(&document, || {
            let mut text = task_view::card(output, locale, &task);
            text.push('\n');
            if page.before.is_some() {
                text.push_str(&output.paint(Style::Faint, "… earlier entries: --limit N"));
                text.push('\n');
            }
            for entry in &page.entries {
                text.push_str(&view.entry(entry));
            }
            for delivery in &undelivered {
                text.push_str(&output.paint(Style::Warn, &not_told(locale, delivery)));
                text.push('\n');
            }
            text
        });
    }
    for entry in &page.entries {
        show(&context, &mut view, entry)?;
    }
    let target = TaskRef { id: task.summary.id, key: task.summary.key.clone() };
    let mut watch = Watch::new(&context, &target, page.after.clone());
    let mut interrupt = Interrupt::listen()?;
    loop {
        let frame = tokio::select! {
            frame = watch.next() => frame?,
            () = interrupt.pressed() => return Ok(()),
        };
        match frame {
            Frame::Ready(_) => {}
            Frame::Live(live) => output.json(&tagged("live", &live)?)?,
            Frame::Entry(entry) => show(&context, &mut view, &entry)?,
        }
    }
}

fn show(context: &Context, view: &mut TimelineView, entry: &TimelineEntry) -> Outcome {
    context.output.json(entry)?;
    context.output.piece(&view.entry(entry))
}

/// What somebody may have missed of this task in a chat, oldest first.
async fn undelivered(client: &Client, key: &str) -> Outcome<Vec<Delivery>> {
    let (task, limit) = (Some(key.to_owned()), Some(UNDELIVERED));
    let query = DeliveryListQuery { task, limit, undelivered: true, ..DeliveryListQuery::default() };
    let mut deliveries = client.deliveries(&query).await?.deliveries;
    deliveries.reverse();
    Ok(deliveries)
}

fn not_told(locale: Locale, delivery: &Delivery) -> String {
    let why = delivery.why.as_ref().map_or(&delivery.state, |why| &why.text);
    let (to, why) = (whom(delivery), safe_line(why));
    match delivery.state.as_str() {
        "unknown" => locale.maybe_told(to, why),
        _ => locale.not_told(to, why),
    }
}

/// The newest entries, as many pages as that takes, oldest first.
async fn newest(client: &Client, key: &str, limit: usize) -> Outcome<TimelinePage> {
    let mut whole: Option<TimelinePage> = None;
    loop {
        let (have, before) = match &whole {
            Some(page) => (page.entries.len(), page.before.clone()),
            None => (0, None),
        };
        let missing = limit.saturating_sub(have).clamp(1, PAGE);
        let query = TimelineQuery { before, limit: Some(missing) };
        let mut page = client.timeline(key, &query).await?;
        if let Some(newer) = whole.take() {
            page.entries.extend(newer.entries);
            page.after = newer.after;
        }
        if page.before.is_none() || page.entries.len() >= limit {
            return Ok(page);
        }
        whole = Some(page);
    }
}
