//! Which ids are taken. Bounded: the oldest are forgotten.

use std::collections::{HashSet, VecDeque};

use throughline_model::ids::ItemId;
use throughline_model::item::Item;

/// How many ids of this process are kept in mind.
const KEPT: usize = 16 * 1024;

/// The ids of recorded items.
#[derive(Debug)]
pub(super) struct Ledger {
    earlier: Option<HashSet<ItemId>>,
    recorded: HashSet<ItemId>,
    order: VecDeque<ItemId>,
}

impl Ledger {
    pub(super) fn new(earlier: Option<HashSet<ItemId>>, current: &[Item]) -> Self {
        let mut ledger = Self { earlier, recorded: HashSet::new(), order: VecDeque::new() };
        for item in current {
            ledger.add(item.id);
        }
        ledger
    }

    pub(super) fn add(&mut self, id: ItemId) {
        if !self.recorded.insert(id) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.recorded.remove(&oldest);
        }
    }

    /// Whether an item of this id is on record.
    pub(super) fn is_taken(&self, id: ItemId) -> bool {
        self.recorded.contains(&id) || self.earlier.as_ref().is_some_and(|earlier| earlier.contains(&id))
    }

    /// Whether an item of this id is from before this process. Assumed where nobody has said.
    pub(super) fn was_earlier(&self, id: ItemId) -> bool {
        self.earlier.as_ref().is_none_or(|earlier| earlier.contains(&id))
    }
}
