//! An approval is applied at most once, to exactly what was shown; no decision means no (P5).

mod support;

use support::{World, asked};
use throughline_model::approval::Verdict;
use throughline_model::effect::Effect;
use throughline_model::execution::Activity;
use throughline_model::task::{Report, TaskCommand, TaskEvent};

fn answers(world: &mut World) -> Vec<Option<String>> {
    let option = |effect: &Effect| match effect {
        Effect::AnswerApproval { option, .. } => Some(option.clone()),
        _ => None,
    };
    world.take_effects().iter().filter_map(option).collect()
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
    let by = world.person;
    let shown = world.task(task).approvals.pending[0].approval.digest();
    let decide = |digest: &str| TaskCommand::DecideApproval {
        approval,
        verdict: Verdict::Approve,
        by,
        digest: Some(digest.into()),
        reason: None,
    };
    let refused = world.tell(task, decide("something else")).expect_err("not what was shown");
    assert_eq!(refused.code(), "digest_mismatch");
    world.tell(task, decide(&shown)).expect("what was shown");
}

#[test]
fn the_digest_covers_everything_that_decides_what_would_happen() {
    let mut world = World::new();
    let (task, _) = world.asking();
    let original = world.task(task).approvals.pending[0].approval.clone();
    let mut digests = vec![original.digest()];
    let mut changed = |change: &dyn Fn(&mut throughline_model::approval::Approval)| {
        let mut other = original.clone();
        change(&mut other);
        digests.push(other.digest());
    };
    changed(&|approval| approval.ask.input = Some(r#"{"command":"rm -rf /"}"#.into()));
    changed(&|approval| approval.ask.input = None);
    changed(&|approval| approval.ask.cwd = "/".into());
    changed(&|approval| approval.ask.title.push(' '));
    changed(&|approval| approval.epoch += 1);
    changed(&|approval| approval.expires_at = throughline_model::time::Timestamp::from_millis(0));
    changed(&|approval| drop(approval.options.pop()));
    let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), digests.len());
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
        let void = |event: &TaskEvent| matches!(event, TaskEvent::ApprovalSettled { settlement, .. } if settlement.word() == "void");
        assert_eq!(world.count(void), 1, "{end}");
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
    let (task, _) = world.asking();
    world.tell(task, TaskCommand::Cancel).expect("it runs");
    assert_eq!(answers(&mut world), [None]);
}

#[test]
fn a_request_that_the_agent_takes_back_is_void() {
    let mut world = World::new();
    let (task, approval) = world.asking();
    world.report(task, Report::Withdrew { approval }).expect("current");
    assert!(world.task(task).approvals.pending.is_empty());
}
