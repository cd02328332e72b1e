//! Golden files: every shape of event that was ever written still decodes, and none is written that has no golden line.
//!
//! A line is never changed. To add one for a new event, run with `UPDATE_GOLDEN=1` and look at the diff.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use support::{CHAT, TELEGRAM, World, asked, broken, open_failed};
use throughline_model::approval::{Source, Verdict};
use throughline_model::budget::Caps;
use throughline_model::channel::Channel;
use throughline_model::checkpoint::{Checkpoint, CheckpointSide, CheckpointTree};
use throughline_model::content::{BlobRef, ContentBlock, Text};
use throughline_model::conversation::ConversationCommand;
use throughline_model::delivery::{Cause, DeliveryOutcome};
use throughline_model::event::Event;
use throughline_model::execution::Role;
use throughline_model::identity::Identity;
use throughline_model::ids::TaskId;
use throughline_model::input::Urgency;
use throughline_model::item::{FileChange, Item, ItemBody, Note, NoteKind, ToolCall, ToolStatus};
use throughline_model::person::PersonCommand;
use throughline_model::plan::{PlanEntry, PlanPriority, PlanStatus};
use throughline_model::question::{Answer, Question};
use throughline_model::route::Intent;
use throughline_model::runtime_session::SettingChange;
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult, WorktreeSeed};
use throughline_model::stream::{StreamId, StreamKind};
use throughline_model::task::{ImportedTurn, NativeFate, Report, TaskCommand, TurnAnswer};
use throughline_model::time::Timestamp;
use throughline_model::turn::StopReason;

const FILE: &str = "tests/golden/events.jsonl";

/// Every event there is, once at least.
fn all_that_can_happen() -> World {
    let mut world = World::new();
    people_and_settings(&mut world);
    let (reviewed, _) = world.reviewed();
    world.follow_up(reviewed, "fix what it found");
    world.answered(reviewed);
    let task = work(&mut world);
    import(&mut world);
    endings(&mut world, task);
    world
}

fn people_and_settings(world: &mut World) {
    use throughline_model::command::Command;
    use throughline_model::policy::{Allowed, Made, RuleDraft, Ruling, Standing};
    use throughline_model::project::{Asking, ProjectCommand};
    let person = world.person;
    let stream = StreamId::Person(person);
    let send = |world: &mut World, command| drop(world.send(stream, Command::Person(command)).expect("taken"));
    let identity = Identity::OsUser { uid: 1000 };
    send(world, PersonCommand::Enrol { person, name: "Ada".into(), locale: "en".into(), identity });
    send(world, PersonCommand::ChooseLocale { locale: "zh-CN".into() });
    let telegram = Identity::on(TELEGRAM, 7);
    send(world, PersonCommand::Link { identity: telegram.clone() });
    send(world, PersonCommand::Unlink { identity: telegram.clone() });
    let offer = throughline_model::person::Offer {
        digest: "5e88".into(),
        channel: CHAT,
        expires_at: Timestamp::from_millis(i64::MAX),
    };
    send(world, PersonCommand::OfferPairing { offer });
    send(world, PersonCommand::Pair { digest: "5e88".into(), identity: telegram.clone() });
    let conversation = world.mint.id();
    send(world, PersonCommand::Meet { conversation, identity: telegram });
    notices(world, conversation);
    let project = world.project;
    let set = ProjectCommand::SetDefaultAgent { agent: "codex".into() };
    world.send(StreamId::Project(project), Command::Project(set)).expect("set");
    let pin = ProjectCommand::PinNote { person, text: "tabs".into() };
    world.send(StreamId::Project(project), Command::Project(pin)).expect("pinned");
    let source = Source { surface: Channel::Cli, identity: Some(Identity::OsUser { uid: 1000 }), conversation: None };
    let allow = ProjectCommand::Allow {
        role: Role::Editor,
        what: Allowed::Reads,
        answer: Asking::Allow,
        by: person,
        source: source.clone(),
    };
    world.send(StreamId::Project(project), Command::Project(allow)).expect("allowed");
    let draft = RuleDraft::of(vec!["cargo".into(), "test".into()], Some(world.mint.id()));
    let rule = ProjectCommand::AddRule { draft, by: person, source: source.clone() };
    world.send(StreamId::Project(project), Command::Project(rule)).expect("made");
    let made = Made { by: person, source: source.clone(), at: Timestamp::from_millis(7) };
    let standing = Standing::Rule { number: 1, verdict: Verdict::Approve, made };
    let (task, approval) = (world.mint.id(), world.mint.id());
    let apply = ProjectCommand::ApplyStanding { ruling: Ruling { standing, version: 2 }, task, approval };
    world.send(StreamId::Project(project), Command::Project(apply)).expect("applied");
    let revoke = ProjectCommand::RevokeRule { number: 1, by: person, source };
    world.send(StreamId::Project(project), Command::Project(revoke)).expect("revoked");
}

fn work(world: &mut World) -> throughline_model::ids::TaskId {
    let phone = world.mint.id();
    world.open(phone, CHAT);
    let task = world.new_task("fix routing");
    world.opened(task);
    for item in items(world) {
        world.report(task, Report::Recorded(Box::new(item))).expect("current");
    }
    let entries =
        vec![PlanEntry { content: "look".into(), priority: PlanPriority::High, status: PlanStatus::InProgress }];
    world.report(task, Report::PlanRevised { entries }).expect("current");
    world.report(task, Report::Titled { title: "Fix the routing".into() }).expect("current");
    world.report(task, Report::Changed(SettingChange::Mode { mode: "ask".into() })).expect("current");
    let approval = world.mint.id();
    world.report(task, asked(approval)).expect("current");
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    let question = Question {
        id: world.mint.id(),
        request: "7".into(),
        message: "Which colour?".into(),
        schema: r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}"#.into(),
        settled: false,
    };
    let (id, by) = (question.id, world.person);
    world.report(task, Report::Questioned(Box::new(question))).expect("current");
    let answer = Answer::Words { text: "green".into() };
    world.tell(task, TaskCommand::AnswerQuestion { question: id, answer, by }).expect("it waits");
    let caps = Caps { turns: Some(1), minutes: Some(5.0), tokens: Some(1_000), cost: Some(2.5) };
    world.tell(task, TaskCommand::SetBudget { caps, by }).expect("set");
    for _ in 0..33 {
        let approval = world.mint.id();
        world.report(task, asked(approval)).expect("current");
    }
    let second = world.new_task("wait for it");
    world
        .receive_in(phone, Intent::Continue { task, execution: None }, None, "from the phone", Urgency::InTurn)
        .expect("taken");
    world.answered(task);
    world.tell(task, TaskCommand::SetBudget { caps: Caps::default(), by }).expect("set");
    let delivery = match &world.states[&StreamId::Conversation(phone)] {
        throughline_model::state::State::Conversation(Some(state)) => state.outbound[0].id,
        other => panic!("{other:?}"),
    };
    let settle = throughline_model::conversation::ConversationCommand::SettleDelivery {
        delivery,
        outcome: DeliveryOutcome::Sent,
        message: Some("42:7".into()),
        cause: None,
    };
    let attempt = throughline_model::conversation::ConversationCommand::AttemptDelivery { delivery };
    let postpone =
        throughline_model::conversation::ConversationCommand::PostponeDelivery { delivery, cause: Some(Cause::Busy) };
    for command in [attempt, postpone] {
        world
            .send(StreamId::Conversation(phone), throughline_model::command::Command::Conversation(command))
            .expect("taken");
    }
    world
        .send(StreamId::Conversation(phone), throughline_model::command::Command::Conversation(settle))
        .expect("settled");
    let queued = world.follow_up(task, "and more");
    world.tell(task, TaskCommand::Withdraw { input: queued }).expect("it waits");
    world.tell(second, TaskCommand::Cancel).expect("it runs or waits");
    task
}

fn import(world: &mut World) {
    let task = TaskId::of_native("codex", "01a1e20a");
    let session = world.mint.id();
    world.import(task, session);
    let items = items(world);
    let turn = ImportedTurn { turn: world.mint.id(), said: "begin".into(), said_at: Timestamp::from_millis(7), items };
    world.tell(task, TaskCommand::ImportTurns { session, from: 0, turns: vec![turn] }).expect("taken in");
    let left_out = Some("it is longer than can be read".into());
    world.tell(task, TaskCommand::FinishImport { session, left_out }).expect("finished");
}

fn items(world: &mut World) -> Vec<Item> {
    let blob = BlobRef { sha256: "ab".repeat(32), bytes: 70_000 };
    let call = ToolCall {
        call: "call-1".into(),
        title: "edit".into(),
        tool: "edit".into(),
        status: ToolStatus::Completed,
        input: Some("{}".into()),
        output: Some(Text::Blob { blob: blob.clone(), head: "first".into() }),
        exit_code: None,
        changes: vec![FileChange { path: "a.rs".into(), before: None, after: "new".into() }],
        unasked: true,
        locations: vec!["a.rs".into()],
    };
    let picture = ContentBlock::Image { blob: blob.clone(), mime: "image/png".into(), name: None };
    let file = ContentBlock::File { blob, mime: "text/plain".into(), name: "a.txt".into() };
    let bodies = [
        ItemBody::Message { text: "done".into(), attachments: vec![picture, file], question: true },
        ItemBody::Thought { text: "hm".into() },
        ItemBody::ToolCall(call),
        ItemBody::Note(Note { about: NoteKind::NotJson, text: "oops".into() }),
    ];
    bodies.into_iter().map(|body| Item { id: world.mint.id(), turn: None, body }).collect()
}

fn endings(world: &mut World, task: throughline_model::ids::TaskId) {
    let person = world.person;
    if world.primary(task).active.is_some() {
        world.tell(task, TaskCommand::Cancel).expect("it runs");
        world.answer(task, TurnAnswer::Stopped { reason: StopReason::Cancelled });
    }
    world.follow_up(task, "fail");
    world.answer(task, TurnAnswer::Failed { failure: broken("turn_failed") });
    world.tell(task, TaskCommand::Retry { person, execution: None }).expect("nothing runs");
    let turn = world.running_turn(task);
    let checkpoint = Checkpoint {
        id: world.mint.id(),
        turn,
        side: CheckpointSide::Before,
        tree: CheckpointTree::Taken { oid: "0a".into() },
        changed: vec![],
    };
    world.tell(task, TaskCommand::KeepCheckpoint { checkpoint }).expect("kept");
    world.report(task, Report::Reattached).expect("current");
    world.report(task, Report::Stalled { turn, silent_secs: 600 }).expect("current");
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    world.follow_up(task, "go on");
    world.report(task, open_failed(NativeFate::Gone)).expect("current");
    world.opened(task);
    let turn = world.running_turn(task);
    world.tell(task, TaskCommand::GiveHandoff { turn, text: "the brief".into() }).expect("due");
    world.answered(task);
    workspace_changes(world, task);
    world.tell(task, TaskCommand::PinNote { person, text: "mind the gap".into() }).expect("pinned");
    world.tell(task, TaskCommand::Fresh).expect("nothing runs");
    let (first, second) = (world.mint.id(), world.mint.id());
    let add = TaskCommand::AddExecution { execution: first, agent: "cc".into(), role: Role::Reviewer, worktree: None };
    world.tell(task, add).expect("added");
    let switch = TaskCommand::Switch { execution: second, agent: Some("codex".into()), model: Some("large".into()) };
    world.tell(task, switch).expect("switched");
    world.tell(task, TaskCommand::Close { person }).expect("closed");
    world.tell(task, TaskCommand::Archive { person }).expect("archived");
    world.tell(task, TaskCommand::Reopen).expect("reopened");
    let input = world.follow_up(task, "for the other one");
    let other = world.new_task("another");
    world.correct(input, Some(task), other, true).expect("it moves");
}

fn workspace_changes(world: &mut World, task: throughline_model::ids::TaskId) {
    let (change, person) = (world.mint.id(), world.person);
    let kind = ChangeKind::Restore { tree: "0b".into(), point: None };
    world.tell(task, TaskCommand::ChangeWorkspace { change, person, kind, execution: None }).expect("nothing runs");
    let plan = ChangePlan { undo: "0a".into(), target: "0b".into(), commit: None, files: vec![] };
    world.tell(task, TaskCommand::PlanChange { change, plan }).expect("planned");
    let result = ChangeResult::Done { kept: vec!["lib: it is a nested repository".into()], notes: vec![] };
    world.tell(task, TaskCommand::EndChange { change, result }).expect("ended");
    let seed =
        WorktreeSeed { root: "/home/worktrees/apart".into(), base: "0b".into(), change: world.mint.id(), person };
    let execution = world.mint.id();
    let worktree = Some(seed);
    let apart = TaskCommand::AddExecution { execution, agent: "cc".into(), role: Role::Editor, worktree };
    world.tell(task, apart).expect("added");
    let fork = world.fork(task, Some("native-1"));
    world.change_done(fork);
    world.report(fork, open_failed(NativeFate::Kept)).expect("current");
    world.tell(fork, TaskCommand::Cancel).expect("it runs or waits");
}

/// What somebody wants to be told, and what is passed on to them and held.
fn notices(world: &mut World, chat: throughline_model::ids::ConversationId) {
    use throughline_model::command::Command;
    use throughline_model::notice::{Quiet, Reason, Reasons, TimeOfDay};
    let (person, conversation) = (world.person, chat);
    let tell = |world: &mut World, command| {
        drop(world.send(StreamId::Person(person), Command::Person(command)).expect("taken"));
    };
    let open = ConversationCommand::Open { conversation, channel: CHAT, person, project: None, address: None };
    let in_chat = |world: &mut World, command| {
        drop(world.send(StreamId::Conversation(chat), Command::Conversation(command)).expect("taken"));
    };
    in_chat(world, open);
    let other = world.mint.id();
    let second = PersonCommand::Meet { conversation: other, identity: Identity::OsUser { uid: 1000 } };
    world.open(other, CHAT);
    tell(world, second);
    tell(world, PersonCommand::WriteFrom { conversation });
    let group = throughline_model::person::Group { conversation: world.mint.id(), channel: CHAT };
    tell(world, PersonCommand::SpeakIn { group });
    tell(world, PersonCommand::ChooseMain { conversation: Some(conversation) });
    let time = |hour| TimeOfDay { hour, minute: 30 };
    let except = Reasons([Reason::Approval].into());
    let quiet = Quiet { from: time(22), until: time(7), zone: "Europe/Berlin".into(), except };
    tell(world, PersonCommand::ChooseQuiet { quiet: Some(quiet) });
    in_chat(world, ConversationCommand::ChooseReasons { reasons: Reasons([Reason::Completed].into()) });
    let task = world.rested();
    let first = |world: &World| match &world.states[&StreamId::Conversation(chat)] {
        throughline_model::state::State::Conversation(Some(state)) => state.outbound[0].id,
        other => panic!("{other:?}"),
    };
    let delivery = first(world);
    let until = Timestamp::from_millis(world.at + 1_000);
    in_chat(world, ConversationCommand::HoldDelivery { delivery, until });
    in_chat(world, ConversationCommand::EndQuiet);
    let (outcome, cause) = (DeliveryOutcome::Dead, Some(Cause::refused("the bot was blocked by the user")));
    let delivery = first(world);
    in_chat(world, ConversationCommand::SettleDelivery { delivery, outcome, message: None, cause });
    world.tell(task, TaskCommand::Close { person }).expect("closed");
}

fn kind_of(word: &str) -> StreamKind {
    [StreamKind::Person, StreamKind::Project, StreamKind::Conversation, StreamKind::Task, StreamKind::Workspace]
        .into_iter()
        .find(|kind| json!(kind) == json!(word))
        .unwrap_or_else(|| panic!("{word}"))
}

fn type_of(event: &Value) -> String {
    event["type"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_event_that_was_ever_written_still_decodes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let mut lines: Vec<Value> = std::fs::read_to_string(&path)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a golden line is JSON"))
        .collect();
    let known: BTreeSet<String> = lines.iter().map(|line| type_of(&line["event"])).collect();
    let mut missing = vec![];
    let mut seen = known.clone();
    for (stream, event, _) in all_that_can_happen().log {
        let value: Value = serde_json::from_str(&event.encode().expect("json")).expect("json");
        if seen.insert(type_of(&value)) {
            missing.push(json!({"stream": stream.kind(), "event": value}));
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        lines.append(&mut missing);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).expect("written");
    }
    let types: Vec<_> = missing.iter().map(|line| type_of(&line["event"])).collect();
    assert!(types.is_empty(), "no golden line for {types:?}: run with UPDATE_GOLDEN=1");
    for line in lines {
        let kind = kind_of(line["stream"].as_str().unwrap_or_default());
        let text = line["event"].to_string();
        let event = Event::decode(kind, &text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let again: Value = serde_json::from_str(&event.encode().expect("json")).expect("json");
        assert_eq!(again, line["event"]);
    }
}

/// Every event of the model.
const EVENTS: &[&str] = &[
    "person_enrolled",
    "identity_linked",
    "identity_unlinked",
    "pairing_offered",
    "pairing_spent",
    "chat_met",
    "chat_turned_to",
    "group_met",
    "quiet_chosen",
    "main_chosen",
    "news_passed_on",
    "locale_chosen",
    "project_added",
    "default_agent_set",
    "project_note_pinned",
    "task_numbered",
    "allowance_set",
    "rule_added",
    "rule_revoked",
    "standing_applied",
    "conversation_opened",
    "input_received",
    "input_corrected",
    "focus_moved",
    "delivery_queued",
    "reasons_chosen",
    "quiet_kept",
    "delivery_held",
    "delivery_attempted",
    "delivery_postponed",
    "delivery_settled",
    "lease_granted",
    "lease_awaited",
    "lease_released",
    "task_created",
    "task_keyed",
    "task_retitled",
    "task_closed",
    "task_archived",
    "task_reopened",
    "conversation_joined",
    "note_pinned",
    "execution_added",
    "execution_ended",
    "model_chosen",
    "handoff_prepared",
    "handoff_given",
    "findings_passed",
    "input_queued",
    "input_withdrawn",
    "input_moved_out",
    "input_moved_in",
    "turn_requested",
    "turn_held",
    "turn_cleared",
    "turn_started",
    "turn_stalled",
    "runtime_session_reattached",
    "turn_stop_requested",
    "turn_ended",
    "runtime_session_started",
    "runtime_session_imported",
    "turn_imported",
    "past_imported",
    "runtime_session_resumed",
    "runtime_session_opened",
    "runtime_session_changed",
    "runtime_session_parked",
    "runtime_session_lost",
    "runtime_session_closed",
    "item_recorded",
    "plan_revised",
    "approval_requested",
    "approval_settled",
    "budget_set",
    "budget_reached",
    "question_asked",
    "question_settled",
    "checkpoint_taken",
    "task_forked",
    "fork_made",
    "native_fork_refused",
    "worktree_given",
    "workspace_change_begun",
    "workspace_change_planned",
    "workspace_change_ended",
];

#[test]
fn the_goldens_cover_every_event_of_the_model() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).expect("golden");
    let known: BTreeSet<String> =
        text.lines().map(|line| type_of(&serde_json::from_str::<Value>(line).expect("json")["event"])).collect();
    for name in EVENTS {
        assert!(known.contains(*name), "{name}");
    }
}
