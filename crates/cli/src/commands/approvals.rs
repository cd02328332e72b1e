//! `tl approvals`: what waits for a yes, and what became of the rest.

use std::fmt::Write as _;

use throughline_api::approval::{Approval, ApprovalList, Settled};
use throughline_model::present::Locale;

use super::Context;
use crate::approval_view;
use crate::approvals;
use crate::failure::Outcome;
use crate::output::{Output, write_stdout};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table};

/// How much of a request a list shows.
const GLANCE_CHARS: usize = 60;

/// Show what agents ask to do, and who decided what
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One approval: its id, or the first six characters or more of one that waits
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Settled ones too, oldest first
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Everything for the record, one JSON document per line
    #[arg(long, conflicts_with_all = ["id", "all"])]
    audit: bool,
    /// What the agent sent, whole, however long
    #[arg(long, requires = "id")]
    input: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let (output, locale) = (context.output, context.locale().await?);
    if let Some(id) = args.id {
        let approval = context.ask(async |client| approvals::find(client, &id).await).await?;
        if args.input {
            let input = context.ask(async |client| Ok(client.approval_input(approval.id).await?)).await?;
            let whole =
                throughline_model::shown::View { max_chars: usize::MAX, ..throughline_model::shown::View::FULL };
            return output.document(&serde_json::json!({ "input": input }), || whole.show(&input).text + "\n");
        }
        return output.document(&approval, || one(output, locale, &approval));
    }
    if args.audit {
        let everything = all(&context).await?;
        for approval in &everything.approvals {
            let line = serde_json::to_string(approval).map_err(std::io::Error::from)?;
            write_stdout(&(line + "\n"))?;
        }
        return Ok(());
    }
    let list = match args.all {
        true => all(&context).await?,
        false => context.ask(async |client| Ok(client.approvals().await?)).await?,
    };
    output.document(&list, || rows(output, locale, &list))
}

async fn all(context: &Context) -> Outcome<ApprovalList> {
    let mut approvals = vec![];
    loop {
        let after = approvals.last().map(|approval: &Approval| approval.id);
        let page = context.ask(async |client| Ok(client.approvals_in("all", after).await?)).await?.approvals;
        if page.is_empty() {
            return Ok(ApprovalList { approvals });
        }
        approvals.extend(page);
    }
}

fn one(output: Output, locale: Locale, approval: &Approval) -> String {
    let Some(settled) = &approval.settled else {
        return approval_view::request(output, locale, approval) + &approval_view::how_to_answer(locale, approval);
    };
    let word = match settled.not_asked {
        true => locale.not_asked(),
        false => approval_view::state_word(locale, approval.state),
    };
    let mut text = approval_view::decided(output, locale, approval, &word);
    let _ = writeln!(text, "  {} {}", safe_line(&settled.at), how(settled));
    text
}

/// From where, and why.
fn how(settled: &Settled) -> String {
    let source = settled.source.as_ref().map(|source| match &source.identity {
        Some(identity) => format!("from {} as {}", safe_line(&source.surface), safe_line(identity)),
        None => format!("from {}", safe_line(&source.surface)),
    });
    let reason = settled.reason.as_deref().map(|reason| safe_glance(reason, GLANCE_CHARS));
    [source, reason].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

fn rows(output: Output, locale: Locale, list: &ApprovalList) -> String {
    if list.approvals.is_empty() {
        return "nothing waits for approval\n".to_owned();
    }
    let row = |approval: &Approval| {
        let what = if approval.shown.description { &approval.request.title } else { &approval.shown.text };
        vec![
            Cell::new(approval_view::state_word(locale, approval.state)),
            Cell::new(safe_line(&approval.task.key)),
            Cell::new(approval.id.to_string()),
            Cell::new(safe_glance(what, GLANCE_CHARS)),
            Cell::new(approval.settled.as_ref().map(how).unwrap_or_default()),
        ]
    };
    table(output, &list.approvals.iter().map(row).collect::<Vec<_>>())
}
