//! What must hold for every text there is: of the command parser, of the display escaper and of rules.
//!
//! `noise.rs` tries a few thousand texts with every test run; `cargo xtask fuzz` lets libFuzzer look for others. Neither
//! knows more than these functions, which panic where something does not hold.

use throughline_model::approval::{Ask, Source, Verdict};
use throughline_model::channel::Channel;
use throughline_model::execution::Role;
use throughline_model::ids::{Id, Mint};
use throughline_model::policy::action::{Action, Places};
use throughline_model::policy::argv::{parse, unwrapped};
use throughline_model::policy::{Made, Policy, Question, Rule, RuleDraft, rule_for};
use throughline_model::shown::{Lines, View};
use throughline_model::time::Timestamp;

/// A line that is taken for a plain command has nothing in it that any shell could take for something else.
pub fn argv(text: &str) {
    if let Ok(words) = parse(text) {
        assert_plain(text);
        assert_eq!(words, text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
        assert_eq!(parse(&words.join(" ")), Ok(words));
    }
    let list: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if let Ok(words) = unwrapped(list.clone()) {
        assert_plain(&words.join(" "));
        let shell_around = list.len() == 3 && parse(&list[2]).as_ref() == Ok(&words);
        assert!(words == list || shell_around, "{list:?} became {words:?}");
    }
}

/// What is shown can be read back, has nothing in it that cannot be seen, and says when it is not all.
pub fn shown(text: &str) {
    let whole = View::FULL.show(text);
    if whole.complete {
        assert_eq!(read_back(&whole.text), text);
    }
    assert!(whole.text.chars().all(|letter| letter == '\n' || can_be_seen(letter)), "{:?}", whole.text);
    assert!(whole.text.split('\n').all(|line| !line.ends_with(' ')), "{:?}", whole.text);
    let line = View::line(View::FULL.max_chars).show(text);
    assert!(!line.text.contains('\n'), "{:?}", line.text);
    // Any bound will do; this one is within the text where it can be.
    let max_chars = text.bytes().map(usize::from).sum::<usize>() % (text.len() + 1);
    let part = View { max_chars, lines: Lines::Kept }.show(text);
    assert!(part.text.chars().count() <= max_chars);
    assert!(whole.text.starts_with(&part.text));
    assert_eq!(part.complete, part.text == whole.text && whole.complete);
}

/// A rule that was made of one plain command, the first line, allows that command, and of what follows nothing but
/// plain commands that begin with the same words.
pub fn rules(text: &str) {
    let (approved, asked) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(draft) = rule_for(&ask(approved.into()), any_id()) else { return };
    let words = draft.argv.clone();
    let policy = policy(draft);
    assert_plain(approved);
    assert!(allows(&policy, &ask(approved.into())), "{approved:?} was approved");
    if allows(&policy, &ask(asked.into())) {
        assert_plain(asked);
        let asked: Vec<&str> = asked.split(' ').filter(|word| !word.is_empty()).collect();
        assert!(words.iter().zip(&asked).all(|(word, other)| word == other) && asked.len() >= words.len(), "{asked:?}");
    }
    let list: Vec<&str> = asked.split('\n').collect();
    if allows(&policy, &ask(list.clone().into())) {
        assert_plain(list.last().expect("there is a word"));
        assert!(list.concat().contains(words[0].as_str()), "{list:?}");
    }
}

fn assert_plain(line: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _-./,:@+=".contains(&byte);
    assert!(line.bytes().all(plain), "{line:?} is not plain");
}

/// A judgement that shares nothing with the escaper's own: what Unicode says of the characters that hide others.
fn can_be_seen(letter: char) -> bool {
    let hides = matches!(u32::from(letter),
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff | 0xe000..=0xf8ff | 0xf0000..=0x10ffff);
    !letter.is_control() && !hides && (letter == ' ' || !letter.is_whitespace())
}

fn read_back(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find("\\u{") {
        text.push_str(&rest[..at]);
        let (digits, after) = rest[at + 3..].split_once('}').expect("an escape is closed");
        let number = u32::from_str_radix(digits, 16).expect("an escape is a number");
        text.push(char::from_u32(number).expect("an escape is a character"));
        rest = after;
    }
    text + rest
}

fn ask(command: serde_json::Value) -> Ask {
    let input = serde_json::json!({ "command": command }).to_string();
    let (call, title, tool) = ("c".into(), "Run a command".into(), "execute".into());
    Ask { call, title, tool, input: Some(input.as_str().into()), cwd: "/shop".into() }
}

fn policy(draft: RuleDraft) -> Policy {
    let source = Source { surface: Channel::Cli, identity: None, conversation: None };
    let made = Made { by: any_id(), source, at: Timestamp::from_millis(0) };
    Policy { version: 1, made: 1, rules: vec![Rule { number: 1, draft, made, uses: 0 }], allowances: vec![] }
}

fn any_id<T: Id>() -> T {
    Mint::new(Timestamp::from_millis(0), 0).id()
}

fn allows(policy: &Policy, ask: &Ask) -> bool {
    let action = Action::of(ask);
    let places = Places(action.paths().into_iter().map(|path| (path.to_owned(), path.to_owned())).collect());
    let at = Timestamp::from_millis(0);
    let question = Question { role: Role::Editor, action: &action, places: &places, roots: &["/shop"], at };
    policy.judge(question).is_some_and(|ruling| ruling.standing.verdict() == Verdict::Approve)
}
