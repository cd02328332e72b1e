//! Locale: the languages that Throughline speaks, and which of them fits what a person, a terminal or a browser asks
//! for. Any language that is not among them is answered in English.

/// A language of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Locale {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

impl Locale {
    /// All of them.
    pub const ALL: [Locale; 2] = [Locale::En, Locale::Zh];

    /// Its BCP-47 tag.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Locale::En => "en",
            Locale::Zh => "zh",
        }
    }

    /// The language for a tag such as `zh-CN`, or for the value of `LANG` such as `zh_CN.UTF-8`.
    #[must_use]
    pub fn of(tag: &str) -> Self {
        Self::known(tag).unwrap_or_default()
    }

    /// The same, if it is one of ours.
    #[must_use]
    pub fn known(tag: &str) -> Option<Self> {
        let language = tag.trim().split(['-', '_', '.', '@']).next()?;
        Self::ALL.into_iter().find(|locale| language.eq_ignore_ascii_case(locale.tag()))
    }

    /// The language that an `Accept-Language` header likes best among ours.
    #[must_use]
    pub fn accepted(header: &str) -> Option<Self> {
        let wish = |range: &str| {
            let mut parts = range.split(';');
            let locale = Self::known(parts.next()?)?;
            let quality = parts.find_map(|part| part.trim().strip_prefix("q="));
            let quality = quality.map_or(Some(1.0), |number| number.trim().parse::<f32>().ok())?;
            (quality > 0.0).then_some((locale, quality))
        };
        // The first of equals wins.
        header
            .split(',')
            .filter_map(wish)
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
            .map(|wish| wish.0)
    }

    /// Whether a text can be a language tag at all.
    #[must_use]
    pub fn well_formed(tag: &str) -> bool {
        let mut parts = tag.split('-');
        let language = parts.next().unwrap_or_default();
        tag.len() <= 35
            && (2..=3).contains(&language.len())
            && language.chars().all(|letter| letter.is_ascii_alphabetic())
            && parts
                .all(|part| (1..=8).contains(&part.len()) && part.chars().all(|letter| letter.is_ascii_alphanumeric()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_spoken_here_is_answered_in_english() {
        for (tag, locale) in [
            ("en", Locale::En),
            ("zh", Locale::Zh),
            ("ZH-Hans-CN", Locale::Zh),
            ("zh_CN.UTF-8", Locale::Zh),
            ("de-AT", Locale::En),
            ("C", Locale::En),
            ("", Locale::En),
        ] {
            assert_eq!(Locale::of(tag), locale, "{tag}");
        }
    }

    #[test]
    fn a_browser_gets_what_it_likes_best_of_ours() {
        for (header, locale) in [
            ("de, zh-CN;q=0.8, en;q=0.5", Some(Locale::Zh)),
            ("en, zh", Some(Locale::En)),
            ("en;q=0.1, zh;q=0.2", Some(Locale::Zh)),
            ("zh;q=0, fr", None),
            ("zh;q=much", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(Locale::accepted(header), locale, "{header}");
        }
    }

    #[test]
    fn nonsense_is_no_tag() {
        for tag in ["en", "zh-Hans-CN", "de-AT", "yue"] {
            assert!(Locale::well_formed(tag), "{tag}");
        }
        for tag in ["", "e", "english", "zh_CN", "en-", "en\n", "en-äöü", "e1"] {
            assert!(!Locale::well_formed(tag), "{tag}");
        }
    }
}
