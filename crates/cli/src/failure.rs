//! Failure: what goes wrong, as a person sees it: a stable code, a sentence, a hint and an exit code.
//!
//! *Invariant:* every way in which a command can fail ends here, so that stderr always reads
//! `error[CODE]: what happened` and `hint: what to do`, with and without `--json`.

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::safe_text::safe;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It could not be done.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// There is no daemon and it could not be started.
    NoDaemon,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Failed => ExitCode::from(1),
            Exit::Usage => ExitCode::from(2),
            Exit::NoDaemon => ExitCode::from(3),
        }
    }
}

/// What a command ends with.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Stable, the same as in the API and in docs/errors.md.
    pub(crate) code: String,
    /// What happened, in one sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Lines that help to find out more, such as the end of the daemon's log.
    pub(crate) details: Vec<String>,
    /// How the process ends.
    pub(crate) exit: Exit,
}

impl Failure {
    /// A failure with exit code 1 and no hint yet.
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: None, details: Vec::new(), exit: Exit::Failed }
    }

    /// Says what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = (!hint.is_empty()).then_some(hint);
        self
    }

    /// Puts a task's key where the hint says `KEY`: who wrote it could not know which was meant.
    pub(crate) fn about(mut self, key: &str) -> Self {
        self.hint = self.hint.map(|hint| hint.replace("KEY", key));
        self
    }

    /// Ends the process in another way.
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Whether the daemon went away in the middle, so that asking again makes sense.
    pub(crate) fn is_departure(&self) -> bool {
        self.is_unheard() || self.code == "protocol"
    }

    /// Whether the daemon certainly did nothing.
    pub(crate) fn is_unheard(&self) -> bool {
        matches!(self.code.as_str(), "daemon_unreachable" | "stopping")
    }

    /// Bytes that are not text.
    pub(crate) fn invalid_utf8(what: &str) -> Self {
        Self::new("invalid_utf8", format!("{what} is not valid UTF-8"))
            .hint("convert it to UTF-8 first; bytes of any kind can go along with `--attach FILE`")
    }

    /// The text for stderr, with its last newline.
    pub(crate) fn render(&self) -> String {
        let mut text = format!("error[{}]: {}\n", self.code, safe(&self.message));
        for line in &self.details {
            let _ = writeln!(text, "  | {}", safe(line));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {}", safe(hint));
        }
        text
    }
}

/// The end of standard output is not a failure: whoever read it has seen enough.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new("io", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_the_contract_says() {
        let failure = Failure::new("not_found", "there is no such task").hint("`tl tasks`");
        assert_eq!(failure.render(), "error[not_found]: there is no such task\nhint: `tl tasks`\n");
    }

    #[test]
    fn details_stand_between_the_error_and_the_hint() {
        let mut failure = Failure::new("x", "y").hint("z");
        failure.details.push("a line of the log\u{1b}[2J".to_owned());
        assert_eq!(failure.render(), "error[x]: y\n  | a line of the log\\u{1b}[2J\nhint: z\n");
    }
}
