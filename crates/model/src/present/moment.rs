//! Moments and spans as people read them, in one unit.

use super::locale::Locale;
use crate::time::Timestamp;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Locale {
    /// How long ago: `just now`, `5 min ago`, `3 h ago`, `2 d ago`.
    #[must_use]
    pub fn ago(self, then: Timestamp, now: Timestamp) -> String {
        match now.millis_since(then) {
            ..MINUTE => self.just_now(),
            span @ MINUTE..HOUR => self.minutes_ago(span / MINUTE),
            span @ HOUR..DAY => self.hours_ago(span / HOUR),
            span => self.days_ago(span / DAY),
        }
    }

    /// How long something took: `12 ms`, `1.4 s`, `3 min 5 s`.
    #[must_use]
    pub fn took(self, millis: u64) -> String {
        match millis {
            0..1_000 => self.span_millis(millis),
            1_000..MINUTE => self.span_seconds(format_args!("{}.{}", millis / 1_000, millis % 1_000 / 100)),
            _ => self.span_minutes(millis / MINUTE, millis % MINUTE / 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_is_enough() {
        let ago = |locale: Locale, millis: i64| locale.ago(Timestamp::from_millis(-millis), Timestamp::from_millis(0));
        let both = |millis| [ago(Locale::En, millis), ago(Locale::Zh, millis)];
        assert_eq!(both(30_000), ["just now", "刚刚"]);
        assert_eq!(both(-30_000), ["just now", "刚刚"], "a clock that went back");
        assert_eq!(both(30 * 60_000), ["30 min ago", "30 分钟前"]);
        assert_eq!(both(3 * 3_600_000 + 5), ["3 h ago", "3 小时前"]);
        assert_eq!(both(49 * 3_600_000), ["2 d ago", "2 天前"]);
    }

    #[test]
    fn spans_get_the_unit_that_fits() {
        let both = |millis| [Locale::En.took(millis), Locale::Zh.took(millis)];
        assert_eq!(both(12), ["12 ms", "12 毫秒"]);
        assert_eq!(both(1_449), ["1.4 s", "1.4 秒"]);
        assert_eq!(both(185_000), ["3 min 5 s", "3 分 5 秒"]);
    }
}
