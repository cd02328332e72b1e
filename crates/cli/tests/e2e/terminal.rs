//! At a terminal: colour, questions in place, and an offer to add an unknown repository.

use crate::support::World;
use crate::support::terminal::Terminal;

#[test]
fn an_approval_is_asked_in_place_and_a_yes_goes_on() {
    let world = World::new();
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt\nsay after"]));
    terminal.wait_for("[y]es, [n]o, or [s]kip");
    assert!(terminal.seen.contains("echo ran > proof.txt"), "{}", terminal.seen);
    // Something that is no answer is asked again.
    terminal.type_line("maybe");
    terminal.type_line("y");
    terminal.wait_for("after");
    let (code, seen) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(world.project.join("proof.txt").exists());
}

#[test]
fn a_no_in_place_keeps_it_from_running() {
    let world = World::new();
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt\nsay after"]));
    terminal.wait_for("[y]es, [n]o, or [s]kip");
    terminal.type_line("n");
    terminal.wait_for("completed");
    assert_eq!(terminal.finish().0, Some(0));
    assert!(!world.project.join("proof.txt").exists());
}

#[test]
fn what_is_skipped_is_decided_elsewhere_and_the_watching_goes_on() {
    let world = World::new();
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt\nsay after"]));
    terminal.wait_for("[y]es, [n]o, or [s]kip");
    terminal.type_line("s");
    terminal.wait_for("tl deny ");
    let id = world.wait_for_approval("shop-1");
    world.ok(&["approve", &id]);
    terminal.wait_for("after");
    assert_eq!(terminal.finish().0, Some(0));
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_away() {
    let world = World::new();
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt\nsay after"]));
    terminal.wait_for("[y]es, [n]o, or [s]kip");
    let id = world.wait_for_approval("shop-1");
    world.ok(&["approve", &id]);
    terminal.wait_for("there is nothing left to decide here: approved elsewhere by you, from cli");
    terminal.wait_for("after");
    assert_eq!(terminal.finish().0, Some(0));
}

#[test]
fn ctrl_c_at_a_question_leaves_it_pending() {
    let world = World::new();
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt"]));
    terminal.wait_for("[y]es, [n]o, or [s]kip");
    terminal.interrupt();
    terminal.wait_for("the work goes on");
    assert_eq!(terminal.finish().0, Some(0));
    let task = world.task("shop-1");
    assert_eq!(task["activity"]["word"], "waiting_approval", "{task:#}");
}

#[test]
fn an_unknown_repository_is_offered_to_be_added() {
    let world = World::bare();
    std::fs::create_dir_all(world.project.join(".git")).expect("a repository");
    let inner = world.project.join("src");
    std::fs::create_dir(&inner).expect("a folder");
    let mut command = world.command(&["say", "say hello"]);
    command.current_dir(&inner);
    let mut terminal = Terminal::of(command);
    terminal.wait_for("is in no project yet. Add it? [y/N]");
    terminal.type_line("y");
    terminal.wait_for("completed");
    assert_eq!(terminal.finish().0, Some(0));
    let list = world.json(&["project", "list"]);
    assert_eq!(list["projects"][0]["root"], world.project.to_str().expect("text"), "{list:#}");

    let other = world.folder("other");
    let mut command = world.command(&["say", "say hello"]);
    command.current_dir(&other);
    let mut terminal = Terminal::of(command);
    terminal.wait_for("[y/N]");
    terminal.type_line("");
    let (code, seen) = terminal.finish();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("error[project_unknown]"), "{seen}");
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    const ESCAPE: char = '\u{1b}';
    let world = World::new();
    let painted = Terminal::of(world.command(&["say", "say hi"])).finish().1;
    assert!(painted.contains(ESCAPE), "{painted}");
    let mut command = world.command(&["say", "say hi"]);
    command.env("NO_COLOR", "1");
    let plain = Terminal::of(command).finish().1;
    assert!(!plain.contains(ESCAPE), "{plain}");
    let piped = world.ok(&["say", "say hi"]);
    assert!(!piped.stdout.contains(ESCAPE), "{piped}");
}

#[test]
fn an_agent_cannot_paint_the_terminal() {
    let world = World::new();
    let seen = Terminal::of(world.command(&["say", "say \u{1b}[31mred\u{202e}"])).finish().1;
    assert!(seen.contains("\\u{1b}[31mred\\u{202e}"), "{seen}");
}
