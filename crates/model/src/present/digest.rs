//! Digest: what happened lately, in one message. What needs the person comes first, however old it is: whatever they
//! chose not to be told, nothing that waits for them is lost.

use super::locale::Locale;
use super::status::headline;
use super::{cut, glance};
use crate::execution::Activity;
use crate::reply::{Link, Reply};
use crate::time::Timestamp;
use crate::view::TaskRow;

/// So many tasks of one group are named.
const NAMED: usize = 8;
/// So much is said of each.
const LINE_CHARS: usize = 160;

/// What happened between two moments to these tasks; so many messages did not arrive meanwhile.
#[must_use]
pub fn digest(locale: Locale, rows: &[TaskRow], lost: usize, since: Timestamp, now: Timestamp) -> Reply {
    // A day and the moment that it takes to write this is a day.
    let minutes = (now.millis_since(since) / 60_000).max(1);
    let span = if minutes < 120 { locale.in_minutes(minutes) } else { locale.in_hours((minutes + 30) / 60) };
    let heads = [locale.digest_needs_you(), locale.digest_failed(), locale.digest_done(), locale.digest_working()];
    let groups: Vec<(String, Vec<&TaskRow>)> = heads.into_iter().zip(grouped(rows, since)).collect();
    let mut lines = vec![];
    for (head, rows) in groups.iter().filter(|(_, rows)| !rows.is_empty()) {
        lines.push(head.clone());
        lines.extend(rows.iter().take(NAMED).map(|row| line(locale, row, now)));
        lines.extend((rows.len() > NAMED).then(|| locale.more(rows.len() - NAMED)));
    }
    lines.extend((lost > 0).then(|| locale.digest_lost(lost as u64)));
    let text = match lines.is_empty() {
        true => locale.digest_nothing(span),
        false => format!("{}\n{}", locale.digest_head(span), lines.join("\n")),
    };
    let named = groups.iter().flat_map(|(_, rows)| rows.iter().take(NAMED));
    let link = |row: &&TaskRow| Link { label: row.key.clone(), task: row.id, key: row.key.clone(), at: None };
    Reply { text, choices: vec![], links: named.map(link).collect() }
}

/// The same in one line that only counts, for a device that has no room for more; none if there is nothing to say.
#[must_use]
pub fn summary(locale: Locale, rows: &[TaskRow], since: Timestamp) -> Option<String> {
    let [need, failed, done, _] = grouped(rows, since).map(|rows| rows.len() as u64);
    let counted = [
        (need > 0).then(|| locale.need_you(need)),
        (failed > 0).then(|| locale.failed_meanwhile(failed)),
        (done > 0).then(|| locale.done_meanwhile(done)),
    ];
    let counted: Vec<String> = counted.into_iter().flatten().collect();
    (!counted.is_empty()).then(|| counted.join(" "))
}

/// What needs the person, what failed, what is done, and what goes on.
fn grouped(rows: &[TaskRow], since: Timestamp) -> [Vec<&TaskRow>; 4] {
    let mut groups: [Vec<&TaskRow>; 4] = Default::default();
    for row in rows.iter().filter(|row| waits(row) || row.updated_at >= since) {
        let group = match &row.activity {
            Activity::WaitingApproval | Activity::WaitingAnswer => 0,
            Activity::Failed { .. } | Activity::Blocked { .. } => 1,
            Activity::Resting => 2,
            Activity::Working | Activity::Queued { .. } => 3,
        };
        groups[group].push(row);
    }
    groups
}

fn waits(row: &TaskRow) -> bool {
    matches!(row.activity, Activity::WaitingApproval | Activity::WaitingAnswer)
}

fn line(locale: Locale, row: &TaskRow, now: Timestamp) -> String {
    let stands = headline(&row.key, &row.title, &glance::row_glance(locale, row));
    locale.since(cut(stands, LINE_CHARS), locale.ago(row.updated_at, now))
}
