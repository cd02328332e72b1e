//! The three views and the replies: what they say of every state, in every language, and that nothing breaks their
//! bounds.

mod support;

use proptest::prelude::*;
use support::{World, asked, broken};
use throughline_model::approval::Verdict;
use throughline_model::checkpoint::{ChangedFile, Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::content::Text;
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::execution::{Activity, Role};
use throughline_model::ids::{Mint, TaskId};
use throughline_model::input::Urgency;
use throughline_model::item::{FileChange, Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::plan::{PlanEntry, PlanPriority, PlanStatus};
use throughline_model::present::card::{self, About, Around};
use throughline_model::present::reply::{self, Subject};
use throughline_model::present::status::{self, Evidence};
use throughline_model::present::timeline;
use throughline_model::present::{Card, Locale, card as card_of, glance, row_glance};
use throughline_model::rejection::Rejection;
use throughline_model::reply::{Action, Reply};
use throughline_model::route::{Intent, RouteDecision, Scope};
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, Task, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::time::Timestamp;
use throughline_model::turn::{StopReason, Usage};
use throughline_model::view::{Row, TaskRow, WaitingFor, rows};

const LATER: i64 = 200_000;

fn say(world: &mut World, task: TaskId, words: &str, question: bool) {
    let turn = Some(world.running_turn(task));
    let body = ItemBody::Message { text: Text::from(words), attachments: vec![], question };
    let item = Item { id: world.mint.id(), turn, body };
    world.report(task, Report::Recorded(Box::new(item))).expect("current");
}

fn plan(world: &mut World, task: TaskId, steps: &[(&str, PlanStatus)]) {
    let entry = |(content, status): &(&str, PlanStatus)| PlanEntry {
        content: (*content).into(),
        priority: PlanPriority::Medium,
        status: *status,
    };
    world.report(task, Report::PlanRevised { entries: steps.iter().map(entry).collect() }).expect("current");
}

fn changed(world: &mut World, task: TaskId, paths: &[&str]) {
    let file = |path: &&str| ChangedFile { path: (*path).into(), change: "modified".into(), added: 3, removed: 1 };
    let checkpoint = Checkpoint {
        id: world.mint.id(),
        turn: world.running_turn(task),
        side: CheckpointSide::After,
        tree: CheckpointTree::Taken { oid: "0".repeat(40) },
        changed: paths.iter().map(file).collect(),
    };
    world.tell(task, TaskCommand::KeepCheckpoint { checkpoint }).expect("kept");
}

/// A task in each state that there is.
fn every_state() -> (World, Vec<(&'static str, TaskId)>) {
    let mut world = World::new();
    let mut states = vec![];
    let running = |world: &mut World, title: &str| {
        let task = world.new_task_as(title, Role::Reviewer);
        world.opened(task);
        task
    };

    let (asking, _) = world.asking();
    states.push(("waiting_approval", asking));
    states.push(("queued", world.new_task("wait for the other")));

    let question = running(&mut world, "colour the button");
    say(&mut world, question, "Green or blue?", true);
    world.answered(question);
    states.push(("waiting_answer", question));

    for code in ["usage_limit", "agent_crashed"] {
        let failed = running(&mut world, "upgrade everything");
        world.answer(failed, TurnAnswer::Failed { failure: broken(code) });
        states.push((if code == "usage_limit" { "blocked" } else { "failed" }, failed));
    }

    let working = running(&mut world, "Fix routing");
    plan(
        &mut world,
        working,
        &[("look", PlanStatus::Completed), ("mend", PlanStatus::InProgress), ("test", PlanStatus::Pending)],
    );
    world.follow_up(working, "and make it fast");
    states.push(("working", working));

    let silent = running(&mut world, "think");
    let turn = world.running_turn(silent);
    world.report(silent, Report::Stalled { turn, silent_secs: 150 }).expect("it runs");
    states.push(("stalled", silent));

    let rested = running(&mut world, "make the button green");
    say(&mut world, rested, "The button is green.", false);
    plan(&mut world, rested, &[("paint", PlanStatus::Completed)]);
    changed(&mut world, rested, &["src/button.rs", "src/style.css"]);
    world.answered(rested);
    let person = world.person;
    world.tell(rested, TaskCommand::PinNote { person, text: "mind the contrast".into() }).expect("pinned");
    states.push(("resting", rested));

    let closed = running(&mut world, "done with it");
    world.answered(closed);
    world.tell(closed, TaskCommand::Close { person }).expect("open");
    states.push(("closed", closed));
    (world, states)
}

#[test]
fn a_glance_names_whoever_it_is_about_and_not_who_leads() {
    let mut world = World::new();
    let (task, reviewer) = world.reviewed();
    let both = |world: &World, words: &str| {
        let (of_task, of_row) = (glance(Locale::En, world.task(task)), row_glance(Locale::En, &row(world, task)));
        assert!(of_task.contains(words) && of_row.contains(words), "{of_task} / {of_row} / {words}");
    };
    both(&world, "demo rests");
    world.receive(Intent::Continue { task, execution: Some(reviewer) }, None, "again", Urgency::InTurn).expect("taken");
    both(&world, "cc is working");
    let execution = world.task(task).execution(reviewer).cloned().expect("it is there");
    let (session, turn) = (execution.session.expect("a session"), execution.active.expect("a turn").id);
    let report = |world: &mut World, report: Report| {
        let command = TaskCommand::Report { session: session.id, epoch: session.epoch, report };
        world.tell(task, command).expect("current");
    };
    let body = ItemBody::Message { text: Text::from("Which lock?"), attachments: vec![], question: true };
    let item = Item { id: world.mint.id(), turn: Some(turn), body };
    report(&mut world, Report::Recorded(Box::new(item)));
    let approval = world.mint.id();
    report(&mut world, asked(approval));
    both(&world, "cc is waiting for approval");
    world.decide_on(task, approval, Verdict::Deny).expect("pending");
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    report(&mut world, Report::TurnAnswered { turn, answer, usage: Usage::default() });
    both(&world, "cc asks: Which lock?");
    assert_eq!((row(&world, task).last_said.as_str(), row(&world, task).agent.as_str()), ("Which lock?", "demo"));
}

fn around() -> Around<'static> {
    Around { project: "shop", now: Timestamp::from_millis(LATER) }
}

/// The row of a task as the list has it.
fn row(world: &World, task: TaskId) -> TaskRow {
    let stream = StreamId::Task(task);
    let state = &world.states[&stream];
    let (_, event, at) = world.log.iter().rfind(|(of, _, _)| *of == stream).expect("an event");
    let rows = rows(stream, &throughline_model::state::State::empty(stream.kind()), state, event, *at);
    rows.into_iter()
        .find_map(|row| match row {
            Row::Task(row) => Some(*row),
            _ => None,
        })
        .expect("a row")
}

/// A task's records, newest first.
fn records(world: &World, task: TaskId) -> Vec<Recorded> {
    let stream = StreamId::Task(task);
    let record = |(number, (_, event, at)): (usize, &(StreamId, Event, Timestamp))| Recorded {
        seq: Seq(number as u64 + 1),
        stream,
        version: number as u64 + 1,
        at: *at,
        event: event.clone(),
    };
    let all = world.log.iter().enumerate().filter(|(_, (of, _, _))| *of == stream);
    all.map(record).rev().collect()
}

fn does(action: &Action) -> String {
    let action = serde_json::to_value(action).expect("encodes");
    [&action["do"], &action["verdict"]].into_iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
}

fn buttons(card: &Card) -> String {
    let words: Vec<String> =
        card.buttons.iter().map(|button| format!("[{}: {}]", button.label, does(&button.action))).collect();
    words.join(" ")
}

fn all_views(locale: Locale) -> String {
    let (world, states) = every_state();
    let mut text = String::new();
    for (name, id) in states {
        let task = world.task(id);
        let card = card_of(locale, task, around());
        text.push_str(&format!(
            "## {name}\nglance: {}\nrow:    {}\n{}\n{}\n\n",
            glance(locale, task),
            row_glance(locale, &row(&world, id)),
            card.text(locale),
            buttons(&card)
        ));
    }
    text
}

#[test]
fn every_state_in_english() {
    insta::assert_snapshot!(all_views(Locale::En));
}

#[test]
fn every_state_in_chinese() {
    insta::assert_snapshot!(all_views(Locale::Zh));
}

fn whole_timeline(locale: Locale) -> String {
    let (world, states) = every_state();
    let mut text = String::new();
    for name in ["resting", "waiting_approval", "failed"] {
        let task = states.iter().find(|(state, _)| *state == name).expect("such a task").1;
        text.push_str(&format!("## {name}\n"));
        for record in records(&world, task).iter().rev() {
            let Event::Task(event) = &record.event else { continue };
            let decision = RouteDecision {
                id: Mint::new(record.at, 1).id(),
                intent: Intent::NewTask { project: world.project, agent: None },
                confidence: 1.0,
                evidence: vec!["this conversation has no task yet".into()],
                alternatives: vec![],
                focus: None,
            };
            for entry in timeline::entries(locale, world.task(task), event, Some(&decision)) {
                let who = entry.who.map(|who| format!("{who}: ")).unwrap_or_default();
                text.push_str(&format!("{:?}: {who}{}\n", entry.kind, entry.text));
                entry.below.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
        }
    }
    text
}

#[test]
fn a_timeline_in_english() {
    insta::assert_snapshot!(whole_timeline(Locale::En));
}

#[test]
fn a_timeline_in_chinese() {
    insta::assert_snapshot!(whole_timeline(Locale::Zh));
}

fn spoken(reply: &Reply) -> String {
    let mut text = reply.text.clone();
    for choice in &reply.choices {
        text.push_str(&format!("\n  [{}: {}]", choice.label, does(&choice.action)));
    }
    for link in &reply.links {
        let place = link.at.map(|seq| format!("@{}", seq.0)).unwrap_or_default();
        text.push_str(&format!("\n  <{} {}{place}>", link.label, link.key));
    }
    text + "\n"
}

fn all_replies(locale: Locale) -> String {
    let (world, states) = every_state();
    let mut mint = Mint::new(Timestamp::from_millis(5), 5);
    let task: TaskId = mint.id();
    let decision = mint.id();
    let about = Subject { key: "shop-12", title: "Fix routing", agent: "codex" };
    let execution = None;
    let intents = [
        Intent::NewTask { project: world.project, agent: None },
        Intent::Continue { task, execution },
        Intent::Answer { task, execution },
        Intent::AddExecution { task, agent: "claude-code".into(), role: Role::Reviewer },
        Intent::SwitchAgent { task, agent: None, model: Some("opus".into()) },
        Intent::FreshSession { task },
        Intent::Retry { task, execution },
        Intent::Fork { task, agent: None },
        Intent::Approve { task, approval: mint.id(), scope: Scope::Once },
        Intent::Deny { task, approval: mint.id() },
        Intent::Cancel { task: Some(task), running: vec![task] },
        Intent::Close { task },
        Intent::Focus { task },
    ];
    let mut text = String::new();
    for intent in &intents {
        text.push_str(&spoken(&reply::decided(locale, intent, about).expect("announced")));
    }
    let rows: Vec<TaskRow> = states.iter().map(|(_, task)| row(&world, *task)).collect();
    let announced = reply::decided(locale, &intents[1], about).expect("announced");
    let others = [
        reply::correctable(locale, announced, decision, &rows[..1], &intents[1]),
        reply::clarify(locale, decision, &rows[..2]),
        reply::clarify(locale, decision, &[]),
        reply::moved(locale, about),
        reply::help(locale),
        reply::ack(locale),
        reply::refused(locale, &Rejection::NoTurn { verb: "cancel" }),
        status::of_all(locale, &rows, Timestamp::from_millis(LATER)),
        status::of_all(locale, &[], Timestamp::from_millis(LATER)),
    ];
    others.iter().for_each(|reply| text.push_str(&format!("\n{}", spoken(reply))));
    for (name, task) in states {
        let evidence = Evidence::of(&records(&world, task));
        let reply = status::of_task(locale, world.task(task), &evidence, Timestamp::from_millis(LATER));
        text.push_str(&format!("\n## {name}\n{}", spoken(&reply)));
    }
    text
}

#[test]
fn every_reply_in_english() {
    insta::assert_snapshot!(all_replies(Locale::En));
}

#[test]
fn every_reply_in_chinese() {
    insta::assert_snapshot!(all_replies(Locale::Zh));
}

#[test]
fn a_status_links_to_the_events_that_it_rests_on() {
    let (world, states) = every_state();
    let task = states.iter().find(|(name, _)| *name == "resting").expect("one rests").1;
    let records = records(&world, task);
    let reply = status::of_task(Locale::En, world.task(task), &Evidence::of(&records), around().now);
    let kinds: Vec<String> = reply
        .links
        .iter()
        .filter_map(|link| records.iter().find(|record| Some(record.seq) == link.at))
        .map(|record| {
            serde_json::to_value(&record.event).expect("encodes")["type"].as_str().expect("a name").to_owned()
        })
        .collect();
    assert_eq!(kinds, ["turn_ended", "plan_revised", "checkpoint_taken", "item_recorded"]);
}

#[test]
fn what_a_card_does_not_show_whole_cannot_be_approved_from_it() {
    let (mut world, states) = every_state();
    let asking = states[0].1;
    let offers = |task: &Task| {
        let card = card_of(Locale::En, task, around());
        card.buttons.iter().any(|button| matches!(button.action, Action::Decide { verdict: Verdict::Approve, .. }))
    };
    assert!(offers(world.task(asking)));
    let mut long = world.task(asking).clone();
    long.approvals.pending[0].approval.ask.input = Some("x".repeat(card::MAX_CHARS).into());
    assert!(!offers(&long));
    world.tell(asking, TaskCommand::Cancel).expect("it runs");
}

#[test]
fn a_card_shows_where_a_long_plan_is() {
    let (world, states) = every_state();
    let mut task = world.task(states[5].1).clone();
    let entry = |number: usize| PlanEntry {
        content: format!("step {number}"),
        priority: PlanPriority::Medium,
        status: if number < 20 { PlanStatus::Completed } else { PlanStatus::Pending },
    };
    task.plan.entries = (0..40).map(entry).collect();
    let card = card_of(Locale::En, &task, around());
    let plan = card.fields.iter().find(|field| field.about == About::Plan).expect("a plan");
    assert_eq!(plan.lines.first().map(String::as_str), Some("20 of 40 done (version 1)"));
    assert!(plan.lines.contains(&"[ ] step 20".to_owned()), "{plan:?}");
    assert_eq!(plan.lines.last().map(String::as_str), Some("… and 32 more"));
}

/// Any text, with those characters that break views more often than elsewhere.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[a-z \\\\u{}]{0,40}",
        Just("\u{202e}\u{2066}\u{1b}[2J\r\n\t\0".to_owned()),
        Just("\u{e0041}".repeat(300)),
        Just("修复路由".repeat(200)),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn visible(text: &str) -> bool {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    !text.chars().any(hidden)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_a_view(texts in proptest::collection::vec(nasty(), 8), many in 0usize..30) {
        let (world, states) = every_state();
        for (_, id) in states {
            let mut task = world.task(id).clone();
            let mut row = row(&world, id);
            spoil(&mut task, &texts, many);
            row.title.clone_from(&texts[1]);
            row.agent.clone_from(&texts[2]);
            row.last_said.clone_from(&texts[3]);
            row.waiting_for = Some(WaitingFor::Approval(texts[4].clone()));
            row.activity = Activity::Failed { reason: texts[5].clone() };
            for locale in Locale::ALL {
                let lines = [glance(locale, &task), row_glance(locale, &row)];
                for line in lines {
                    prop_assert!(line.chars().count() <= 200 && visible(&line) && !line.contains('\n'), "{line:?}");
                }
                let card = card_of(locale, &task, around()).text(locale);
                prop_assert!(card.chars().count() <= card::MAX_CHARS && visible(&card), "{card:?}");
                let told = status::of_task(locale, &task, &Evidence::default(), around().now).text;
                prop_assert!(told.chars().count() <= card::MAX_CHARS && visible(&told), "{told:?}");
                let listed = status::of_all(locale, &vec![row.clone(); many], around().now).text;
                prop_assert!(visible(&listed), "{listed:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_a_timeline(texts in proptest::collection::vec(nasty(), 3)) {
        let (world, states) = every_state();
        let task = world.task(states[0].1);
        let execution = task.executions[0].id;
        let mut mint = Mint::new(Timestamp::from_millis(9), 9);
        let call = ToolCall {
            call: "1".into(),
            title: texts[0].clone(),
            tool: "execute".into(),
            status: ToolStatus::Completed,
            input: None,
            output: Some(texts[1].as_str().into()),
            exit_code: None,
            changes: vec![FileChange { path: texts[2].clone(), before: None, after: "".into() }],
            locations: vec![],
            unasked: false,
        };
        let message = ItemBody::Message { text: texts[1].as_str().into(), attachments: vec![], question: true };
        for body in [ItemBody::ToolCall(call), message, ItemBody::Thought { text: texts[0].as_str().into() }] {
            let event = TaskEvent::ItemRecorded { execution, item: Item { id: mint.id(), turn: None, body } };
            for entry in timeline::entries(Locale::Zh, task, &event, None) {
                prop_assert!(visible(&entry.text), "{entry:?}");
                prop_assert!(entry.below.len() <= 22 && entry.below.iter().all(|line| visible(line)), "{entry:?}");
            }
        }
    }
}

/// Puts these texts wherever somebody else's words can stand.
fn spoil(task: &mut Task, texts: &[String], many: usize) {
    task.key.clone_from(&texts[0]);
    task.title.clone_from(&texts[1]);
    task.site.root.clone_from(&texts[6]);
    task.notes = vec![texts[7].clone(); many];
    let entry = PlanEntry { content: texts[5].clone(), priority: PlanPriority::Low, status: PlanStatus::Pending };
    task.plan.entries = vec![entry; many];
    for execution in &mut task.executions {
        execution.agent.clone_from(&texts[2]);
        execution.past.last_said.clone_from(&texts[3]);
        let file = ChangedFile { path: texts[5].clone(), change: texts[6].clone(), added: many, removed: many };
        execution.past.changed = vec![file; many];
    }
    for pending in &mut task.approvals.pending {
        pending.approval.ask.title.clone_from(&texts[4]);
        pending.approval.ask.input = Some(texts[5].clone().into());
        pending.approval.ask.cwd.clone_from(&texts[6]);
    }
}
