//! `tl dismiss`: be done with one agent of a task; the task goes on with the others.

use throughline_api::task::{ActivityWord, Execution, Role, Task};
use throughline_model::present::Locale;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::role::RoleArg;
use crate::safe_text::safe_line;
use crate::task_change;
use crate::timeline_view::role_word;

/// Dismiss one agent of a task; the task goes on with the others
///
/// Without a flag it is the one that failed. A turn of it that runs is stopped first; what waited for it is taken back, and
/// what it found stays. Somebody is always left to do the work: tl switch replaces the last one, tl close is done with the task.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// Which agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// The one in this role
    #[arg(long, value_name = "R")]
    role: Option<RoleArg>,
    /// This very execution: its id, or the beginning of it
    #[arg(long, value_name = "E")]
    execution: Option<String>,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let task = context.ask(async |client| Ok(client.task(&args.key).await?)).await;
    let task = task.map_err(|failure| failure.about(&args.key))?;
    let meant = meant(&task, &args)?;
    // Who is gone is gone: asking again is safe.
    let change = context.ask(async |client| Ok(client.dismiss(&args.key, meant.id).await?)).await;
    let change = change.map_err(|failure| failure.about(&args.key))?;
    task_change::print(&context, &change, |locale| in_words(locale, meant, &change.task)).await
}

/// The one execution that fits what was said.
fn meant<'a>(task: &'a Task, args: &Args) -> Outcome<&'a Execution> {
    let role = args.role.map(Role::from);
    let unsaid = args.agent.is_none() && role.is_none() && args.execution.is_none();
    let failed =
        |execution: &Execution| matches!(execution.activity.word, ActivityWord::Failed | ActivityWord::Blocked);
    let fits = |execution: &&Execution| {
        let agent = args.agent.as_ref().is_none_or(|agent| *agent == execution.agent);
        let role = role.is_none_or(|role| role == execution.role);
        let id = args.execution.as_ref().is_none_or(|id| execution.id.to_string().starts_with(&id.to_lowercase()));
        execution.ended.is_none() && agent && role && id && (!unsaid || failed(execution))
    };
    let fitting: Vec<&Execution> = task.executions.iter().filter(fits).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => {
            let what = if unsaid { "nobody failed here" } else { "nobody here fits that" };
            Err(Failure::new("not_found", what).hint(format!("`tl show {}` shows who works on it", args.key)))
        }
        _ => {
            let name = |one: &&Execution| format!("--execution {} ({} as {})", one.id, one.agent, one.role.word());
            let names: Vec<String> = fitting.iter().map(name).collect();
            Err(Failure::new("ambiguous_id", "more than one fits that").hint(names.join(", or ")))
        }
    }
}

/// What became of it, and of what waited for it.
fn in_words(locale: Locale, before: &Execution, after: &Task) -> String {
    let (agent, role) = (safe_line(&before.agent), role_word(locale, before.role));
    let gone = after.executions.iter().any(|execution| execution.id == before.id && execution.ended.is_some());
    let done = if gone { locale.dismissed(agent, role) } else { locale.leaves(agent, role) };
    match before.queue.len() {
        waiting if waiting > 0 && !before.primary => locale.both(done, locale.waiting_taken_back(waiting as u64)),
        _ => done,
    }
}
