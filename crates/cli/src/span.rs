//! Spans of time as they are typed: `90s`, `30m`, `12h`, `7d`.

/// The longest one: ten years. Who means longer means forever.
const MAX_SECS: u64 = 10 * 365 * 24 * 60 * 60;

/// Reads a span; gives its seconds.
pub(crate) fn secs(typed: &str) -> Result<u64, String> {
    let wrong = || "say how long with a unit: 90s, 30m, 12h or 7d".to_owned();
    let units = [('s', 1), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let split = units.iter().find_map(|(name, secs)| Some((typed.strip_suffix(*name)?, secs)));
    let (number, unit) = split.ok_or_else(wrong)?;
    let number = Some(number).filter(|number| number.bytes().all(|digit| digit.is_ascii_digit()));
    let number: u64 = number.and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    match number.checked_mul(*unit) {
        Some(secs) if (1..=MAX_SECS).contains(&secs) => Ok(secs),
        _ => Err("that is no span that anybody waits for".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit_and_a_bound() {
        for (typed, secs_meant) in [("90s", 90), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800)] {
            assert_eq!(secs(typed), Ok(secs_meant));
        }
        for typed in ["", "7", "d", "-1d", "+1d", "1.5h", "7w", "0s", "99999999999999999999d", "4000d", "七d", "7日"]
        {
            assert!(secs(typed).is_err(), "{typed}");
        }
    }
}
