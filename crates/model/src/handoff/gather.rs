//! What a brief is made of, found in a task's events. Read forwards, up to and including the end of the cut's turn.

use std::collections::{BTreeMap, BTreeSet};

use super::{Decision, FailingCommand, FileTold, Goal, Material, OpenQuestion, Patch, TurnTold, Who};
use crate::approval::{Approval, Settlement};
use crate::checkpoint::{Checkpoint, CheckpointSide, CheckpointTree};
use crate::content::plain_text;
use crate::ids::{ApprovalId, ExecutionId, InputId, TurnId};
use crate::item::{ItemBody, ToolCall, ToolStatus};
use crate::task::{Task, TaskEvent};
use crate::turn::TurnOutcome;

/// Two states of a workspace, as git trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

#[derive(Default)]
struct Gathering {
    material: Material,
    executions: BTreeMap<ExecutionId, Who>,
    inputs: BTreeMap<InputId, String>,
    turns: BTreeMap<TurnId, ExecutionId>,
    /// What each execution asked at the end of its last turn.
    questions: BTreeMap<ExecutionId, String>,
    asked: BTreeMap<ApprovalId, Approval>,
    /// Calls that nobody let happen: they did not fail by themselves.
    refused: BTreeSet<String>,
    trees: Trees,
}

#[derive(Default)]
struct Trees {
    from: Option<String>,
    to: Option<String>,
}

impl Material {
    /// Gathers from a task's events, oldest first; `cut` is the last turn that is told, and `own` the turn whose prompt
    /// carries the brief.
    #[must_use]
    pub fn gather<'a>(
        task: &Task,
        events: impl IntoIterator<Item = &'a TaskEvent>,
        cut: Option<TurnId>,
        own: Option<TurnId>,
    ) -> Self {
        let mut gathering = Gathering::default();
        for execution in &task.executions {
            let who = Who { agent: execution.agent.clone(), role: execution.role };
            gathering.executions.insert(execution.id, who);
        }
        let mut whole = false;
        for event in events {
            whole |= matches!(event, TaskEvent::TaskCreated { .. });
            gathering.take(event, own);
            if matches!(event, TaskEvent::TurnEnded { turn, .. } if Some(*turn) == cut) {
                break;
            }
        }
        let mut material = gathering.finish();
        material.goal = Goal { title: task.title.clone(), words: task.goal.clone() };
        material.more_before = !whole;
        // What was not read is known from the state, unless the cut lies before it.
        if !whole && cut.is_none() {
            material.plan = task.plan.clone();
            material.notes.task.clone_from(&task.notes);
        }
        material
    }
}

impl Gathering {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a brief tells of some events; the others say nothing in it")]
    fn take(&mut self, event: &TaskEvent, own: Option<TurnId>) {
        match event {
            TaskEvent::ExecutionAdded { execution, agent, role, .. } => {
                self.executions.insert(*execution, Who { agent: agent.clone(), role: *role });
            }
            TaskEvent::NotePinned { text, .. } => self.material.notes.task.push(text.clone()),
            TaskEvent::PlanRevised { plan } => self.material.plan = plan.clone(),
            TaskEvent::InputQueued { queued, .. } => {
                self.inputs.insert(queued.input, plain_text(&queued.content));
            }
            TaskEvent::TurnRequested { execution, turn, input, .. } if Some(*turn) != own => {
                self.begin(*execution, *turn, *input);
            }
            TaskEvent::TurnImported { execution, turn, said, answered, .. } => {
                let told = TurnTold {
                    turn: *turn,
                    who: self.who(*execution),
                    said: said.head().to_owned(),
                    answered: answered.clone(),
                    outcome: "completed".into(),
                };
                self.material.turns.push(told);
            }
            TaskEvent::TurnEnded { turn, outcome, .. } => self.end(*turn, outcome),
            TaskEvent::ItemRecorded { execution, item } => match &item.body {
                ItemBody::Message { text, question, .. } => {
                    self.said(*execution, item.turn, text.head(), *question);
                }
                ItemBody::ToolCall(call) => self.called(call),
                ItemBody::Thought { .. } | ItemBody::Note(_) => {}
            },
            TaskEvent::ApprovalRequested { approval } => {
                self.asked.insert(approval.id, (**approval).clone());
            }
            TaskEvent::QuestionAsked { turn, question } => {
                if let Some(execution) = self.turns.get(turn) {
                    self.questions.insert(*execution, question.message.clone());
                }
            }
            TaskEvent::QuestionSettled { turn, .. } => {
                if let Some(execution) = self.turns.get(turn) {
                    self.questions.remove(execution);
                }
            }
            TaskEvent::ApprovalSettled { approval, settlement } => self.settled(*approval, settlement),
            TaskEvent::CheckpointTaken { checkpoint } => self.kept(checkpoint),
            _ => {}
        }
    }

    fn who(&self, execution: ExecutionId) -> Who {
        self.executions.get(&execution).cloned().unwrap_or_default()
    }

    fn begin(&mut self, execution: ExecutionId, turn: TurnId, input: InputId) {
        self.questions.remove(&execution);
        self.turns.insert(turn, execution);
        let told = TurnTold {
            turn,
            who: self.who(execution),
            said: self.inputs.get(&input).cloned().unwrap_or_default(),
            answered: String::new(),
            outcome: "still running".into(),
        };
        self.material.turns.push(told);
    }

    fn told(&mut self, turn: TurnId) -> Option<&mut TurnTold> {
        self.material.turns.iter_mut().rev().find(|told| told.turn == turn)
    }

    fn end(&mut self, turn: TurnId, outcome: &TurnOutcome) {
        let why = match outcome {
            TurnOutcome::Failed { failure } => Some(failure.message.as_str()),
            TurnOutcome::Interrupted { cause } | TurnOutcome::Unknown { cause } => Some(cause.as_str()),
            TurnOutcome::Completed { .. } | TurnOutcome::Cancelled => None,
        };
        let outcome_text = match why {
            Some(why) => format!("{} ({why})", outcome.word()),
            None => outcome.word().to_owned(),
        };
        if let Some(told) = self.told(turn) {
            told.outcome = outcome_text;
        }
        if !matches!(outcome, TurnOutcome::Completed { .. })
            && let Some(execution) = self.turns.get(&turn)
        {
            self.questions.remove(execution);
        }
    }

    fn said(&mut self, execution: ExecutionId, turn: Option<TurnId>, text: &str, question: bool) {
        match question {
            true => drop(self.questions.insert(execution, text.to_owned())),
            false => drop(self.questions.remove(&execution)),
        }
        if let Some(told) = turn.and_then(|turn| self.told(turn)) {
            text.clone_into(&mut told.answered);
        }
    }

    /// Only the last run of a command counts: what works by now is no failure any more.
    fn called(&mut self, call: &ToolCall) {
        if call.tool != "execute" || !call.status.ended() {
            return;
        }
        let command = command_of(call);
        self.material.failing.retain(|known| known.command != command);
        if call.status == ToolStatus::Failed && !self.refused.contains(&call.call) {
            let output = call.output.clone().unwrap_or_default();
            self.material.failing.push(FailingCommand { command, exit_code: call.exit_code, output });
        }
    }

    fn settled(&mut self, approval: ApprovalId, settlement: &Settlement) {
        let Some(asked) = self.asked.remove(&approval) else { return };
        let (by, reason) = match settlement {
            Settlement::Approved { by, .. } => (Some(*by), None),
            Settlement::Denied { by, reason, .. } => (Some(*by), reason.clone()),
            Settlement::Ruled { .. } | Settlement::Expired | Settlement::Void { .. } => (None, None),
        };
        if settlement.word() != "approved" {
            self.refused.insert(asked.ask.call.clone());
        }
        if let Some(by) = by {
            let decision = Decision { by, verdict: settlement.word(), what: asked.ask.title.clone(), reason };
            self.material.decisions.push(decision);
        }
    }

    fn kept(&mut self, checkpoint: &Checkpoint) {
        let CheckpointTree::Taken { oid } = &checkpoint.tree else { return };
        match checkpoint.side {
            CheckpointSide::Before => drop(self.trees.from.get_or_insert_with(|| oid.clone())),
            CheckpointSide::After => self.trees.to = Some(oid.clone()),
        }
        for changed in &checkpoint.changed {
            self.material.files.retain(|known| known.path != changed.path);
            self.material.files.insert(
                0,
                FileTold {
                    path: changed.path.clone(),
                    change: changed.change.clone(),
                    added: changed.added,
                    removed: changed.removed,
                    patch: Patch::Unknown,
                },
            );
        }
    }

    fn finish(mut self) -> Material {
        let asks: Vec<OpenQuestion> = self
            .questions
            .iter()
            .map(|(execution, text)| OpenQuestion { who: self.who(*execution), text: text.clone() })
            .chain(self.asked.values().map(|approval| OpenQuestion {
                who: self.who(approval.execution),
                text: format!("waits for approval: {}", approval.ask.title),
            }))
            .collect();
        self.material.open = asks;
        self.material.span = self.trees.from.zip(self.trees.to).map(|(from, to)| Span { from, to });
        self.material
    }
}

/// The command as a person would type it: what a shell was given, or the agent's own description.
fn command_of(call: &ToolCall) -> String {
    let input: Option<serde_json::Value> = call.input.as_ref().and_then(|text| serde_json::from_str(text.head()).ok());
    let command = input.as_ref().and_then(|input| input.get("command"));
    let typed = command.and_then(|command| match command {
        serde_json::Value::String(line) => Some(line.clone()),
        serde_json::Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(serde_json::Value::as_str).collect();
            match words.as_slice() {
                [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => Some((*line).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Object(_) => None,
    });
    typed.unwrap_or_else(|| call.title.clone())
}
