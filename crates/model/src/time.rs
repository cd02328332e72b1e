//! Time as the record keeps it: milliseconds since the Unix epoch. Nothing here reads a clock.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::ids::Mint;

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// So much earlier.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This moment and a while.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Milliseconds since an earlier moment; zero if the clock went back.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or_default()
    }
}

/// What a decision may know of the outside: the time, and entropy for the ids it mints.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The time of the decision.
    pub at: Timestamp,
    /// Drawn outside, once per decision; a retry of the same decision reuses it.
    pub entropy: u128,
}

impl Now {
    /// The ids of this decision.
    #[must_use]
    pub fn mint(&self) -> Mint {
        Mint::new(self.at, self.entropy)
    }
}
