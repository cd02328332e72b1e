//! The model's own enums in words: what each of them is called in the person's language.

use super::fit;
use super::locale::Locale;
use crate::approval::Verdict;
use crate::channel::{Channel, Platform};
use crate::execution::{Activity, ExecutionEnd, Role};
use crate::policy::{Allowed, Made, Standing};
use crate::runtime_session::{ResumeCause, RuntimePhase, StartReason, WriteAccess};
use crate::task::Lifecycle;
use crate::turn::TurnOutcome;

/// Platforms with a name of their own in a language.
// tidy: a name in another language is a translation, and all of these are here
const CALLED_OTHERWISE: [(&str, Locale, &str); 1] = [("feishu", Locale::Zh, "飞书")];
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

    /// What a process that is not to write is held to; nothing of one that may.
    #[must_use]
    pub fn read_only(self, access: WriteAccess) -> Option<String> {
        match access {
            WriteAccess::Writes => None,
            WriteAccess::ReadOnly { enforced_by: Some(_) } => Some(self.read_only_enforced()),
            WriteAccess::ReadOnly { enforced_by: None } => Some(self.read_only_not_enforced()),
        }
    }

    /// How an execution ended.
    #[must_use]
    pub fn execution_end(self, end: ExecutionEnd) -> String {
        match end {
            ExecutionEnd::Replaced => self.end_replaced(),
            ExecutionEnd::Superseded => self.end_superseded(),
            ExecutionEnd::Cancelled => self.end_dismissed(),
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

    /// What was made of a message, in the router's vocabulary. A word of a newer version stays as it is.
    #[must_use]
    pub fn intent(self, word: &str) -> String {
        match word {
            "continue" => self.intent_continue(),
            "answer" => self.intent_answer(),
            "new_task" => self.intent_new_task(),
            "add_execution" => self.intent_add_execution(),
            "switch_agent" => self.intent_switch_agent(),
            "fresh_session" => self.intent_fresh_session(),
            "retry" => self.intent_retry(),
            "fork" => self.intent_fork(),
            "status" => self.intent_status(),
            "approve" => self.intent_approve(),
            "deny" => self.intent_deny(),
            "cancel" => self.intent_cancel(),
            "close" => self.intent_close(),
            "focus" => self.intent_focus(),
            "clarify" => self.intent_clarify(),
            "ack" => self.intent_ack(),
            "help" => self.intent_help(),
            other => fit(&other.replace('_', " "), REASON_CHARS),
        }
    }

    /// How a request ended, by its word.
    #[must_use]
    pub fn settled(self, word: &str) -> String {
        match word {
            "approved" => self.settled_approved(),
            "denied" => self.settled_denied(),
            "expired" => self.settled_expired(),
            "void" => self.settled_void(),
            other => fit(other, REASON_CHARS),
        }
    }

    /// What decided in the place of a person, who is told where that comes from.
    #[must_use]
    pub fn ruled(self, standing: &Standing) -> String {
        match standing {
            Standing::Rule { number, verdict, made } => match verdict {
                Verdict::Approve => self.allowed_by_rule(number, self.place_of(made), made.at.day()),
                Verdict::Deny => self.denied_by_rule(number, self.place_of(made), made.at.day()),
            },
            Standing::Allowance { what: Allowed::Reads, made } => {
                self.reads_allowed(self.place_of(made), made.at.day())
            }
            Standing::Allowance { what: Allowed::Edits, made } => {
                self.edits_allowed(self.place_of(made), made.at.day())
            }
        }
    }

    fn place_of(self, made: &Made) -> String {
        self.surface(made.source.surface)
    }

    /// Where somebody did something.
    #[must_use]
    pub fn surface(self, surface: Channel) -> String {
        match surface {
            Channel::Web => self.from_web(),
            Channel::Cli => self.from_cli(),
            Channel::Ide => self.from_ide(),
            Channel::Api => self.from_api(),
            Channel::Chat(platform) => self.platform(platform),
        }
    }

    /// What a platform is called: by its own name, but for the few that have another one in this language.
    fn platform(self, platform: Platform) -> String {
        let other = CALLED_OTHERWISE.iter().find(|(name, locale, _)| (*name, *locale) == (platform.name(), self));
        other.map_or_else(|| platform.title(), |(_, _, called)| (*called).to_owned())
    }

    /// Why a new runtime session started.
    #[must_use]
    pub fn session_started(self, reason: StartReason) -> String {
        match reason {
            StartReason::FirstUse => self.session_first(),
            StartReason::Requested => self.session_requested(),
            StartReason::Changed => self.session_changed(),
            StartReason::Lost => self.session_rebuilt(),
        }
    }

    /// Why a runtime session was taken up again.
    #[must_use]
    pub fn session_taken_up(self, cause: ResumeCause) -> String {
        match cause {
            ResumeCause::Parked => self.session_resumed(),
            ResumeCause::ProcessDied => self.session_revived(),
        }
    }
}
