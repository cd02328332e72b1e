//! Output: where a command prints, and whether colour, JSON and questions are in order there.
//!
//! Stdout gets what was asked for, stderr gets errors and asides. *Invariants:* with `--json` stdout
//! holds JSON and nothing else; colour and progress appear only on a terminal and never with
//! `NO_COLOR`; a reader that goes away ends the process quietly with exit code 0.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::failure::Outcome;

/// What stdout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// Whether text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colour,
}

/// Whether a person sits there to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Person,
    Nobody,
}

/// How a piece of text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
    Accent,
    /// White on black, whatever the terminal's own colours are.
    Lamp,
}

/// Where a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    paint: Paint,
    presence: Presence,
}

impl Output {
    /// What the process was given.
    pub(crate) fn of_process(format: Format) -> Self {
        let terminal = io::stdout().is_terminal();
        let colour = terminal
            && format == Format::Text
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|value| value != "dumb");
        let person = terminal && format == Format::Text && io::stdin().is_terminal();
        Self {
            format,
            paint: if colour { Paint::Colour } else { Paint::Plain },
            presence: if person { Presence::Person } else { Presence::Nobody },
        }
    }

    /// Plain text with nobody there: what a script sees.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { format: Format::Text, paint: Paint::Plain, presence: Presence::Nobody }
    }

    /// Whether stdout is for programs.
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Whether questions can be asked here.
    pub(crate) fn asks(self) -> bool {
        self.presence == Presence::Person
    }

    /// Paints a piece of text, if this is a place for colour. The text must be safe already.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.paint == Paint::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Warn => "33",
            Style::Bad => "31",
            Style::Accent => "36",
            Style::Lamp => "97;40",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// One line of text for people; nothing with `--json`.
    pub(crate) fn line(self, text: &str) -> Outcome {
        match self.format {
            Format::Text => write_stdout(&format!("{text}\n")),
            Format::Json => Ok(()),
        }
    }

    /// A piece of text for people, as it is; nothing with `--json`.
    pub(crate) fn piece(self, text: &str) -> Outcome {
        match self.format {
            Format::Text => write_stdout(text),
            Format::Json => Ok(()),
        }
    }

    /// One JSON document on one line, with `--json` only.
    pub(crate) fn json(self, document: &impl Serialize) -> Outcome {
        if self.format == Format::Text {
            return Ok(());
        }
        let mut line = serde_json::to_string(document).map_err(io::Error::from)?;
        line.push('\n');
        write_stdout(&line)
    }

    /// A document: as JSON, or as the text that is made of it.
    pub(crate) fn document(self, document: &impl Serialize, text: impl FnOnce() -> String) -> Outcome {
        match self.format {
            Format::Json => self.json(document),
            Format::Text => write_stdout(&text()),
        }
    }

    /// An aside on stderr, for people only.
    pub(crate) fn aside(self, text: &str) {
        if self.format == Format::Text {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

/// Writes to stdout and flushes. If nobody reads any more the process ends, quietly.
pub(crate) fn write_stdout(text: &(impl AsRef<[u8]> + ?Sized)) -> Outcome {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}
