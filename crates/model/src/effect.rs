//! Effects: the whole outside world as one enum.
//!
//! [`Effect::Tell`] goes to another aggregate and is chased inside the same transaction. All others are rows with
//! an idempotency key, performed after the commit and performed again after a crash, so each must bear that.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::ids::{
    ApprovalId, ChangeId, ConversationId, DeliveryId, ExecutionId, QuestionId, RuntimeSessionId, TaskId, TurnId,
};
use crate::question::FormAnswer;
use crate::stream::StreamId;
use crate::time::Timestamp;

/// A process of a runtime session: what an effect on an agent is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Of which task.
    pub task: TaskId,
    /// Of which execution: effects on one execution are performed in order, so that it never has two processes.
    pub execution: ExecutionId,
    /// Which runtime session.
    pub session: RuntimeSessionId,
    /// Which of its processes.
    pub epoch: u64,
}

/// Work for the outside world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A command to another aggregate, decided in the same transaction.
    Tell {
        /// To whom.
        to: StreamId,
        /// What.
        command: Box<Command>,
    },
    /// Start a process, open or resume the native session in it, and listen to it. The effect stays until the
    /// process is stopped, so that performing it again after a crash takes up where the last daemon left off.
    StartRuntime {
        /// Which process.
        process: Process,
    },
    /// Hand a turn's prompt to the agent.
    PromptAgent {
        /// Which process.
        process: Process,
        /// Which turn.
        turn: TurnId,
    },
    /// Ask the agent to stop a turn.
    CancelTurn {
        /// Which process.
        process: Process,
        /// Which turn.
        turn: TurnId,
    },
    /// Tell the agent what became of its request.
    AnswerApproval {
        /// Which process.
        process: Process,
        /// Which approval.
        approval: ApprovalId,
        /// The agent's own id of its request, as JSON text.
        request: String,
        /// The option to choose; none means that nothing was chosen.
        option: Option<String>,
    },
    /// Tell the agent what became of its question.
    AnswerQuestion {
        /// Which process.
        process: Process,
        /// Which question.
        question: QuestionId,
        /// The agent's own id of its request, as JSON text.
        request: String,
        /// What it is told.
        answer: FormAnswer,
    },
    /// Choose a model in a live session.
    SetModel {
        /// Which process.
        process: Process,
        /// Which model.
        model: String,
        /// When it was chosen: the same model may be chosen again later.
        #[serde(default)]
        at: Timestamp,
    },
    /// Choose a mode in a live session.
    SetMode {
        /// Which process.
        process: Process,
        /// Which mode.
        mode: String,
        /// When it was chosen: the same mode may be chosen again later.
        at: Timestamp,
    },
    /// An agent cannot run: have another one take its task over, if the policy says so.
    ReplaceAgent {
        /// Of which task.
        task: TaskId,
        /// Which execution's agent.
        execution: ExecutionId,
        /// The turn that failed.
        turn: TurnId,
    },
    /// End a process at this time if nothing runs in it then, and nothing that it started does.
    ParkRuntime {
        /// Which process.
        process: Process,
        /// When.
        at: Timestamp,
    },
    /// End a process and its whole tree.
    StopRuntime {
        /// Which process.
        process: Process,
    },
    /// Carry out what is being done to a workspace. The workspace's lease is held until it is settled.
    ChangeWorkspace {
        /// Of which task.
        task: TaskId,
        /// Which change.
        change: ChangeId,
    },
    /// Send a message out.
    Deliver {
        /// To which conversation.
        conversation: ConversationId,
        /// Which delivery of it.
        delivery: DeliveryId,
        /// When; at once if it does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// Give a command at a later time. A timer is a row, not a sleeping task.
    Later {
        /// The timer's name; setting it again replaces it.
        timer: String,
        /// When.
        at: Timestamp,
        /// To whom.
        to: StreamId,
        /// What.
        command: Box<Command>,
    },
    /// Drop a timer.
    Forget {
        /// The timer's name.
        timer: String,
    },
}

impl Effect {
    /// The idempotency key: the same effect always has the same one.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Effect::Tell { to, .. } => format!("tell:{}", to.uuid()),
            Effect::StartRuntime { process } => format!("start:{}:{}", process.session, process.epoch),
            Effect::PromptAgent { turn, .. } => format!("prompt:{turn}"),
            Effect::CancelTurn { turn, .. } => format!("cancel:{turn}"),
            Effect::AnswerApproval { approval, .. } => format!("answer:{approval}"),
            Effect::AnswerQuestion { question, .. } => format!("answer:{question}"),
            Effect::SetModel { process, model, at } => {
                format!("model:{}:{}:{model}:{}", process.session, process.epoch, at.millis())
            }
            Effect::SetMode { process, mode, at } => {
                format!("mode:{}:{}:{mode}:{}", process.session, process.epoch, at.millis())
            }
            Effect::ReplaceAgent { turn, .. } => format!("replace:{turn}"),
            Effect::ParkRuntime { process, .. } => format!("park:{}:{}", process.session, process.epoch),
            Effect::StopRuntime { process } => format!("stop:{}:{}", process.session, process.epoch),
            Effect::ChangeWorkspace { change, .. } => format!("change:{change}"),
            Effect::Deliver { delivery, .. } => format!("deliver:{delivery}"),
            Effect::Later { timer, .. } | Effect::Forget { timer } => format!("timer:{timer}"),
        }
    }

    /// When it is due; at once if it does not say.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        match self {
            Effect::Later { at, .. } | Effect::ParkRuntime { at, .. } => Some(*at),
            Effect::Deliver { at, .. } => *at,
            Effect::Tell { .. }
            | Effect::StartRuntime { .. }
            | Effect::PromptAgent { .. }
            | Effect::CancelTurn { .. }
            | Effect::AnswerApproval { .. }
            | Effect::AnswerQuestion { .. }
            | Effect::SetModel { .. }
            | Effect::SetMode { .. }
            | Effect::ReplaceAgent { .. }
            | Effect::StopRuntime { .. }
            | Effect::ChangeWorkspace { .. }
            | Effect::Forget { .. } => None,
        }
    }

    /// The process it is for, if it is for one: effects on one process are performed in order.
    #[must_use]
    pub fn process(&self) -> Option<Process> {
        match self {
            Effect::StartRuntime { process }
            | Effect::PromptAgent { process, .. }
            | Effect::CancelTurn { process, .. }
            | Effect::AnswerApproval { process, .. }
            | Effect::AnswerQuestion { process, .. }
            | Effect::SetModel { process, .. }
            | Effect::SetMode { process, .. }
            | Effect::ParkRuntime { process, .. }
            | Effect::StopRuntime { process } => Some(*process),
            Effect::Tell { .. }
            | Effect::ChangeWorkspace { .. }
            | Effect::ReplaceAgent { .. }
            | Effect::Deliver { .. }
            | Effect::Later { .. }
            | Effect::Forget { .. } => None,
        }
    }
}
