//! Deciding an approval from a shell: found by a unique beginning of its id, decided with the digest of
//! what was shown.

use throughline_api::approval::{Approval, DecideApproval};
use throughline_api::client::Client;
use uuid::Uuid;

use crate::approval_view;
use crate::commands::{Context, rules};
use crate::failure::{Failure, Outcome};
use crate::safe_text::safe_line;

/// Fewer characters could be meant for anything.
const MIN_PREFIX: usize = 6;

/// A person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Allow(Always),
    Deny,
}

/// Whether a yes is for later too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Always {
    No,
    Yes { expires_in_secs: Option<u64> },
}

/// Shows the request and gives the person's word on it.
pub(crate) async fn decide(context: &Context, id: &str, word: Word, reason: Option<String>) -> Outcome {
    let approval = context.ask(async |client| find(client, id).await).await?;
    let said = DecideApproval { digest: approval.digest.clone(), reason, ..DecideApproval::default() };
    let decision = match word {
        Word::Deny => DecideApproval { option: "deny".to_owned(), ..said },
        Word::Allow(always) => {
            approvable(&approval)?;
            let said = DecideApproval { option: "allow".to_owned(), ..said };
            match always {
                Always::No => said,
                Always::Yes { expires_in_secs } => DecideApproval { always: true, expires_in_secs, ..said },
            }
        }
    };
    // The digest binds it to one request, and a request is decided once: asking again is safe.
    let decided = context.ask(async |client| Ok(client.decide_approval(approval.id, &decision).await?)).await?;
    let (output, locale) = (context.output, context.locale().await?);
    output.document(&decided, || {
        let done = match word {
            Word::Allow(_) => locale.settled_approved(),
            Word::Deny => locale.settled_denied(),
        };
        let shown = approval_view::decided(output, locale, &approval, &done);
        let rule = match (&decided.rule, &decided.no_rule) {
            (Some(rule), _) => {
                let revoke = format!("tl rules revoke {}", rule.number);
                locale.no_need_to_ask(rules::line(rule), revoke) + "\n"
            }
            (None, Some(why)) => locale.approved_once(safe_line(why)) + "\n",
            (None, None) => String::new(),
        };
        let watch = locale.watch_with(format!("tl show {} --follow", safe_line(&approval.task.key)));
        format!("{shown}{rule}{watch}\n")
    })
}

/// What cannot be shown as a whole cannot be approved.
fn approvable(approval: &Approval) -> Outcome {
    if approval.shown.complete {
        return Ok(());
    }
    Err(Failure::new("not_shown", "the request is too long to be shown as a whole, so it cannot be approved")
        .hint(format!("read it with `tl approvals {0} --input`, or say no: tl deny {0}", approval.id)))
}

pub(crate) async fn find(client: &Client, id: &str) -> Outcome<Approval> {
    if let Ok(whole) = id.parse::<Uuid>() {
        return Ok(client.approval(whole).await?);
    }
    let short = id.to_lowercase();
    if short.len() < MIN_PREFIX {
        return Err(Failure::new(
            "bad_id",
            format!("`{id}` is too short: at least {MIN_PREFIX} characters of the id are needed"),
        )
        .hint("`tl status` shows what waits, with its id"));
    }
    let pending = client.approvals().await?.approvals;
    let mut fitting = pending.into_iter().filter(|approval| approval.id.to_string().starts_with(&short));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => {
            Err(Failure::new("not_found", format!("no approval that waits has an id that starts with `{id}`"))
                .hint("`tl status` shows what waits, with its id"))
        }
        (Some(_), Some(_)) => {
            Err(Failure::new("ambiguous_id", format!("more than one approval has an id that starts with `{id}`"))
                .hint("give more of the id"))
        }
    }
}
