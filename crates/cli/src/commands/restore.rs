//! `tl restore`: the workspace as it was before or after a turn. The present is kept first.

use throughline_api::diff::ChangedFile;
use throughline_api::workspace::{PastTurn, RestoreTo, Restored};
use throughline_model::present::Locale;

use super::Context;
use crate::failure::Outcome;
use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table};
use crate::timeline_view::changed_files;

/// Bring a task's workspace back to what it was after a turn
///
/// The present state is kept first, so that --undo brings it back. Ignored files, nested repositories and
/// git's own files stay as they are. It is refused while a turn runs there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Which turn: its number or id; the newest that has a checkpoint if left out
    #[arg(long, value_name = "T", conflicts_with = "undo")]
    turn: Option<String>,
    /// As it was before the turn, instead of after it
    #[arg(long, conflicts_with = "undo")]
    before: bool,
    /// As it was before the last restore
    #[arg(long)]
    undo: bool,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// List the turns that can be gone back to
    #[arg(long, conflicts_with_all = ["turn", "before", "undo", "dry_run"])]
    list: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    if args.list {
        let list = context.ask(async |client| Ok(client.turns(&args.key).await?)).await;
        let list = list.map_err(|failure| failure.about(&args.key))?;
        return output.document(&list, || turns(output, &list.turns));
    }
    let to = RestoreTo { turn: args.turn.clone(), before: args.before, undo: args.undo };
    let restored = match args.dry_run {
        true => context.ask(async |client| Ok(client.preview_restore(&args.key, &to).await?)).await,
        false => context.tell(async |client| Ok(client.restore(&args.key, &to).await?)).await,
    };
    let restored = restored.map_err(|failure| failure.about(&args.key))?;
    output.document(&restored, || report(output, &args.key, &restored))
}

fn report(output: Output, key: &str, restored: &Restored) -> String {
    let then = match (&restored.side, restored.number) {
        (Some(side), Some(number)) => format!("as it was {} turn {number}", safe_line(side)),
        _ => "as it was before the last change".to_owned(),
    };
    let verb = if restored.done { "is" } else { "would be" };
    let mut text = format!("{}: the workspace {verb} {then}\n", safe_line(key));
    text.push_str(&files(&restored.files));
    for kept in &restored.kept {
        text.push_str(&output.paint(Style::Warn, &format!("  left as it is: {}\n", safe_line(kept))));
    }
    if restored.done {
        let undo = format!("tl restore {} --undo brings back what was there before\n", safe_line(key));
        text.push_str(&output.paint(Style::Faint, &undo));
    }
    text
}

pub(super) fn files(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "  nothing changes\n".to_owned();
    }
    changed_files(Locale::En, files).lines().map(|line| format!("  {line}\n")).collect()
}

fn turns(output: Output, turns: &[PastTurn]) -> String {
    let row = |turn: &PastTurn| {
        let kept = match (turn.before, turn.after) {
            (true, true) => "before and after",
            (true, false) => "before",
            (false, true) => "after",
            (false, false) => "no checkpoint",
        };
        vec![
            Cell::styled(turn.number.to_string(), Style::Strong),
            Cell::new(safe_line(turn.outcome.as_deref().unwrap_or("running"))),
            Cell::new(safe_glance(&turn.said, 60)),
            Cell::styled(kept, Style::Faint),
        ]
    };
    table(output, &turns.iter().map(row).collect::<Vec<_>>())
}
