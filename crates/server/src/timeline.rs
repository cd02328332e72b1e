//! A page of a task's timeline: the record, with each item once, where it began, as it is now.
//!
//! Invariants: a page is never empty while there is something earlier; the newest page costs the same however long the
//! task is, because only the records of that page, and a bounded look further back, are read.

use std::collections::{HashMap, HashSet};

use throughline_api::timeline::{TimelineEntry, TimelinePage};
use throughline_model::event::{Recorded, Seq};
use throughline_model::ids::{ItemId, TaskId};
use throughline_model::stream::StreamId;
use throughline_store::StoreError;
use throughline_store::port::{PageQuery, Store};

use crate::encode::Encoder;
use crate::wire;

/// How many records before the page are looked at for where an item began. An item that began even earlier is shown
/// on both pages, under the same id.
const LOOK_BACK: usize = 128;
/// How many records are read for one page at most: a tool call that was recorded ten thousand times makes a short page.
const MOST_RECORDS: usize = 4096;

/// Reads the page before this place, the newest one if none is given.
pub(crate) async fn page(
    store: &dyn Store,
    encoder: &Encoder,
    task: TaskId,
    before: Option<Seq>,
    limit: usize,
) -> Result<TimelinePage, StoreError> {
    let stream = StreamId::Task(task);
    let mut past = Past { store, stream, before, records: vec![], complete: false };
    past.read(limit + LOOK_BACK).await?;
    let newest = past.records.first().map(|record| record.seq);
    let (shown, oldest) = loop {
        let (shown, oldest) = choose(&past.records, limit);
        // The last of the shown ones needs a look back, too; and a page without anything needs an older one.
        let looked = past.records.len().saturating_sub(oldest.map_or(0, |oldest| oldest + 1));
        let enough = shown.len() >= limit && looked >= LOOK_BACK;
        if past.complete || enough || past.records.len() >= MOST_RECORDS {
            break (shown, oldest);
        }
        past.read(limit + LOOK_BACK).await?;
    };
    let oldest_seq = oldest.map(|oldest| past.records[oldest].seq);
    let entries = entries(store, encoder, stream, &past.records, &shown).await?;
    let earlier = oldest.is_some_and(|oldest| oldest + 1 < past.records.len()) || !past.complete;
    Ok(TimelinePage {
        entries,
        before: oldest_seq.filter(|_| earlier).map(|seq| encoder.cursor(seq)),
        after: match before {
            None => Some(encoder.cursor(newest.unwrap_or_default())),
            Some(_) => None,
        },
    })
}

/// Records, newest first, as far back as they were read.
struct Past<'a> {
    store: &'a dyn Store,
    stream: StreamId,
    before: Option<Seq>,
    records: Vec<Recorded>,
    complete: bool,
}

impl Past<'_> {
    async fn read(&mut self, limit: usize) -> Result<(), StoreError> {
        let before = self.records.last().map(|record| record.seq).or(self.before);
        let records = self.store.page(PageQuery { stream: self.stream, before, limit }).await?;
        self.complete = records.len() < limit;
        self.records.extend(records);
        Ok(())
    }
}

/// Which records to show, newest first, and the oldest one that this page speaks for.
fn choose(records: &[Recorded], limit: usize) -> (Vec<usize>, Option<usize>) {
    let mut began: HashMap<ItemId, usize> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        if let Some(item) = wire::item_of(record) {
            // Newest first: the last one to be seen is the first that was recorded.
            began.insert(item, index);
        }
    }
    let first = |index: usize| wire::item_of(&records[index]).is_none_or(|item| began.get(&item) == Some(&index));
    let shown: Vec<usize> = (0..records.len()).filter(|index| first(*index)).take(limit).collect();
    let oldest = shown.last().copied();
    (shown, oldest)
}

/// The chosen records as entries, oldest first, items as they are now.
async fn entries(
    store: &dyn Store,
    encoder: &Encoder,
    stream: StreamId,
    records: &[Recorded],
    shown: &[usize],
) -> Result<Vec<TimelineEntry>, StoreError> {
    let items: HashSet<ItemId> = shown.iter().filter_map(|index| wire::item_of(&records[*index])).collect();
    let items: Vec<ItemId> = items.into_iter().collect();
    let latest = if items.is_empty() { vec![] } else { store.latest_items(stream, &items).await? };
    let latest: HashMap<ItemId, Recorded> =
        latest.into_iter().filter_map(|record| wire::item_of(&record).map(|item| (item, record))).collect();
    let mut entries = Vec::with_capacity(shown.len());
    for index in shown.iter().rev() {
        let record = &records[*index];
        let now = wire::item_of(record).and_then(|item| latest.get(&item));
        let mut entry = encoder.entry(now.unwrap_or(record)).await;
        // It stands where it began, so that paging by its cursor goes on from there.
        entry.cursor = encoder.cursor(record.seq);
        entry.at = wire::moment(record.at);
        entries.push(entry);
    }
    Ok(entries)
}
