//! One execution is dismissed: it ends properly, and the task goes on with whoever is left.

mod support;

use support::{World, asked, broken};
use throughline_model::approval::{Settlement, Verdict, VoidKind};
use throughline_model::effect::Effect;
use throughline_model::execution::{Activity, Execution, ExecutionEnd, Role};
use throughline_model::ids::{ExecutionId, InputId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::rejection::Rejection;
use throughline_model::route::Intent;
use throughline_model::runtime_session::{Parking, RuntimeDescription, RuntimePhase};
use throughline_model::task::{Report, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::turn::{StopReason, TurnOutcome, Usage};

impl World {
    fn add(&mut self, task: TaskId, role: Role) -> ExecutionId {
        let execution = self.mint.id();
        let add = TaskCommand::AddExecution { execution, agent: "cc".into(), role, worktree: None };
        self.tell(task, add).expect("added");
        execution
    }

    fn say_to(&mut self, task: TaskId, execution: ExecutionId) -> InputId {
        let intent = Intent::Continue { task, execution: Some(execution) };
        self.receive(intent, None, "review it", Urgency::InTurn).expect("taken")
    }

    fn known(&self, task: TaskId, execution: ExecutionId) -> &Execution {
        self.task(task).execution(execution).expect("it is there")
    }

    fn reports(&mut self, task: TaskId, execution: ExecutionId, report: Report) {
        let session = self.known(task, execution).session.clone().expect("a session");
        let command = TaskCommand::Report { session: session.id, epoch: session.epoch, report };
        self.tell(task, command).expect("current");
    }

    /// Its first turn runs.
    fn runs(&mut self, task: TaskId, execution: ExecutionId) {
        self.say_to(task, execution);
        let description = Box::new(RuntimeDescription::default());
        let opened = Report::Opened { native: "n2".into(), description, parking: Parking::default() };
        self.reports(task, execution, opened);
    }

    fn answers(&mut self, task: TaskId, execution: ExecutionId, answer: TurnAnswer) {
        let turn = self.known(task, execution).active.as_ref().expect("a turn").id;
        self.reports(task, execution, Report::TurnAnswered { turn, answer, usage: Usage::default() });
    }

    fn dismiss(&mut self, task: TaskId, execution: ExecutionId) -> Result<usize, Rejection> {
        self.tell(task, TaskCommand::Dismiss { execution }).map(|events| events.len())
    }

    fn stops(&mut self, execution: ExecutionId) -> usize {
        let stops =
            |effect: &Effect| matches!(effect, Effect::StopRuntime { process } if process.execution == execution);
        self.take_effects().iter().filter(|effect| stops(effect)).count()
    }
}

/// A task whose editor rests, and whose reviewer works.
fn reviewing() -> (World, TaskId, ExecutionId) {
    let mut world = World::new();
    let task = world.rested();
    let reviewer = world.add(task, Role::Reviewer);
    world.runs(task, reviewer);
    (world, task, reviewer)
}

const STOPPED: TurnAnswer = TurnAnswer::Stopped { reason: StopReason::Cancelled };

#[test]
fn a_reviewer_that_failed_no_longer_keeps_the_task_failed() {
    let (mut world, task, reviewer) = reviewing();
    world.answers(task, reviewer, TurnAnswer::Failed { failure: broken("turn_failed") });
    assert!(matches!(world.task(task).activity(), Activity::Failed { .. }));
    world.take_effects();
    world.dismiss(task, reviewer).expect("somebody is left");
    assert_eq!(world.task(task).activity(), Activity::Resting);
    let gone = world.known(task, reviewer);
    assert_eq!(gone.ended, Some(ExecutionEnd::Cancelled));
    assert_eq!(gone.session.as_ref().map(|session| session.phase), Some(RuntimePhase::Closed));
    assert_eq!(world.stops(reviewer), 1, "its process goes");
    assert_eq!(world.dismiss(task, reviewer), Ok(0), "once is enough");
    let session = world.primary(task).session.clone().expect("a session");
    assert_eq!(session.phase, RuntimePhase::Live, "the editor is not touched");
    world.follow_up(task, "go on");
    assert_eq!(world.primary(task).session.as_ref().map(|known| known.id), Some(session.id));
}

#[test]
fn what_failed_is_what_is_run_again_whoever_it_was() {
    let (mut world, task, reviewer) = reviewing();
    world.answers(task, reviewer, TurnAnswer::Failed { failure: broken("turn_failed") });
    let person = world.person;
    world.tell(task, TaskCommand::Retry { person, execution: None }).expect("it failed");
    assert!(world.known(task, reviewer).active.is_some());
    assert!(world.primary(task).active.is_none(), "the editor's turn had worked");
}

#[test]
fn a_turn_that_runs_is_stopped_and_nothing_that_it_asks_is_ever_approved() {
    let (mut world, task, reviewer) = reviewing();
    let approval = world.mint.id();
    world.reports(task, reviewer, asked(approval));
    world.take_effects();
    world.dismiss(task, reviewer).expect("somebody is left");
    let void = |event: &TaskEvent| {
        let settlement = match event {
            TaskEvent::ApprovalSettled { approval: settled, settlement } if *settled == approval => settlement,
            _ => return false,
        };
        matches!(settlement, Settlement::Void { kind: VoidKind::Stopped, .. })
    };
    assert_eq!(world.count(void), 1);
    let late = world.decide_on(task, approval, Verdict::Approve);
    assert!(matches!(late, Err(Rejection::ApprovalSettled { .. })), "{late:?}");
    let effects = world.take_effects();
    let told = effects.iter().find_map(|effect| match effect {
        Effect::AnswerApproval { option, .. } => Some(option.clone()),
        _ => None,
    });
    assert_eq!(told, Some(None), "the agent hears that it is cancelled");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::CancelTurn { .. })), "{effects:?}");
    assert_eq!(world.known(task, reviewer).ended, None, "it ends with its turn");
    assert_eq!(world.dismiss(task, reviewer), Ok(0), "it was told before");
    world.answers(task, reviewer, STOPPED);
    let gone = world.known(task, reviewer);
    assert_eq!(gone.ended, Some(ExecutionEnd::Cancelled));
    assert_eq!(gone.past.last.as_ref().map(|last| &last.outcome), Some(&TurnOutcome::Cancelled));
    assert_eq!(world.stops(reviewer), 1);
    assert_eq!(world.task(task).activity(), Activity::Resting);
}

#[test]
fn who_does_not_stop_is_ended_when_its_time_is_over() {
    let (mut world, task, reviewer) = reviewing();
    world.dismiss(task, reviewer).expect("somebody is left");
    let turn = world.known(task, reviewer).active.as_ref().expect("a turn").id;
    world.take_effects();
    world.tell(task, TaskCommand::CancelOverdue { turn }).expect("it is overdue");
    assert_eq!(world.known(task, reviewer).ended, Some(ExecutionEnd::Cancelled));
    assert_eq!(world.stops(reviewer), 1);
}

#[test]
fn a_turn_that_was_not_handed_on_ends_at_once() {
    let mut world = World::new();
    let task = world.rested();
    let reviewer = world.add(task, Role::Reviewer);
    world.say_to(task, reviewer);
    world.take_effects();
    world.dismiss(task, reviewer).expect("somebody is left");
    assert_eq!(world.known(task, reviewer).ended, Some(ExecutionEnd::Cancelled));
    assert_eq!(world.stops(reviewer), 1, "the process that was being started goes");
    assert_eq!(world.task(task).activity(), Activity::Resting);
}

#[test]
fn what_waited_for_it_is_taken_back_and_the_record_says_so() {
    let (mut world, task, reviewer) = reviewing();
    let waiting = world.say_to(task, reviewer);
    world.dismiss(task, reviewer).expect("somebody is left");
    world.answers(task, reviewer, STOPPED);
    let withdrawn = |event: &TaskEvent| matches!(event, TaskEvent::InputWithdrawn { input } if *input == waiting);
    assert_eq!(world.count(withdrawn), 1);
    assert!(world.primary(task).queue.is_empty(), "it was not meant for the editor");
}

#[test]
fn another_editor_takes_the_place_of_the_first_with_what_waited_for_it() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    let first = world.primary(task).id;
    world.add(task, Role::Reviewer);
    let second = world.add(task, Role::Editor);
    let waiting = world.follow_up(task, "and this");
    world.dismiss(task, first).expect("the second editor is left");
    world.answer(task, STOPPED);
    let leads = world.primary(task);
    assert_eq!((leads.id, leads.primary), (second, true));
    assert_eq!(leads.active.as_ref().map(|turn| turn.input.input), Some(waiting), "it goes on with it");
    let leading = world.task(task).executions.iter().filter(|execution| execution.primary).count();
    assert_eq!(leading, 1);
}

#[test]
fn somebody_is_always_left_who_can_do_the_work() {
    let mut world = World::new();
    let task = world.rested();
    let editor = world.primary(task).id;
    assert_eq!(world.dismiss(task, editor), Err(Rejection::LastExecution));
    let reviewer = world.add(task, Role::Reviewer);
    assert_eq!(world.dismiss(task, editor), Err(Rejection::LastExecution), "a reviewer does not edit");
    let second = world.add(task, Role::Editor);
    world.runs(task, second);
    world.dismiss(task, second).expect("the first is left");
    assert_eq!(world.dismiss(task, editor), Err(Rejection::LastExecution), "who is leaving does not count");
    world.dismiss(task, reviewer).expect("the first is left");
}

#[test]
fn what_it_found_is_still_for_the_others() {
    let mut world = World::new();
    let (task, reviewer) = world.reviewed();
    world.dismiss(task, reviewer).expect("somebody is left");
    world.follow_up(task, "fix it");
    assert_eq!(world.primary(task).prompt().expect("a prompt").findings.len(), 1);
}
