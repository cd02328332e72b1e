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
    /// The day in UTC, such as `2026-11-16`.
    #[must_use]
    pub fn day(self) -> String {
        // Years begin in March here, so that the leap day is the last one.
        let days = self.0.div_euclid(86_400_000) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * march + 2) / 5 + 1;
        let month = if march < 10 { march + 3 } else { march - 9 };
        let year = year + era * 400 + i64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// The moment to the minute, as people read it: `2026-11-16 14:00 UTC`.
    #[must_use]
    pub fn utc(self) -> String {
        const DAY_MINUTES: i64 = 24 * 60;
        let minute = self.0.div_euclid(60_000).rem_euclid(DAY_MINUTES);
        format!("{} {:02}:{:02} UTC", self.day(), minute / 60, minute % 60)
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

    #[test]
    fn days_are_those_of_the_calendar() {
        for (millis, day) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (86_399_999, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_251_200_000, "2024-03-01"),
            (1_767_225_599_999, "2025-12-31"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).day(), day, "{millis}");
        }
    }
}
