//! `tl say`: a message from this terminal, and the turn that comes of it.

use std::ffi::OsString;
use std::path::PathBuf;

use throughline_api::client::Client;
use throughline_api::message::{Override, SendMessage, SentMessage};
use throughline_api::project::Project;
use throughline_api::task::Role;
use uuid::Uuid;

use super::Context;
use crate::decision_view;
use crate::failure::Outcome;
use crate::follow::{Aim, follow};
use crate::interrupt::Interrupt;
use crate::message_content::{self, Attachment};
use crate::place;
use crate::role::RoleArg;
use crate::watch::tagged;

/// Say something: a follow-up goes on where the last turn ended
///
/// Without flags it goes to the task that this terminal's conversation is about, or starts one. The turn
/// is shown until it ends or needs someone; Ctrl-C only stops watching.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The words; `-` reads them from stdin
    #[arg(required_unless_present = "attach", value_name = "TEXT")]
    text: Vec<OsString>,
    /// Say it in this conversation: an id, or any name of your choice in this project
    #[arg(long, value_name = "C")]
    conversation: Option<String>,
    /// Say it to this task
    #[arg(long, value_name = "KEY", conflicts_with = "new")]
    task: Option<String>,
    /// Start a new task with it
    #[arg(long)]
    new: bool,
    /// Say it to this agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Say it to whoever has this role; somebody joins in it if nobody has
    #[arg(long, value_name = "R")]
    role: Option<RoleArg>,
    /// In this project, wherever you are: its name or folder
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Send files along
    #[arg(long, value_name = "FILE", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// Return at once instead of watching
    #[arg(long)]
    detach: bool,
    /// Stop what the agent is doing, and do this first
    #[arg(long)]
    interrupt: bool,
    /// Let the new task work in a worktree of its own, beside what others write
    #[arg(long, requires = "new")]
    worktree: bool,
    /// Say it to this execution
    #[arg(skip)]
    execution: Option<Uuid>,
}

impl Args {
    /// What is said to one execution of a task.
    pub(super) fn to(key: String, execution: Option<Uuid>, text: Vec<OsString>, detach: bool) -> Self {
        Self {
            text,
            conversation: None,
            task: Some(key),
            new: false,
            agent: None,
            role: None,
            project: None,
            attach: vec![],
            detach,
            interrupt: false,
            worktree: false,
            execution,
        }
    }
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let text = message_content::text(&args.text)?;
    let files = message_content::read_files(&args.attach)?;
    let mut interrupt = Interrupt::listen()?;
    let (sent, after) = interrupt.or(send(&context, &args, &text, &files)).await?;
    shown(&context, sent, after, args.detach, interrupt).await
}

/// Shows what was made of a message, and the turn that comes of it.
pub(super) async fn shown(
    context: &Context,
    sent: SentMessage,
    after: String,
    detach: bool,
    interrupt: Interrupt,
) -> Outcome {
    context.output.json(&tagged("sent", &sent)?)?;
    let output = context.output;
    let locale = context.locale().await?;
    let said = decision_view::reply(locale, &sent);
    let Some(task) = sent.task.clone() else {
        return output.piece(&(decision_view::bare(output, locale, &sent.decision) + &said));
    };
    let id = task.id.to_string();
    let state = context.ask(async |client| Ok(client.task(&id).await?)).await?;
    output.piece(&(decision_view::line(output, locale, &sent, &state) + &said))?;
    if detach || !decision_view::wakes_agent(&sent.decision) {
        return Ok(());
    }
    let aim = match sent.decision.aim.intent.as_str() {
        "retry" => Aim::newest(&state, sent.decision.aim.target.execution, after)?,
        "correct" => {
            let primary = state.executions.iter().find(|execution| execution.primary).map(|execution| execution.id);
            Aim::newest(&state, sent.decision.aim.target.execution.or(primary), after)?
        }
        _ => Aim { task, input: sent.input.id, turn: sent.turn, after },
    };
    follow(context, aim, interrupt).await
}

/// Sends it; gives also where the event stream stood before.
async fn send(context: &Context, args: &Args, text: &str, files: &[Attachment]) -> Outcome<(SentMessage, String)> {
    let prepared = context.ask(async |client| prepare(context, client, args, text, files).await).await?;
    #[expect(clippy::disallowed_methods, reason = "the idempotency key of a message is minted where it is said")]
    let key = format!("tl-{}", Uuid::now_v7());
    let Prepared { conversation, message, after } = prepared;
    // Under one key it has one effect, however often the daemon goes away in between.
    let sent = context.ask(async |client| Ok(client.send_message(conversation, &message, &key).await?)).await?;
    Ok((sent, after))
}

/// All that is needed before a message is sent.
struct Prepared {
    conversation: Uuid,
    message: SendMessage,
    /// Where the stream stood before it.
    after: String,
}

async fn prepare(
    context: &Context,
    client: &Client,
    args: &Args,
    text: &str,
    files: &[Attachment],
) -> Outcome<Prepared> {
    let project = project(context, client, args).await?;
    let conversation = place::conversation(client, args.conversation.as_deref(), project.as_ref()).await?;
    let message = SendMessage {
        content: message_content::blocks(client, text, files).await?,
        stated: Some(stated(args, project.as_ref())),
        interrupt: args.interrupt,
        ..SendMessage::default()
    };
    let after = client.status().await?.cursor;
    Ok(Prepared { conversation, message, after })
}

fn stated(args: &Args, project: Option<&Project>) -> Override {
    Override {
        task: args.task.clone(),
        new: args.new,
        agent: args.agent.clone(),
        role: args.role.map(Role::from),
        execution: args.execution,
        worktree: args.worktree,
        project: project.map(|project| project.id.to_string()),
    }
}

/// From the flags, from the task, or from where this is typed.
async fn project(context: &Context, client: &Client, args: &Args) -> Outcome<Option<Project>> {
    if let Some(name) = &args.project {
        return Ok(Some(place::named(client, name).await?));
    }
    if let Some(key) = &args.task {
        let task = client.task(key).await?;
        return Ok(Some(place::of_id(client, task.summary.project.id).await?));
    }
    // A conversation that was named by its id has its own project.
    if args.conversation.as_deref().is_some_and(place::is_id) {
        return place::here(client).await;
    }
    let project = place::here_or_added(client, context.output).await?;
    Ok(Some(project))
}
