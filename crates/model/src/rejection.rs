//! Rejection: a domain "no". It is a value, with a stable code and a hint, not an error.

use std::borrow::Cow;

use thiserror::Error;

/// Why a command was not carried out. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    /// There is no such thing.
    #[error("there is no such {what}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// It is there already.
    #[error("{what} is there already")]
    Exists {
        /// What.
        what: &'static str,
    },
    /// The approval was decided, voided or expired before.
    #[error("the approval is settled: {how}")]
    ApprovalSettled {
        /// How.
        how: &'static str,
    },
    /// What was shown is not what would run.
    #[error("the digest is not that of the pending request")]
    DigestMismatch,
    /// What is asked is too long to be shown as a whole where the decision came from.
    #[error("the request is longer than what was shown")]
    NotShown,
    /// The agent offers no such answer.
    #[error("the agent offers no answer that means this once and no more")]
    NoSuchOption,
    /// The question was answered, or is void.
    #[error("the question is no longer waiting")]
    QuestionSettled,
    /// The answer is not what the question asks for.
    #[error("that does not answer the question: {why}")]
    BadAnswer {
        /// What it asks for, in words.
        why: String,
    },
    /// No rule can be about it.
    #[error("no rule can be made of this: {why}")]
    NoRule {
        /// Why, in words.
        why: String,
    },
    /// There are as many rules as anybody keeps in mind.
    #[error("the project has too many rules")]
    TooManyRules,
    /// The policy is no longer the one that a request was judged by.
    #[error("the policy has changed")]
    PolicyChanged,
    /// Someone speaks for a process that is no longer the current one.
    #[error("epoch {given} is not the current epoch {current}")]
    StaleEpoch {
        /// The current one.
        current: u64,
        /// The one that was given.
        given: u64,
    },
    /// The session offers no such model, and no other way to set one.
    #[error("the agent offers no model `{model}`")]
    ModelUnknown {
        /// Which.
        model: String,
        /// What it offers.
        offered: Vec<String>,
    },
    /// A turn runs, and this has to wait for its end.
    #[error("a turn is running")]
    TurnRunning,
    /// Somebody writes in the workspace, and this does not wait for them.
    #[error("the workspace is in use: {holder}")]
    WorkspaceBusy {
        /// Who, in words.
        holder: String,
    },
    /// The workspace was removed, and its last state is kept.
    #[error("its workspace was removed; its last state is kept")]
    WorkspaceGone,
    /// Only a fork, or a worktree of an execution, can be taken or discarded.
    #[error("the task is no fork, and has no worktree of its own")]
    NotAFork,
    /// Several executions have a worktree of their own, and nobody said which.
    #[error("{count} executions have a worktree of their own")]
    WhichWorktree {
        /// How many.
        count: usize,
    },
    /// Nobody would be left whom the task's messages could go to.
    #[error("nobody would be left to do its work")]
    LastExecution,
    /// An agent works on the message, and nobody agreed to stop it.
    #[error("an agent works on that message already")]
    NeedsConsent,
    /// There is no turn that this could be done to.
    #[error("there is no turn to {verb}")]
    NoTurn {
        /// What was wanted.
        verb: &'static str,
    },
    /// Nobody found anything that the editor has not got.
    #[error("there are no findings that the editor has not got")]
    NoFindings,
    /// The input was dispatched, handled or withdrawn before.
    #[error("the input is no longer waiting")]
    InputGone,
    /// Too much waits already.
    #[error("{waiting} inputs wait already")]
    QueueFull {
        /// How many.
        waiting: usize,
    },
    /// Nothing was said.
    #[error("the message is empty")]
    Empty,
    /// The person is not in scope.
    #[error("not allowed")]
    Forbidden,
    /// Named by the vocabulary, not built yet.
    #[error("{what} is not available in this version")]
    NotAvailable {
        /// What.
        what: &'static str,
    },
}

impl Rejection {
    /// The stable code, the same in the CLI, the API and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::NotFound { .. } => "not_found",
            Rejection::Exists { .. } => "exists",
            Rejection::ApprovalSettled { .. } => "approval_settled",
            Rejection::DigestMismatch => "digest_mismatch",
            Rejection::NotShown => "not_shown",
            Rejection::NoSuchOption => "no_such_option",
            Rejection::QuestionSettled => "question_settled",
            Rejection::BadAnswer { .. } => "bad_answer",
            Rejection::NoRule { .. } => "no_rule",
            Rejection::TooManyRules => "too_many_rules",
            Rejection::PolicyChanged => "policy_changed",
            Rejection::StaleEpoch { .. } => "stale_epoch",
            Rejection::ModelUnknown { .. } => "model_unknown",
            Rejection::TurnRunning => "turn_running",
            Rejection::WorkspaceBusy { .. } => "workspace_busy",
            Rejection::WorkspaceGone => "workspace_gone",
            Rejection::NotAFork => "not_a_fork",
            Rejection::WhichWorktree { .. } => "which_worktree",
            Rejection::LastExecution => "last_execution",
            Rejection::NeedsConsent => "needs_consent",
            Rejection::NoTurn { .. } => "no_turn",
            Rejection::NoFindings => "no_findings",
            Rejection::InputGone => "input_gone",
            Rejection::QueueFull { .. } => "queue_full",
            Rejection::Empty => "empty_message",
            Rejection::Forbidden => "forbidden",
            Rejection::NotAvailable { .. } => "not_available",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Rejection::ModelUnknown { offered, .. } if !offered.is_empty() => {
                return Cow::Owned(format!("it offers {}", offered.join(", ")));
            }
            Rejection::ModelUnknown { .. } => {
                "its model is chosen in its own settings; `tl switch KEY --agent A` goes on with another agent"
            }
            Rejection::NotFound { .. } => "`tl tasks --all` lists the tasks, `tl project list` the projects",
            Rejection::Exists { .. } => "use the one that is there",
            Rejection::ApprovalSettled { .. } => "`tl status` shows what waits now",
            Rejection::DigestMismatch => "look at the request again and decide on what it shows now",
            Rejection::NotShown => "open it where it is shown as a whole, or say no",
            Rejection::NoSuchOption => "say no, or cancel the turn",
            Rejection::QuestionSettled => "`tl status` shows what waits now",
            Rejection::BadAnswer { .. } => "answer it again, or `tl answer KEY --decline`",
            Rejection::NoRule { .. } => "approve it each time",
            Rejection::TooManyRules => "`tl rules list` shows them, `tl rules revoke` takes one back",
            Rejection::PolicyChanged => "nothing to do: a person is asked",
            Rejection::StaleEpoch { .. } => "nothing to do: a newer process has taken over",
            Rejection::TurnRunning => "`tl cancel KEY` stops it",
            Rejection::WorkspaceBusy { .. } => "wait for it to end, or `tl cancel KEY` stops a turn",
            Rejection::WorkspaceGone => "`tl reopen KEY` makes it again",
            Rejection::NotAFork => "`tl fork KEY` makes a fork of a task; `tl close KEY` is done with it",
            Rejection::WhichWorktree { .. } => "`--agent A` says whose",
            Rejection::LastExecution => {
                "`tl switch KEY --agent A` goes on with another agent, `tl close KEY` is done with the task"
            }
            Rejection::NeedsConsent => "`tl correct --interrupt` stops that turn and moves the message",
            Rejection::NoTurn { .. } => "`tl show KEY` shows what happened",
            Rejection::NoFindings => "`tl add KEY --agent A --role reviewer TEXT` has the work reviewed",
            Rejection::InputGone => "`tl cancel KEY` stops the turn it became",
            Rejection::QueueFull { .. } => "wait for the agent, or `tl cancel KEY`",
            Rejection::Empty => "say something, or attach a file",
            Rejection::Forbidden => "ask a member of the project",
            Rejection::NotAvailable { .. } => "`tl --help` lists what there is",
        })
    }
}
