//! `tl gc`: applies retention now, and says what it frees.

use throughline_api::gc::{FreedKind, RunGc};

use super::Context;
use crate::failure::Outcome;

/// Free what nothing needs any more, and say what that is
///
/// Spools of keepers that ended, checkpoints of closed tasks, attachments and long texts that no
/// task names. The times are set under `[retention]` in config.toml. The daemon does the same once a day.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let gc = RunGc { dry_run: args.dry_run };
    let freed = context.tell(async |client| Ok(client.gc(&gc).await?)).await?;
    context.output.document(&freed, || {
        let verb = if freed.dry_run { "would free" } else { "freed" };
        let some: Vec<String> = freed.freed.iter().filter(|kind| kind.count > 0).map(in_words).collect();
        match some.is_empty() {
            true => "there is nothing to free\n".to_owned(),
            false => some.iter().map(|words| format!("{verb} {words}\n")).collect(),
        }
    })
}

fn in_words(freed: &FreedKind) -> String {
    let what = match freed.kind.as_str() {
        "keepers" => "leftovers of ended keepers",
        "checkpoints" => "checkpoints",
        "blobs" => "attachments and long texts",
        other => other,
    };
    format!("{} {what}, {}", freed.count, bytes(freed.bytes))
}

/// In the unit that fits.
fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{} MB", count / 1_000_000),
    }
}
