//! What a brief is made of: the record up to a cut, and nothing else.

mod support;

use support::{World, asked};
use throughline_model::approval::Verdict;
use throughline_model::checkpoint::{ChangedFile, Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::handoff::{Budget, Material, compose};
use throughline_model::ids::{TaskId, TurnId};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::plan::{PlanEntry, PlanPriority, PlanStatus};
use throughline_model::task::{Report, TaskCommand};

impl World {
    fn record(&mut self, task: TaskId, body: ItemBody) {
        let turn = Some(self.running_turn(task));
        let item = Item { id: self.mint.id(), turn, body };
        self.report(task, Report::Recorded(Box::new(item))).expect("current");
    }

    fn says(&mut self, task: TaskId, text: &str, question: bool) {
        self.record(task, ItemBody::Message { text: text.into(), attachments: vec![], question });
    }

    fn runs(&mut self, task: TaskId, call: &str, command: &str, exit_code: i32) {
        let status = if exit_code == 0 { ToolStatus::Completed } else { ToolStatus::Failed };
        let call = ToolCall {
            call: call.into(),
            title: "a shell".into(),
            tool: "execute".into(),
            status,
            input: Some(format!(r#"{{"command":["bash","-lc","{command}"]}}"#).into()),
            output: Some("line 1\nassertion failed\n".into()),
            exit_code: Some(exit_code),
            changes: vec![],
            locations: vec![],
            unasked: false,
        };
        self.record(task, ItemBody::ToolCall(call));
    }

    fn plans(&mut self, task: TaskId, steps: &[(&str, PlanStatus)]) {
        let entry = |(content, status): &(&str, PlanStatus)| PlanEntry {
            content: (*content).into(),
            priority: PlanPriority::Medium,
            status: *status,
        };
        let entries = steps.iter().map(entry).collect();
        self.report(task, Report::PlanRevised { entries }).expect("current");
    }

    fn keeps(&mut self, task: TaskId, side: CheckpointSide, oid: &str, changed: &[&str]) {
        let named = |path: &&str| ChangedFile { path: (*path).into(), change: "modified".into(), added: 2, removed: 1 };
        let checkpoint = Checkpoint {
            id: self.mint.id(),
            turn: self.running_turn(task),
            side,
            tree: CheckpointTree::Taken { oid: oid.into() },
            changed: changed.iter().map(named).collect(),
        };
        self.tell(task, TaskCommand::KeepCheckpoint { checkpoint }).expect("kept");
    }

    fn told(&self, task: TaskId, cut: Option<TurnId>) -> Material {
        let mut material = Material::gather(self.task(task), self.task_events(task), cut, None);
        material.people.insert(self.person, "Ada".into());
        material
    }
}

/// Two turns of which the second undoes a failure of the first, changes the plan, and ends with a question.
fn two_turns() -> (World, TaskId, TurnId) {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    world.opened(task);
    let first = world.running_turn(task);
    world.keeps(task, CheckpointSide::Before, "aa", &[]);
    world.plans(task, &[("look", PlanStatus::InProgress), ("mend", PlanStatus::Pending)]);
    let approval = world.mint.id();
    world.report(task, asked(approval)).expect("current");
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    world.runs(task, "c1", "cargo test", 101);
    world.runs(task, "c2", "cargo fmt --check", 1);
    world.says(task, "I looked.", false);
    world.keeps(task, CheckpointSide::After, "bb", &["a.rs", "b.rs"]);
    world.answered(task);
    let person = world.person;
    world.tell(task, TaskCommand::PinNote { person, text: "mind the gap".into() }).expect("pinned");
    world.follow_up(task, "now mend it");
    world.keeps(task, CheckpointSide::Before, "bb", &[]);
    world.plans(task, &[("look", PlanStatus::Completed), ("mend", PlanStatus::Completed)]);
    world.runs(task, "c3", "cargo test", 0);
    world.says(task, "Which port shall it listen on?", true);
    world.keeps(task, CheckpointSide::After, "cc", &["a.rs"]);
    world.answered(task);
    (world, task, first)
}

#[test]
fn a_brief_tells_the_whole_record() {
    let (world, task, _) = two_turns();
    let material = world.told(task, None);
    let span = material.span.clone().expect("both sides were kept");
    assert_eq!((span.from.as_str(), span.to.as_str()), ("aa", "cc"), "from before the first to after the last");
    insta::assert_snapshot!(compose(&material, Budget::default()));
}

#[test]
fn a_brief_that_is_cut_at_a_turn_tells_nothing_that_came_later() {
    let (world, task, first) = two_turns();
    let material = world.told(task, Some(first));
    assert_eq!(material.span.as_ref().map(|span| span.to.as_str()), Some("bb"));
    insta::assert_snapshot!(compose(&material, Budget::default()));
}

#[test]
fn the_turn_that_carries_the_brief_is_not_told_and_one_that_runs_beside_it_is() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    world.opened(task);
    let running = world.running_turn(task);
    let events = world.task_events(task);
    let material = Material::gather(world.task(task), events.iter().copied(), None, None);
    assert_eq!(material.turns.iter().map(|told| told.outcome.as_str()).collect::<Vec<_>>(), ["still running"]);
    let material = Material::gather(world.task(task), events.iter().copied(), None, Some(running));
    assert!(material.turns.is_empty());
}

#[test]
fn what_a_person_did_not_allow_is_a_decision_and_no_failing_command() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.decide_on(task, approval, Verdict::Deny).expect("pending");
    world.runs(task, "call-1", "cargo test", 1);
    let material = world.told(task, None);
    assert!(material.failing.is_empty(), "{material:?}");
    assert_eq!(material.decisions.len(), 1);
}

#[test]
fn a_slash_command_gets_nothing_before_it_and_the_brief_waits() {
    let mut world = World::new();
    let task = world.rested();
    let execution = world.mint.id();
    world.tell(task, TaskCommand::Switch { execution, agent: Some("codex".into()), model: None }).expect("switched");
    world.follow_up(task, "/compact now");
    world.opened(task);
    assert!(world.primary(task).prompt().is_some_and(|prompt| prompt.handoff.is_none()));
    world.answered(task);
    for words in ["/tmp/x is broken", "go on"] {
        world.follow_up(task, words);
        let due = world.primary(task).prompt().is_some_and(|prompt| prompt.handoff.is_some());
        assert_eq!(due, words != "go on", "{words}");
        world.answered(task);
    }
}
