//! An approval is applied at most once, to exactly what was shown; no decision means no (P5).

use crate::support::{CHAT, World, asked, request};
use throughline_model::approval::{
    Approval, ApprovalOption, Ask, Asked, Decision, OptionKind, Settlement, Verdict, VoidKind,
};
use throughline_model::channel::{Channel, Platform};
use throughline_model::content::{BlobRef, Text, plain_text};
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::execution::Activity;
use throughline_model::ids::{ApprovalId, ExecutionId, Id as _, RuntimeSessionId, TaskId, TurnId};
use throughline_model::item::{Item, ItemBody, ToolCall, ToolStatus};
use throughline_model::rejection::Rejection;
use throughline_model::shown::View;
use throughline_model::task::{Report, TaskCommand, TaskEvent};
use throughline_model::time::Timestamp;

fn answers(world: &mut World) -> Vec<Option<String>> {
    let option = |effect: &Effect| match effect {
        Effect::AnswerApproval { option, .. } => Some(option.clone()),
        _ => None,
    };
    world.take_effects().iter().filter_map(option).collect()
}

fn settlements(world: &World) -> Vec<Settlement> {
    let settled = |(_, event, _): &(_, Event, Timestamp)| match event {
        Event::Task(TaskEvent::ApprovalSettled { settlement, .. }) => Some(settlement.clone()),
        _ => None,
    };
    world.log.iter().filter_map(settled).collect()
}

fn decide(world: &mut World, task: TaskId, approval: ApprovalId, decision: Decision) -> Result<Vec<Event>, Rejection> {
    world.tell(task, TaskCommand::DecideApproval { approval, decision: Box::new(decision) })
}

/// A task that waits for this request.
fn asking_for(change: impl FnOnce(&mut Asked)) -> (World, TaskId, ApprovalId) {
    let mut world = World::new();
    let task = world.new_task("run it");
    world.opened(task);
    let approval = world.mint.id();
    let mut asked = request(approval, Some(r#"{"command":"cargo test"}"#));
    change(&mut asked);
    world.report(task, Report::Asked(Box::new(asked))).expect("current");
    world.take_effects();
    (world, task, approval)
}

fn option(id: &str, kind: OptionKind) -> ApprovalOption {
    ApprovalOption { id: id.into(), name: id.into(), kind }
}

#[test]
fn the_first_decision_wins_and_is_given_to_the_agent_once() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    assert_eq!(world.task(task).activity(), Activity::WaitingApproval);
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    let refused = world.decide_on(task, approval, Verdict::Deny).expect_err("decided");
    assert_eq!(refused.code(), "approval_settled");
    assert_eq!(answers(&mut world), [Some("yes".to_owned())], "once, and never with the agent's own `always`");
}

#[test]
fn a_denial_is_answered_with_a_plain_no() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.decide_on(task, approval, Verdict::Deny).expect("pending");
    assert_eq!(answers(&mut world), [Some("no".to_owned())]);
}

#[test]
fn what_was_not_shown_cannot_be_approved() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let shown = world.task(task).approvals.pending[0].approval.digest();
    let with =
        |world: &World, digest: &str| Decision { digest: Some(digest.into()), ..world.decision(Verdict::Approve) };
    let other = with(&world, "something else");
    assert_eq!(decide(&mut world, task, approval, other).expect_err("not what was shown").code(), "digest_mismatch");
    let old = Decision { verdict: Verdict::Deny, ..with(&world, "an old one") };
    assert_eq!(decide(&mut world, task, approval, old).expect_err("nor denied").code(), "digest_mismatch");
    let right = with(&world, &shown);
    decide(&mut world, task, approval, right).expect("what was shown");
    match settlements(&world).as_slice() {
        [Settlement::Approved { by, given: Some(given) }] => {
            assert_eq!((*by, &given.digest), (world.person, &shown));
            assert_eq!((given.source.surface, given.source.conversation), (Channel::Cli, Some(world.conversation)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_digest_covers_everything_that_decides_what_would_happen() {
    let mut world = World::new();
    let (task, _) = world.asking();
    let original = world.task(task).approvals.pending[0].approval.clone();
    let mut digests = vec![original.digest()];
    let mut changed = |change: &dyn Fn(&mut Approval)| {
        let mut other = original.clone();
        change(&mut other);
        digests.push(other.digest());
    };
    changed(&|approval| approval.ask.input = Some(r#"{"command":"rm -rf /"}"#.into()));
    let blob = |bytes| Text::Blob { blob: BlobRef { sha256: "00".into(), bytes }, head: "h".into() };
    changed(&|approval| approval.ask.input = Some(blob(1)));
    changed(&|approval| approval.ask.input = Some(blob(2)));
    changed(&|approval| approval.ask.input = Some("none".into()));
    changed(&|approval| approval.ask.call.push(' '));
    changed(&|approval| approval.ask.tool.push(' '));
    changed(&|approval| approval.request.push(' '));
    changed(&|approval| approval.options[0].kind = OptionKind::RejectOnce);
    changed(&|approval| approval.options[0].name.push(' '));
    changed(&|approval| approval.options[0].id.push(' '));
    changed(&|approval| std::mem::swap(&mut approval.ask.call, &mut approval.ask.title));
    changed(&|approval| approval.ask.input = None);
    changed(&|approval| approval.ask.cwd = "/".into());
    changed(&|approval| approval.ask.title.push(' '));
    changed(&|approval| approval.epoch += 1);
    changed(&|approval| approval.expires_at = throughline_model::time::Timestamp::from_millis(0));
    changed(&|approval| drop(approval.options.pop()));
    let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), digests.len());
}

fn uuid(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}

/// Another encoding would let one version's yes mean another version's something.
#[test]
fn the_digest_of_a_known_request_is_known() {
    let asked = request(ApprovalId::from_uuid(uuid(1)), Some(r#"{"command":"cargo test"}"#));
    let approval = Approval {
        id: asked.approval,
        execution: ExecutionId::from_uuid(uuid(2)),
        session: RuntimeSessionId::from_uuid(uuid(3)),
        epoch: 4,
        turn: TurnId::from_uuid(uuid(5)),
        request: "7".into(),
        ask: asked.ask,
        options: asked.options,
        expires_at: Timestamp::from_millis(6),
        ruled: false,
    };
    assert_eq!(approval.digest(), "9a4967bb1465f05d8915f77689b7fc7326e37251be112d9945cdfbb140188872");
}

#[test]
fn nobody_can_say_yes_after_the_time_is_over() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let Some(Effect::Later { at, to, command, .. }) =
        world.take_effects().into_iter().find(|effect| matches!(effect, Effect::Later { .. }))
    else {
        panic!("a timer")
    };
    world.at = at.millis();
    let refused = world.decide_on(task, approval, Verdict::Approve).expect_err("too late");
    assert_eq!(refused.code(), "approval_settled");
    world.send(to, *command).expect("due");
    assert_eq!(answers(&mut world), [Some("no".to_owned())], "no decision means no");
}

#[test]
fn it_is_void_when_the_turn_or_the_process_is_gone() {
    for end in ["answered", "exited"] {
        let mut world = World::new();
        let (task, approval) = world.asking();
        match end {
            "answered" => world.answered(task),
            _ => drop(world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current")),
        }
        assert!(matches!(settlements(&world)[..], [Settlement::Void { kind: VoidKind::Gone, .. }]), "{end}");
        assert!(world.decide_on(task, approval, Verdict::Approve).is_err(), "{end}");
        assert!(answers(&mut world).is_empty(), "{end}: nobody is left to answer");
    }
}

#[test]
fn reading_the_agents_output_again_asks_nothing_twice() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.report(task, asked(approval)).expect("current");
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    world.report(task, asked(approval)).expect("current");
    assert_eq!(world.count(|event| matches!(event, TaskEvent::ApprovalRequested { .. })), 1);
}

#[test]
fn a_cancel_answers_the_request_first_because_some_agents_wait_for_it() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.take_effects();
    world.tell(task, TaskCommand::Cancel).expect("it runs");
    let effects = world.effects.clone();
    assert!(matches!(effects[0], Effect::CancelTurn { .. }), "the order that the protocol asks for");
    assert_eq!(answers(&mut world), [None]);
    let late = world.decide_on(task, approval, Verdict::Approve).expect_err("the agent has its answer");
    assert_eq!(late.code(), "approval_settled");
    let more = world.mint.id();
    world.report(task, asked(more)).expect("current");
    assert!(world.task(task).approvals.pending.is_empty(), "nobody decides for a turn that is to stop");
}

#[test]
fn a_request_that_the_agent_takes_back_is_void() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let request = world.task(task).approvals.pending(approval).expect("it waits").approval.request.clone();
    world.report(task, Report::Withdrew { request: "another".into() }).expect("current");
    assert_eq!(world.task(task).approvals.pending.len(), 1);
    world.report(task, Report::Withdrew { request }).expect("current");
    assert!(world.task(task).approvals.pending.is_empty());
    assert!(matches!(settlements(&world)[..], [Settlement::Void { kind: VoidKind::Withdrawn, .. }]));
}

/// An agent's request under an id of its own choice.
fn ask_as(world: &mut World, task: TaskId, id: &str) -> ApprovalId {
    let approval = world.mint.id();
    let asked = Asked { request: id.into(), ..request(approval, None) };
    world.report(task, Report::Asked(Box::new(asked))).expect("current");
    approval
}

fn waiting(world: &World, task: TaskId) -> Vec<ApprovalId> {
    world.task(task).approvals.pending.iter().map(|known| known.approval.id).collect()
}

#[test]
fn an_id_that_was_answered_is_another_request_and_one_that_waits_is_the_same() {
    let mut world = World::new();
    let task = world.new_task("run it");
    world.opened(task);
    let first = ask_as(&mut world, task, "1");
    ask_as(&mut world, task, "1");
    assert_eq!(waiting(&world, task), [first], "said twice, asked once");
    let other = ask_as(&mut world, task, "2");
    assert_eq!(waiting(&world, task), [first, other]);
    world.take_effects();
    world.decide_on(task, first, Verdict::Approve).expect("it waits");
    let again = ask_as(&mut world, task, "1");
    assert_eq!(waiting(&world, task), [other, again], "the id was answered");
    assert_eq!(world.decide_on(task, first, Verdict::Approve).expect_err("decided").code(), "approval_settled");
    world.decide_on(task, again, Verdict::Deny).expect("it waits");
    assert_eq!(answers(&mut world), [Some("yes".to_owned()), Some("no".to_owned())], "each has its own answer");
    // Expired, taken back, and in the next turn.
    let late = ask_as(&mut world, task, "1");
    world.at += 3_600_000;
    world.tell(task, TaskCommand::ExpireApproval { approval: late }).expect("due");
    let back = ask_as(&mut world, task, "1");
    assert_eq!(waiting(&world, task).last(), Some(&back));
    world.report(task, Report::Withdrew { request: "1".into() }).expect("current");
    let last = ask_as(&mut world, task, "1");
    assert_eq!(waiting(&world, task).last(), Some(&last));
    world.answered(task);
    world.follow_up(task, "go on");
    let next = ask_as(&mut world, task, "1");
    assert_eq!(waiting(&world, task), [next]);
}

#[test]
fn an_id_says_nothing_about_a_request_of_another_process() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let known = world.task(task).approvals.pending(approval).expect("it waits").approval.clone();
    let desk = &world.task(task).approvals;
    assert!(desk.waiting(known.session, known.epoch, &known.request).is_some());
    assert!(desk.waiting(known.session, known.epoch + 1, &known.request).is_none());
    assert!(desk.waiting(RuntimeSessionId::from_uuid(uuid(9)), known.epoch, &known.request).is_none());
    assert!(desk.waiting(known.session, known.epoch, "another").is_none());
}

#[test]
fn an_expiry_that_comes_early_or_twice_changes_nothing() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.tell(task, TaskCommand::ExpireApproval { approval }).expect("ignored");
    assert_eq!(world.task(task).approvals.pending.len(), 1, "its time is not over");
    world.at += 3_600_000;
    world.tell(task, TaskCommand::ExpireApproval { approval }).expect("due");
    world.tell(task, TaskCommand::ExpireApproval { approval }).expect("ignored");
    assert_eq!(settlements(&world), [Settlement::Expired]);
}

#[test]
fn how_long_a_request_waits_is_told_with_it() {
    let (world, task, _) = asking_for(|asked| asked.expires_secs = 5);
    let pending = &world.task(task).approvals.pending[0];
    assert_eq!(pending.approval.expires_at, Timestamp::from_millis(pending.asked_at.millis() + 5_000));
}

#[test]
fn the_kind_of_an_option_decides_and_never_its_name() {
    let (mut world, task, approval) = asking_for(|asked| {
        asked.options = vec![option("reject", OptionKind::AllowOnce), option("allow", OptionKind::RejectOnce)];
    });
    world.decide_on(task, approval, Verdict::Approve).expect("there is a plain yes");
    assert_eq!(answers(&mut world), [Some("reject".to_owned())]);
}

#[test]
fn options_that_are_not_clear_cannot_be_approved_only_denied() {
    use OptionKind::{AllowAlways, AllowOnce, Other, RejectAlways, RejectOnce};
    for (options, no) in [
        (vec![], None),
        (vec![option("always", AllowAlways), option("never", RejectAlways)], None),
        (vec![option("x", AllowOnce), option("x", RejectOnce)], None),
        (vec![option("x", AllowOnce), option("x", AllowOnce), option("no", RejectOnce)], Some("no")),
        (vec![option("a", AllowOnce), option("b", AllowOnce), option("no", RejectOnce)], Some("no")),
        (vec![option("odd", Other), option("n1", RejectOnce), option("n2", RejectOnce)], Some("n1")),
    ] {
        let (mut world, task, approval) = asking_for(|asked| asked.options = options.clone());
        let refused = world.decide_on(task, approval, Verdict::Approve).expect_err("not clear");
        assert_eq!(refused.code(), "no_such_option", "{options:?}");
        world.decide_on(task, approval, Verdict::Deny).expect("a no always works");
        assert_eq!(answers(&mut world), [no.map(str::to_owned)], "{options:?}");
    }
}

#[test]
fn a_person_may_choose_among_several_plain_options() {
    let two = |asked: &mut Asked| {
        asked.options = vec![option("a", OptionKind::AllowOnce), option("b", OptionKind::AllowOnce)];
    };
    let (mut world, task, approval) = asking_for(two);
    let chosen = |world: &World, id: &str| Decision { option: Some(id.into()), ..world.decision(Verdict::Approve) };
    let none = chosen(&world, "c");
    assert_eq!(decide(&mut world, task, approval, none).expect_err("no such").code(), "no_such_option");
    let second = chosen(&world, "b");
    decide(&mut world, task, approval, second).expect("clear");
    assert_eq!(answers(&mut world), [Some("b".to_owned())]);
}

#[test]
fn a_reason_for_a_no_is_the_next_thing_that_the_agent_hears() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let waits = world.follow_up(task, "and then this");
    let decision = Decision { reason: Some("not on a Friday".into()), ..world.decision(Verdict::Deny) };
    decide(&mut world, task, approval, decision).expect("pending");
    let queue = &world.primary(task).queue;
    assert_eq!(queue.len(), 2);
    assert_eq!(queue[1].input, waits);
    assert_eq!(plain_text(&queue[0].content), "not on a Friday\n\n(This is why I said no to: cargo test)");
    assert_eq!((queue[0].person, queue[0].conversation), (world.person, world.conversation));
    assert!(world.primary(task).active.as_ref().is_some_and(|active| active.stopping.is_none()), "the turn goes on");
    world.answered(task);
    assert_eq!(world.primary(task).queue.len(), 1, "its turn comes first");
}

#[test]
fn a_reason_from_nowhere_in_particular_is_said_where_the_task_lives() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    let mut decision = Decision { reason: Some("no".into()), ..world.decision(Verdict::Deny) };
    decision.source.conversation = None;
    decide(&mut world, task, approval, decision).expect("pending");
    assert_eq!(world.primary(task).queue[0].conversation, world.conversation);
}

#[test]
fn a_no_without_a_reason_says_nothing_more() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.decide_on(task, approval, Verdict::Deny).expect("pending");
    assert!(world.primary(task).queue.is_empty());
}

fn call(world: &mut World, task: TaskId, name: &str, status: ToolStatus) {
    let item = item(world, task, name, status);
    world.report(task, Report::Recorded(Box::new(item))).expect("current");
}

fn item(world: &mut World, task: TaskId, name: &str, status: ToolStatus) -> Item {
    let turn = world.running_turn(task);
    let body = ItemBody::ToolCall(ToolCall {
        call: name.into(),
        title: "t".into(),
        tool: "execute".into(),
        status,
        input: None,
        output: None,
        changes: vec![],
        locations: vec![],
        exit_code: None,
        unasked: false,
    });
    Item { id: world.mint.id(), turn: Some(turn), body }
}

#[test]
fn an_agent_that_does_not_wait_was_not_asked() {
    for (status, kind) in [(ToolStatus::Completed, VoidKind::NotAsked), (ToolStatus::Failed, VoidKind::Stopped)] {
        let mut world = World::new();
        let (task, approval) = world.asking();
        call(&mut world, task, "call-1", ToolStatus::Pending);
        call(&mut world, task, "call-1", ToolStatus::InProgress);
        call(&mut world, task, "call-2", status);
        assert_eq!(world.task(task).approvals.pending.len(), 1, "nothing has happened to this call");
        call(&mut world, task, "call-1", status);
        assert!(matches!(settlements(&world)[..], [Settlement::Void { kind: known, .. }] if known == kind));
        assert!(world.decide_on(task, approval, Verdict::Approve).is_err());
        assert_eq!(answers(&mut world), [None], "in case it waits all the same");
    }
}

#[test]
fn what_is_over_before_it_is_asked_for_is_another_matter() {
    let mut world = World::new();
    let task = world.new_task("run it");
    world.opened(task);
    call(&mut world, task, "call-1", ToolStatus::Completed);
    let approval = world.mint.id();
    world.report(task, asked(approval)).expect("current");
    assert_eq!(world.task(task).approvals.pending.len(), 1);
}

#[test]
fn what_a_chat_does_not_show_cannot_be_approved_there() {
    let long = format!(r#"{{"command":"echo {}"}}"#, "x".repeat(5_000));
    let (mut world, task, approval) = asking_for(|asked| asked.ask.input = Some(long.as_str().into()));
    let pending = world.task(task).approvals.pending[0].approval.clone();
    assert!(!pending.shown(View::CHAT).complete);
    assert!(pending.shown(View::FULL).complete);
    for surface in [CHAT, Channel::Chat(Platform::named("feishu"))] {
        let mut said = world.decision(Verdict::Approve);
        said.source.surface = surface;
        assert_eq!(decide(&mut world, task, approval, said).expect_err("not seen").code(), "not_shown");
    }
    let mut pressed = Decision { digest: Some(pending.digest()), ..world.decision(Verdict::Approve) };
    pressed.source.surface = CHAT;
    decide(&mut world, task, approval, pressed).expect("the digest came from where it was shown");
}

#[test]
fn why_something_is_void_is_written_only_where_it_is_worth_a_word() {
    let written = |kind| {
        let settlement = Settlement::Void { cause: "x".into(), kind };
        let text = serde_json::to_string(&settlement).expect("json");
        assert_eq!(serde_json::from_str::<Settlement>(&text).expect("it is read again"), settlement);
        text
    };
    assert_eq!(written(VoidKind::Gone), r#"{"state":"void","cause":"x"}"#);
    assert_eq!(written(VoidKind::NotAsked), r#"{"state":"void","cause":"x","kind":"not_asked"}"#);
}

#[test]
fn an_input_that_a_person_can_be_shown_is_kept_where_it_can_be_shown() {
    assert_eq!((Ask::INPUT_MAX_BYTES, View::FULL.max_chars, View::CHAT.max_chars), (131_072, 100_000, 4_000));
}

#[test]
fn five_megabytes_can_be_opened_and_denied_but_not_approved() {
    let blob = Text::Blob { blob: BlobRef { sha256: "ab".into(), bytes: 5_000_000 }, head: "echo x".into() };
    let (mut world, task, approval) = asking_for(|asked| asked.ask.input = Some(blob));
    let digest = world.task(task).approvals.pending[0].approval.digest();
    let yes = Decision { digest: Some(digest), ..world.decision(Verdict::Approve) };
    assert_eq!(decide(&mut world, task, approval, yes).expect_err("nobody saw it").code(), "not_shown");
    world.decide_on(task, approval, Verdict::Deny).expect("a no needs no look");
}

#[test]
fn ten_thousand_requests_are_not_ten_thousand_questions() {
    let mut world = World::new();
    let task = world.new_task("run it");
    world.opened(task);
    for n in 0..10_000 {
        let (approval, item) = (world.mint.id(), item(&mut world, task, &format!("call-{n}"), ToolStatus::Pending));
        let asked = Asked { item: Some(Box::new(item)), ..request(approval, None) };
        world.report(task, Report::Asked(Box::new(asked))).expect("current");
        assert!(world.task(task).approvals.pending.len() <= 32);
    }
    let calls = world.count(|event| matches!(event, TaskEvent::ItemRecorded { .. }));
    assert_eq!(calls, 32, "nor are they in the record");
    assert_eq!(world.task(task).approvals.pending.len(), 32);
    assert_eq!(world.count(|event| matches!(event, TaskEvent::ApprovalsRefused { .. })), 1, "said once");
    // Room for one more is room for one more.
    let first = world.task(task).approvals.pending[0].approval.id;
    world.decide_on(task, first, Verdict::Approve).expect("pending");
    let (one, two) = (world.mint.id(), world.mint.id());
    world.report(task, asked(one)).expect("current");
    world.report(task, asked(two)).expect("current");
    assert!(world.task(task).approvals.knows(one) && !world.task(task).approvals.knows(two));
}

#[test]
fn a_turn_that_is_always_answered_ends_up_refused_all_the_same_and_the_next_one_starts_anew() {
    let mut world = World::new();
    let task = world.new_task("run it");
    world.opened(task);
    let mut first = None;
    for _ in 0..1_000 {
        let approval = world.mint.id();
        first.get_or_insert(approval);
        world.report(task, asked(approval)).expect("current");
        world.decide_on(task, approval, Verdict::Approve).expect("pending");
    }
    let more = world.mint.id();
    world.report(task, asked(more)).expect("current");
    assert!(!world.task(task).approvals.knows(more));
    assert!(first.is_some_and(|first| world.task(task).approvals.knows(first)), "the spool may be read again");
    world.follow_up(task, "go on");
    world.answered(task);
    world.report(task, asked(more)).expect("current");
    assert!(world.task(task).approvals.knows(more));
    world.answered(task);
    assert_eq!(world.task(task).approvals.settled.len(), 64, "at rest there is little to remember");
}
