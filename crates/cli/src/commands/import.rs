//! `tl import`: native sessions of Codex and Claude Code, as tasks.

use serde_json::json;
use throughline_api::client::Client;
use throughline_api::import::{ImportNative, ImportedTask, NativeSession};
use throughline_model::present::Locale;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::moment::ago;
use crate::output::{Output, Style};
use crate::safe_text::{safe_glance, safe_line};
use crate::table::{Cell, table};

/// How much of a title the list shows.
const TITLE_CHARS: usize = 48;

/// Make native sessions of Codex and Claude Code tasks, to go on with them here
///
/// Without an ID it lists them. An imported session rests until the next message resumes it; its
/// transcript is read when the task is opened for the first time. Importing twice changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which: the agent's own ids, or their beginnings
    #[arg(value_name = "ID", conflicts_with_all = ["all", "list"])]
    ids: Vec<String>,
    /// Only of this agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// List what there is
    #[arg(long, conflicts_with = "all")]
    list: bool,
    /// Import all that is listed
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    let list = context.ask(async |client| Ok(client.native_sessions(args.agent.as_deref()).await?)).await?;
    let sessions = list.native_sessions;
    if args.ids.is_empty() && !args.all {
        return output.document(&json!({ "native_sessions": sessions }), || listed(output, &sessions));
    }
    let chosen: Vec<&NativeSession> = match args.all {
        // What already is a task stays one, and a session without a folder cannot be gone on with.
        true => sessions.iter().filter(|session| session.task.is_none() && there(session)).collect(),
        false => args.ids.iter().map(|id| named(&sessions, id)).collect::<Outcome<_>>()?,
    };
    let mut imported = Vec::with_capacity(chosen.len());
    for session in chosen {
        let done = context.tell(async |client| import(client, session).await).await?;
        output.line(&told(session, &done))?;
        imported.push(done);
    }
    if imported.is_empty() {
        output.line("there is nothing to import")?;
    }
    output.json(&json!({ "imported": imported }))
}

async fn import(client: &Client, session: &NativeSession) -> Outcome<ImportedTask> {
    let import = ImportNative { agent: Some(session.agent.clone()), id: session.id.clone() };
    Ok(client.import(&import).await?)
}

fn there(session: &NativeSession) -> bool {
    std::path::Path::new(&session.folder).is_dir()
}

/// The one session whose id begins so.
fn named<'a>(sessions: &'a [NativeSession], id: &str) -> Outcome<&'a NativeSession> {
    let mut fits = sessions.iter().filter(|session| session.id.starts_with(id));
    match (fits.next(), fits.next()) {
        (Some(session), None) => Ok(session),
        (None, _) => Err(Failure::new("native_session_unknown", format!("there is no native session `{id}`"))
            .hint("`tl import --list` lists them")),
        (Some(_), Some(_)) => Err(Failure::new("ambiguous_id", format!("several ids begin with `{id}`"))
            .hint("give more of it; `tl import --list` lists them")),
    }
}

fn told(session: &NativeSession, done: &ImportedTask) -> String {
    let how = if done.repeated { "was imported before" } else { "imported" };
    let title = safe_glance(&done.title, TITLE_CHARS);
    let mut text = format!("{} {how}: {title} ({})", safe_line(&done.task.key), safe_line(&session.agent));
    if let Some(warning) = &done.warning {
        text.push_str(&format!("\n  careful: {}; end it there before you go on here", safe_line(warning)));
    }
    text
}

fn listed(output: Output, sessions: &[NativeSession]) -> String {
    if sessions.is_empty() {
        return "no native sessions of Codex or Claude Code were found\n".to_owned();
    }
    let rows: Vec<Vec<Cell>> = sessions
        .iter()
        .map(|session| {
            let state = match (&session.task, &session.warning) {
                (Some(task), _) => Cell::styled(format!("is {}", safe_line(&task.key)), Style::Good),
                (None, _) if !there(session) => Cell::styled("its folder is gone", Style::Faint),
                (None, Some(warning)) => Cell::styled(safe_line(warning), Style::Warn),
                (None, None) => Cell::new(""),
            };
            vec![
                Cell::styled(safe_line(&session.id), Style::Strong),
                Cell::new(safe_line(&session.agent)),
                Cell::new(safe_glance(&session.title, TITLE_CHARS)),
                Cell::styled(safe_line(&session.folder), Style::Faint),
                Cell::styled(ago(Locale::En, &session.updated_at), Style::Faint),
                state,
            ]
        })
        .collect();
    format!("{}\nimport them with: tl import ID…, or tl import --all\n", table(output, &rows))
}
