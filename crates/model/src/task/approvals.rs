//! Approvals: asked by a process, decided once by a person, void when there is nothing left to decide (P5).

use std::time::Duration;

use super::TaskEvent;
use super::decide::Draft;
use crate::approval::{Approval, ApprovalOption, Ask, Settlement, Verdict};
use crate::ids::{ApprovalId, PersonId, RuntimeSessionId, TurnId};
use crate::rejection::Rejection;

/// How long a request can be decided.
const EXPIRES_AFTER: Duration = Duration::from_secs(60 * 60);

impl Draft {
    pub(super) fn asked(
        &mut self,
        session: RuntimeSessionId,
        id: ApprovalId,
        request: String,
        ask: Ask,
        options: Vec<ApprovalOption>,
    ) {
        let Some(execution) = self.task.execution_of(session) else { return };
        let (Some(active), Some(known)) = (&execution.active, &execution.session) else { return };
        let approval = Approval {
            id,
            execution: execution.id,
            session,
            epoch: known.epoch,
            turn: active.id,
            request,
            ask,
            options,
            expires_at: self.at.after(EXPIRES_AFTER),
        };
        // The spool may be read again after a crash: the same request is asked once.
        if !self.task.approvals.knows(id) {
            self.emit(TaskEvent::ApprovalRequested { approval: Box::new(approval) });
        }
    }

    pub(super) fn decide_approval(
        &mut self,
        id: ApprovalId,
        verdict: Verdict,
        by: PersonId,
        digest: Option<&str>,
        reason: Option<String>,
    ) -> Result<(), Rejection> {
        let Some(pending) = self.task.approvals.pending(id) else {
            return Err(Rejection::ApprovalSettled { how: "it was decided, expired or void before" });
        };
        if digest.is_some_and(|digest| digest != pending.approval.digest()) {
            return Err(Rejection::DigestMismatch);
        }
        if self.at >= pending.approval.expires_at {
            return Err(Rejection::ApprovalSettled { how: "it has expired" });
        }
        // An agent that offers no plain yes cannot be given one; without a plain no the request is left unchosen.
        if verdict == Verdict::Approve && pending.approval.option_for(verdict).is_none() {
            return Err(Rejection::NoSuchOption);
        }
        let settlement = match verdict {
            Verdict::Approve => Settlement::Approved { by },
            Verdict::Deny => Settlement::Denied { by, reason },
        };
        self.emit(TaskEvent::ApprovalSettled { approval: id, settlement });
        Ok(())
    }

    pub(super) fn expire(&mut self, id: ApprovalId) {
        let due = self.task.approvals.pending(id).is_some_and(|known| self.at >= known.approval.expires_at);
        if due {
            self.emit(TaskEvent::ApprovalSettled { approval: id, settlement: Settlement::Expired });
        }
    }

    pub(super) fn withdrew(&mut self, id: ApprovalId) {
        if self.task.approvals.pending(id).is_some() {
            let settlement = Settlement::Void { cause: "the agent took it back".to_owned() };
            self.emit(TaskEvent::ApprovalSettled { approval: id, settlement });
        }
    }

    pub(super) fn void_approvals(&mut self, turn: TurnId, cause: &str) {
        let pending: Vec<_> = self
            .task
            .approvals
            .pending
            .iter()
            .filter(|known| known.approval.turn == turn)
            .map(|known| known.approval.id)
            .collect();
        for approval in pending {
            let settlement = Settlement::Void { cause: cause.to_owned() };
            self.emit(TaskEvent::ApprovalSettled { approval, settlement });
        }
    }
}
