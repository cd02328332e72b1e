//! "Remember that …": words that ask for a note to be pinned. The message goes its way all the same; the note stays with
//! the task when its agent, session or machine does not.

/// How such a message begins. What follows is the note.
const BEGINS: &[&str] = &[
    "remember that ",
    "remember: ",
    "remember, ",
    "please remember that ",
    "please remember: ",
    "keep in mind that ",
    "don't forget that ",
    "do not forget that ",
    "请记住",
    "请记得",
    "記住",
    "记住",
    "记得",
    "别忘了",
    "merke dir, dass ",
    "merk dir, dass ",
    "merk dir: ",
    "denk daran, dass ",
    "recuerda que ",
    "no olvides que ",
    "souviens-toi que ",
    "n'oublie pas que ",
    "rappelle-toi que ",
    "retiens que ",
    "ricorda che ",
    "ricordati che ",
    "lembre-se de que ",
    "lembre que ",
    "onthoud dat ",
    "запомни, что ",
    "запомни: ",
    "помни, что ",
    "pamiętaj, że ",
    "zapamiętaj, że ",
    "kom ihåg att ",
    "husk at ",
    "muista että ",
    "hãy nhớ rằng ",
    "ingat bahwa ",
    "याद रखो कि ",
    "تذكر أن ",
];

/// How such a message ends, where the verb comes last. What precedes is the note.
const ENDS: &[&str] = &[
    "を覚えておいて",
    "を覚えておいてください",
    "と覚えておいて",
    "って覚えておいて",
    "기억해줘",
    "기억해 줘",
    "기억해",
    "unutma",
];

/// What the message wants to be remembered, if it says so.
#[must_use]
pub fn remembered(message: &str) -> Option<&str> {
    let message = message.trim();
    let begun = BEGINS.iter().find_map(|begin| {
        let head = message.get(..begin.len())?;
        (head.to_lowercase() == *begin).then(|| &message[begin.len()..])
    });
    let ended = || {
        let bare = message.trim_end_matches(['。', '.', '!', '！']);
        ENDS.iter().find_map(|end| bare.strip_suffix(end))
    };
    let note = begun.or_else(ended)?.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '：' | ',' | '，'));
    (!note.is_empty()).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::remembered;

    #[test]
    fn a_wish_is_told_from_other_words() {
        for (message, note) in [
            ("Remember that we deploy on Fridays only", Some("we deploy on Fridays only")),
            ("remember: pnpm, not npm", Some("pnpm, not npm")),
            ("记住：用 pnpm", Some("用 pnpm")),
            ("Merk dir, dass wir Tabs nehmen", Some("wir Tabs nehmen")),
            ("タブを使うことを覚えておいて。", Some("タブを使うこと")),
            ("remember that ", None),
            ("do you remember that bug?", None),
            ("add a remember me box", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(remembered(message), note, "{message}");
        }
    }
}
