//! An approval as a person sees it: who asks for what exactly, where, and how to answer.
//!
//! *Invariant:* what is shown of the request is what the server shows of it, with every character visible. Each of its
//! lines is indented, so that nothing in it can pass for one of ours.

use std::fmt::Write as _;

use throughline_api::approval::{Approval, ApprovalState};
use throughline_model::present::Locale;

use crate::output::{Output, Style};
use crate::safe_text::safe_line;

/// The request, in a few lines.
pub(crate) fn request(output: Output, locale: Locale, approval: &Approval) -> String {
    let heading = match approval.state {
        ApprovalState::Ruled => locale.asks_to(),
        _ => output.paint(Style::Warn, &locale.wants_approval()),
    };
    decided(output, locale, approval, &heading)
}

/// The request under what became of it, in a few lines.
pub(crate) fn decided(output: Output, locale: Locale, approval: &Approval, heading: &str) -> String {
    let ask = &approval.request;
    let mut text = locale.because(heading, output.paint(Style::Strong, &safe_line(&ask.title))) + "\n";
    // Writing to a String cannot fail.
    if approval.shown.description {
        let _ = writeln!(text, "  {}", locale.only_described());
    } else {
        let _ = writeln!(text, "  $ {}", approval.shown.text.replace('\n', "\n    "));
    }
    if !approval.shown.complete {
        let whole = format!("tl approvals {} --input", approval.id);
        let _ = writeln!(text, "  {}", locale.too_long_here(whole));
    }
    let _ = writeln!(text, "  {}", locale.in_folder(safe_line(&ask.cwd)));
    let _ = writeln!(text, "  id {}", approval.id);
    text
}

/// How to answer it from a shell.
pub(crate) fn how_to_answer(locale: Locale, approval: &Approval) -> String {
    let deny = locale.how_to_deny(format!("tl deny {}", approval.id)) + "\n";
    match approval.shown.complete {
        true => format!("{}\n{deny}", locale.how_to_approve(format!("tl approve {}", approval.id))),
        false => deny,
    }
}

/// The word for where it stands.
pub(crate) fn state_word(locale: Locale, state: ApprovalState) -> String {
    match state {
        ApprovalState::Pending => locale.approval_pending(),
        ApprovalState::Ruled => locale.approval_ruled(),
        ApprovalState::Approved => locale.settled_approved(),
        ApprovalState::Denied => locale.settled_denied(),
        ApprovalState::Expired => locale.settled_expired(),
        ApprovalState::Void => locale.settled_void(),
        ApprovalState::Unknown => locale.approval_settled(),
    }
}
