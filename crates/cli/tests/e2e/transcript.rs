//! What a person types and what they see, from an empty home on: the README's promise as a snapshot.

use crate::support::World;

/// A transcript of commands, with what changes from run to run taken out.
fn transcript(world: &World, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for args in commands {
        let words: Vec<String> = args.iter().map(|arg| shown(arg)).collect();
        let ran = world.tl(args);
        let typed = format!("$ tl {}", words.join(" "));
        text.push_str(&format!("{}\n{}", typed.trim_end(), ran.stdout));
        if !ran.stderr.is_empty() {
            text.push_str(&ran.stderr);
        }
        if ran.code != Some(0) {
            text.push_str(&format!("[exit {}]\n", ran.code.unwrap_or(-1)));
        }
        text.push('\n');
    }
    text
}

fn shown(arg: &str) -> String {
    if arg.contains([' ', '\n', ';', '"']) { format!("\"{arg}\"") } else { arg.to_owned() }
}

fn redacted(world: &World, check: impl FnOnce()) {
    let base = world.project.parent().expect("a folder").to_str().expect("text");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&base.replace('.', "\\."), "/work");
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]");
    settings.add_filter(r"in \d+(\.\d+)? m?s", "in [time]");
    settings.add_filter(r"(?m)^\d\d:\d\d  ", "[at]  ");
    settings.add_filter(r"process \d+", "process [pid]");
    settings.add_filter(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:[port]");
    settings.bind(check);
}

#[test]
fn the_first_minutes() {
    let world = World::bare();
    let text = transcript(
        &world,
        &[
            &[],
            &["say", "hello"],
            &["project", "add", "."],
            &["say", "plan look around; write notes"],
            &["say", "recall"],
            &["down"],
            &["say", "recall"],
            &["tasks"],
        ],
    );
    redacted(&world, || insta::assert_snapshot!(text));
}

#[test]
fn an_approval_from_start_to_end() {
    let world = World::new();
    let before = transcript(&world, &[&["say", "run echo hello"], &["status", "shop-1"], &["tasks", "--needs-me"]]);
    let id = world.wait_for_approval("shop-1");
    let mut after = transcript(&world, &[&["approve", &id]]);
    world.wait_for_turns("shop-1", 1);
    after.push_str(&transcript(&world, &[&["show", "shop-1"], &["close", "shop-1"], &["tasks", "--all"]]));
    redacted(&world, || insta::assert_snapshot!(before + &after));
}

#[test]
fn what_can_be_done_to_a_task() {
    let world = World::new();
    let mut text = transcript(&world, &[&["say", "--detach", "say one"]]);
    world.wait_for_turns("shop-1", 1);
    text += &transcript(
        &world,
        &[
            &[],
            &["show", "shop-9"],
            &["approve", "nope"],
            &["note", "shop-1", "mind the gap"],
            &["fresh", "shop-1"],
            &["close", "shop-1"],
            &["reopen", "shop-1"],
            &["cancel", "shop-1"],
            &["approve", "abcdefgh", "--always"],
        ],
    );
    redacted(&world, || insta::assert_snapshot!(text));
}
