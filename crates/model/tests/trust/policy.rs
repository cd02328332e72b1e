//! Rules: what they allow, and everything that they must not.

use std::collections::BTreeMap;

use crate::support::{World, request};
use proptest::prelude::*;
use throughline_model::approval::{Ask, Settlement, Source, Verdict};
use throughline_model::channel::Channel;
use throughline_model::command::Command;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::execution::Role;
use throughline_model::ids::{ApprovalId, Id as _, TaskId};
use throughline_model::policy::action::{Action, Places};
use throughline_model::policy::argv::{Unclear, parse, plain, unwrapped};
use throughline_model::policy::{Allowed, Policy, Question, RuleDraft, Ruling, rule_for};
use throughline_model::project::{Asking, ProjectCommand};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskEvent};
use throughline_model::time::Timestamp;

const CORPUS: &str = include_str!("../bypass.txt");
/// Plain commands that a person might say "always" to.
const PLAIN: [&str; 14] = [
    "cargo test",
    "cargo build --release",
    "cargo clippy",
    "cargo nextest run",
    "ls",
    "ls -la",
    "cat README.md",
    "git status",
    "git diff",
    "git log --oneline",
    "npm test",
    "npm run build",
    "go test ./...",
    "pytest",
];

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn ask(input: &str) -> Ask {
    Ask {
        call: "c".into(),
        title: "cargo test".into(),
        tool: "execute".into(),
        input: Some(input.into()),
        cwd: "/shop".into(),
    }
}

fn command(line: &str) -> Ask {
    ask(&serde_json::json!({ "command": line }).to_string())
}

fn source() -> Source {
    Source { surface: Channel::Cli, identity: None, conversation: None }
}

/// The world as the file system is: everything is where it says.
fn places(action: &Action) -> Places {
    let real = |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("/shop/{path}") };
    Places(action.paths().into_iter().map(|path| (path.to_owned(), real(path))).collect())
}

fn judge_as(policy: &Policy, role: Role, ask: &Ask, at: i64) -> Option<Ruling> {
    let action = Action::of(ask);
    let places = places(&action);
    policy.judge(Question { role, action: &action, places: &places, roots: &["/shop"], at: Timestamp::from_millis(at) })
}

fn judge(policy: &Policy, ask: &Ask) -> Option<Verdict> {
    judge_as(policy, Role::Editor, ask, 0).map(|ruling| ruling.standing.verdict())
}

fn policy_of(world: &World) -> Policy {
    world.states[&StreamId::Project(world.project)].project().expect("a project").policy.clone()
}

fn tell(world: &mut World, command: ProjectCommand) -> Result<Vec<Event>, Rejection> {
    world.send(StreamId::Project(world.project), Command::Project(command))
}

fn add(world: &mut World, draft: RuleDraft) -> Result<Vec<Event>, Rejection> {
    let by = world.person;
    tell(world, ProjectCommand::AddRule { draft, by, source: source() })
}

/// A project with a rule from the approval of each of these.
fn with_rules(lines: &[&str]) -> World {
    let mut world = World::new();
    for line in lines {
        let approval: ApprovalId = world.mint.id();
        let draft = rule_for(&command(line), approval).expect(line);
        add(&mut world, draft).expect(line);
    }
    world
}

fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (letter, after) = match &rest[at + 1..] {
            code if code.starts_with("u{") => {
                let (digits, after) = code[2..].split_once('}').expect("closed");
                (char::from_u32(u32::from_str_radix(digits, 16).expect("hex")).expect("a character"), after)
            }
            code => {
                let letter = match code.chars().next().expect("something follows") {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    other => other,
                };
                (letter, &code[1..])
            }
        };
        text.push(letter);
        rest = after;
    }
    text + rest
}

#[test]
fn nothing_in_the_corpus_is_allowed_by_any_rule_from_a_plain_command() {
    let world = with_rules(&PLAIN);
    let policy = policy_of(&world);
    assert_eq!(policy.rules.len(), PLAIN.len());
    let lines: Vec<String> = CORPUS.lines().filter(|line| !line.starts_with("# ")).map(unescaped).collect();
    assert!(lines.iter().filter(|line| !line.is_empty()).count() >= 150);
    for line in &lines {
        let shapes = [
            serde_json::json!({ "command": line }),
            serde_json::json!({ "command": ["bash", "-lc", line] }),
            serde_json::json!({ "command": ["/bin/sh", "-c", line], "cwd": "/shop" }),
            serde_json::json!({ "command": ["bash", "-lc", format!("bash -lc {line}")] }),
            serde_json::json!({ "command": line.split(' ').collect::<Vec<_>>() }),
            serde_json::json!({ "command": [line] }),
        ];
        // As words, a shell around one plain line is that line: `["bash", "-c", "ls"]` is `ls`.
        let taken_off = |shape: &serde_json::Value| {
            let words: Vec<String> = serde_json::from_value(shape["command"].clone()).unwrap_or_default();
            unwrapped(words).is_ok_and(|inner| PLAIN.contains(&inner.join(" ").as_str()))
        };
        for shape in shapes.into_iter().filter(|shape| !taken_off(shape)) {
            assert_eq!(judge(&policy, &ask(&shape.to_string())), None, "{shape}");
        }
    }
}

#[test]
fn what_was_approved_is_allowed_in_every_shape_that_means_it() {
    let policy = policy_of(&with_rules(&PLAIN));
    for line in PLAIN {
        for shape in [
            serde_json::json!({ "command": line }),
            serde_json::json!({ "command": line, "cwd": "/shop", "description": "Do it", "timeout": 5 }),
            serde_json::json!({ "command": ["bash", "-lc", line] }),
            serde_json::json!({ "command": words(line), "workdir": "/shop/web" }),
            serde_json::json!({ "command": format!("  {line} ") }),
        ] {
            assert_eq!(judge(&policy, &ask(&shape.to_string())), Some(Verdict::Approve), "{shape}");
        }
    }
}

#[test]
fn names_may_follow_where_they_only_say_which() {
    let policy = policy_of(&with_rules(&["cargo test", "git log --oneline", "pytest", "make"]));
    for line in [
        "cargo test routing::tests",
        "cargo test -p shop --lib",
        "cargo test --release a b",
        "git log --oneline -n 5 main..HEAD",
        "pytest tests/a.py -q -k name",
        "make",
    ] {
        assert_eq!(judge(&policy, &command(line)), Some(Verdict::Approve), "{line}");
    }
    for line in ["cargo test -p", "cargo test -p -p", "cargo test --bogus", "git log", "make all", "cargo test -p /x"] {
        assert_eq!(judge(&policy, &command(line)), None, "{line}");
    }
}

#[test]
fn an_input_that_says_more_than_a_command_is_asked_about() {
    let policy = policy_of(&with_rules(&["cargo test"]));
    for input in [
        r#"{"command":"cargo test","env":{"A":"b"}}"#,
        r#"{"command":"cargo test","stdin":"x"}"#,
        r#"{"command":"cargo test","command":"cargo test"}"#,
        r#"{"command":"cargo test","description":{"x":1}}"#,
        r#"{"command":"cargo test","cwd":1}"#,
        r#"{"command":"cargo test","cwd":"/elsewhere"}"#,
        r#"{"command":"cargo test","cwd":"/shop/../etc"}"#,
        r#"{"command":"cargo test","cwd":"/shopping"}"#,
        r#"{"command":{"argv":"cargo test"}}"#,
        r#"{"command":["cargo",["test"]]}"#,
        r#"{"command":[]}"#,
        r#"["cargo","test"]"#,
        "cargo test",
        "",
    ] {
        assert_eq!(judge(&policy, &ask(input)), None, "{input}");
    }
    let elsewhere = Ask { cwd: "/".into(), ..command("cargo test") };
    assert_eq!(judge(&policy, &elsewhere), None, "the folder is not the project's");
}

#[test]
fn a_description_makes_no_rule_and_fits_none() {
    let policy = policy_of(&with_rules(&["cargo test"]));
    let described = Ask { input: None, ..command("cargo test") };
    assert_eq!(described.title, "cargo test");
    assert_eq!(judge(&policy, &described), None);
    let refused = rule_for(&described, ApprovalId::from_uuid(uuid::Uuid::nil())).expect_err("no rule");
    assert_eq!(refused.code(), "no_rule");
}

#[test]
fn why_no_rule_is_made_is_said() {
    let why = |input: &str| match rule_for(&ask(input), ApprovalId::from_uuid(uuid::Uuid::nil())) {
        Err(Rejection::NoRule { why }) => why,
        other => panic!("{other:?}"),
    };
    for (line, word) in [
        ("ls; rm x", "`;`"),
        ("sudo ls", "`sudo`"),
        ("A=1 ls", "variable"),
        ("", "empty"),
        ("echo \u{202e}", "u{202e}"),
    ] {
        let said = why(&serde_json::json!({ "command": line }).to_string());
        assert!(said.contains(word), "{line}: {said}");
    }
    assert!(why(r#"{"x":1}"#).contains("plain"));
    let edit = Ask { tool: "edit".into(), ..ask(r#"{"file_path":"a","content":"b"}"#) };
    assert!(rule_for(&edit, ApprovalId::from_uuid(uuid::Uuid::nil())).is_err());
}

#[test]
fn a_rule_that_denies_wins() {
    let mut world = with_rules(&["cargo test", "git diff"]);
    let deny = RuleDraft { verdict: Verdict::Deny, open: false, ..RuleDraft::of(words("cargo"), None) };
    add(&mut world, deny).expect("made");
    let policy = policy_of(&world);
    assert_eq!(judge(&policy, &command("cargo test")), Some(Verdict::Deny));
    assert_eq!(judge(&policy, &command("cargo publish")), Some(Verdict::Deny));
    assert_eq!(judge(&policy, &Ask { cwd: "/etc".into(), ..command("cargo x") }), Some(Verdict::Deny), "anywhere");
    assert_eq!(judge(&policy, &command("git diff")), Some(Verdict::Approve));
    assert_eq!(judge(&policy, &command("cargo-evil")), None);
}

#[test]
fn a_rule_may_be_for_one_role_and_for_a_time() {
    let mut world = World::new();
    let draft = RuleDraft {
        role: Some(Role::Tester),
        expires_at: Some(Timestamp::from_millis(100)),
        ..RuleDraft::of(words("cargo test"), None)
    };
    add(&mut world, draft).expect("made");
    let policy = policy_of(&world);
    let at = |role, at| judge_as(&policy, role, &command("cargo test"), at).is_some();
    assert!(at(Role::Tester, 99));
    assert!(!at(Role::Tester, 100));
    assert!(!at(Role::Editor, 0));
}

#[test]
fn a_rule_says_the_same_whatever_it_was_made_from() {
    let from = |number: u128| RuleDraft::of(words("make"), Some(ApprovalId::from_uuid(uuid::Uuid::from_u128(number))));
    let bare = RuleDraft::of(words("make"), None);
    assert!(bare.same(&from(1)) && from(1).same(&bare) && from(1).same(&from(2)));
    assert!(!from(1).same(&RuleDraft { role: Some(Role::Editor), ..from(1) }));
    assert!(!from(1).same(&RuleDraft::of(words("ls"), from(1).approval)));
}

#[test]
fn rules_are_numbered_made_once_bounded_and_taken_back() {
    let mut world = with_rules(&["ls", "make"]);
    let again = RuleDraft::of(words("ls"), None);
    assert!(add(&mut world, again).expect("it is there").is_empty());
    let (by, source) = (world.person, source());
    let revoke = |number| ProjectCommand::RevokeRule { number, by, source: source.clone() };
    tell(&mut world, revoke(1)).expect("it is there");
    assert_eq!(tell(&mut world, revoke(1)).expect_err("gone").code(), "not_found");
    assert_eq!(judge(&policy_of(&world), &command("ls")), None);
    add(&mut world, RuleDraft::of(words("ls"), None)).expect("made");
    let numbers: Vec<u64> = policy_of(&world).rules.iter().map(|rule| rule.number).collect();
    assert_eq!(numbers, [2, 3], "a number is never used again");
    for number in 0..198 {
        add(&mut world, RuleDraft::of(words(&format!("prog{number}x")), None)).expect("room");
    }
    let over = add(&mut world, RuleDraft::of(words("onemore"), None)).expect_err("full");
    assert_eq!(over.code(), "too_many_rules");
}

#[test]
fn a_rule_that_could_mean_more_than_it_says_is_not_made() {
    let mut world = World::new();
    for draft in [
        RuleDraft::of(words("sudo ls"), None),
        RuleDraft::of(vec!["ls; rm".into()], None),
        RuleDraft::of(vec![], None),
        RuleDraft { open: true, ..RuleDraft::of(words("make"), None) },
        RuleDraft { verdict: Verdict::Deny, ..RuleDraft::of(words("sudo"), None) },
    ] {
        assert_eq!(add(&mut world, draft.clone()).expect_err("no").code(), "no_rule", "{draft:?}");
    }
}

#[test]
fn reads_and_edits_are_allowed_by_what_the_input_says() {
    let mut world = World::new();
    let (by, source) = (world.person, source());
    let allow = |what, answer| ProjectCommand::Allow { role: Role::Editor, what, answer, by, source: source.clone() };
    let tool = |tool: &str, input: &str| Ask { tool: tool.into(), ..ask(input) };
    let write = tool("edit", r#"{"file_path":"/shop/a.rs","content":"x"}"#);
    let read = tool("read", r#"{"file_path":"a.rs","limit":5}"#);
    assert_eq!((judge(&policy_of(&world), &write), judge(&policy_of(&world), &read)), (None, None));
    tell(&mut world, allow(Allowed::Edits, Asking::Allow)).expect("set");
    assert!(tell(&mut world, allow(Allowed::Edits, Asking::Allow)).expect("set").is_empty(), "it is so already");
    assert_eq!(judge(&policy_of(&world), &read), None, "edits are not reads");
    tell(&mut world, allow(Allowed::Reads, Asking::Allow)).expect("set");
    let policy = policy_of(&world);
    let replace = tool("edit", r#"{"filePath":"b/c.rs","oldString":"x","newString":"y","replaceAll":true}"#);
    for fine in [&write, &read, &replace] {
        assert_eq!(judge(&policy, fine), Some(Verdict::Approve), "{fine:?}");
        assert_eq!(judge_as(&policy, Role::Reviewer, fine, 0), None, "another role");
    }
    for odd in [
        tool("delete", r#"{"file_path":"/shop/a.rs"}"#),
        tool("execute", r#"{"file_path":"/shop/a.rs","content":"x"}"#),
        tool("read", r#"{"file_path":"/etc/passwd"}"#),
        tool("read", r#"{"path":"/shop/a.rs"}"#),
        tool("read", r#"{"file_path":"/shop/a.rs","url":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/a.rs","content":1}"#),
        tool("edit", r#"{"file_path":"/shop/a.rs","old_string":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/a.rs","content":"x","mode":"0777"}"#),
        tool("edit", r#"{"file_path":"/etc/passwd","content":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/../etc/passwd","content":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/.git/hooks/pre-commit","content":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/web/.GIT/config","content":"x"}"#),
        tool("edit", r#"{"file_path":"/shop/.claude/settings.json","content":"x"}"#),
        tool("edit", r#"{"file_path":"/shop","content":"x"}"#),
    ] {
        assert_eq!(judge(&policy, &odd), None, "{odd:?}");
    }
    tell(&mut world, allow(Allowed::Edits, Asking::Ask)).expect("set");
    assert_eq!(judge(&policy_of(&world), &write), None);
    assert_eq!(judge(&policy_of(&world), &read), Some(Verdict::Approve));
}

#[test]
fn a_link_out_of_the_workspace_is_out_of_the_workspace() {
    let mut world = with_rules(&["ls"]);
    let by = world.person;
    let allow =
        ProjectCommand::Allow { role: Role::Editor, what: Allowed::Edits, answer: Asking::Allow, by, source: source() };
    tell(&mut world, allow).expect("set");
    let policy = policy_of(&world);
    let judged = |ask: &Ask, real: Option<(&str, &str)>, roots: &[&str]| {
        let action = Action::of(ask);
        let places =
            Places(real.into_iter().map(|(path, real)| (path.into(), real.into())).collect::<BTreeMap<_, _>>());
        let at = Timestamp::from_millis(0);
        policy.judge(Question { role: Role::Editor, action: &action, places: &places, roots, at }).is_some()
    };
    let edit = Ask { tool: "edit".into(), ..ask(r#"{"file_path":"/shop/link/x","content":""}"#) };
    assert!(judged(&edit, Some(("/shop/link/x", "/shop/link/x")), &["/shop"]));
    assert!(judged(&edit, Some(("/shop/link/x", "/shop/link/x")), &["/other", "/shop/"]));
    assert!(!judged(&edit, Some(("/shop/link/x", "/etc/x")), &["/shop"]));
    assert!(!judged(&edit, Some(("/shop/link/x", "shop/x")), &["/shop"]));
    assert!(!judged(&edit, None, &["/shop"]), "what was not looked up is nowhere");
    assert!(!judged(&edit, Some(("/shop/link/x", "/shop/link/x")), &["/", ""]), "everything is no workspace");
    assert!(judged(&command("ls"), Some(("/shop", "/shop")), &["/shop"]));
    assert!(!judged(&command("ls"), Some(("/shop", "/private/shop")), &["/shop"]));
}

fn settled(world: &World) -> Vec<Settlement> {
    let settled = |(_, event, _): &(StreamId, Event, Timestamp)| match event {
        Event::Task(TaskEvent::ApprovalSettled { settlement, .. }) => Some(settlement.clone()),
        _ => None,
    };
    world.log.iter().filter_map(settled).collect()
}

/// A task that asks for `cargo test`, judged by the policy as it stands.
fn asking(world: &mut World, change: impl FnOnce(&mut throughline_model::approval::Asked)) -> (TaskId, ApprovalId) {
    let task = world.new_task("run it");
    world.opened(task);
    let approval: ApprovalId = world.mint.id();
    let mut asked = request(approval, Some(r#"{"command":"cargo test"}"#));
    asked.ruling = judge_as(&policy_of(world), Role::Editor, &asked.ask, 0);
    change(&mut asked);
    world.take_effects();
    let outcome = world.report(task, Report::Asked(Box::new(asked)));
    assert!(outcome.is_ok() || matches!(outcome, Err(Rejection::PolicyChanged)), "{outcome:?}");
    (task, approval)
}

#[test]
fn a_rule_answers_in_the_same_moment_and_nobody_is_disturbed() {
    let mut world = with_rules(&["cargo test"]);
    let (task, approval) = asking(&mut world, |_| {});
    let effects = world.take_effects();
    let answers = |effect: &&Effect| matches!(effect, Effect::AnswerApproval { option: Some(id), .. } if id == "yes");
    assert_eq!(effects.iter().filter(answers).count(), 1);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Later { .. } | Effect::Deliver { .. })));
    assert!(matches!(&settled(&world)[..], [Settlement::Ruled { ruling }] if ruling.version == 1));
    assert_eq!(settled(&world)[0].word(), "approved");
    assert_eq!(policy_of(&world).rules[0].uses, 1);
    assert!(world.decide_on(task, approval, Verdict::Deny).is_err(), "it is decided");
    let again = request(approval, Some(r#"{"command":"cargo test"}"#));
    world.report(task, Report::Asked(Box::new(again))).expect("current");
    assert_eq!(settled(&world).len(), 1, "and never judged again");
}

#[test]
fn a_rule_that_denies_says_the_agents_plain_no() {
    let mut world = World::new();
    let deny = RuleDraft { verdict: Verdict::Deny, ..RuleDraft::of(words("cargo test"), None) };
    add(&mut world, deny).expect("made");
    asking(&mut world, |_| {});
    let effects = world.take_effects();
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::AnswerApproval { option: Some(id), .. } if id == "no"))
    );
    assert_eq!(settled(&world)[0].word(), "denied");
}

#[test]
fn a_policy_that_changed_meanwhile_undoes_the_answer() {
    let mut world = with_rules(&["cargo test"]);
    let (by, source) = (world.person, source());
    let (task, approval) = {
        let stale = judge_as(&policy_of(&world), Role::Editor, &command("cargo test"), 0);
        tell(&mut world, ProjectCommand::RevokeRule { number: 1, by, source }).expect("revoked");
        asking(&mut world, |asked| asked.ruling = stale)
    };
    assert!(world.task(task).approvals.pending(approval).is_none() && settled(&world).is_empty(), "nothing happened");
    assert!(world.take_effects().is_empty());
}

#[test]
fn a_rule_gives_no_answer_that_the_agent_does_not_offer() {
    let mut world = with_rules(&["cargo test"]);
    let (task, approval) = asking(&mut world, |asked| asked.options.retain(|option| option.id != "yes"));
    assert!(world.task(task).approvals.pending(approval).is_some(), "a person decides");
    assert!(settled(&world).is_empty());
}

#[test]
fn words_are_read_strictly() {
    assert_eq!(parse("cargo  test "), Ok(words("cargo test")));
    assert_eq!(unwrapped(vec!["bash".into(), "-lc".into(), "cargo test".into()]), Ok(words("cargo test")));
    assert_eq!(unwrapped(words("bash -lc")), Err(Unclear::Runs("bash".into())));
    assert_eq!(unwrapped(words("/tmp/bash -lc ls")), Err(Unclear::Runs("/tmp/bash".into())));
    assert_eq!(unwrapped(words("bash -x ls")), Err(Unclear::Runs("bash".into())));
    assert_eq!(parse(""), Err(Unclear::Size));
    assert_eq!(parse("   "), Err(Unclear::Size));
    assert_eq!(plain(vec!["ls".into(), String::new()]), Err(Unclear::Size));
    assert_eq!(parse(&"x ".repeat(64)).map(|words| words.len()), Ok(64));
    assert_eq!(parse(&"x ".repeat(65)), Err(Unclear::Size));
    assert_eq!(parse(&"x".repeat(2_048)).map(|words| words.len()), Ok(1));
    assert_eq!(parse(&"x".repeat(2_049)), Err(Unclear::Size));
    assert_eq!(plain(vec!["x".repeat(1_024), "y".repeat(1_025)]), Err(Unclear::Size));
    assert_eq!(parse("ls -"), Err(Unclear::Character('-')));
    assert_eq!(parse("ls =x"), Err(Unclear::Character('=')));
    assert_eq!(parse("a=b ls"), Err(Unclear::Assignment));
    for line in [
        "python -m pytest",
        "python3 run.py",
        "python3 run.py fast",
        "node test.js",
        "git push origin main",
        "cargo xtask ci",
        "npm start",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn each_way_to_run_something_else_is_known_for_itself() {
    for (line, word) in [
        // A program that starts others, and nothing more than its name.
        ("find", "find"),
        ("time ls", "time"),
        ("if", "if"),
        // An interpreter without a script.
        ("python3.12", "python3.12"),
        ("ruby -n x", "ruby"),
        ("python -m http.server", "python"),
        // A wrapper, in whatever place.
        ("unheard-of env ls", "env"),
        // A flag that says what to run, to whatever program.
        ("unheard-of --exec ls", "--exec"),
        ("unheard-of --exec=ls", "--exec=ls"),
        // A word of one program alone.
        ("git bisect run", "bisect"),
        // A transport that is a command.
        ("git fetch ext::x", "ext::x"),
        // What stands before the verb.
        ("cargo -q test", "-q"),
    ] {
        assert_eq!(parse(line), Err(Unclear::Runs(word.into())), "{line}");
    }
    for line in ["unheard-of bisect", "unheard-of ext::x", "unheard-of -C x", "cargo test -q", "unheard-of --executed"]
    {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
    }
}

#[test]
fn an_action_is_inside_if_all_that_it_names_is() {
    let inside = |input: &str| {
        let action = Action::of(&ask(input));
        places(&action).all_inside(&action, &["/shop"])
    };
    assert!(inside(r#"{"command":"ls","workdir":"/shop/src"}"#));
    assert!(!inside(r#"{"command":"ls","workdir":"/etc"}"#));
}

#[test]
fn a_rule_is_told_in_words() {
    assert_eq!(RuleDraft::of(words("cargo test"), None).words(), "cargo test [names]");
    assert_eq!(RuleDraft::of(words("make"), None).words(), "make");
    let deny = RuleDraft { verdict: Verdict::Deny, ..RuleDraft::of(words("git push"), None) };
    assert_eq!(deny.words(), "git push …");
    assert_eq!((Allowed::Reads.word(), Allowed::Edits.word()), ("reads", "edits"));
}

proptest! {
    #[test]
    fn reading_a_plain_line_again_gives_the_same_words(line in "[ -~\u{a0}\u{430}\t\n]{0,40}") {
        if let Ok(words) = parse(&line) {
            prop_assert_eq!(parse(&words.join(" ")), Ok(words.clone()));
            prop_assert_eq!(words.join(" "), line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
            prop_assert!(line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-./,:@+=".contains(&byte)));
        }
    }

    #[test]
    fn a_rule_allows_what_begins_with_its_words_and_nothing_else(
        line in prop::sample::select(PLAIN.to_vec()),
        more in prop::collection::vec("[ -~]{0,8}", 0..4),
        glue in prop::sample::select(vec!["", " ", ";", "\n", "&&", "|", "\u{a0}"]),
    ) {
        let policy = policy_of(&with_rules(&[line]));
        let other = format!("{line}{glue}{}", more.join(" "));
        if judge(&policy, &command(&other)) == Some(Verdict::Approve) {
            let heard = words(&other).into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
            prop_assert!(heard.starts_with(&words(line)), "{other:?}");
            prop_assert!(!other.contains([';', '|', '&', '$', '`', '<', '>', '(', '*', '?', '~', '\\', '"', '\'', '\n']));
        }
    }
}
