//! Following work as it happens: one turn for `say` and `retry`, a whole task for `show --follow`.
//!
//! The stream is resumed from its cursor when the daemon goes away, and the daemon is started again if
//! need be, so a watcher sees every durable entry once, whatever happens to the daemon. *Invariant:*
//! Ctrl-C only ends the watching; nothing here stops work.

use std::time::Duration;

use throughline_api::approval::{Approval, ApprovalState, DecideApproval};
use throughline_api::client::{ClientError, EventStream, EventsQuery};
use throughline_api::event::Frame;
use throughline_api::task::{TaskRef, TurnEnd, TurnOutcome};
use throughline_api::timeline::{EntryBody, TimelineEntry};
use uuid::Uuid;

use crate::approval_view;
use crate::commands::Context;
use crate::daemon::Daemon;
use crate::failure::{Failure, Outcome};
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::terminal::{self, Answer};
use crate::turn_view::TurnView;

/// How long to wait before a stream that ended is opened again.
const REOPEN_PAUSE: Duration = Duration::from_millis(25);

/// The event stream of a task that outlives the daemon's restarts.
pub(crate) struct Watch<'a> {
    context: &'a Context,
    daemon: Option<Daemon>,
    query: EventsQuery,
    stream: Option<EventStream>,
    /// Whether it was open before.
    opened: bool,
}

impl<'a> Watch<'a> {
    /// Everything of a task after a cursor.
    pub(crate) fn new(context: &'a Context, task: &TaskRef, after: Option<String>) -> Self {
        Self {
            context,
            daemon: None,
            query: EventsQuery { after, task: Some(task.id.to_string()) },
            stream: None,
            opened: false,
        }
    }

    /// The next frame, however long it takes. Nothing is lost if the wait is given up.
    pub(crate) async fn next(&mut self) -> Outcome<Frame> {
        loop {
            if self.stream.is_none() {
                self.open().await?;
            }
            let Some(stream) = self.stream.as_mut() else {
                continue;
            };
            match stream.next().await {
                Ok(Some(frame)) => {
                    self.query.after = stream.cursor().map(str::to_owned);
                    return Ok(frame);
                }
                Ok(None) => self.stream = None,
                Err(error) => self.recover(error)?,
            }
        }
    }

    /// The daemon that is listened to; found, or started, if it went away.
    async fn daemon(&mut self) -> Outcome<&Daemon> {
        if self.daemon.is_none() {
            self.daemon = Some(self.context.daemon().await?);
        }
        let lost = || Failure::new("daemon_unreachable", "the daemon went away");
        self.daemon.as_ref().ok_or_else(lost)
    }

    async fn open(&mut self) -> Outcome {
        // A daemon on its way out still takes calls, and ends each stream at once.
        if self.opened {
            tokio::time::sleep(REOPEN_PAUSE).await;
        }
        self.opened = true;
        let query = self.query.clone();
        match self.daemon().await?.client.events(&query).await {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => self.recover(error)?,
        }
        Ok(())
    }

    /// Lets go of a daemon that went away; any other error is one.
    fn recover(&mut self, error: ClientError) -> Outcome {
        self.stream = None;
        self.daemon = None;
        match Failure::from(error) {
            failure if failure.is_departure() => Ok(()),
            failure => Err(failure),
        }
    }
}

/// What is followed: the turn that an input becomes.
#[derive(Clone, Debug)]
pub(crate) struct Aim {
    pub(crate) task: TaskRef,
    /// The input whose turn it is.
    pub(crate) input: Uuid,
    /// The turn, if it is one already.
    pub(crate) turn: Option<Uuid>,
    /// Follow the stream from here.
    pub(crate) after: String,
}

/// What the next step is after a frame.
enum Next {
    GoOn,
    Ask(Box<Approval>),
    Stop,
    Ended(TurnEnd),
}

/// Shows a turn until it ends or needs someone.
pub(crate) async fn follow(context: &Context, aim: Aim) -> Outcome {
    let watch = Watch::new(context, &aim.task, Some(aim.after.clone()));
    let mut view = TurnView::new(context.output);
    if let Some(turn) = aim.turn {
        view.begin(turn);
    }
    let mut following = Following { context, watch, view, aim };
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(interrupt);
    loop {
        let frame = tokio::select! {
            frame = following.watch.next() => frame?,
            _ = &mut interrupt => return following.detach(),
        };
        match following.take(&frame)? {
            Next::GoOn => {}
            Next::Stop => return Ok(()),
            Next::Ended(end) => return following.ended(&end),
            Next::Ask(approval) if context.output.asks() => {
                let asked = tokio::select! {
                    asked = following.ask(&approval) => asked,
                    _ = &mut interrupt => return following.detach(),
                };
                if let Some(end) = asked? {
                    return following.ended(&end);
                }
            }
            Next::Ask(approval) => {
                let how = approval_view::how_to_answer(&approval);
                return context.output.piece(&how);
            }
        }
    }
}

struct Following<'a> {
    context: &'a Context,
    watch: Watch<'a>,
    view: TurnView,
    aim: Aim,
}

impl Following<'_> {
    /// Shows one frame.
    fn take(&mut self, frame: &Frame) -> Outcome<Next> {
        let output = self.context.output;
        match frame {
            Frame::Ready(_) => Ok(Next::GoOn),
            Frame::Live(live) => {
                output.json(&tagged("live", live)?)?;
                let text = self.view.live(live);
                output.piece(&text)?;
                Ok(Next::GoOn)
            }
            Frame::Entry(entry) => {
                output.json(&entry)?;
                self.entry(entry)
            }
        }
    }

    fn entry(&mut self, entry: &TimelineEntry) -> Outcome<Next> {
        let output = self.context.output;
        match &entry.body {
            EntryBody::TurnRequested { turn, input, .. } if *input == self.aim.input => {
                // A retried input becomes a turn twice; the newest one is meant.
                self.aim.turn = Some(*turn);
                self.view.begin(*turn);
            }
            EntryBody::InputWithdrawn { input } if *input == self.aim.input => {
                output.line("the message was taken back")?;
                return Ok(Next::Stop);
            }
            EntryBody::Approval { approval } if Some(approval.turn) == self.aim.turn => {
                let text = self.view.end_line() + &approval_view::request(output, approval);
                output.piece(&text)?;
                return Ok(Next::Ask(approval.clone()));
            }
            _ => {}
        }
        let text = self.view.entry(&entry.body);
        output.piece(&text)?;
        Ok(match &entry.body {
            EntryBody::TurnEnded { turn, end } if Some(*turn) == self.aim.turn => Next::Ended(end.clone()),
            _ => Next::GoOn,
        })
    }

    /// Asks in place, while the stream goes on: somebody else may answer first.
    async fn ask(&mut self, approval: &Approval) -> Outcome<Option<TurnEnd>> {
        const QUESTION: &str = "[y]es, [n]o, or [s]kip (decide later)? ";
        terminal::show(QUESTION)?;
        loop {
            let frame = tokio::select! {
                answer = terminal::next_answer() => match answer {
                    Answer::Yes => return self.decide(approval, "allow").await,
                    Answer::No => return self.decide(approval, "deny").await,
                    Answer::Other(word) if word.is_empty() || !"skip".starts_with(&word) => {
                        terminal::show(QUESTION)?;
                        continue;
                    }
                    Answer::Other(_) | Answer::End => {
                        let how = approval_view::how_to_answer(approval);
                        self.context.output.piece(&how)?;
                        return Ok(None);
                    }
                },
                frame = self.watch.next() => frame?,
            };
            let settled = is_settlement(&frame, approval.id);
            match self.take(&frame)? {
                Next::Ended(end) => return Ok(Some(end)),
                _ if settled => {
                    self.context.output.aside("it was decided elsewhere");
                    return Ok(None);
                }
                _ => {}
            }
        }
    }

    async fn decide(&mut self, approval: &Approval, option: &str) -> Outcome<Option<TurnEnd>> {
        let decision = DecideApproval { option: option.to_owned(), digest: approval.digest.clone(), reason: None };
        let decided = self.context.ask(async |client| Ok(client.decide_approval(approval.id, &decision).await?)).await;
        match decided {
            Ok(_) => Ok(None),
            // Somebody was faster; the stream tells what became of it.
            Err(failure) if failure.code == "approval_settled" => {
                self.context.output.aside(&failure.message);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn detach(&mut self) -> Outcome {
        let key = safe_line(&self.aim.task.key).into_owned();
        let text = format!("{}the work goes on: tl show {key} --follow", self.view.end_line());
        let output = self.context.output;
        output.line(&output.paint(Style::Faint, &text))
    }

    fn ended(&self, end: &TurnEnd) -> Outcome {
        let key = &self.aim.task.key;
        match end.outcome {
            TurnOutcome::Completed => Ok(()),
            outcome => Err(turn_failure(outcome, end, key)),
        }
    }
}

fn is_settlement(frame: &Frame, id: Uuid) -> bool {
    match frame {
        Frame::Entry(entry) => match &entry.body {
            EntryBody::ApprovalSettled { approval, state, .. } => *approval == id && *state != ApprovalState::Pending,
            _ => false,
        },
        Frame::Ready(_) | Frame::Live(_) => false,
    }
}

/// A turn that did not complete, as the failure of the command that waited for it.
fn turn_failure(outcome: TurnOutcome, end: &TurnEnd, key: &str) -> Failure {
    let word = outcome.word();
    let code = match (&end.code, outcome) {
        (Some(code), TurnOutcome::Failed) => code.clone(),
        _ => format!("turn_{word}"),
    };
    let message = match &end.reason {
        Some(reason) => format!("the turn {}: {reason}", past(outcome)),
        None => format!("the turn {}", past(outcome)),
    };
    let retry = format!("`tl retry {key}` runs it again, `tl show {key}` shows what happened");
    Failure::new(code, message).hint(end.hint.clone().unwrap_or(retry))
}

fn past(outcome: TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::Failed => "failed",
        TurnOutcome::Cancelled => "was cancelled",
        TurnOutcome::Interrupted => "was interrupted",
        TurnOutcome::Unknown => "ended in a way that cannot be known",
    }
}

/// A document with its type beside its own fields, as timeline entries have it.
pub(crate) fn tagged(kind: &str, document: &impl serde::Serialize) -> Outcome<serde_json::Value> {
    let mut value = serde_json::to_value(document).map_err(std::io::Error::from)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("type".to_owned(), kind.into());
    }
    Ok(value)
}
