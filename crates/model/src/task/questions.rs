//! Questions of a running turn: asked by a process, answered once by a person, void with the turn or the process.
//!
//! **Invariant:** a question that waits belongs to the turn that runs in the process that asked.

use super::TaskEvent;
use super::decide::Draft;
use crate::approval::VoidKind;
use crate::content::plain_text;
use crate::execution::Execution;
use crate::ids::{ExecutionId, InputId, PersonId, QuestionId, RuntimeSessionId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::question::{Answer, Question, QuestionSettlement};
use crate::rejection::Rejection;

/// How many questions a turn may ask at all.
const MAX_QUESTIONS: usize = 32;

impl Draft {
    pub(super) fn questioned(&mut self, session: RuntimeSessionId, question: Question) {
        let Some(active) = self.task.execution_of(session).and_then(|execution| execution.active.as_ref()) else {
            return;
        };
        // The spool may be read again after a crash, and an agent may say it again while it waits. Nobody answers for a turn
        // that is to stop.
        let same = |known: &Question| known.id == question.id || known.waits_as(&question.request);
        let known = active.questions.iter().any(same);
        if known || active.stopping.is_some() || active.questions.len() >= MAX_QUESTIONS {
            return;
        }
        let turn = active.id;
        self.emit(TaskEvent::QuestionAsked { turn, question: Box::new(question) });
    }

    /// A message that answers: the question that waits, if one does; else the agent gets it as its next prompt.
    pub(super) fn answer(
        &mut self,
        queued: QueuedInput,
        execution: Option<ExecutionId>,
        urgency: Urgency,
    ) -> Result<(), Rejection> {
        let asks = |known: &&Execution| known.question().is_some();
        let named = execution.and_then(|id| self.task.execution(id));
        let asking = match named {
            Some(named) => Some(named).filter(asks),
            None => self.task.primary().filter(asks).or_else(|| self.task.executions.iter().find(asks)),
        };
        let question = asking.and_then(Execution::question).filter(|_| urgency != Urgency::Interrupt);
        let Some(question) = question.map(|question| question.id) else {
            if self.lets_go_on(&plain_text(&queued.content)) {
                return self.extend_budget(queued.person);
            }
            return self.enqueue(queued, execution, urgency);
        };
        let answer = Answer::Words { text: plain_text(&queued.content) };
        if !self.task.conversations.contains(&queued.conversation) {
            self.emit(TaskEvent::ConversationJoined { conversation: queued.conversation });
        }
        self.answer_question(question, answer, queued.person, Some(queued.input))
    }

    /// The first answer wins.
    pub(super) fn answer_question(
        &mut self,
        id: QuestionId,
        answer: Answer,
        by: PersonId,
        input: Option<InputId>,
    ) -> Result<(), Rejection> {
        let waiting = self.task.executions.iter().find_map(|execution| {
            let active = execution.active.as_ref()?;
            Some((active.id, active.questions.iter().find(|known| known.id == id && !known.settled)?))
        });
        let Some((turn, question)) = waiting else { return Err(Rejection::QuestionSettled) };
        let settlement = match answer {
            Answer::Decline => QuestionSettlement::Declined { by },
            given @ (Answer::Words { .. } | Answer::Form { .. }) => {
                QuestionSettlement::Answered { by, input, content: question.filled_in(&given)? }
            }
        };
        self.emit(TaskEvent::QuestionSettled { turn, question: id, settlement });
        Ok(())
    }

    /// The agent took one of its requests back.
    pub(super) fn withdrew_question(&mut self, session: RuntimeSessionId, request: &str) {
        let active = self.task.execution_of(session).and_then(|execution| execution.active.as_ref());
        let waiting = active.and_then(|active| {
            let question = active.questions.iter().find(|known| known.waits_as(request))?;
            Some((active.id, question.id))
        });
        if let Some((turn, question)) = waiting {
            let settlement =
                QuestionSettlement::Void { cause: "the agent took it back".into(), kind: VoidKind::Withdrawn };
            self.emit(TaskEvent::QuestionSettled { turn, question, settlement });
        }
    }

    pub(super) fn void_questions(&mut self, turn: TurnId, kind: VoidKind, cause: &str) {
        let Some(active) = self.task.active_turn(turn) else { return };
        let waiting: Vec<_> = active.questions.iter().filter(|known| !known.settled).map(|known| known.id).collect();
        for question in waiting {
            let settlement = QuestionSettlement::Void { cause: cause.to_owned(), kind };
            self.emit(TaskEvent::QuestionSettled { turn, question, settlement });
        }
    }
}
