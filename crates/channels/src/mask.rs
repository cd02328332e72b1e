//! Secrets never reach a chat: configured values, and what looks like a well-known token, are masked in everything
//! that goes out.
//!
//! **Invariant:** no configured value is in a masked text, not even in one whose pieces came together from several
//! spans, or stand on several lines: what is looked at is what people will see.

use std::ops::Range;

use crate::rich::{Look, Rich};

/// What stands for a secret.
const MASK: &str = "•••";
/// A configured value that is shorter would mask words.
const SHORTEST: usize = 8;

/// How a well-known token begins, how many letters must follow, and which ones may.
const SHAPES: &[(&str, usize, Letters)] = &[
    // Anthropic and OpenAI.
    ("sk-ant-", 16, Letters::Word),
    ("sk-proj-", 16, Letters::Word),
    ("sk-svcacct-", 16, Letters::Word),
    ("sk-admin-", 16, Letters::Word),
    ("sk-", 20, Letters::Random),
    // GitHub and GitLab.
    ("ghp_", 30, Letters::Word),
    ("gho_", 30, Letters::Word),
    ("ghu_", 30, Letters::Word),
    ("ghs_", 30, Letters::Word),
    ("ghr_", 30, Letters::Word),
    ("github_pat_", 30, Letters::Word),
    ("glpat-", 16, Letters::Word),
    ("gldt-", 16, Letters::Word),
    ("glrt-", 16, Letters::Word),
    ("glptt-", 16, Letters::Word),
    // Slack.
    ("xoxa-", 20, Letters::Word),
    ("xoxb-", 20, Letters::Word),
    ("xoxc-", 20, Letters::Word),
    ("xoxd-", 20, Letters::Word),
    ("xoxe-", 20, Letters::Word),
    ("xoxe.", 20, Letters::Word),
    ("xoxp-", 20, Letters::Word),
    ("xoxr-", 20, Letters::Word),
    ("xoxs-", 20, Letters::Word),
    ("xapp-", 20, Letters::Word),
    ("hooks.slack.com/services/", 20, Letters::Path),
    ("discord.com/api/webhooks/", 20, Letters::Path),
    ("open.feishu.cn/open-apis/bot/v2/hook/", 20, Letters::Path),
    ("open.larksuite.com/open-apis/bot/v2/hook/", 20, Letters::Path),
    // Clouds.
    ("AKIA", 16, Letters::Word),
    ("ASIA", 16, Letters::Word),
    ("AIza", 30, Letters::Word),
    ("ya29.", 20, Letters::Word),
    ("GOCSPX-", 20, Letters::Word),
    ("1//0", 40, Letters::Word),
    ("dop_v1_", 30, Letters::Word),
    ("hvs.", 24, Letters::Word),
    ("hvb.", 24, Letters::Word),
    ("dapi", 32, Letters::Hex),
    ("sbp_", 40, Letters::Hex),
    ("tskey-", 20, Letters::Random),
    ("HRKU-", 30, Letters::Word),
    ("dp.pt.", 30, Letters::Word),
    // Models.
    ("gsk_", 30, Letters::Word),
    ("xai-", 30, Letters::Random),
    ("pplx-", 30, Letters::Random),
    ("r8_", 30, Letters::Word),
    // Packages, models, payments, mail, work.
    ("npm_", 30, Letters::Word),
    ("pypi-", 40, Letters::Word),
    ("dckr_pat_", 20, Letters::Word),
    ("hf_", 30, Letters::Word),
    ("sk_live_", 16, Letters::Word),
    ("rk_live_", 16, Letters::Word),
    ("sk_test_", 16, Letters::Word),
    ("whsec_", 24, Letters::Word),
    ("shpat_", 32, Letters::Hex),
    ("SG.", 40, Letters::Word),
    ("key-", 32, Letters::Hex),
    ("lin_api_", 30, Letters::Word),
    ("ntn_", 40, Letters::Word),
    ("figd_", 30, Letters::Word),
    ("sntrys_", 30, Letters::Word),
    ("sntryu_", 30, Letters::Word),
    ("NRAK-", 24, Letters::Word),
    ("PMAK-", 40, Letters::Word),
    ("AGE-SECRET-KEY-1", 40, Letters::Word),
    // A JSON Web Token.
    ("eyJ", 60, Letters::Word),
];

/// Which letters a token is made of.
#[derive(Clone, Copy)]
enum Letters {
    /// Letters, digits, dashes and dots.
    Word,
    /// The same, and it must look random: words joined by dashes do not.
    Random,
    /// The same as the first, and slashes.
    Path,
    /// What a number in base sixteen is made of.
    Hex,
}

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Letters::Hex => byte.is_ascii_hexdigit(),
            Letters::Word | Letters::Random | Letters::Path => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'-' | b'_' | b'.')
                    || (matches!(self, Letters::Path) && byte == b'/')
            }
        }
    }
}

/// How the name of something secret ends, in small letters.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secret_key",
    "secretkey",
    "clientsecret",
    "token",
    "accesstoken",
    "authtoken",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "accountkey",
    "private_key",
];

/// What is to be masked.
#[derive(Clone, Default)]
pub struct Mask {
    values: Vec<String>,
}

impl Mask {
    /// Masks these values besides the well-known shapes.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let trimmed = values.into_iter().map(|value| value.trim().to_owned());
        Self { values: trimmed.filter(|value| value.len() >= SHORTEST).collect() }
    }

    /// The text with its secrets masked.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let masked = cover(text, 0, &self.found(text));
        if self.knows(&masked) { MASK.to_owned() } else { masked }
    }

    /// The same for text with a shape. A secret that goes over several spans is masked in the first of them.
    #[must_use]
    pub fn rich(&self, rich: &Rich) -> Rich {
        let letters = rich.letters();
        let mut found = self.found(&letters);
        let mut at = 0;
        for span in &rich.spans {
            // A token begins with its span, whatever stands before.
            found.extend(self.found(&span.text).into_iter().map(|range| range.start + at..range.end + at));
            at += span.text.len();
        }
        let found = merged(found);
        let (mut masked, mut at) = (Rich::default(), 0);
        for span in &rich.spans {
            masked = masked.and(self.look(&span.look), cover(&span.text, at, &found));
            at += span.text.len();
        }
        if self.knows(&masked.letters()) { Rich::plain(MASK) } else { masked }
    }

    fn look(&self, look: &Look) -> Look {
        match look {
            Look::Plain | Look::Bold | Look::Code => look.clone(),
            Look::Block { language } => Look::Block { language: self.apply(language) },
            Look::Link { url } => Look::Link { url: self.apply(url) },
        }
    }

    /// Whether a configured value is in the text: possible after masking only where one looks like a mask.
    fn knows(&self, text: &str) -> bool {
        self.values.iter().any(|value| text.contains(value.as_str()))
    }

    fn found(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = shapes(text);
        for value in &self.values {
            let mut from = 0;
            while let Some(at) = text[from..].find(value.as_str()).map(|at| from + at) {
                found.push(at..at + value.len());
                // The next may overlap with this one.
                from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        found.extend(self.scattered(text));
        merged(found)
    }

    /// Where a configured value stands whose letters only the end of a line, a mark or something unseen keeps apart.
    fn scattered(&self, text: &str) -> Vec<Range<usize>> {
        if self.values.is_empty() {
            return vec![];
        }
        let together = |text: &str| letters(text).map(|(_, char)| char).collect::<String>();
        let whole = together(text);
        let values = self.values.iter().map(|value| together(value)).filter(|value| value.len() >= SHORTEST);
        let found = values
            .flat_map(|value| whole.match_indices(&value).map(|(at, value)| at..at + value.len()).collect::<Vec<_>>());
        let (mut found, mut start, mut at) = (merged(found.collect()).into_iter().peekable(), 0, 0);
        let mut places = vec![];
        for (place, char) in letters(text) {
            let Some(range) = found.peek() else { break };
            if at == range.start {
                start = place;
            }
            at += char.len_utf8();
            if at == range.end {
                places.push(start..place + char.len_utf8());
                found.next();
            }
        }
        places
    }
}

/// What is left of a text without the ends of its lines, what they are indented with, marks, and what nobody sees.
fn letters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut indented = false;
    text.char_indices().filter(move |(_, char)| match char {
        '\n' | '\r' => {
            indented = true;
            false
        }
        ' ' | '\t' if indented => false,
        '`' | '*' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => false,
        _ => {
            indented = false;
            true
        }
    })
}

/// In order, those that touch made one.
fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = vec![];
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

/// The text with a mask where each range begins. The text begins at `at` of what the ranges count.
fn cover(text: &str, at: usize, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        let (start, end) = (range.start.saturating_sub(at), range.end.saturating_sub(at));
        if end == 0 || start >= text.len() {
            continue;
        }
        out.push_str(&text[from..start.max(from)]);
        if range.start >= at {
            out.push_str(MASK);
        }
        from = end.min(text.len());
    }
    out.push_str(&text[from..]);
    out
}

/// Where something stands that looks like a secret.
fn shapes(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut before: Option<char> = None;
    let mut from = 0;
    for (at, char) in text.char_indices() {
        // A token begins where a word does.
        let begins = before.is_none_or(|before| !before.is_ascii_alphanumeric());
        before = Some(char);
        if at < from || !begins {
            continue;
        }
        let rest = &text[at..];
        let secret = key(rest).or_else(|| token(rest)).or_else(|| bot(rest)).or_else(|| header(rest));
        let secret = secret.or_else(|| assigned(rest)).or_else(|| called(rest)).or_else(|| password(rest));
        if let Some(secret) = secret {
            from = at + secret.end;
            found.push(at + secret.start..at + secret.end);
        }
    }
    found
}

/// A private key, to its last line, or to the end if that is missing.
fn key(text: &str) -> Option<Range<usize>> {
    let title = text.strip_prefix("-----BEGIN ")?;
    let title = &title[..title.find("-----")?];
    if !title.contains("PRIVATE KEY") || title.contains('\n') {
        return None;
    }
    let end = text.find("-----END ").and_then(|end| Some(end + 9 + text[end + 9..].find("-----")? + 5));
    Some(0..end.unwrap_or(text.len()))
}

/// One of the well-known shapes.
fn token(text: &str) -> Option<Range<usize>> {
    let fits = |(prefix, least, letters): &(&str, usize, Letters)| {
        let tail = text.strip_prefix(prefix)?;
        let len = run(tail, |byte| letters.has(byte));
        let sound = len >= *least && (!matches!(letters, Letters::Random) || is_random(&tail[..len]));
        sound.then_some(0..prefix.len() + len)
    };
    SHAPES.iter().find_map(fits)
}

/// How many bytes go on like this; a full stop ends the sentence, not the token.
fn run(text: &str, goes_on: impl Fn(u8) -> bool) -> usize {
    let len = text.bytes().take_while(|byte| goes_on(*byte)).count();
    text[..len].trim_end_matches('.').len()
}

/// Whether it has digits, or letters of both sizes.
fn is_random(text: &str) -> bool {
    let any = |like: fn(&u8) -> bool| text.as_bytes().iter().any(like);
    any(u8::is_ascii_digit) || (any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase))
}

/// The token of a Telegram bot: its number, a colon, and 35 letters.
fn bot(text: &str) -> Option<Range<usize>> {
    let digits = run(text, |byte| byte.is_ascii_digit());
    let secret = text[digits..].strip_prefix(':').filter(|_| (6..=12).contains(&digits))?;
    let len = run(secret, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (30..=50).contains(&len).then_some(0..digits + 1 + len)
}

/// What follows `Authorization:`, or `Bearer` where it looks random.
fn header(text: &str) -> Option<Range<usize>> {
    let credential = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if let Some(len) = starts(text, "bearer ") {
        let secret = run(&text[len..], credential);
        return (secret >= 16 && is_random(&text[len..len + secret])).then_some(len..len + secret);
    }
    let (name, mut value) = (starts(text, "proxy-authorization").or_else(|| starts(text, "authorization"))?, 0);
    let sign = text[name..].trim_start_matches(['"', '\'', ' ']);
    value += text.len() - sign.trim_start_matches([':', '=', ' ', '"', '\'']).len();
    if !sign.starts_with([':', '=']) {
        return None;
    }
    let scheme = ["bearer ", "basic ", "token ", "digest "].iter().find_map(|scheme| starts(&text[value..], scheme));
    value += scheme.unwrap_or(0);
    let secret = run(&text[value..], credential);
    (secret >= 6).then_some(value..value + secret)
}

/// The secret half of a key of Amazon's, which only its name gives away.
fn assigned(text: &str) -> Option<Range<usize>> {
    let name = ["aws_secret_access_key", "secret_access_key", "secretaccesskey"];
    let name = name.iter().find_map(|name| starts(text, name))?;
    let value = text.len() - text[name..].trim_start_matches([':', '=', ' ', '"', '\'']).len();
    let secret = run(&text[value..], |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'='));
    (value > name && secret >= 30).then_some(value..value + secret)
}

/// What follows a name that says it is secret, where it looks like no word: letters and digits.
fn called(text: &str) -> Option<Range<usize>> {
    let name = SECRET_NAMES.iter().filter_map(|name| starts(text, name)).max()?;
    let sign = text[name..].trim_start_matches(['"', '\'', ' ']);
    if !sign.starts_with([':', '=']) {
        return None;
    }
    let value = text.len() - sign.trim_start_matches([':', '=', ' ', '"', '\'']).len();
    let secret = text[value..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_+/=!@#%^~".contains(byte));
    let secret = secret.count();
    let has = |like: fn(&u8) -> bool| text.as_bytes()[value..value + secret].iter().any(like);
    (secret >= 12 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)).then_some(value..value + secret)
}

/// The password in an address, or the token that stands where a name should.
fn password(text: &str) -> Option<Range<usize>> {
    let scheme = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    let authority = text[scheme..].strip_prefix("://").filter(|_| scheme > 0)?;
    let end =
        authority.find(|char: char| char.is_whitespace() || "/?#\"'`<>".contains(char)).unwrap_or(authority.len());
    let who = &authority[..authority[..end].rfind('@')?];
    let begins = scheme + 3;
    match who.split_once(':') {
        Some((_, "")) => None,
        Some((user, _)) => Some(begins + user.len() + 1..begins + who.len()),
        None => (who.len() >= 20).then_some(begins..begins + who.len()),
    }
}

/// How long the word is that the text begins with, in letters of any size.
fn starts(text: &str, word: &str) -> Option<usize> {
    text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Letters and digits that nobody could mistake for words.
    fn random(len: usize) -> String {
        "aZ3kQ9xB7mW2".chars().cycle().take(len).collect()
    }

    #[test]
    fn well_known_tokens_are_masked() {
        let long = random(48);
        let tokens = [
            format!("sk-ant-api03-{long}"),
            format!("sk-proj-{long}"),
            format!("sk-{long}"),
            format!("ghp_{}", random(36)),
            format!("github_pat_11AAAAAAA0_{long}"),
            format!("glpat-{}", random(20)),
            format!("xoxb-123456789012-123456789012-{}", random(24)),
            format!("xapp-1-A0123-456-{long}"),
            "hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX".to_owned(),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "ASIAIOSFODNN7EXAMPLE".to_owned(),
            format!("AIza{}", random(35)),
            format!("npm_{}", random(36)),
            format!("hf_{}", random(34)),
            format!("sk_live_{}", random(24)),
            format!("xoxc-1234567890-{}", random(24)),
            format!("GOCSPX-{}", random(28)),
            format!("1//0{}", random(60)),
            format!("hvs.{}", random(90)),
            format!("gsk_{}", random(52)),
            format!("xai-{}", random(60)),
            format!("pplx-{}", random(48)),
            format!("r8_{}", random(37)),
            format!("dckr_pat_{}", random(27)),
            format!("whsec_{}", random(32)),
            format!("shpat_{}", "0123456789abcdef".repeat(2)),
            format!("dapi{}", "0123456789abcdef".repeat(2)),
            format!("key-{}", "0123456789abcdef".repeat(2)),
            format!("lin_api_{}", random(40)),
            format!("ntn_{}", random(46)),
            format!("figd_{}", random(40)),
            format!("tskey-auth-{}", random(30)),
            format!("sntrys_{}", random(60)),
            format!("NRAK-{}", random(27)),
            format!("PMAK-{}-{}", random(24), random(34)),
            format!("gldt-{}", random(20)),
            format!("discord.com/api/webhooks/123456789012345678/{}", random(68)),
            "open.feishu.cn/open-apis/bot/v2/hook/01234567-89ab-cdef-0123-456789abcdef".to_owned(),
            format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{long}"),
            format!("123456789:{}", random(35)),
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----".to_owned(),
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb".to_owned(),
        ];
        for token in tokens {
            assert_eq!(Mask::default().apply(&token), MASK, "{token}");
            // Whatever key has no last line goes to the end.
            let ends = !token.ends_with("b3Blb");
            let said = Mask::default().apply(&format!("key: {token}. It is (`{token}`)\n"));
            assert_eq!(said, if ends { "key: •••. It is (`•••`)\n" } else { "key: •••" }, "{token}");
        }
    }

    #[test]
    fn only_the_secret_of_a_header_an_address_or_a_setting_is_masked() {
        let secret = random(40);
        for (text, masked) in [
            (format!("Authorization: Bearer {secret}"), "Authorization: Bearer •••"),
            (format!("curl -H 'authorization: token {secret}' x"), "curl -H 'authorization: token •••' x"),
            ("Authorization: Basic dXNlcjpwYXNz".to_owned(), "Authorization: Basic •••"),
            (format!("{{\"Authorization\": \"Bearer {secret}\"}}"), "{\"Authorization\": \"Bearer •••\"}"),
            (format!("with bearer {secret}, then"), "with bearer •••, then"),
            ("postgres://me:hunter2@db.local/x".to_owned(), "postgres://me:•••@db.local/x"),
            ("see https://u:p@ss@host:80/a?b and".to_owned(), "see https://u:•••@host:80/a?b and"),
            ("https://x-access-token-0123456@github.com/a".to_owned(), "https://•••@github.com/a"),
            (format!("AWS_SECRET_ACCESS_KEY={secret}"), "AWS_SECRET_ACCESS_KEY=•••"),
            (format!("aws_secret_access_key = \"{secret}\""), "aws_secret_access_key = \"•••\""),
            ("DB_PASSWORD=correcthorse99battery".to_owned(), "DB_PASSWORD=•••"),
            ("mysql --password=Tr0ub4dor3xyz -u me".to_owned(), "mysql --password=••• -u me"),
            (format!("{{\"apiKey\": \"{secret}\"}}"), "{\"apiKey\": \"•••\"}"),
            (format!("x;AccountKey={secret}==;y"), "x;AccountKey=•••;y"),
            (format!("SERVICE_TOKEN: {secret}"), "SERVICE_TOKEN: •••"),
        ] {
            assert_eq!(Mask::default().apply(&text), masked);
        }
    }

    #[test]
    fn words_stay() {
        let mask = Mask::new(["short".into()]);
        for text in [
            "task-12 is short",
            "sk-8",
            "sk-learn-has-a-long-name-but-is-no-key",
            "ask-ant-farm-with-many-letters-in-it",
            "-----BEGIN CERTIFICATE-----\nPRIVATE KEY-----",
            "eyJust",
            "the bearer certificateholders",
            "authorization is needed",
            "https://example.org/a:b@c",
            "mail me@example.org, ssh://git@host/x",
            "12:30:45 and 1234567:89",
            "http://localhost:8080/",
            "token: 123456789012345",
            "the password: ask-somebody-for-it",
            "TOKEN=$GITHUB_TOKEN_2_FROM_HERE",
            "const apiKey = process.env.OPENAI_KEY_1",
            "token = get_token(request_1)",
            "tokens = 1a2b3c4d5e6f7g8h",
            "key-value-pairs-are-no-secret, dapper",
            "xai-is-a-company-with-a-long-name-here",
        ] {
            assert_eq!(mask.apply(text), text);
        }
    }

    #[test]
    fn configured_values_are_masked_whole() {
        let mask = Mask::new(["hunter2hunter2".into(), "hunter2hunter2-long\n".into()]);
        assert_eq!(mask.apply("a hunter2hunter2-long b hunter2hunter2"), "a ••• b •••");
        assert_eq!(mask.apply("hunter2hunter2hunter2"), "•••", "what overlaps is one");
    }

    #[test]
    fn a_secret_in_pieces_is_seen_as_people_see_it() {
        let mask = Mask::new(["hunter2hunter2".into()]);
        let rich =
            mask.rich(&Rich::from_markdown("is **hunter2**`hunter2`, and `sk-ant-api03-`**abcdefgh0123456789**"));
        assert_eq!(rich.letters(), "is •••, and •••");
        let link = Rich::default().and(Look::Link { url: "https://u:secret@h/".into() }, "see");
        assert_eq!(mask.rich(&link).spans[0].look, Look::Link { url: "https://u:•••@h/".into() });
        let glued = Rich::plain("key").and(Look::Code, format!("ghp_{}", random(36)));
        assert_eq!(mask.rich(&glued).letters(), "key•••");
    }

    #[test]
    fn a_secret_on_several_lines_is_seen_as_people_see_it() {
        let mask = Mask::new(["hunter2-hunter2-hunter2".into(), "pass\nword-1234".into()]);
        for (text, masked) in [
            ("it is hunter2-hun\n    ter2-hunter2, really\n  so", "it is •••, really\n  so"),
            ("it is hunter2-\r\nhunter2-hunter2", "it is •••"),
            ("`hunter2`-hunter2-**hunter2**", "`•••**"),
            ("hunter2\u{200b}-hunter2-hunter2 é", "••• é"),
            ("password-1234", "•••"),
            ("hunter2- hunter2-hunter2", "hunter2- hunter2-hunter2"),
        ] {
            assert_eq!(mask.apply(text), masked);
        }
    }

    #[test]
    fn a_value_that_looks_like_a_mask_is_masked_all_the_same() {
        let mask = Mask::new(["a•••b•••c".into(), "password1".into()]);
        assert_eq!(mask.apply("apassword1bpassword1c"), MASK);
    }

    /// Values that share letters with each other and with the mask.
    fn value() -> impl Strategy<Value = String> {
        "[ab•é]{4,12}"
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_configured_value_is_in_a_masked_text(
            values in proptest::collection::vec(value(), 1..4),
            pieces in proptest::collection::vec(("[ab•é :/@]{0,5}", 0usize..4, 0usize..6), 0..6),
        ) {
            let mask = Mask::new(values.clone());
            let (mut text, mut rich) = (String::new(), Rich::default());
            for (between, which, look) in pieces {
                let value = values.get(which).map_or("", String::as_str);
                text.push_str(&between);
                text.push_str(value);
                // The value's two halves look different.
                let half = value.chars().count() / 2;
                let (one, other): (String, String) = (value.chars().take(half).collect(), value.chars().skip(half).collect());
                let look = [Look::Plain, Look::Bold, Look::Code][look % 3].clone();
                rich = rich.and(Look::Plain, between).and(look, one).and(Look::Bold, other);
            }
            let secrets: Vec<_> = values.iter().filter(|value| value.len() >= SHORTEST).collect();
            let (masked, letters) = (mask.apply(&text), mask.rich(&rich).letters());
            for secret in secrets {
                prop_assert!(!masked.contains(secret.as_str()), "{masked}");
                prop_assert!(!letters.contains(secret.as_str()), "{letters}");
            }
        }

        #[test]
        fn any_text_can_be_masked(text in any::<String>(), spans in proptest::collection::vec(any::<String>(), 0..4)) {
            let mask = Mask::new([text.clone()]);
            let _ = mask.apply(&text);
            let rich = spans.into_iter().fold(Rich::default(), |rich, text| rich.and(Look::Code, text));
            let _ = mask.rich(&rich);
        }
    }
}
