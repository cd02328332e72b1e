//! Command lines, read strictly: one plain command, or nothing.
//!
//! A line is plain if every shell there is reads it as the same words: letters, digits and a few signs, separated by
//! spaces. Quotes, escapes, operators, substitutions, globs, redirections, comments, line ends and everything beyond
//! ASCII are not understood, on purpose. What is not understood is asked about each time.
//!
//! **Invariant:** joining the words of a plain line with single spaces, and reading that again, gives the same words.

use super::known::{
    ALLOWED_MODULES, INTERPRETERS, KEYWORDS, RUNNERS, SHELL_FLAGS, SHELLS, STARTERS, TELLING_FLAGS, WORDS_THAT_RUN,
    WRAPPERS,
};

/// More words than anybody means by one command.
const MAX_WORDS: usize = 64;
/// A longer line is no plain command.
const MAX_BYTES: usize = 2_048;

/// Why a command is not plain, so that no rule is made of it and none fits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// There is no command, or too much of it.
    Size,
    /// A character that a shell, or an eye, may take for something else.
    Character(char),
    /// It sets a variable for the command.
    Assignment,
    /// It runs what its arguments say.
    Runs(String),
}

/// The words of a plain line.
///
/// # Errors
/// If the line is not plain.
pub fn parse(line: &str) -> Result<Vec<String>, Unclear> {
    if line.len() > MAX_BYTES {
        return Err(Unclear::Size);
    }
    let words: Vec<String> = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    plain(words)
}

/// Words that came as words, if they are plain.
///
/// # Errors
/// If they are not.
pub fn plain(words: Vec<String>) -> Result<Vec<String>, Unclear> {
    if words.is_empty() || words.len() > MAX_WORDS || words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
        return Err(Unclear::Size);
    }
    for word in &words {
        check_word(word)?;
    }
    if words[0].contains('=') {
        return Err(Unclear::Assignment);
    }
    match words.iter().enumerate().find(|(at, word)| runs(&words, *at, word)) {
        Some((_, word)) => Err(Unclear::Runs(word.clone())),
        None => Ok(words),
    }
}

/// The words of a command that an agent sent as a list: a shell around one plain line is taken off, once.
///
/// # Errors
/// If they are not plain.
pub fn unwrapped(words: Vec<String>) -> Result<Vec<String>, Unclear> {
    match words.as_slice() {
        [shell, flag, line] if SHELLS.contains(&shell.as_str()) && SHELL_FLAGS.contains(&flag.as_str()) => parse(line),
        _ => plain(words),
    }
}

fn check_word(word: &str) -> Result<(), Unclear> {
    let odd = |letter: &char| !letter.is_ascii_alphanumeric() && !"_-./,:@+=".contains(*letter);
    match word.chars().find(odd) {
        Some(letter) => Err(Unclear::Character(letter)),
        // An empty word is quoted somewhere; `=x` is a path to some shells; `-` means that more comes from elsewhere.
        None if word.is_empty() => Err(Unclear::Size),
        None if word.starts_with('=') => Err(Unclear::Character('=')),
        None if word == "-" => Err(Unclear::Character('-')),
        None => Ok(()),
    }
}

/// Whether a word makes a command run what its arguments say.
fn runs(words: &[String], at: usize, word: &str) -> bool {
    let program = program(word);
    // Whoever starts a shell or a wrapper, known or not, names it somewhere.
    if WRAPPERS.contains(&program.as_str()) {
        return true;
    }
    if at == 0 {
        let starts = [KEYWORDS, STARTERS].iter().any(|list| list.contains(&program.as_str()));
        return starts || interprets(&program, &words[1..]);
    }
    let first = self::program(&words[0]);
    let of_first = |(name, flags): &&(&str, &[&str])| *name == first && flags.iter().any(|flag| is_flag(word, flag));
    TELLING_FLAGS.iter().any(|flag| is_flag(word, flag))
        || WORDS_THAT_RUN.iter().any(|entry| of_first(&entry))
        // A transport that is a command of its own.
        || (first == "git" && word.contains("::"))
        // What stands before the verb of such a program changes what the verb means.
        || (at == 1 && RUNNERS.contains(&first.as_str()) && word.starts_with('-'))
}

/// A flag as it is, or with a value after `=`.
fn is_flag(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// An interpreter runs a script that is a file, or a module that is known, and nothing else.
fn interprets(program: &str, arguments: &[String]) -> bool {
    if !INTERPRETERS.contains(&program) {
        return false;
    }
    match arguments {
        [flag, module, ..] if flag == "-m" => !ALLOWED_MODULES.contains(&module.as_str()),
        [first, ..] => first.starts_with('-'),
        [] => true,
    }
}

/// The name of a program: without its folder, its version and the case that some file systems ignore.
fn program(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    // `.` is a program too, and so is one that has only a version for a name.
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}
