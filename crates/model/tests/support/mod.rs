//! A world of aggregates in memory: commands go in, what they tell each other is chased, as the engine does it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::{BTreeMap, VecDeque};

use throughline_model::approval::{ApprovalOption, Ask, Asked, Decision, OptionKind, Source, Verdict};
use throughline_model::channel::{Channel, Platform};
use throughline_model::command::Command;
use throughline_model::content::ContentBlock;
use throughline_model::conversation::{Birth, ConversationCommand, Received};
use throughline_model::correction::Correction;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::execution::{Execution, Role};
use throughline_model::handoff::{Budget, Material, compose};
use throughline_model::ids::*;
use throughline_model::input::Urgency;
use throughline_model::plan::Plan;
use throughline_model::project::ProjectCommand;
use throughline_model::rejection::Rejection;
use throughline_model::route::{Intent, RouteDecision};
use throughline_model::runtime_session::{Choice, Failure, Parking, RuntimeDescription};
use throughline_model::site::{ChangePlan, ChangeResult, Fork};
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::task::{ForkSeed, NativeFate, Report, Task, TaskCommand, TaskEvent, TaskSeed, TurnAnswer};
use throughline_model::time::{Now, Timestamp};
use throughline_model::turn::{StopReason, Usage};
use throughline_model::{decide, evolve, react};

/// A platform, as good as any.
pub const TELEGRAM: Platform = Platform::named("telegram");
/// A chat there.
pub const CHAT: Channel = Channel::Chat(TELEGRAM);

#[derive(Clone)]
pub struct World {
    pub states: BTreeMap<StreamId, State>,
    pub log: Vec<(StreamId, Event, Timestamp)>,
    pub effects: Vec<Effect>,
    pub mint: Mint,
    pub at: i64,
    pub person: PersonId,
    pub project: ProjectId,
    pub conversation: ConversationId,
    entropy: u128,
}

impl World {
    /// A person, a project at `/shop` and a terminal.
    pub fn new() -> Self {
        let mut mint = Mint::new(Timestamp::from_millis(1_000), 42);
        let (person, project, conversation) = (mint.id(), mint.id(), mint.id());
        let mut world = World {
            states: BTreeMap::new(),
            log: vec![],
            effects: vec![],
            mint,
            at: 1_000,
            person,
            project,
            conversation,
            entropy: 0,
        };
        let add = ProjectCommand::Add {
            project,
            name: "shop".into(),
            root: "/shop".into(),
            agent: "demo".into(),
            member: person,
        };
        world.send(StreamId::Project(project), Command::Project(add)).expect("a project");
        world.open(conversation, Channel::Cli);
        world
    }

    pub fn open(&mut self, conversation: ConversationId, channel: Channel) {
        let open = ConversationCommand::Open {
            conversation,
            channel,
            person: self.person,
            project: Some(self.project),
            address: None,
        };
        self.send(StreamId::Conversation(conversation), Command::Conversation(open)).expect("a conversation");
    }

    /// A task of a native session of Codex.
    pub fn import(&mut self, task: TaskId, session: RuntimeSessionId) {
        let seed = TaskSeed {
            project: self.project,
            title: "Begin".into(),
            goal: "begin".into(),
            root: "/shop".into(),
            execution: self.mint.id(),
            agent: "codex".into(),
            role: Role::Editor,
        };
        let (person, conversation) = (self.person, self.conversation);
        let import = TaskCommand::Import { seed, person, conversation, session, native: "01a1e20a".into() };
        self.tell(task, import).expect("a task");
    }

    /// Sends a command and everything that follows from it; all or nothing.
    pub fn send(&mut self, to: StreamId, command: Command) -> Result<Vec<Event>, Rejection> {
        let mut states = self.states.clone();
        let (mut log, mut effects, mut events) = (vec![], vec![], vec![]);
        let mut told = VecDeque::from([(to, command)]);
        self.at += 10;
        let at = Timestamp::from_millis(self.at);
        while let Some((to, command)) = told.pop_front() {
            self.entropy += 1;
            let state = states.entry(to).or_insert_with(|| State::empty(to.kind()));
            let mut tells = vec![];
            for event in decide(to, state, command, Now { at, entropy: self.entropy })? {
                let before = state.clone();
                evolve(state, &event, at);
                for effect in react(&before, state, &event, at) {
                    match effect {
                        Effect::Tell { to, command } => tells.push((to, *command)),
                        other => effects.push(other),
                    }
                }
                log.push((to, event.clone(), at));
                events.push(event);
            }
            tells.into_iter().rev().for_each(|tell| told.push_front(tell));
        }
        self.states = states;
        self.log.extend(log);
        self.effects.extend(effects);
        Ok(events)
    }

    pub fn tell(&mut self, task: TaskId, command: TaskCommand) -> Result<Vec<Event>, Rejection> {
        self.send(StreamId::Task(task), Command::Task(command))
    }

    pub fn receive(
        &mut self,
        intent: Intent,
        birth: Option<Birth>,
        text: &str,
        urgency: Urgency,
    ) -> Result<InputId, Rejection> {
        let conversation = self.conversation;
        self.receive_in(conversation, intent, birth, text, urgency)
    }

    pub fn receive_in(
        &mut self,
        conversation: ConversationId,
        intent: Intent,
        birth: Option<Birth>,
        text: &str,
        urgency: Urgency,
    ) -> Result<InputId, Rejection> {
        let input = self.mint.id();
        let decision = RouteDecision {
            id: self.mint.id(),
            intent,
            confidence: 1.0,
            evidence: vec![],
            alternatives: vec![],
            focus: None,
        };
        let received = Received {
            message: None,
            input,
            person: self.person,
            content: vec![ContentBlock::text(text)],
            decision,
            birth,
            urgency,
            reply: None,
        };
        let command = Command::Conversation(ConversationCommand::Receive(Box::new(received)));
        self.send(StreamId::Conversation(conversation), command)?;
        Ok(input)
    }

    /// A new task, its first turn waiting for its session.
    pub fn new_task(&mut self, text: &str) -> TaskId {
        self.new_task_as(text, Role::Editor)
    }

    pub fn new_task_as(&mut self, text: &str, role: Role) -> TaskId {
        let task = self.mint.id();
        let seed = TaskSeed {
            project: self.project,
            title: text.into(),
            goal: text.into(),
            root: "/shop".into(),
            execution: self.mint.id(),
            agent: "demo".into(),
            role,
        };
        let intent = Intent::NewTask { project: self.project, agent: None };
        self.receive(intent, Some(Birth::Task { task, seed, worktree: None }), text, Urgency::InTurn).expect("a task");
        task
    }

    /// A fork of a task, its workspace not prepared yet.
    pub fn fork(&mut self, source: TaskId, native: Option<&str>) -> TaskId {
        let task = self.mint.id();
        let from = self.task(source);
        let (key, title) = (from.key.clone(), from.title.clone());
        let cut = from.primary().and_then(|primary| primary.past.last.as_ref()).expect("a turn").id;
        let seed = TaskSeed {
            project: self.project,
            title,
            goal: "fix routing".into(),
            root: format!("/home/worktrees/{task}"),
            execution: self.mint.id(),
            agent: "demo".into(),
            role: Role::Editor,
        };
        let fork = ForkSeed {
            fork: Fork { source, key, turn: None, base: "base".into(), from: "/shop".into() },
            change: self.mint.id(),
            person: self.person,
            native: native.map(Into::into),
            model: None,
            plan: Plan::default(),
            notes: vec!["mind the gap".into()],
            cut: Some(cut),
        };
        let intent = Intent::Fork { task: source, agent: None };
        let birth = Birth::Fork { task, seed, fork: Box::new(fork) };
        self.receive(intent, Some(birth), "try it with redis", Urgency::InTurn).expect("a fork");
        task
    }

    pub fn person_change(&mut self) -> ChangeId {
        self.mint.id()
    }

    /// What is being done to a task's workspace is done.
    pub fn change_done(&mut self, task: TaskId) {
        let change = self.task(task).site.change.as_ref().expect("a change").id;
        let plan = ChangePlan { undo: "before".into(), target: "after".into(), commit: None, files: vec![] };
        self.tell(task, TaskCommand::PlanChange { change, plan }).expect("planned");
        let result = ChangeResult::Done { kept: vec![], notes: vec![] };
        self.tell(task, TaskCommand::EndChange { change, result }).expect("ended");
    }

    pub fn follow_up(&mut self, task: TaskId, text: &str) -> InputId {
        self.receive(Intent::Continue { task, execution: None }, None, text, Urgency::InTurn).expect("taken")
    }

    /// Says that an input was meant for a task.
    pub fn correct(
        &mut self,
        input: InputId,
        from: Option<TaskId>,
        to: TaskId,
        interrupt: bool,
    ) -> Result<Vec<Event>, Rejection> {
        let decision = RouteDecision {
            id: self.mint.id(),
            intent: Intent::Continue { task: to, execution: None },
            confidence: 1.0,
            evidence: vec![],
            alternatives: vec![],
            focus: None,
        };
        let started = from.is_some_and(|from| self.started_by(from) == Some(input));
        let correction = Correction {
            input,
            person: self.person,
            content: vec![ContentBlock::text("moved")],
            said_at: Timestamp::from_millis(self.at),
            decision,
            birth: None,
            from,
            started,
            interrupt,
        };
        let command = Command::Conversation(ConversationCommand::Correct(Box::new(correction)));
        self.send(StreamId::Conversation(self.conversation), command)
    }

    /// The first input that a task was given.
    pub fn started_by(&self, task: TaskId) -> Option<InputId> {
        self.log.iter().find_map(|(stream, event, _)| match event {
            Event::Task(TaskEvent::InputQueued { queued, .. }) if *stream == StreamId::Task(task) => Some(queued.input),
            _ => None,
        })
    }

    pub fn task(&self, task: TaskId) -> &Task {
        self.states[&StreamId::Task(task)].task().expect("a task")
    }

    pub fn primary(&self, task: TaskId) -> &Execution {
        self.task(task).primary().expect("an execution")
    }

    pub fn report(&mut self, task: TaskId, report: Report) -> Result<Vec<Event>, Rejection> {
        let session = self.primary(task).session.as_ref().expect("a session");
        let (session, epoch) = (session.id, session.epoch);
        self.tell(task, TaskCommand::Report { session, epoch, report })
    }

    /// The agent opened the session.
    pub fn opened(&mut self, task: TaskId) {
        let models = ["small", "large"].map(|id| Choice { id: id.into(), name: id.into() }).to_vec();
        self.opened_as(task, RuntimeDescription { models, ..RuntimeDescription::default() });
    }

    /// The agent opened the session, and said this of it.
    pub fn opened_as(&mut self, task: TaskId, description: RuntimeDescription) {
        let description = Box::new(description);
        let native = self.primary(task).session.as_ref().and_then(|session| session.native.clone());
        let native = native.unwrap_or_else(|| format!("native-{}", self.at));
        let parking = Parking { after_secs: Some(600), processes: None };
        self.report(task, Report::Opened { native, description, parking }).expect("current");
    }

    pub fn running_turn(&self, task: TaskId) -> TurnId {
        self.primary(task).active.as_ref().expect("a turn").id
    }

    pub fn answered(&mut self, task: TaskId) {
        self.answer(task, TurnAnswer::Stopped { reason: StopReason::EndTurn });
    }

    pub fn answer(&mut self, task: TaskId, answer: TurnAnswer) {
        let turn = self.running_turn(task);
        self.report(task, Report::TurnAnswered { turn, answer, usage: Usage::default() }).expect("current");
    }

    /// A task whose first turn is done, its session live.
    pub fn rested(&mut self) -> TaskId {
        let task = self.new_task("fix routing");
        self.opened(task);
        self.answered(task);
        task
    }

    /// A task whose turn waits for an approval.
    pub fn asking(&mut self) -> (TaskId, ApprovalId) {
        let task = self.new_task("run cargo test");
        self.opened(task);
        let approval = self.mint.id();
        self.report(task, asked(approval)).expect("current");
        (task, approval)
    }

    pub fn decide_on(&mut self, task: TaskId, approval: ApprovalId, verdict: Verdict) -> Result<Vec<Event>, Rejection> {
        let decision = self.decision(verdict);
        self.tell(task, TaskCommand::DecideApproval { approval, decision: Box::new(decision) })
    }

    /// A decision from the terminal, in words.
    pub fn decision(&self, verdict: Verdict) -> Decision {
        let source = Source { surface: Channel::Cli, identity: None, conversation: Some(self.conversation) };
        Decision { verdict, by: self.person, source, digest: None, option: None, reason: None }
    }

    /// The brief of a task's record as it stands.
    pub fn brief(&self, task: TaskId) -> String {
        let material = Material::gather(self.task(task), self.task_events(task), None, None);
        compose(&material, Budget::default())
    }

    /// All that happened to a task, oldest first.
    pub fn task_events(&self, task: TaskId) -> Vec<&TaskEvent> {
        let mut events = vec![];
        for (stream, event, _) in &self.log {
            if let (StreamId::Task(id), Event::Task(event)) = (stream, event)
                && *id == task
            {
                events.push(event);
            }
        }
        events
    }

    /// A task that a reviewer has looked at: its editor's turn is done, and so is the review.
    pub fn reviewed(&mut self) -> (TaskId, ExecutionId) {
        let task = self.rested();
        let reviewer = self.mint.id();
        let add =
            TaskCommand::AddExecution { execution: reviewer, agent: "cc".into(), role: Role::Reviewer, worktree: None };
        self.tell(task, add).expect("added");
        self.review(task, reviewer, "The lock is held too long.");
        (task, reviewer)
    }

    /// A turn of an execution, from its prompt to its last words.
    pub fn review(&mut self, task: TaskId, reviewer: ExecutionId, words: &str) {
        self.receive(Intent::Continue { task, execution: Some(reviewer) }, None, "review it", Urgency::InTurn)
            .expect("taken");
        let session = |world: &Self| {
            let execution = world.task(task).execution(reviewer).cloned().expect("it is there");
            let session = execution.session.clone().expect("a session");
            (session, execution.active.expect("a turn").id)
        };
        let (known, turn) = session(self);
        let report = |world: &mut Self, report| {
            let command = TaskCommand::Report { session: known.id, epoch: known.epoch, report };
            world.tell(task, command).expect("current");
        };
        if known.phase == throughline_model::runtime_session::RuntimePhase::Starting {
            let description = Box::new(RuntimeDescription::default());
            report(self, Report::Opened { native: "n2".into(), description, parking: Parking::default() });
        }
        let body =
            throughline_model::item::ItemBody::Message { text: words.into(), attachments: vec![], question: false };
        let item = throughline_model::item::Item { id: self.mint.id(), turn: Some(turn), body };
        report(self, Report::Recorded(Box::new(item)));
        let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
        report(self, Report::TurnAnswered { turn, answer, usage: Usage::default() });
    }

    /// The effects since the last look.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub fn count(&self, fits: impl Fn(&TaskEvent) -> bool) -> usize {
        self.log.iter().filter(|(_, event, _)| matches!(event, Event::Task(event) if fits(event))).count()
    }

    /// How many runtime sessions were ever started.
    pub fn sessions_started(&self) -> usize {
        self.count(|event| matches!(event, TaskEvent::RuntimeSessionStarted { .. }))
    }

    pub fn start_reasons(&self) -> Vec<throughline_model::runtime_session::StartReason> {
        let reason = |(_, event, _): &(StreamId, Event, Timestamp)| match event {
            Event::Task(TaskEvent::RuntimeSessionStarted { reason, .. }) => Some(*reason),
            _ => None,
        };
        self.log.iter().filter_map(reason).collect()
    }
}

pub fn asked(approval: ApprovalId) -> Report {
    asked_for(approval, Some(r#"{"command":"cargo test"}"#))
}

pub fn asked_for(approval: ApprovalId, input: Option<&str>) -> Report {
    Report::Asked(Box::new(request(approval, input)))
}

pub fn request(approval: ApprovalId, input: Option<&str>) -> Asked {
    let option = |id: &str, kind| ApprovalOption { id: id.into(), name: id.into(), kind };
    Asked {
        approval,
        // Of requests that wait, no two have the same id.
        request: approval.uuid().as_u64_pair().1.to_string(),
        item: None,
        ask: Ask {
            call: "call-1".into(),
            title: "cargo test".into(),
            tool: "execute".into(),
            input: input.map(Into::into),
            cwd: "/shop".into(),
        },
        options: vec![
            option("yes", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ],
        expires_secs: 3_600,
        ruling: None,
    }
}

pub fn broken(code: &str) -> Failure {
    Failure { code: code.into(), message: "it broke".into(), hint: None, until: None }
}

pub fn open_failed(native: NativeFate) -> Report {
    Report::OpenFailed { failure: broken("agent_refused"), native }
}
