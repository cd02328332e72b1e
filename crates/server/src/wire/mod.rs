//! From the record to the wire: one way, total, and without a decision in it.
//!
//! The only place that knows both the model's types and [`throughline_api`]'s, so that neither shape leaks into the
//! other.

mod approval;
mod budget;
mod content;
mod decision;
mod diff;
mod entry;
mod item;
mod policy;
mod reply;
mod site;
mod task;

pub(crate) use approval::{approval, approval_row};
pub(crate) use budget::{budget, caps_of};
pub(crate) use content::{block, text};
pub(crate) use decision::{decision, input};
pub(crate) use diff::{changes, turn as turn_diff};
pub(crate) use entry::{Around, entry, item_of};
pub(crate) use policy::{allowed_of, policy, rule};
pub(crate) use reply::reply;
pub(crate) use site::{comparison, past_turn, restored};
pub(crate) use task::{project, read_only, role, role_of, summary, task};

use jiff::Timestamp as Moment;
use throughline_model::time::Timestamp;

/// A moment in RFC 3339, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    Moment::from_millisecond(at.millis()).unwrap_or(Moment::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_rfc_3339_in_utc() {
        assert_eq!(moment(Timestamp::from_millis(1_794_782_301_123)), "2026-11-15T22:38:21.123Z");
        assert_eq!(moment(Timestamp::from_millis(0)), "1970-01-01T00:00:00Z");
    }
}
