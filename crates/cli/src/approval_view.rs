//! An approval as a person sees it: who asks for what exactly, where, and how to answer.
//!
//! *Invariant:* everything that the digest covers and a person can judge is shown, with control and
//! bidi characters written out.

use std::fmt::Write as _;

use serde_json::Value;
use throughline_api::approval::Approval;

use crate::output::{Output, Style};
use crate::safe_text::{safe_line, shell_word};

/// The request, in a few lines.
pub(crate) fn request(output: Output, approval: &Approval) -> String {
    headed(output, approval, output.paint(Style::Warn, "needs approval:"))
}

/// The request and what became of it, in a few lines.
pub(crate) fn decided(output: Output, approval: &Approval, word: &str) -> String {
    headed(output, approval, format!("{word}:"))
}

fn headed(output: Output, approval: &Approval, heading: String) -> String {
    let ask = &approval.request;
    let mut text = format!("{heading} {}\n", output.paint(Style::Strong, &safe_line(&ask.title)));
    if let Some(input) = &ask.input {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {}", exact(input, &ask.cwd));
    }
    let _ = writeln!(text, "  in {}", safe_line(&ask.cwd));
    let _ = writeln!(text, "  id {}", approval.id);
    text
}

/// How to answer it from a shell.
pub(crate) fn how_to_answer(approval: &Approval) -> String {
    format!("approve: tl approve {0}\ndeny:    tl deny {0}\n", approval.id)
}

/// A command as a shell would read it, where the input says nothing but that; else the input as it came.
fn exact(input: &str, cwd: &str) -> String {
    let command = || {
        let fields: serde_json::Map<String, Value> = serde_json::from_str(input).ok()?;
        let mut rest = fields.iter().filter(|(name, _)| *name != "command");
        // The folder is shown anyway; anything else is worth seeing.
        if !rest.all(|(name, value)| name == "cwd" && value.as_str() == Some(cwd)) {
            return None;
        }
        match fields.get("command")? {
            Value::String(line) => Some(line.clone()),
            Value::Array(words) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(shell_word)).collect();
                Some(words?.join(" "))
            }
            _ => None,
        }
    };
    match command() {
        Some(command) => format!("$ {}", safe_line(&command)),
        None => safe_line(input).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_as_one_and_nothing_is_left_out_of_others() {
        let shown = |input| exact(input, "/shop");
        assert_eq!(shown(r#"{"command":"ls -l"}"#), "$ ls -l");
        assert_eq!(shown(r#"{"command":"ls\nrm x"}"#), "$ ls\\nrm x");
        assert_eq!(shown(r#"{"command":["sh","-c","ls; rm x"],"cwd":"/shop"}"#), "$ sh -c 'ls; rm x'");
        for other in [
            r#"{"command":"ls","cwd":"/elsewhere"}"#,
            r#"{"command":"ls","env":{}}"#,
            r#"{"command":["ls",1]}"#,
            r#"{"path":"x"}"#,
            "no JSON",
        ] {
            assert_eq!(shown(other), other);
        }
    }
}
