//! An approval as a person sees it: who asks for what exactly, where, and how to answer.
//!
//! *Invariant:* everything that the digest covers and a person can judge is shown, with control and
//! bidi characters written out.

use std::fmt::Write as _;

use throughline_api::approval::Approval;

use crate::output::{Output, Style};
use crate::safe_text::safe_line;

/// The request, in a few lines.
pub(crate) fn request(output: Output, approval: &Approval) -> String {
    let ask = &approval.request;
    let mut text = format!(
        "{} {}\n",
        output.paint(Style::Warn, "needs approval:"),
        output.paint(Style::Strong, &safe_line(&ask.title)),
    );
    if let Some(input) = &ask.input {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {}", exact(input));
    }
    let _ = writeln!(text, "  in {}", safe_line(&ask.cwd));
    let _ = writeln!(text, "  id {}", approval.id);
    text
}

/// How to answer it from a shell.
pub(crate) fn how_to_answer(approval: &Approval) -> String {
    format!("approve: tl approve {0}\ndeny:    tl deny {0}\n", approval.id)
}

/// A command as the shell would read it where that is all there is, else the input as it came.
fn exact(input: &str) -> String {
    match serde_json::from_str(input) {
        Ok(serde_json::Value::Object(fields)) if fields.len() == 1 => {
            match fields.get("command").and_then(serde_json::Value::as_str) {
                Some(command) => format!("$ {}", safe_line(command)),
                None => safe_line(input).into_owned(),
            }
        }
        _ => safe_line(input).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_command_reads_as_one_and_nothing_is_left_out_of_others() {
        assert_eq!(exact(r#"{"command":"ls -l"}"#), "$ ls -l");
        assert_eq!(exact(r#"{"command":"ls\nrm x"}"#), "$ ls\\nrm x");
        let two = r#"{"command":"ls","cwd":"/"}"#;
        assert_eq!(exact(two), two);
    }
}
