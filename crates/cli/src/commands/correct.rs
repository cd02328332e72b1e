//! `tl correct`: the last message was meant otherwise. `tl undo` is the same with the likeliest other reading.

use throughline_api::message::{Correct, SentMessage};

use super::{Context, say};
use crate::failure::Outcome;
use crate::interrupt::Interrupt;
use crate::place;
use crate::terminal::{self, Answer};

const CONSENT: &str = "an agent works on it already: stop that turn and move the message? [y/n] ";

/// Move the last message to where it was meant
///
/// It leaves the task that got it, and both tasks say so. If an agent works on it already, that turn is stopped,
/// with your consent.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It was meant for this task
    #[arg(long, value_name = "KEY", required_unless_present = "new", conflicts_with = "new")]
    task: Option<String>,
    /// It was meant as a new task
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    which: Which,
}

/// Undo what was made of the last message
///
/// A message that started a task goes to the one that was in focus before; one that was given to a task becomes a
/// task of its own.
#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Not the last message, but the one that this was decided about
    #[arg(long, value_name = "ID", conflicts_with = "conversation")]
    decision: Option<String>,
    /// The last message of this conversation: an id, or its name
    #[arg(long, value_name = "C")]
    conversation: Option<String>,
    /// Stop the turn that works on it
    #[arg(long)]
    interrupt: bool,
    /// Return at once instead of watching
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let correct = Correct { task: args.task, new: args.new, ..Correct::default() };
    moved(context, correct, args.which).await
}

pub(super) async fn undo(context: Context, args: UndoArgs) -> Outcome {
    moved(context, Correct { undo: true, ..Correct::default() }, args.which).await
}

async fn moved(context: Context, correct: Correct, which: Which) -> Outcome {
    let mut interrupt = Interrupt::listen()?;
    let correct = Correct { interrupt: which.interrupt, ..correct };
    let sent = match interrupt.or(send(&context, &which, &correct)).await {
        Err(failure) if failure.code == "needs_consent" && context.output.asks() => {
            if interrupt.or(terminal::ask(CONSENT)).await? != Answer::Yes {
                return Err(failure);
            }
            let agreed = Correct { interrupt: true, ..correct };
            interrupt.or(send(&context, &which, &agreed)).await?
        }
        sent => sent?,
    };
    let after = sent.cursor.clone().unwrap_or_default();
    say::shown(&context, sent, after, which.detach, interrupt).await
}

async fn send(context: &Context, which: &Which, correct: &Correct) -> Outcome<SentMessage> {
    context
        .ask(async |client| {
            if let Some(decision) = &which.decision {
                return Ok(client.correct(decision, correct).await?);
            }
            let project = place::here(client).await?;
            let conversation = place::conversation(client, which.conversation.as_deref(), project.as_ref()).await?;
            Ok(client.correct_last(conversation, correct).await?)
        })
        .await
}
