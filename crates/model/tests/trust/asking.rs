//! Whether an agent asks: modes that ask for nothing are set back, and what nobody was asked about is marked.

use crate::support::World;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::ids::TaskId;
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::runtime_session::{Parking, RuntimeDescription, SettingChange, Terms};
use throughline_model::task::{Report, TaskEvent};

/// A session of an agent whose strictest mode is `ask` and whose mode `auto` asks for nothing.
fn careful(world: &mut World, task: TaskId, may_skip: bool) {
    let terms = Terms {
        strict: Some("ask".into()),
        skipping: vec!["auto".into()],
        may_skip,
        runs_unasked: Some("inside its sandbox".into()),
        ..Terms::default()
    };
    let description = RuntimeDescription { mode: Some("ask".into()), terms, ..RuntimeDescription::default() };
    let opened =
        Report::Opened { native: "native-1".into(), description: Box::new(description), parking: Parking::default() };
    world.report(task, opened).expect("it was starting");
}

#[test]
fn a_mode_that_asks_for_nothing_is_set_back_unless_it_is_allowed() {
    for may_skip in [false, true] {
        let mut world = World::new();
        let task = world.new_task("fix routing");
        careful(&mut world, task, may_skip);
        assert_eq!(world.task(task).unasked_mode(), None);
        world.take_effects();
        let changed = Report::Changed(SettingChange::Mode { mode: "auto".into() });
        world.report(task, changed).expect("it is live");
        let set_back =
            world.take_effects().iter().any(|effect| matches!(effect, Effect::SetMode { mode, .. } if mode == "ask"));
        assert_eq!(set_back, !may_skip);
        let recorded = world.count(|event| {
            matches!(event, TaskEvent::RuntimeSessionChanged { change: SettingChange::ModeSetBack { .. }, .. })
        });
        assert_eq!(recorded, usize::from(!may_skip));
        assert_eq!(world.task(task).unasked_mode().is_some(), may_skip, "it is shown where it is on");
    }
}

#[test]
fn what_nobody_was_asked_about_is_marked() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    careful(&mut world, task, false);
    let turn = world.running_turn(task);
    let approval = world.mint.id();
    world.report(task, crate::support::asked(approval)).expect("it asks");
    let asked = world.task(task).approvals.pending[0].approval.ask.call.clone();
    let mut unasked = |call: &str, tool: &str, status| {
        let call = ToolCall {
            call: call.into(),
            title: "a call".into(),
            tool: tool.into(),
            status,
            input: None,
            output: None,
            exit_code: None,
            changes: vec![],
            locations: vec![],
            unasked: false,
        };
        let item = Item { id: world.mint.id(), turn: Some(turn), body: ItemBody::ToolCall(call) };
        let events = world.report(task, Report::Recorded(Box::new(item))).expect("it is live");
        events.iter().any(|event| match event {
            Event::Task(TaskEvent::ItemRecorded { item, .. }) => {
                matches!(&item.body, ItemBody::ToolCall(call) if call.unasked)
            }
            _ => false,
        })
    };
    assert!(unasked("other", "execute", ToolStatus::Completed));
    assert!(unasked("other", "edit", ToolStatus::Failed));
    assert!(!unasked("other", "read", ToolStatus::Completed), "looking is not doing");
    assert!(!unasked("other", "execute", ToolStatus::InProgress), "it may still ask");
    assert!(!unasked(&asked, "execute", ToolStatus::Completed), "somebody was asked");
}
