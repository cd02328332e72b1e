//! Quiet hours: whether something has to wait, and until when. By the clocks of the person's time zone, with the system's
//! data of time zones, or those that are built in.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp as Moment, ToSpan as _};
use throughline_model::delivery::{Delivery, PushReason};
use throughline_model::notice::{Quiet, Reason, TimeOfDay, Told};
use throughline_model::time::Timestamp;

use crate::error::EngineError;

/// Who wrote so recently is awake, and is told things there.
const AWAKE: Duration = Duration::from_secs(30 * 60);

/// Until when a delivery has to wait; none if it may leave.
pub(crate) fn until(told: &Told, delivery: &Delivery, at: Timestamp) -> Option<Timestamp> {
    let quiet = told.quiet.as_ref()?;
    let waits = match Reason::of(delivery.push) {
        Some(reason) => !quiet.except.has(reason),
        None => delivery.push == PushReason::Progress,
    };
    let awake = told.spoken_at.is_some_and(|spoken| at < spoken.after(AWAKE));
    if waits && !awake { ends(quiet, at) } else { None }
}

/// When the quiet hours end that it is in at this moment.
pub(crate) fn ends(quiet: &Quiet, at: Timestamp) -> Option<Timestamp> {
    span(quiet, at).map(|(_, ends)| ends)
}

/// When the quiet hours began that it is in at this moment, and when they end.
pub(crate) fn span(quiet: &Quiet, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let zone = zone(&quiet.zone)?;
    let now = Moment::from_millisecond(at.millis()).ok()?;
    let today = now.to_zoned(zone.clone()).date();
    let moment = |day: Date, time: TimeOfDay| {
        let local = day.at(i8::try_from(time.hour).ok()?, i8::try_from(time.minute).ok()?, 0, 0);
        Some(local.to_zoned(zone.clone()).ok()?.timestamp())
    };
    let next_day = (quiet.until.hour, quiet.until.minute) <= (quiet.from.hour, quiet.from.minute);
    // A night began yesterday or today.
    [today.yesterday().ok(), Some(today)].into_iter().flatten().find_map(|day| {
        let last = if next_day { day.checked_add(1.day()).ok()? } else { day };
        let (begins, ends) = (moment(day, quiet.from)?, moment(last, quiet.until)?);
        let moment = |at: Moment| Timestamp::from_millis(at.as_millisecond());
        (begins <= now && now < ends).then(|| (moment(begins), moment(ends)))
    })
}

/// A time zone by its name.
fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

/// The name of the daemon's own time zone.
pub(crate) fn here() -> String {
    TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}

/// Quiet hours as somebody wrote them: `22:00-07:00`, and a time zone.
///
/// # Errors
/// If they are none, or there is no such zone.
pub(crate) fn parse(hours: &str, zone_name: &str) -> Result<Quiet, EngineError> {
    let wrong = |why: String| EngineError::BadQuietHours { why };
    let no_hours = || wrong(format!("`{hours}` is no span of hours such as 22:00-07:00"));
    let (from, until) = hours.split_once(['-', '–', '—', '~']).ok_or_else(no_hours)?;
    let time = |text: &str| text.parse::<TimeOfDay>().map_err(|error| wrong(error.to_string()));
    let (from, until) = (time(from)?, time(until)?);
    if from == until {
        return Err(wrong("they begin and end at the same time".into()));
    }
    let known = zone(zone_name).ok_or_else(|| wrong(format!("there is no time zone `{zone_name}`")))?;
    let zone = known.iana_name().unwrap_or("UTC").to_owned();
    Ok(Quiet { from, until, zone, except: throughline_model::notice::Reasons::none() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(hours: &str, zone: &str) -> Quiet {
        parse(hours, zone).expect("hours")
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::from_millis(text.parse::<Moment>().expect("a moment").as_millisecond())
    }

    #[test]
    fn a_night_goes_over_midnight_by_the_clocks_of_its_zone() {
        let night = quiet("22:00-07:00", "europe/berlin");
        assert_eq!(night.zone, "Europe/Berlin");
        for (now, end) in [
            ("2026-11-16T20:59:59Z", None),
            ("2026-11-16T21:00:00Z", Some("2026-11-17T06:00:00Z")),
            ("2026-11-17T05:59:59Z", Some("2026-11-17T06:00:00Z")),
            ("2026-11-17T06:00:00Z", None),
            // Summer, and the nights in which the clocks change.
            ("2026-07-01T20:00:00Z", Some("2026-07-02T05:00:00Z")),
            ("2026-03-28T22:30:00Z", Some("2026-03-29T05:00:00Z")),
            ("2026-10-24T22:30:00Z", Some("2026-10-25T06:00:00Z")),
        ] {
            assert_eq!(ends(&night, at(now)), end.map(at), "{now}");
        }
        let noon = quiet("12-13:30", "Asia/Shanghai");
        assert_eq!(ends(&noon, at("2026-11-16T04:00:00Z")), Some(at("2026-11-16T05:30:00Z")));
        assert_eq!(ends(&noon, at("2026-11-16T05:30:00Z")), None);
    }

    #[test]
    fn quiet_hours_are_a_span_in_a_zone_that_exists() {
        for (hours, zone) in
            [("22:00", "UTC"), ("22:00-25:00", "UTC"), ("7-7", "UTC"), ("22:00-07:00", "Europe/Atlantis"), ("", "UTC")]
        {
            assert!(parse(hours, zone).is_err(), "{hours} {zone}");
        }
    }
}
