//! An approval as a person sees it: who asks for what exactly, where, and how to answer.
//!
//! *Invariant:* what is shown of the request is what the server shows of it, with every character visible. Each of its
//! lines is indented, so that nothing in it can pass for one of ours.

use std::fmt::Write as _;

use throughline_api::approval::{Approval, ApprovalState};

use crate::output::{Output, Style};
use crate::safe_text::safe_line;

/// The request, in a few lines.
pub(crate) fn request(output: Output, approval: &Approval) -> String {
    match approval.state {
        ApprovalState::Ruled => headed(output, approval, "asks:".to_owned()),
        _ => headed(output, approval, output.paint(Style::Warn, "needs approval:")),
    }
}

/// The request and what became of it, in a few lines.
pub(crate) fn decided(output: Output, approval: &Approval, word: &str) -> String {
    headed(output, approval, format!("{word}:"))
}

fn headed(output: Output, approval: &Approval, heading: String) -> String {
    let ask = &approval.request;
    let mut text = format!("{heading} {}\n", output.paint(Style::Strong, &safe_line(&ask.title)));
    // Writing to a String cannot fail.
    if approval.shown.description {
        let _ = writeln!(text, "  that is the agent's description: it did not send what it would do");
    } else {
        let _ = writeln!(text, "  $ {}", approval.shown.text.replace('\n', "\n    "));
    }
    if !approval.shown.complete {
        let _ = writeln!(text, "  … and more: too long to be approved here; tl approvals {} --input", approval.id);
    }
    let _ = writeln!(text, "  in {}", safe_line(&ask.cwd));
    let _ = writeln!(text, "  id {}", approval.id);
    text
}

/// How to answer it from a shell.
pub(crate) fn how_to_answer(approval: &Approval) -> String {
    let deny = format!("deny:    tl deny {}\n", approval.id);
    match approval.shown.complete {
        true => format!("approve: tl approve {}\n{deny}", approval.id),
        false => deny,
    }
}

/// The word for where it stands.
pub(crate) fn state_word(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Ruled => "ruled",
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "expired",
        ApprovalState::Void => "void",
        ApprovalState::Unknown => "settled",
    }
}
