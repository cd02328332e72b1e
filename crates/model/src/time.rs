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

impl Timestamp {
    /// The moment to the minute, as people read it: `2026-11-16 14:00 UTC`.
    #[must_use]
    pub fn utc(self) -> String {
        const DAY_MINUTES: i64 = 24 * 60;
        let minutes = self.0.div_euclid(60_000);
        let (days, minute) = (minutes.div_euclid(DAY_MINUTES), minutes.rem_euclid(DAY_MINUTES));
        // The calendar counts from the first of March, so that a leap day is a year's last.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_a_date_and_a_time() {
        for (millis, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_825_599_999, "2000-02-29 11:59 UTC"),
            (1_794_806_048_000, "2026-11-16 05:14 UTC"),
            (1_798_761_599_000, "2026-12-31 23:59 UTC"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).utc(), text);
        }
    }
}
