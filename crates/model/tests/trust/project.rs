//! Projects: their default agent, their notes, the keys of their tasks, and how changes of a policy are counted.

use crate::support::World;
use throughline_model::approval::Source;
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::event::Event;
use throughline_model::execution::Role;
use throughline_model::policy::{Allowed, RuleDraft};
use throughline_model::project::{Asking, Project, ProjectCommand, ProjectEvent};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;

fn tell(world: &mut World, command: ProjectCommand) -> Result<Vec<Event>, Rejection> {
    world.send(StreamId::Project(world.project), Command::Project(command))
}

fn project(world: &World) -> &Project {
    world.states[&StreamId::Project(world.project)].project().expect("a project")
}

#[test]
fn a_default_agent_is_set_once() {
    let mut world = World::new();
    let agent = || "codex".to_owned();
    let set = Event::Project(ProjectEvent::DefaultAgentSet { agent: agent() });
    assert_eq!(tell(&mut world, ProjectCommand::SetDefaultAgent { agent: agent() }), Ok(vec![set]));
    assert_eq!(tell(&mut world, ProjectCommand::SetDefaultAgent { agent: agent() }), Ok(vec![]));
    assert_eq!(project(&world).default_agent, "codex");
}

#[test]
fn notes_say_something_and_are_not_too_many() {
    let mut world = World::new();
    let person = world.person;
    let pin = |text: &str| ProjectCommand::PinNote { person, text: text.into() };
    assert_eq!(tell(&mut world, pin(" \n")), Err(Rejection::Empty));
    for _ in 0..50 {
        tell(&mut world, pin("mind the gap")).expect("there is room");
    }
    assert_eq!(tell(&mut world, pin("one more")), Err(Rejection::QueueFull { waiting: 50 }));
    assert_eq!(project(&world).notes.len(), 50);
}

#[test]
fn tasks_are_named_after_their_project_and_counted() {
    let mut world = World::new();
    let (first, second) = (world.new_task("one"), world.new_task("two"));
    assert_eq!((world.task(first).key.as_str(), world.task(second).key.as_str()), ("shop-1", "shop-2"));
}

#[test]
fn each_change_of_a_policy_makes_one_version() {
    let mut world = World::new();
    let by = world.person;
    let source = || Source { surface: Channel::Cli, identity: None, conversation: None };
    let allow =
        |answer| ProjectCommand::Allow { role: Role::Editor, what: Allowed::Reads, answer, by, source: source() };
    let rule = |word: &str| RuleDraft::of(vec![word.to_owned()], None);
    let add = |word: &str| ProjectCommand::AddRule { draft: rule(word), by, source: source() };
    for (version, command) in [
        allow(Asking::Allow),
        allow(Asking::Ask),
        add("ls"),
        add("pwd"),
        ProjectCommand::RevokeRule { number: 1, by, source: source() },
    ]
    .into_iter()
    .enumerate()
    {
        tell(&mut world, command).expect("it changes");
        assert_eq!(project(&world).policy.version, version as u64 + 1);
    }
    tell(&mut world, allow(Asking::Ask)).expect("nothing changes");
    assert_eq!(project(&world).policy.version, 5);
}
