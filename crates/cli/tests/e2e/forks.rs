//! Forks: another way from where a task stands, in a worktree of its own; compared, taken or discarded, without loss
//! and without a trace in the person's repository but its list of worktrees.

use std::path::{Path, PathBuf};

use crate::support::{World, git};
use serde_json::Value;

/// A repository with a commit, something staged and something not.
fn repository(world: &World) {
    let root = &world.project;
    git(root, &["init", "-q", "-b", "main", "."]);
    std::fs::write(root.join(".gitignore"), "secret.env\n").expect("written");
    std::fs::write(root.join("a.txt"), "one\r\n").expect("written");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "first"]);
    std::fs::write(root.join("staged.txt"), "staged").expect("written");
    git(root, &["add", "staged.txt"]);
    std::fs::write(root.join("loose.txt"), "loose").expect("written");
}

/// All of the person's git that a fork must not touch.
fn theirs(root: &Path) -> String {
    ["status --porcelain=v2 --branch", "for-each-ref", "stash list", "diff --cached", "rev-parse HEAD"]
        .map(|line| git(root, &line.split(' ').collect::<Vec<_>>()))
        .join("\n--\n")
}

fn root_of(world: &World, key: &str) -> PathBuf {
    world.task(key)["root"].as_str().expect("a folder").into()
}

fn read(root: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(root.join(name)).ok()
}

fn opened(world: &World, key: &str) -> Value {
    world.task(key)["executions"][0].clone()
}

#[test]
fn a_fork_at_the_head_is_the_agents_own_and_leaves_the_persons_git_alone() {
    let world = World::new();
    repository(&world);
    world.ok(&["say", "write a.txt two\nsay remember the tulips"]);
    let before = theirs(&world.project);
    let forked = world.ok(&["fork", "shop-1", "recall"]);
    assert!(forked.stdout.contains("remember the tulips"), "it knows what was said before: {forked}");
    let fork = root_of(&world, "shop-2");
    assert!(fork.starts_with(world.home.join("worktrees")), "{}", fork.display());
    assert_eq!(read(&fork, "a.txt"), read(&world.project, "a.txt"), "uncommitted work comes along");
    assert_eq!(
        (read(&fork, "staged.txt").as_deref(), read(&fork, "loose.txt").as_deref()),
        (Some("staged"), Some("loose"))
    );
    assert_eq!(git(&fork, &["rev-parse", "HEAD"]), git(&world.project, &["rev-parse", "HEAD"]));
    world.ok(&["say", "--task", "shop-2", "write only-here.txt x"]);
    assert_eq!(read(&world.project, "only-here.txt"), None);
    assert_eq!(theirs(&world.project), before, "index, refs, stash and files are as they were");
    let shown = world.ok(&["show", "shop-2"]);
    assert!(shown.stdout.contains("a fork of shop-1: the agent's own session is forked"), "{shown}");
    assert!(world.ok(&["show", "shop-1"]).stdout.contains("forked: shop-2"));
    assert_eq!(world.task("shop-2")["forked_from"]["task"]["key"], "shop-1");
}

#[test]
fn a_fork_of_a_past_turn_has_its_files_and_a_brief_up_to_it() {
    let world = World::new();
    world.ok(&["say", "write a.txt one\nsay first words"]);
    world.ok(&["say", "write a.txt two\nsay second words"]);
    world.ok(&["fork", "shop-1", "--turn", "1", "say here"]);
    let fork = root_of(&world, "shop-2");
    assert_eq!(read(&fork, "a.txt").as_deref(), Some("one\n"), "a folder without git works too");
    let brief = world.wait_for_entry("shop-2", |entry| entry["type"] == "handoff_given");
    let text = brief["text"]["text"].as_str().expect("a brief");
    assert!(text.contains("first words") && !text.contains("second words"), "{text}");
    world.fails(&["fork", "shop-1", "--turn", "9"], 1, "not_found");
    world.fails(&["fork", "shop-1", "--agent", "nobody"], 1, "agent_unknown");
}

#[test]
fn a_fork_that_is_asked_for_in_words_is_said_to_be_beside_its_source() {
    let world = World::new();
    world.ok(&["say", "write a.txt one"]);
    let words = "try it with websockets in parallel and keep this version as it is so we can compare";
    let forked = world.ok(&["say", "--detach", words]);
    assert!(forked.stdout.starts_with("→ shop-2 *try it with websockets"), "{forked}");
    assert!(forked.stdout.contains("tries another way beside shop-1\n"), "{forked}");
}

#[test]
fn take_brings_changes_home_and_refuses_what_does_not_fit() {
    let world = World::new();
    repository(&world);
    let lines: String = (1..=9).map(|line| format!("line {line}\n")).collect();
    std::fs::write(world.project.join("both.txt"), &lines).expect("written");
    world.ok(&["say", "write mine.txt mine"]);
    world.ok(&["fork", "shop-1"]);
    let fork = root_of(&world, "shop-2");
    std::fs::write(fork.join("both.txt"), lines.replace("line 9", "line nine")).expect("written");
    std::fs::write(fork.join("new.txt"), "new").expect("written");
    std::fs::remove_file(fork.join("mine.txt")).expect("removed");
    std::fs::write(world.project.join("both.txt"), lines.replace("line 1\n", "line one\n")).expect("written");
    let compared = world.ok(&["compare", "shop-1", "shop-2"]);
    insta::assert_snapshot!(compared.stdout);
    let taken = world.ok(&["take", "shop-2"]);
    assert!(taken.stdout.contains("deleted mine.txt") && taken.stdout.contains("added new.txt"), "{taken}");
    let both = read(&world.project, "both.txt").expect("there");
    assert!(both.contains("line one") && both.contains("line nine"), "{both}");
    assert_eq!((read(&world.project, "new.txt").as_deref(), read(&world.project, "mine.txt")), (Some("new"), None));
    let removal =
        world.wait_for_entry("shop-2", |entry| entry["type"] == "workspace_change_begun" && entry["what"] == "remove");
    let ended = |entry: &Value| entry["type"] == "workspace_change_ended" && entry["change"] == removal["change"];
    world.wait_for_entry("shop-2", ended);
    assert!(!fork.exists(), "what was in it is kept, so it goes");
    assert_eq!(world.task("shop-2")["lifecycle"], "closed");
    assert_eq!(git(&world.project, &["worktree", "list"]).lines().count(), 1);
    world.ok(&["restore", "shop-1", "--undo"]);
    assert_eq!(read(&world.project, "new.txt"), None, "a take can be undone");

    world.ok(&["fork", "shop-1"]);
    let fork = root_of(&world, "shop-3");
    std::fs::write(fork.join("both.txt"), "all of it\n").expect("written");
    std::fs::write(fork.join("fits.txt"), "x").expect("written");
    std::fs::write(world.project.join("both.txt"), "something else\n").expect("written");
    let before = theirs(&world.project);
    let refused = world.fails(&["take", "shop-3"], 1, "take_conflict");
    assert!(refused.stderr.contains("both.txt") && !refused.stderr.contains("fits.txt"), "{refused}");
    assert_eq!((theirs(&world.project), read(&world.project, "fits.txt")), (before, None), "nothing was changed");
    assert_eq!(world.task("shop-3")["lifecycle"], "open");
}

#[test]
fn discard_loses_nothing_and_what_is_kept_comes_back() {
    let world = World::new();
    repository(&world);
    world.ok(&["say", "write a.txt two"]);
    world.fails(&["discard", "shop-1"], 1, "not_a_fork");
    world.ok(&["fork", "shop-1", "write work.txt precious"]);
    let fork = root_of(&world, "shop-2");
    std::fs::write(fork.join("secret.env"), "KEY=1").expect("an ignored file");
    world.ok(&["discard", "shop-2"]);
    assert!(!fork.exists(), "{}", fork.display());
    assert_eq!(git(&world.project, &["worktree", "list"]).lines().count(), 1);
    let again = world.ok(&["say", "--task", "shop-2", "read work.txt\nrecall"]);
    assert!(again.stdout.contains("write work.txt precious"), "its session goes on: {again}");
    assert_eq!(read(&fork, "work.txt").as_deref(), Some("precious\n"));
    assert_eq!(read(&fork, "secret.env").as_deref(), Some("KEY=1"), "ignored files are kept too");
    std::fs::write(fork.join("more.txt"), "x").expect("written");
    git(&fork, &["add", "more.txt"]);
    git(&fork, &["commit", "-qm", "on no branch"]);
    let kept = world.json(&["discard", "shop-2"]);
    assert_eq!(kept["removed"], false, "{kept:#}");
    assert!(kept["stays"].as_str().is_some_and(|why| why.contains("no branch")), "{kept:#}");
    assert!(fork.join("more.txt").exists());
    git(&fork, &["branch", "kept"]);
    assert_eq!(world.json(&["discard", "shop-2"])["removed"], true);
}

#[test]
fn a_worktree_is_set_up_as_the_project_says_and_a_setup_that_fails_loses_nothing() {
    let settings =
        "[projects.shop]\nsetup = 'cat secret.env > seen.txt; echo the setup broke; exit 3'\ncopy = ['secret.env']\n";
    let world = World::with_settings(settings);
    repository(&world);
    std::fs::write(world.project.join("secret.env"), "KEY=1").expect("written");
    world.ok(&["say", "say hello"]);
    let forked = world.ok(&["fork", "shop-1"]);
    assert!(forked.stdout.contains("the setup broke"), "{forked}");
    let fork = root_of(&world, "shop-2");
    assert_eq!(read(&fork, "seen.txt").as_deref(), Some("KEY=1"), "what git does not keep was copied first");
    assert!(world.ok(&["show", "shop-2"]).stdout.contains("exit status: 3"));
    world.ok(&["say", "--task", "shop-2", "say it works all the same"]);
    assert_eq!(opened(&world, "shop-2")["turns"], 1);
}

#[test]
fn a_fork_completes_although_the_daemon_is_killed_in_the_middle() {
    let world = World::with_settings("[projects.shop]\nsetup = 'echo x >> tries.txt; sleep 300'\n");
    repository(&world);
    world.ok(&["say", "write a.txt two"]);
    world.ok(&["fork", "shop-1", "--detach", "write b.txt three"]);
    let fork = root_of(&world, "shop-2");
    world.wait_for_file(&fork.join("tries.txt"));
    std::fs::write(fork.join("left-behind.txt"), "").expect("written");
    world.kill_daemon();
    world.set_setup("echo x >> tries.txt");
    world.wait_for_turns("shop-2", 1);
    assert_eq!(read(&fork, "b.txt").as_deref(), Some("three\n"));
    assert_eq!(read(&fork, "tries.txt").as_deref(), Some("x\n"), "it was made anew");
    assert!(!fork.join("left-behind.txt").exists());
}

/// Asks for something, and kills the daemon as soon as the record of a task has this.
fn killed_at(world: &World, args: &[&str], key: &str, moment: &dyn Fn(&Value) -> bool) -> Value {
    let mut live = world.start(&["show", key, "--follow", "--json", "--limit", "1000"]);
    let asked = world.start(args);
    let seen = live.wait_for_json(moment);
    world.kill_daemon();
    // Who asked is not there to ask again: the record alone says what is wanted.
    drop(asked);
    seen
}

#[test]
fn a_take_completes_although_the_daemon_is_killed_in_the_middle() {
    let begun = |entry: &Value| entry["type"] == "workspace_change_begun" && entry["what"] == "take";
    let planned = |entry: &Value| entry["type"] == "workspace_change_planned";
    let moments: [&dyn Fn(&Value) -> bool; 2] = [&begun, &planned];
    for moment in moments {
        let world = World::new();
        repository(&world);
        world.ok(&["say", "write a.txt two"]);
        world.ok(&["fork", "shop-1", "write b.txt three\nwrite c.txt four"]);
        let fork = root_of(&world, "shop-2");
        let change = killed_at(&world, &["take", "shop-2"], "shop-1", moment)["change"].clone();
        let ended = |entry: &Value| entry["type"] == "workspace_change_ended" && entry["change"] == change;
        let end = world.wait_for_entry("shop-1", ended);
        assert!(end["failure"].is_null(), "{end:#}");
        assert_eq!(read(&world.project, "b.txt").as_deref(), Some("three\n"));
        assert_eq!(read(&world.project, "c.txt").as_deref(), Some("four\n"));
        let removal = |entry: &Value| entry["type"] == "workspace_change_begun" && entry["what"] == "remove";
        let removal = world.wait_for_entry("shop-2", removal)["change"].clone();
        world.wait_for_entry("shop-2", |entry| entry["type"] == "workspace_change_ended" && entry["change"] == removal);
        assert!(!fork.exists());
        assert_eq!(world.task("shop-2")["lifecycle"], "closed");
        world.ok(&["restore", "shop-1", "--undo"]);
        assert_eq!(read(&world.project, "b.txt"), None, "the state before was kept");
        assert_eq!(read(&world.project, "a.txt").as_deref(), Some("two\n"));
    }
}

#[test]
fn a_discard_completes_or_can_be_repeated_although_the_daemon_is_killed_in_the_middle() {
    let begun = |entry: &Value| entry["type"] == "workspace_change_begun" && entry["what"] == "remove";
    let closed = |entry: &Value| entry["type"] == "task_closed";
    let moments: [&dyn Fn(&Value) -> bool; 2] = [&begun, &closed];
    for moment in moments {
        let world = World::new();
        repository(&world);
        world.ok(&["say", "write a.txt two"]);
        world.ok(&["fork", "shop-1", "write work.txt precious"]);
        let fork = root_of(&world, "shop-2");
        std::fs::write(fork.join("secret.env"), "KEY=1").expect("an ignored file");
        killed_at(&world, &["discard", "shop-2"], "shop-2", moment);
        let change = world.wait_for_entry("shop-2", begun)["change"].clone();
        let ended = |entry: &Value| entry["type"] == "workspace_change_ended" && entry["change"] == change;
        let end = world.wait_for_entry("shop-2", ended);
        if !end["failure"].is_null() {
            assert!(fork.exists(), "what stays is all there: {end:#}");
            assert_eq!(world.json(&["discard", "shop-2"])["removed"], true);
        }
        assert!(!fork.exists());
        assert_eq!(git(&world.project, &["worktree", "list"]).lines().count(), 1);
        world.ok(&["say", "--task", "shop-2", "say back"]);
        assert_eq!(read(&fork, "work.txt").as_deref(), Some("precious\n"));
        assert_eq!(read(&fork, "secret.env").as_deref(), Some("KEY=1"), "ignored files too");
    }
}
