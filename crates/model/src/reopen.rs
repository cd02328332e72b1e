//! "Reopen shop-2": words that ask for a task to be open again that was closed. The router turns the conversation to it; these
//! words tell that from a mere look at it.

/// Words that ask for it.
const WORDS: &[&str] = &[
    "reopen",
    "re-open",
    "重新打开",
    "重新開啟",
    "重开",
    "重開",
    "再開",
    "다시 열",
    "rouvre",
    "rouvrir",
    "rouvrez",
    "reabre",
    "reabrir",
    "reabra",
    "riapri",
    "heropen",
    "переоткрой",
];
/// Words that ask for it together.
const PAIRS: &[(&str, &str)] = &[("open", "again"), ("öffne", "wieder"), ("открой", "снова")];
/// Words that take it back.
const NOT: &[&str] = &[" don't ", " not ", "别", "不要", " nicht ", " ne ", " no ", " не "];

/// Whether a message that is about a task asks for it to be open again.
#[must_use]
pub fn reopens(message: &str) -> bool {
    let message = format!(" {} ", message.to_lowercase());
    let has = |word: &&str| message.contains(*word);
    let asks = WORDS.iter().any(&has) || PAIRS.iter().any(|(one, other)| has(one) && has(other));
    asks && !NOT.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::reopens;

    #[test]
    fn a_wish_is_told_from_a_look() {
        for message in
            ["reopen shop-1", "Please re-open shop-1", "open shop-1 again", "把 shop-1 重新打开", "öffne shop-1 wieder"]
        {
            assert!(reopens(message), "{message}");
        }
        for message in ["open shop-1", "switch to shop-1", "don't reopen shop-1", "别重新打开 shop-1", "shop-1", ""]
        {
            assert!(!reopens(message), "{message}");
        }
    }
}
