//! Following one turn as it happens, for `say` and `retry`, until it ends or needs someone.
//!
//! *Invariant:* Ctrl-C only ends the watching; nothing here stops work. *Invariant:* an approval is answered
//! with the digest of what was shown. *Invariant:* a message is shown whole, whether or not it came live.

use std::collections::VecDeque;

use throughline_api::approval::{Approval, ApprovalState, DecideApproval};
use throughline_api::content::Text;
use throughline_api::event::Frame;
use throughline_api::task::{Execution, Task, TaskRef, TurnEnd, TurnOutcome};
use throughline_api::timeline::{EntryBody, TimelineEntry};
use throughline_model::present::Locale;
use uuid::Uuid;

use crate::approval_view;
use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::terminal::{self, Answer};
use crate::timeline_view;
use crate::turn_view::TurnView;
use crate::watch::{Watch, tagged};

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

impl Aim {
    /// The turn that a task was asked for last, of this execution or of any; the last that ended if it was that quick.
    pub(crate) fn newest(task: &Task, execution: Option<Uuid>, after: String) -> Outcome<Self> {
        // Ids of turns are in the order in which they were asked for.
        let newest = |known: &&Execution| {
            let active = known.active_turn.as_ref().map(|turn| turn.id);
            (active.or(known.last_turn.as_ref().map(|turn| turn.id)), known.primary)
        };
        let meant = |known: &&Execution| execution.is_none_or(|id| known.id == id);
        let execution = task.executions.iter().filter(meant).max_by_key(newest);
        let requested = execution.and_then(|execution| {
            let active = execution.active_turn.as_ref().map(|turn| (turn.input, Some(turn.id)));
            let queued = execution.queue.first().map(|queued| (queued.input, None));
            active.or(queued).or_else(|| execution.last_turn.as_ref().map(|turn| (turn.input, Some(turn.id))))
        });
        let key = task.summary.key.clone();
        let (input, turn) = requested.ok_or_else(|| {
            Failure::new("internal", "the turn that was asked for is not there").hint(format!("tl show {key}"))
        })?;
        Ok(Self { task: TaskRef { id: task.summary.id, key }, input, turn, after })
    }
}

/// What the next step is after a frame.
enum Next {
    GoOn,
    /// Requests wait for an answer.
    Ask,
    Stop,
    Ended(Box<TurnEnd>),
}

/// Shows a turn until it ends or needs someone.
pub(crate) async fn follow(context: &Context, aim: Aim, mut interrupt: Interrupt) -> Outcome {
    let locale = context.locale().await?;
    let mut following = Following::new(context, locale, aim);
    loop {
        let next = tokio::select! {
            next = following.step() => next?,
            () = interrupt.pressed() => return following.detach(),
        };
        match next {
            Next::GoOn => {}
            Next::Stop => return Ok(()),
            Next::Ended(end) => return following.ended(&end),
            Next::Ask if !context.output.asks() => return following.tell_how(),
            Next::Ask => {
                let asked = tokio::select! {
                    asked = following.ask_all() => asked?,
                    () = interrupt.pressed() => return following.detach(),
                };
                if let Some(end) = asked {
                    return following.ended(&end);
                }
            }
        }
    }
}

struct Following<'a> {
    context: &'a Context,
    locale: Locale,
    watch: Watch<'a>,
    view: TurnView,
    aim: Aim,
    /// An entry that came and is not shown yet, because some of its text has to be fetched.
    held: Option<Box<TimelineEntry>>,
    /// Requests that were shown and not answered, oldest first.
    asking: VecDeque<Approval>,
    /// How the last one was settled.
    decided: Option<EntryBody>,
}

impl<'a> Following<'a> {
    fn new(context: &'a Context, locale: Locale, aim: Aim) -> Self {
        let mut view = TurnView::new(context.output, locale);
        if let Some(turn) = aim.turn {
            view.begin(turn);
        }
        let watch = Watch::new(context, &aim.task, Some(aim.after.clone()));
        Self { context, locale, watch, view, aim, held: None, asking: VecDeque::new(), decided: None }
    }

    /// Waits for the next frame and shows it. Nothing is lost if the wait is given up.
    async fn step(&mut self) -> Outcome<Next> {
        let output = self.context.output;
        if self.held.is_none() {
            match self.watch.next().await? {
                Frame::Ready(_) => {}
                Frame::Live(live) => {
                    output.json(&tagged("live", &live)?)?;
                    output.piece(&self.view.live(&live))?;
                }
                Frame::Entry(entry) => {
                    output.json(&entry)?;
                    self.held = Some(entry);
                }
            }
        }
        self.fetch_rest().await?;
        self.held.take().map_or(Ok(Next::GoOn), |entry| self.entry(&entry))
    }

    /// Of a long message the entry has only the head; what did not come live is in its blob.
    async fn fetch_rest(&mut self) -> Outcome {
        if self.context.output.is_json() {
            return Ok(());
        }
        let Some(EntryBody::Message(message)) = self.held.as_mut().map(|entry| &mut entry.body) else { return Ok(()) };
        let Some(blob) = self.view.missing(message).cloned() else { return Ok(()) };
        let whole = self.context.ask(async |client| Ok(client.blob(&blob.sha256).await?)).await?;
        message.text = Text::from(String::from_utf8_lossy(&whole).into_owned());
        Ok(())
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
                output.line(&self.locale.message_taken_back())?;
                return Ok(Next::Stop);
            }
            EntryBody::InputMovedOut { input, .. } if *input == self.aim.input => {
                output.line(&self.locale.message_moved())?;
                return Ok(Next::Stop);
            }
            EntryBody::Approval { approval }
                if Some(approval.turn) == self.aim.turn && approval.state != ApprovalState::Ruled =>
            {
                let text = self.view.end_line() + &approval_view::request(output, self.locale, approval);
                output.piece(&text)?;
                self.asking.push_back((**approval).clone());
                return Ok(Next::Ask);
            }
            EntryBody::BudgetSet { .. } if self.aim.turn.is_none() => {
                output.line(&self.locale.budget_goes_on())?;
                return Ok(Next::Stop);
            }
            EntryBody::QuestionAsked { turn, question } if Some(*turn) == self.aim.turn => {
                let key = safe_line(&self.aim.task.key);
                let how = self.locale.how_to_answer(format!("tl answer {key} TEXT")) + "\n";
                output.piece(&(self.view.end_line() + &timeline_view::asked(output, question) + &how))?;
                return Ok(Next::Stop);
            }
            EntryBody::ApprovalSettled { approval, .. } => {
                self.asking.retain(|asked| asked.id != *approval);
                self.decided = Some(entry.body.clone());
            }
            _ => {}
        }
        let text = self.view.entry(&entry.body);
        output.piece(&text)?;
        Ok(match &entry.body {
            EntryBody::TurnEnded { turn, end } if Some(*turn) == self.aim.turn => Next::Ended(Box::new(end.clone())),
            _ => Next::GoOn,
        })
    }

    /// Says how to answer from a shell, for whoever reads this later.
    fn tell_how(&self) -> Outcome {
        for approval in &self.asking {
            self.context.output.piece(&approval_view::how_to_answer(self.locale, approval))?;
        }
        Ok(())
    }

    /// Asks in place until nothing is left to ask; gives the turn's end if that comes first.
    async fn ask_all(&mut self) -> Outcome<Option<TurnEnd>> {
        while let Some(approval) = self.asking.front().cloned() {
            if let Some(end) = self.ask(&approval).await? {
                return Ok(Some(end));
            }
            self.asking.retain(|asked| asked.id != approval.id);
        }
        Ok(None)
    }

    /// Asks in place, while the stream goes on: somebody else may answer first.
    async fn ask(&mut self, approval: &Approval) -> Outcome<Option<TurnEnd>> {
        if !approval.shown.complete {
            self.context.output.piece(&approval_view::how_to_answer(self.locale, approval))?;
            return Ok(None);
        }
        terminal::show(&self.locale.yes_no_or_skip())?;
        loop {
            let next = tokio::select! {
                answer = terminal::next_answer() => match answer {
                    Answer::Yes => return self.decide(approval, "allow").await,
                    Answer::No => return self.decide(approval, "deny").await,
                    Answer::Other(word) if !terminal::skips(&word) => {
                        terminal::show(&self.locale.yes_no_or_skip())?;
                        continue;
                    }
                    Answer::Other(_) | Answer::End => {
                        let output = self.context.output;
                        output.piece(&approval_view::how_to_answer(self.locale, approval))?;
                        output.line(&output.paint(Style::Faint, &self.locale.watching_on()))?;
                        return Ok(None);
                    }
                },
                next = self.step() => next?,
            };
            if let Next::Ended(end) = next {
                return Ok(Some(*end));
            }
            if self.asking.iter().all(|asked| asked.id != approval.id) {
                let words = self.decided_elsewhere().await?;
                self.context.output.aside(&words);
                return Ok(None);
            }
        }
    }

    /// Who was faster, and from where.
    async fn decided_elsewhere(&self) -> Outcome<String> {
        let locale = self.locale;
        let nothing = locale.nothing_to_decide();
        let Some(EntryBody::ApprovalSettled { state, by, source, reason, .. }) = &self.decided else {
            return Ok(nothing);
        };
        let me = self.context.ask(async |client| Ok(client.me().await?)).await?.id;
        let mut how = locale.decided_elsewhere(approval_view::state_word(locale, *state));
        how = match by {
            Some(by) if *by == me => locale.by_you(how),
            Some(_) => locale.by_another(how),
            None => how,
        };
        if let Some(source) = source {
            how = locale.from_surface(how, safe_line(&source.surface));
        }
        if let Some(why) = reason {
            how = locale.because(how, safe_line(why));
        }
        Ok(locale.because(nothing, how))
    }

    async fn decide(&mut self, approval: &Approval, option: &str) -> Outcome<Option<TurnEnd>> {
        let (option, digest) = (option.to_owned(), approval.digest.clone());
        let decision = DecideApproval { option, digest, ..DecideApproval::default() };
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
        let goes_on = self.locale.work_goes_on(format!("tl show {key} --follow"));
        let text = self.view.end_line() + &goes_on;
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
    Failure::new(code, message).hint(end.hint.clone().unwrap_or(retry)).about(key)
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
