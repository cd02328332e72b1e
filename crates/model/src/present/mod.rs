//! Presentation: pure renderings of the record, in the person's language.
//!
//! One record, three views (DESIGN §7): the [`glance`](mod@glance) is one line, the [`card`](mod@card) is all that
//! one has to know before acting, the [`timeline`] is everything. [`reply`] is what Throughline itself says.
//!
//! Invariants: the words of Throughline come from the [`catalogue`], which has every one of them in every language;
//! the words of people and agents are never translated, and every character of theirs can be seen; each view is
//! bounded, whatever the record holds.

pub mod card;
pub mod catalogue;
mod delivery;
mod digest;
pub mod glance;
pub mod locale;
pub mod moment;
mod progress;
pub mod reply;
pub mod status;
pub mod timeline;
mod words;

pub use card::{Card, card};
pub use delivery::why_not_sent;
pub use digest::{digest, summary};
pub use glance::{glance, row_glance};
pub use locale::Locale;
pub use progress::{progress, worked};

use crate::shown::View;

/// Text that somebody wrote, on one line of at most so many characters, each of them visible.
pub(crate) fn fit(text: &str, max_chars: usize) -> String {
    let whole = View::line(max_chars).show(text);
    if whole.complete {
        return whole.text;
    }
    View::line(max_chars.saturating_sub(1)).show(text).text + "…"
}

/// Text that is safe to show already, cut to at most so many characters.
fn cut(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text,
        Some(_) => text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect(),
    }
}
