//! The model's own enums in words: what each of them is called in the person's language.

use super::fit;
use super::locale::Locale;
use crate::execution::{Activity, ExecutionEnd, Role};
use crate::runtime_session::RuntimePhase;
use crate::task::Lifecycle;
use crate::turn::TurnOutcome;

/// So much of a reason is shown.
const REASON_CHARS: usize = 160;

impl Locale {
    /// Both axes of a task's state in a few words.
    #[must_use]
    pub fn state(self, lifecycle: Lifecycle, activity: &Activity) -> String {
        let doing = match activity {
            Activity::WaitingApproval => self.state_waiting_approval(),
            Activity::WaitingAnswer => self.state_waiting_answer(),
            Activity::Blocked { .. } => self.state_blocked(),
            Activity::Failed { .. } => self.state_failed(),
            Activity::Working => self.state_working(),
            Activity::Queued { .. } => self.state_queued(),
            Activity::Resting => self.state_resting(),
        };
        let life = match lifecycle {
            Lifecycle::Open => return doing,
            Lifecycle::Closed => self.closed(),
            Lifecycle::Archived => self.archived(),
        };
        if *activity == Activity::Resting { life } else { self.both(life, doing) }
    }

    /// How a turn ended, and why where it did not complete.
    #[must_use]
    pub fn outcome(self, outcome: &TurnOutcome) -> String {
        let because = |word: String, reason: &str| self.because(word, fit(reason, REASON_CHARS));
        match outcome {
            TurnOutcome::Completed { .. } => self.turn_completed(),
            TurnOutcome::Failed { failure } => because(self.turn_failed(), &failure.message),
            TurnOutcome::Cancelled => self.turn_cancelled(),
            TurnOutcome::Interrupted { cause } => because(self.turn_interrupted(), cause),
            TurnOutcome::Unknown { cause } => because(self.turn_unknown(), cause),
        }
    }

    /// What an execution is for.
    #[must_use]
    pub fn role(self, role: Role) -> String {
        match role {
            Role::Editor => self.role_editor(),
            Role::Reviewer => self.role_reviewer(),
            Role::Tester => self.role_tester(),
            Role::Researcher => self.role_researcher(),
        }
    }

    /// How an execution ended.
    #[must_use]
    pub fn execution_end(self, end: ExecutionEnd) -> String {
        match end {
            ExecutionEnd::Superseded => self.end_superseded(),
            ExecutionEnd::Cancelled => self.end_cancelled(),
            ExecutionEnd::Archived => self.archived(),
        }
    }

    /// Where a runtime session is in its life.
    #[must_use]
    pub fn phase(self, phase: RuntimePhase) -> String {
        match phase {
            RuntimePhase::Starting => self.phase_starting(),
            RuntimePhase::Live => self.phase_live(),
            RuntimePhase::Parked => self.phase_parked(),
            RuntimePhase::Lost => self.phase_lost(),
            RuntimePhase::Closed => self.closed(),
        }
    }
}
