//! Asking a person at the terminal. Stdin is read by one thread, line by line, so that a question can
//! be given up (it was answered elsewhere) without losing what is typed next.

use std::io::{self, BufRead as _, Write as _};
use std::sync::OnceLock;

use tokio::sync::{Mutex, mpsc};

use crate::failure::{Failure, Outcome};

/// What a person said to a yes-or-no question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Anything else, the empty line included.
    Other(String),
    /// There is nobody any more.
    End,
}

/// Asks, and waits for one line. Nothing is lost if the wait is given up.
pub(crate) async fn ask(question: &str) -> Outcome<Answer> {
    show(question)?;
    Ok(next_answer().await)
}

/// Shows a question.
pub(crate) fn show(question: &str) -> Outcome {
    let mut stderr = io::stderr();
    stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).map_err(Failure::from)
}

/// The next line that is typed.
pub(crate) async fn next_answer() -> Answer {
    static LINES: OnceLock<Mutex<mpsc::Receiver<String>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| Mutex::new(read_lines()));
    let line = lines.lock().await.recv().await;
    line.map_or(Answer::End, |line| understand(&line))
}

/// The thread lives as long as the process: a blocked read of stdin cannot be called off.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Whether a word leaves a question for later.
pub(crate) fn skips(word: &str) -> bool {
    !word.is_empty() && ("skip".starts_with(word) || word == "跳过")
}

fn understand(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "是" | "批准" => Answer::Yes,
        "n" | "no" | "否" | "拒绝" => Answer::No,
        other => Answer::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(understand(" Y \n"), Answer::Yes);
        assert_eq!(understand("yes"), Answer::Yes);
        assert_eq!(understand("no"), Answer::No);
        assert_eq!(understand(""), Answer::Other(String::new()));
        assert_eq!(understand("yeah"), Answer::Other("yeah".to_owned()));
        assert_eq!(understand("批准"), Answer::Yes);
        assert_eq!(understand("不批准"), Answer::Other("不批准".to_owned()));
        assert!(skips("s") && skips("跳过") && !skips("") && !skips("x"));
    }
}
