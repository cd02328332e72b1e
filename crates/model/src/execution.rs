//! Execution: one agent's attempt to move a task forward in a role.

use serde::{Deserialize, Serialize};

use crate::budget::Reported;
use crate::checkpoint::ChangedFile;
use crate::handoff::Handoff;
use crate::ids::{ExecutionId, TurnId};
use crate::input::QueuedInput;
use crate::question::Question;
use crate::runtime_session::{Failure, ResumeCause, RuntimeSession, StartReason};
use crate::time::Timestamp;
use crate::turn::{ActiveTurn, EndedTurn, TurnOutcome, TurnStage};

/// What an execution is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Changes the code.
    #[default]
    Editor,
    /// Reads what was changed.
    Reviewer,
    /// Runs and writes tests.
    Tester,
    /// Finds things out.
    Researcher,
}

impl Role {
    /// Whether its turns need the workspace lease.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Role::Editor | Role::Tester)
    }

    /// Whether its last words are for the other executions to know.
    #[must_use]
    pub fn reports(self) -> bool {
        !matches!(self, Role::Editor)
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Editor => "editor",
            Role::Reviewer => "reviewer",
            Role::Tester => "tester",
            Role::Researcher => "researcher",
        }
    }
}

/// An execution's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Which.
    pub id: ExecutionId,
    /// The agent's profile name.
    pub agent: String,
    /// The model that was asked for, where one was.
    pub model: Option<String>,
    /// What it is for.
    pub role: Role,
    /// Whether unmarked messages go to it.
    pub primary: bool,
    /// Whether it ended, and how.
    pub ended: Option<ExecutionEnd>,
    /// Its runtime session, the sticky one or the last one there was.
    pub session: Option<RuntimeSession>,
    /// What decides how the next process starts.
    pub next_start: NextStart,
    /// Inputs that wait, first in line first.
    pub queue: Vec<QueuedInput>,
    /// The turn that has not ended.
    pub active: Option<ActiveTurn>,
    /// What it remembers of the turns that ended.
    pub past: Past,
    /// A brief that is due with the first prompt of its next runtime session.
    pub handoff: Option<Handoff>,
}

/// What decides how the next process of an execution starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextStart {
    /// Why a new runtime session would be started, if the old one does not stick.
    pub reason: StartReason,
    /// Why the old one would be resumed, if it sticks.
    pub cause: ResumeCause,
    /// The native session of another task that the first one is to be forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
}

/// What an execution remembers of the turns that ended. Bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// How many there were.
    pub turns: u64,
    /// The last one.
    pub last: Option<EndedTurn>,
    /// The last words of its agent.
    pub last_said: String,
    /// The agent's last words were a question that waits for an answer.
    pub question: bool,
    /// When its process died last, newest last.
    #[serde(default)]
    pub deaths: Vec<Timestamp>,
    /// What its last turn changed, by name. Bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedFile>,
    /// What it found out for the others, newest last.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What its agent last said that its session has used.
    #[serde(default)]
    pub reported: Reported,
}

/// A turn whose last words are worth something to the other executions: a review, a report, an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// In which turn.
    pub turn: TurnId,
    /// Who was there when it ended, and has not got it.
    pub due: Vec<ExecutionId>,
    /// Somebody has got it.
    pub passed: bool,
}

impl Finding {
    /// Whether it goes along with the next prompt of this execution. Who joined later gets what nobody has.
    #[must_use]
    pub fn is_due(&self, to: ExecutionId) -> bool {
        self.due.contains(&to) || !self.passed
    }
}

impl Past {
    /// How many findings are kept for who has not got them.
    pub const FINDINGS: usize = 20;
    /// So many deaths within [`Past::LOOP_MILLIS`] are a crash loop.
    pub const LOOP_DEATHS: usize = 3;
    /// See [`Past::LOOP_DEATHS`].
    pub const LOOP_MILLIS: u64 = 60_000;

    /// Whether its process dies again and again, so that starting another one is pointless for now.
    #[must_use]
    pub fn crash_loop(&self, at: Timestamp) -> bool {
        let recent = self.deaths.iter().filter(|death| at.millis_since(**death) < Self::LOOP_MILLIS);
        recent.count() >= Self::LOOP_DEATHS
    }
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionEnd {
    /// Another one took its place.
    Superseded,
    /// Its agent could not run, and another one took its place by policy.
    Replaced,
    /// The person ended it.
    Cancelled,
    /// It was put away.
    Archived,
}

/// What an execution, or a task, is doing. The most urgent comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "activity", rename_all = "snake_case")]
pub enum Activity {
    /// An agent waits for a yes.
    WaitingApproval,
    /// An agent waits for an answer.
    WaitingAnswer,
    /// It cannot go on by itself.
    Blocked {
        /// Why, in words.
        reason: String,
        /// Until when, where the agent says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The last turn did not work out.
    Failed {
        /// Why, in words.
        reason: String,
    },
    /// A turn runs.
    Working,
    /// A turn waits.
    Queued {
        /// For what, in words.
        reason: String,
    },
    /// Nothing runs.
    Resting,
}

impl Activity {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Activity::WaitingApproval => "waiting_approval",
            Activity::WaitingAnswer => "waiting_answer",
            Activity::Blocked { .. } => "blocked",
            Activity::Failed { .. } => "failed",
            Activity::Working => "working",
            Activity::Queued { .. } => "queued",
            Activity::Resting => "resting",
        }
    }

    /// Why, where there is more to say than the word.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Activity::Blocked { reason, .. } | Activity::Failed { reason } | Activity::Queued { reason } => {
                Some(reason)
            }
            Activity::WaitingApproval | Activity::WaitingAnswer | Activity::Working | Activity::Resting => None,
        }
    }

    /// Until when, where that is known.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Activity::Blocked { until, .. } => *until,
            Activity::WaitingApproval
            | Activity::WaitingAnswer
            | Activity::Failed { .. }
            | Activity::Working
            | Activity::Queued { .. }
            | Activity::Resting => None,
        }
    }

    /// Lists show the smallest rank first.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Activity::WaitingApproval => 0,
            Activity::WaitingAnswer => 1,
            Activity::Blocked { .. } => 2,
            Activity::Failed { .. } => 3,
            Activity::Working => 4,
            Activity::Queued { .. } => 5,
            Activity::Resting => 6,
        }
    }

    /// Whether a person has to do something.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.rank() <= 3
    }
}

impl Execution {
    /// The question of the running turn that waits for an answer.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.active.as_ref()?.questions.iter().find(|question| !question.settled)
    }

    /// What it is doing, approvals aside: those belong to the task.
    #[must_use]
    pub fn activity(&self) -> Activity {
        if let Some(turn) = &self.active {
            if self.question().is_some() {
                return Activity::WaitingAnswer;
            }
            return match &turn.stage {
                TurnStage::AwaitingLease { behind } => {
                    Activity::Queued { reason: behind.clone().unwrap_or_else(|| "the workspace".into()) }
                }
                TurnStage::AwaitingSession | TurnStage::Running => Activity::Working,
            };
        }
        if self.past.question {
            return Activity::WaitingAnswer;
        }
        match self.past.last.as_ref().map(|turn| &turn.outcome) {
            Some(TurnOutcome::Failed { failure }) if failure.blocks() => {
                Activity::Blocked { reason: failure.message.clone(), until: failure.until }
            }
            Some(TurnOutcome::Failed { failure }) => Activity::Failed { reason: failure.message.clone() },
            Some(TurnOutcome::Interrupted { cause } | TurnOutcome::Unknown { cause }) => {
                Activity::Failed { reason: cause.clone() }
            }
            Some(TurnOutcome::Completed { .. } | TurnOutcome::Cancelled) | None => Activity::Resting,
        }
    }
}

impl Failure {
    /// Codes of failures that time or a person has to lift.
    pub const BLOCKING: [&'static str; 2] = ["usage_limit", "login_needed"];
    /// Codes of failures after which the agent itself cannot run, whatever it is asked.
    pub const STOPPING: [&'static str; 6] =
        ["agent_not_installed", "agent_not_executable", "agent_unknown", "login_needed", "usage_limit", "crash_loop"];

    /// Whether the agent itself cannot run.
    #[must_use]
    pub fn stops_agent(&self) -> bool {
        Self::STOPPING.contains(&self.code.as_str())
    }

    /// Whether trying again at once is pointless.
    #[must_use]
    pub fn blocks(&self) -> bool {
        Self::BLOCKING.contains(&self.code.as_str())
    }
}
