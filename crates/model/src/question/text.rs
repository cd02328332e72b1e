//! What a text in a form has to look like: how long, in which format, after which pattern.
//!
//! The formats are those that agents may ask for. A format or a pattern that this version cannot read does not constrain:
//! the person is told what the agent wants, and the agent looks at what it gets.

use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

/// A larger pattern is not tried.
const MAX_PATTERN_BYTES: usize = 65_536;

/// What a text has to look like.
pub(super) struct Look {
    min: u64,
    max: u64,
    format: Option<Format>,
    /// As the agent wrote it, and ready to use if it can be read.
    pattern: Option<(String, Option<Regex>)>,
}

#[derive(Clone, Copy)]
enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Look {
    pub(super) fn read(field: &Value) -> Self {
        let pattern =
            |text: &str| (text.to_owned(), RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build().ok());
        Look {
            min: field["minLength"].as_u64().unwrap_or(0),
            max: field["maxLength"].as_u64().unwrap_or(u64::MAX),
            format: match field["format"].as_str() {
                Some("email") => Some(Format::Email),
                Some("uri") => Some(Format::Uri),
                Some("date") => Some(Format::Date),
                Some("date-time") => Some(Format::DateTime),
                Some(_) | None => None,
            },
            pattern: field["pattern"].as_str().map(pattern),
        }
    }

    /// Whether any words will do.
    pub(super) fn is_free(&self) -> bool {
        self.format.is_none() && self.pattern.is_none() && (self.min, self.max) == (0, u64::MAX)
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        let matches =
            |(_, pattern): &(String, Option<Regex>)| pattern.as_ref().is_none_or(|known| known.is_match(text));
        (self.min..=self.max).contains(&(text.chars().count() as u64))
            && self.format.is_none_or(|format| format.fits(text))
            && self.pattern.as_ref().is_none_or(matches)
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let what = self.format.map_or("a text", Format::words);
        let mut words = match (self.min, self.max) {
            (0, u64::MAX) => what.to_owned(),
            (min, u64::MAX) => format!("{what} of at least {min} characters"),
            (min, max) => format!("{what} of {min} to {max} characters"),
        };
        if let Some((pattern, _)) = &self.pattern {
            words.push_str(&format!(" that matches `{pattern}`"));
        }
        words
    }
}

impl Format {
    fn words(self) -> &'static str {
        match self {
            Format::Email => "an e-mail address",
            Format::Uri => "an address such as https://example.com",
            Format::Date => "a date such as 2026-01-31",
            Format::DateTime => "a date and time such as 2026-01-31T12:00:00Z",
        }
    }

    /// Whether a text is plainly not one. What is true of an address only its owner knows.
    fn fits(self, text: &str) -> bool {
        let seen = !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
        match self {
            Format::Email => {
                let parts = text.rsplit_once('@');
                seen && parts.is_some_and(|(name, host)| !name.is_empty() && !name.contains('@') && is_host(host))
            }
            Format::Uri => {
                let parts = text.split_once(':');
                seen && parts.is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.trim_matches('/').is_empty())
            }
            Format::Date => is_date(text),
            Format::DateTime => {
                let parts = text.split_once(['T', 't']);
                parts.is_some_and(|(date, time)| is_date(date) && is_time(time))
            }
        }
    }
}

fn is_host(host: &str) -> bool {
    host.split('.').all(|part| !part.is_empty())
}

fn is_scheme(scheme: &str) -> bool {
    let rest = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(rest)
}

/// Numbers of so many digits, with these signs between them.
fn numbers(text: &str, sign: char, digits: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(sign).collect();
    let fits = |part: &&str, digits: usize| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    (parts.len() == digits.len() && parts.iter().zip(digits).all(|(part, digits)| fits(part, *digits)))
        .then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, '-', &[4, 2, 2]).and_then(|parts| <[u32; 3]>::try_from(parts).ok())
    else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `12:00:00Z`, with a part of a second or an offset where there is one.
fn is_time(text: &str) -> bool {
    let zone = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (time, zone) = text.split_at(zone);
    let (time, part) = time.split_once('.').unwrap_or((time, "0"));
    let clock = |text: &str, digits: &[usize], bounds: &[u32]| {
        numbers(text, ':', digits).is_some_and(|parts| parts.iter().zip(bounds).all(|(part, bound)| part <= bound))
    };
    let zoned = match zone {
        "Z" | "z" => true,
        "" => false,
        offset => clock(&offset[1..], &[2, 2], &[23, 59]),
    };
    // A second may be a leap second.
    zoned
        && clock(time, &[2, 2, 2], &[23, 59, 60])
        && !part.is_empty()
        && part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(field: Value, text: &str) -> bool {
        Look::read(&field).fits(text)
    }

    #[test]
    fn a_format_refuses_what_is_plainly_something_else() {
        for (format, good, bad) in [
            (
                "email",
                &["a@b.example", "a.b+c@localhost"][..],
                &["a", "@b", "a@", "a@@b", "a b@c", "a@b..c", "a@b\u{7}"][..],
            ),
            (
                "uri",
                &["https://example.com/a?b#c", "urn:isbn:1", "mailto:a@b"],
                &["example.com", "https:", "https://", "1a:b", "ht tp://x", "https://a b", ":x"],
            ),
            (
                "date",
                &["2026-01-31", "2024-02-29", "2000-02-29", "2026-04-30"],
                &[
                    "2026-02-29",
                    "1900-02-29",
                    "2026-04-31",
                    "2026-13-01",
                    "2026-00-01",
                    "2026-01-00",
                    "2026-1-1",
                    "31.1.2026",
                    "２０２６-01-01",
                ],
            ),
            (
                "date-time",
                &["2026-01-31T12:00:00Z", "2026-01-31t23:59:60.25+05:30", "2026-01-31T00:00:00-00:00"],
                &[
                    "2026-01-31",
                    "2026-01-31T12:00Z",
                    "2026-01-31T12:00:00",
                    "2026-01-31T24:00:00Z",
                    "2026-01-31T12:60:00Z",
                    "2026-01-31T12:00:61Z",
                    "2026-01-31T12:00:00.Z",
                    "2026-01-31T12:00:00.xZ",
                    "2026-01-31T12:00:00+24:00",
                    "2026-01-31T12:00:00+05:60",
                    "2026-02-30T12:00:00Z",
                ],
            ),
        ] {
            good.iter().for_each(|text| assert!(fits(json!({"format": format}), text), "{format}: {text}"));
            bad.iter().for_each(|text| assert!(!fits(json!({"format": format}), text), "{format}: {text}"));
        }
        assert!(fits(json!({"format": "hostname"}), "any words"), "what is not known does not constrain");
    }

    #[test]
    fn a_pattern_is_looked_for_anywhere_unless_it_says_where() {
        assert!(fits(json!({"pattern": "[0-9]+"}), "shop-12"));
        assert!(!fits(json!({"pattern": "[0-9]+"}), "shop"));
        assert!(fits(json!({"pattern": "^[a-z]+-\\d+$"}), "shop-12"));
        assert!(!fits(json!({"pattern": "^[a-z]+-\\d+$"}), "a shop-12"));
        assert!(fits(json!({"pattern": "(?=x)y"}), "anything"), "one that cannot be read is left to the agent");
        assert!(fits(json!({"pattern": "(a{1000}){1000}"}), "anything"), "and one that is too large");
    }

    #[test]
    fn what_is_asked_for_is_said() {
        let words = |field: Value| Look::read(&field).words();
        assert_eq!(words(json!({})), "a text");
        assert_eq!(words(json!({"minLength": 2})), "a text of at least 2 characters");
        assert_eq!(words(json!({"format": "email", "maxLength": 9})), "an e-mail address of 0 to 9 characters");
        assert_eq!(words(json!({"format": "uri"})), "an address such as https://example.com");
        assert_eq!(words(json!({"pattern": "^a"})), "a text that matches `^a`");
        for free in [json!({}), json!({"format": "hostname"})] {
            assert!(Look::read(&free).is_free());
        }
        for bound in
            [json!({"minLength": 1}), json!({"maxLength": 1}), json!({"pattern": "x"}), json!({"format": "date"})]
        {
            assert!(!Look::read(&bound).is_free(), "{bound}");
        }
    }
}
