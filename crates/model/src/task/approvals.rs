//! Approvals: asked by a process, decided once by a person, void when there is nothing left to decide (P5).
//!
//! **Invariant:** a pending request is one of the turn that runs in the process that asked. What ends either settles it.

use std::time::Duration;

use super::TaskEvent;
use super::decide::Draft;
use crate::approval::{Approval, Asked, Decision, Given, Settlement, Verdict, VoidKind};
use crate::content::ContentBlock;
use crate::ids::{ApprovalId, ConversationId, ExecutionId, PersonId, RuntimeSessionId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::item::{Item, ItemBody, ToolStatus};
use crate::rejection::Rejection;
use crate::shown::View;

/// How many requests of a turn may wait at once. Nobody reads more.
pub(super) const MAX_PENDING: usize = 32;
/// How many a turn may make at all.
pub(super) const MAX_ASKED: u32 = 1_000;
/// How much of a title the agent is told again with the reason for a no.
const TITLE_CHARS: usize = 200;

impl Draft {
    pub(super) fn asked(&mut self, session: RuntimeSessionId, epoch: u64, mut asked: Asked) {
        // The spool may be read again after a crash, and an agent may say it again while it waits: the same request is asked
        // once. Under an id that was answered it is another one.
        let desk = &self.task.approvals;
        let known = desk.knows(asked.approval) || desk.waiting(session, epoch, &asked.request).is_some();
        if !known && self.asks_too_much(session) {
            return;
        }
        if let Some(item) = asked.item.take() {
            self.recorded(session, *item);
        }
        if !known {
            self.ask(session, epoch, asked);
        }
    }

    /// Whoever reads the agent's output answers what was not taken; the record says it once, and nothing else of it.
    fn asks_too_much(&mut self, session: RuntimeSessionId) -> bool {
        let active = self.task.execution_of(session).and_then(|execution| execution.active.as_ref());
        let Some(active) = active.filter(|active| active.stopping.is_none()) else { return false };
        let (turn, refusing) = (active.id, active.asked.refusing);
        let waiting = self.task.approvals.pending.iter().filter(|known| known.approval.turn == turn).count();
        let too_much = waiting >= MAX_PENDING || active.asked.count >= MAX_ASKED;
        if too_much && !refusing {
            self.emit(TaskEvent::ApprovalsRefused { turn });
        }
        too_much
    }

    fn ask(&mut self, session: RuntimeSessionId, epoch: u64, asked: Asked) {
        let Asked { approval: id, request, ask, options, expires_secs, ruling, .. } = asked;
        let Some(execution) = self.task.execution_of(session) else { return };
        // Nobody decides for a turn that is to stop.
        let Some(active) = execution.active.as_ref().filter(|active| active.stopping.is_none()) else { return };
        let turn = active.id;
        let mut approval = Approval {
            id,
            execution: execution.id,
            session,
            epoch,
            turn,
            request,
            ask,
            options,
            expires_at: self.at.after(Duration::from_secs(expires_secs)),
            ruled: false,
        };
        // A rule cannot give an answer that the agent does not offer.
        let ruling = ruling.filter(|ruling| match ruling.standing.verdict() {
            Verdict::Approve => approval.option_for(Verdict::Approve, None).is_some(),
            Verdict::Deny => true,
        });
        approval.ruled = ruling.is_some();
        self.emit(TaskEvent::ApprovalRequested { approval: Box::new(approval) });
        if let Some(ruling) = ruling {
            self.settle(id, Settlement::Ruled { ruling });
        }
    }

    /// The first decision wins.
    pub(super) fn decide_approval(&mut self, id: ApprovalId, decision: Decision) -> Result<(), Rejection> {
        let Some(pending) = self.task.approvals.pending(id) else {
            return Err(Rejection::ApprovalSettled { how: "it was decided, expired or void before" });
        };
        let approval = &pending.approval;
        if self.at >= approval.expires_at {
            return Err(Rejection::ApprovalSettled { how: "it has expired" });
        }
        approval.check(&decision)?;
        let (execution, title) = (approval.execution, approval.ask.title.clone());
        let Decision { verdict, by, source, option, reason, .. } = decision;
        let conversation = source.conversation;
        let given = Some(Given { source, digest: approval.digest(), option });
        match verdict {
            Verdict::Approve => self.settle(id, Settlement::Approved { by, given }),
            Verdict::Deny => {
                self.settle(id, Settlement::Denied { by, reason: reason.clone(), given });
                if let Some(reason) = reason {
                    self.tell_why(execution, by, conversation, &title, &reason);
                }
            }
        }
        Ok(())
    }

    /// The protocol's no has no room for a reason: it becomes the execution's next input, first in line.
    fn tell_why(
        &mut self,
        execution: ExecutionId,
        person: PersonId,
        conversation: Option<ConversationId>,
        title: &str,
        reason: &str,
    ) {
        let Some(conversation) = conversation.or_else(|| self.task.conversations.first().copied()) else { return };
        let title = View::line(TITLE_CHARS).show(title).text;
        let words = format!("{reason}\n\n(This is why I said no to: {title})");
        let (input, content) = (self.mint.id(), vec![ContentBlock::text(words)]);
        let queued = QueuedInput { input, person, conversation, content, at: self.at };
        self.emit(TaskEvent::InputQueued { execution, queued, urgency: Urgency::Next });
    }

    pub(super) fn expire(&mut self, id: ApprovalId) {
        let due = self.task.approvals.pending(id).is_some_and(|known| self.at >= known.approval.expires_at);
        if due {
            self.settle(id, Settlement::Expired);
        }
    }

    pub(super) fn withdrew(&mut self, session: RuntimeSessionId, epoch: u64, request: &str) {
        if let Some(id) = self.task.approvals.waiting(session, epoch, request).map(|known| known.approval.id) {
            let cause = "the agent took it back".to_owned();
            self.settle(id, Settlement::Void { cause, kind: VoidKind::Withdrawn });
        }
    }

    /// A call that is over while its request waits was not waited for.
    pub(super) fn ran(&mut self, item: &Item) {
        let ItemBody::ToolCall(call) = &item.body else { return };
        let cause = match call.status {
            ToolStatus::Completed => "the agent did it without waiting for an answer",
            ToolStatus::Failed => "the agent gave it up without waiting for an answer",
            ToolStatus::Pending | ToolStatus::InProgress => return,
        };
        let same = |known: &&super::PendingApproval| {
            known.approval.ask.call == call.call && Some(known.approval.turn) == item.turn
        };
        let waiting: Vec<_> = self.task.approvals.pending.iter().filter(same).map(|known| known.approval.id).collect();
        let kind = if call.status == ToolStatus::Completed { VoidKind::NotAsked } else { VoidKind::Stopped };
        for id in waiting {
            self.settle(id, Settlement::Void { cause: cause.to_owned(), kind });
        }
    }

    pub(super) fn void_approvals(&mut self, turn: TurnId, kind: VoidKind, cause: &str) {
        let of_turn = self.task.approvals.pending.iter().filter(|known| known.approval.turn == turn);
        let pending: Vec<_> = of_turn.map(|known| known.approval.id).collect();
        for id in pending {
            self.settle(id, Settlement::Void { cause: cause.to_owned(), kind });
        }
        self.void_questions(turn, kind, cause);
    }

    fn settle(&mut self, approval: ApprovalId, settlement: Settlement) {
        self.emit(TaskEvent::ApprovalSettled { approval, settlement });
    }
}
