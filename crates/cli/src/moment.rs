//! Moments as people read them: the clock of this machine, and how long ago.
//!
//! What travels is RFC 3339; a text that is not is shown as it came.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use throughline_model::present::Locale;

/// The time of day here, such as `22:41`; with the date if it was not today.
pub(crate) fn clock(at: &str) -> String {
    clock_at(at, Timestamp::now(), &TimeZone::system())
}

/// How long ago, in one unit.
pub(crate) fn ago(locale: Locale, at: &str) -> String {
    match at.parse::<Timestamp>() {
        Ok(then) => locale.ago(moment(then), moment(Timestamp::now())),
        Err(_) => at.to_owned(),
    }
}

fn moment(at: Timestamp) -> throughline_model::time::Timestamp {
    throughline_model::time::Timestamp::from_millis(at.as_millisecond())
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
    fn how_long_ago_is_said_in_the_persons_language() {
        assert_eq!(ago(Locale::Zh, &Timestamp::now().to_string()), "刚刚");
        assert_eq!(ago(Locale::En, "whenever"), "whenever");
    }
}
