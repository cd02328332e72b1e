//! Text as the router sees it: folded, cut into words, compared by stem. Knows scripts, not languages.

/// Stands where an agent or a model is named.
pub const AGENT: char = '\u{E000}';
/// Stands where a task's key is typed.
pub const KEY: char = '\u{E001}';
/// Stands where a pending command is named.
pub const COMMAND: char = '\u{E002}';
/// Stands where a task is named by the words of its title.
pub const TITLE: char = '\u{E003}';

/// Lower case, without combining marks, full-width forms, typographic quotes and runs of blanks.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '\u{300}'..='\u{36F}' | '\u{200B}'..='\u{200F}' | '\u{FE0F}' | '\u{FEFF}' | '\u{640}' => {}
            '\u{FF01}'..='\u{FF5E}' => {
                out.push(char::from_u32(c as u32 - 0xFEE0).unwrap_or(c).to_ascii_lowercase());
            }
            '’' | '‘' | '`' | '´' => out.push('\''),
            '\u{3000}' | '\u{A0}' => out.push(' '),
            c if c.is_whitespace() => {
                if !out.ends_with([' ', '\n']) {
                    out.push(if c == '\n' { '\n' } else { ' ' });
                }
            }
            c => out.push(plain(c)),
        }
    }
    match out.trim() {
        "+1" => "👍".to_owned(),
        "-1" => "👎".to_owned(),
        text => text.to_owned(),
    }
}

/// A letter without its accent: people type with and without.
fn plain(c: char) -> char {
    const ACCENTED: [(&str, char); 26] = [
        ("àáâãäåāăąạảấầẩẫậắằẳẵặǎ", 'a'),
        ("çćčĉ", 'c'),
        ("đďð", 'd'),
        ("èéêëēėęěẹẻẽếềểễệ", 'e'),
        ("ğĝġģ", 'g'),
        ("ĥħ", 'h'),
        ("ìíîïīįıỉịĩǐ", 'i'),
        ("ĵ", 'j'),
        ("ķ", 'k'),
        ("łĺľļ", 'l'),
        ("ñńňņ", 'n'),
        ("òóôõöøōőơọỏốồổỗộớờởỡợǒ", 'o'),
        ("řŕ", 'r'),
        ("śšşșŝß", 's'),
        ("ťţțŧ", 't'),
        ("ùúûüūůűųưụủứừửữựũǔ", 'u'),
        ("ŵ", 'w'),
        ("ýÿŷỳỵỷỹ", 'y'),
        ("źżž", 'z'),
        ("ё", 'е'),
        ("أإآٱ", 'ا'),
        ("ى", 'ي'),
        ("ة", 'ه'),
        ("άἀ", 'α'),
        ("έ", 'ε'),
        ("ό", 'ο'),
    ];
    if c.is_ascii() || unspaced(c) {
        return c;
    }
    ACCENTED.iter().find(|(from, _)| from.contains(c)).map_or(c, |(_, to)| *to)
}

/// Whether a script is written without blanks between words.
#[must_use]
pub fn unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// What a [`Word`] is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Letters and digits.
    Word,
    /// A run in a script without blanks.
    Run,
    /// One of the masks above.
    Mask,
    /// An emoji or another symbol.
    Symbol,
    /// A mark that ends or parts sentences.
    Mark,
}

/// A piece of a folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The piece.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub at: usize,
    /// What it is made of.
    pub kind: Kind,
}

fn kind(c: char) -> Option<Kind> {
    match c {
        AGENT | KEY | COMMAND | TITLE => Some(Kind::Mask),
        '?' | '!' | '.' | ',' | ':' | ';' | '。' | '，' | '、' | '？' | '！' | '；' | '…' | '\n' | '؟' | '،' | '¿'
        | '।' => Some(Kind::Mark),
        c if unspaced(c) => Some(Kind::Run),
        c if c.is_alphanumeric() || marks_vowel(c) => Some(Kind::Word),
        c if c.is_whitespace() || c.is_ascii() || c.is_control() => None,
        c if ('\u{2010}'..='\u{206F}').contains(&c) || ('\u{3000}'..='\u{303F}').contains(&c) => None,
        _ => Some(Kind::Symbol),
    }
}

/// Vowel signs that belong to a letter in the scripts of India and in Arabic and Hebrew.
fn marks_vowel(c: char) -> bool {
    matches!(c, '\u{0591}'..='\u{05C7}' | '\u{064B}'..='\u{065F}' | '\u{0900}'..='\u{0D7F}')
}

/// Cuts a folded text into words, runs, masks, symbols and marks.
#[must_use]
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::with_capacity(text.len() / 5 + 1);
    let mut open: Option<(usize, Kind)> = None;
    for (at, c) in text.char_indices() {
        let mut found = kind(c);
        let inner_quote = c == '\'' && matches!(open, Some((_, Kind::Word))) && short_tail(&text[at + 1..]);
        if inner_quote {
            found = Some(Kind::Word);
        }
        if let Some((start, open_kind)) = open {
            if found == Some(open_kind) && matches!(open_kind, Kind::Word | Kind::Run) {
                continue;
            }
            out.push(Word { text: &text[start..at], at: start, kind: open_kind });
        }
        open = found.map(|kind| (at, kind));
    }
    if let Some((start, kind)) = open {
        out.push(Word { text: &text[start..], at: start, kind });
    }
    out
}

/// Whether what follows a quote is the tail of an English contraction ("don't", "we're").
fn short_tail(rest: &str) -> bool {
    let tail: String = rest.chars().take_while(|c| c.is_alphanumeric()).take(4).collect();
    matches!(tail.as_str(), "t" | "s" | "re" | "ll" | "ve" | "m" | "d")
}

/// A 32-bit FNV-1a hash of a word without its quotes.
#[must_use]
pub fn hash(text: &str) -> u32 {
    text.bytes().filter(|b| *b != b'\'').fold(0x811c_9dc5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

/// Whether two words share a stem: the same, or a common beginning of most of the longer one.
#[must_use]
pub fn akin(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let mut left = a.chars();
    let mut right = b.chars();
    let mut shared = 0;
    while let (Some(x), Some(y)) = (left.next(), right.next()) {
        if x != y {
            break;
        }
        shared += 1;
    }
    if shared < 3 || a.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let longest = a.chars().count().max(b.chars().count());
    let needed = if longest <= 5 { longest - 1 } else { (longest * 3).div_ceil(5).max(4) };
    shared >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_case_width_and_marks() {
        assert_eq!(fold("  Ｆｉｘ   IT’S  "), "fix it's");
        assert_eq!(fold("cafe\u{301}"), "cafe");
    }

    #[test]
    fn cuts_mixed_scripts_apart() {
        let texts: Vec<&str> = words("让codex也review一下?").iter().map(|w| w.text).collect();
        assert_eq!(texts, ["让", "codex", "也", "review", "一下", "?"]);
        assert_eq!(words("don't t'en").len(), 3);
    }

    #[test]
    fn compares_by_stem() {
        assert!(akin("restarts", "restart"));
        assert!(akin("вебхуки", "вебхуков"));
        assert!(akin("route", "routes"));
        assert!(!akin("test", "team"));
        assert!(!akin("orders", "organise"));
    }
}
