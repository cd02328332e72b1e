//! Moments as people read them: the clock of this machine, and how long ago.
//!
//! What travels is RFC 3339; a text that is not is shown as it came.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The time of day here, such as `22:41`; with the date if it was not today.
pub(crate) fn clock(at: &str) -> String {
    clock_at(at, Timestamp::now(), &TimeZone::system())
}

/// How long ago, in one unit: `now`, `5 min ago`, `3 h ago`, `2 d ago`.
pub(crate) fn ago(at: &str) -> String {
    ago_from(at, Timestamp::now())
}

/// A duration in the unit that fits: `12 ms`, `1.4 s`, `3 min 5 s`.
pub(crate) fn took(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

fn clock_at(at: &str, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(moment) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let there = moment.to_zoned(zone.clone());
    let today = now.to_zoned(zone.clone()).date() == there.date();
    let shape = if today { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    there.strftime(shape).to_string()
}

fn ago_from(at: &str, now: Timestamp) -> String {
    let Ok(moment) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let secs = now.as_second().saturating_sub(moment.as_second());
    match secs {
        ..60 => "now".to_owned(),
        60..3_600 => format!("{} min ago", secs / 60),
        3_600..86_400 => format!("{} h ago", secs / 3_600),
        _ => format!("{} d ago", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-11-15T12:00:00Z";

    fn now() -> Timestamp {
        NOON.parse().expect("a moment")
    }

    #[test]
    fn today_needs_no_date() {
        let clock = |at| clock_at(at, now(), &TimeZone::UTC);
        assert_eq!(clock("2026-11-15T09:05:59.123Z"), "09:05");
        assert_eq!(clock("2026-11-14T09:05:59Z"), "2026-11-14 09:05");
        assert_eq!(clock("whenever"), "whenever");
    }

    #[test]
    fn one_unit_is_enough() {
        let ago = |at| ago_from(at, now());
        assert_eq!(ago("2026-11-15T11:59:30Z"), "now");
        assert_eq!(ago("2026-11-15T11:30:00Z"), "30 min ago");
        assert_eq!(ago("2026-11-13T12:00:00Z"), "2 d ago");
        assert_eq!(ago("2026-11-16T12:00:00Z"), "now");
    }

    #[test]
    fn durations_get_the_unit_that_fits() {
        assert_eq!(took(12), "12 ms");
        assert_eq!(took(1_449), "1.4 s");
        assert_eq!(took(185_000), "3 min 5 s");
    }
}
