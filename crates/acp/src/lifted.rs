//! When a limit is lifted, from the words of a failure: agents that know say it in prose.
//!
//! Pure: the moment comes in. A time of day is taken as the next such time in the machine's time zone, which is the one
//! that an agent on it writes in. What is not understood is left alone; nothing is guessed.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp as Moment, ToSpan as _};
use throughline_model::time::Timestamp;

/// Before a time of day.
const AT: [&str; 5] = ["try again at ", "resets at ", "resets ", "reset at ", "available at "];
/// Before a span of time.
const IN: [&str; 5] = ["try again in ", "retry in ", "retry after ", "resets in ", "reset after "];

/// When a limit is lifted, if these words say so.
#[must_use]
pub fn lifted(words: &str, now: Timestamp) -> Option<Timestamp> {
    lifted_in(words, now, &TimeZone::system())
}

fn lifted_in(words: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let words = words.to_lowercase();
    let after = |known: &&str| words.find(*known).map(|at| &words[at + known.len()..]);
    let span = IN.iter().filter_map(after).find_map(span);
    if let Some(span) = span {
        return Some(now.after(span));
    }
    let moment = Moment::from_millisecond(now.millis()).ok()?;
    AT.iter().filter_map(after).find_map(|text| next(time_of_day(text)?, moment, zone))
}

/// The next such time of day.
fn next(time: Time, now: Moment, zone: &TimeZone) -> Option<Timestamp> {
    let today = now.to_zoned(zone.clone());
    let at = today.with().time(time).build().ok()?;
    let at = if at > today { at } else { at.checked_add(1.day()).ok()? };
    Some(Timestamp::from_millis(at.timestamp().as_millisecond()))
}

/// `5:14 am`, `3pm`, `14:00`.
fn time_of_day(text: &str) -> Option<Time> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let (hour, rest) = text.split_at(digits(text));
    let mut hour: i8 = hour.parse().ok()?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let (minute, rest) = rest.split_at(digits(rest));
            (Some(minute.parse::<i8>().ok()?), rest)
        }
        None => (None, rest),
    };
    let half = rest.trim_start();
    if half.starts_with("pm") || half.starts_with("am") {
        hour = hour % 12 + if half.starts_with('p') { 12 } else { 0 };
    } else if minute.is_none() {
        return None;
    }
    Time::new(hour, minute.unwrap_or(0), 0, 0).ok()
}

/// `3h0m0s`, `20s`, `2 hours 5 minutes`, `1.5s`.
fn span(text: &str) -> Option<std::time::Duration> {
    let mut rest = text;
    let mut secs = 0.0;
    loop {
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let Ok(count) = number.trim_end_matches('.').parse::<f64>() else { break };
        let unit_at = rest[number.len()..].trim_start();
        let unit: String = unit_at.chars().take_while(char::is_ascii_alphabetic).collect();
        let each = match unit.as_str() {
            "d" | "day" | "days" => 86_400.0,
            "h" | "hr" | "hour" | "hours" => 3_600.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "ms" => 0.001,
            _ => break,
        };
        secs += count * each;
        rest = unit_at[unit.len()..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    let span = SignedDuration::try_from_secs_f64(secs).ok()?;
    std::time::Duration::try_from(span).ok().filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-16 02:14:00 UTC.
    const NOW: Timestamp = Timestamp::from_millis(1_794_795_240_000);

    #[test]
    fn agents_say_it_in_many_ways() {
        for (words, expected) in [
            ("You’ve hit your usage limit. Upgrade to Pro or try again at 5:14 AM.", Some("2026-11-16 05:14 UTC")),
            ("try again at 1:05 AM.", Some("2026-11-17 01:05 UTC")),
            ("5-hour limit reached ∙ resets 3pm", Some("2026-11-16 15:00 UTC")),
            ("resets at 12am", Some("2026-11-17 00:00 UTC")),
            ("resets at 14:00", Some("2026-11-16 14:00 UTC")),
            ("Rate limit reached for x. Please try again in 3h0m0s.", Some("2026-11-16 05:14 UTC")),
            ("Please retry in 2 hours, 5 minutes and 1 second", Some("2026-11-16 04:19 UTC")),
            ("Please try again in 20s.", Some("2026-11-16 02:14 UTC")),
            ("Please try again later.", None),
            ("try again in a moment", None),
            ("it resets 3 things", None),
            ("try again at Nov 20th, 2026", None),
        ] {
            let lifted = lifted_in(words, NOW, &TimeZone::UTC);
            assert_eq!(lifted.map(Timestamp::utc).as_deref(), expected, "{words}");
        }
    }
}
