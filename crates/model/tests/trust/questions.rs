//! Questions of a running turn: asked once, answered once, void with the turn or the process.

use crate::support::{CHAT, World};
use throughline_model::effect::Effect;
use throughline_model::execution::Activity;
use throughline_model::ids::{QuestionId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::question::{Answer, FormAnswer, Question};
use throughline_model::rejection::Rejection;
use throughline_model::route::Intent;
use throughline_model::task::{Report, TaskCommand};

fn working() -> (World, TaskId) {
    let mut world = World::new();
    let task = world.new_task("paint it");
    world.opened(task);
    world.take_effects();
    (world, task)
}

fn ask(world: &mut World, task: TaskId) -> Question {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}"#;
    let (id, request) = (world.mint.id(), "7".into());
    let question = Question { id, request, message: "How many?".into(), schema: schema.into(), settled: false };
    world.report(task, Report::Questioned(Box::new(question.clone()))).expect("current");
    question
}

fn told(world: &mut World) -> Vec<FormAnswer> {
    let effects = world.take_effects().into_iter();
    effects
        .filter_map(|effect| match effect {
            Effect::AnswerQuestion { answer, request, .. } => {
                assert_eq!(request, "7");
                Some(answer)
            }
            _ => None,
        })
        .collect()
}

fn answer(world: &mut World, task: TaskId, question: QuestionId, text: &str) -> Result<(), Rejection> {
    let (answer, by) = (Answer::Words { text: text.into() }, world.person);
    world.tell(task, TaskCommand::AnswerQuestion { question, answer, by }).map(drop)
}

#[test]
fn a_question_waits_for_an_answer_that_fits_and_is_told_it_once() {
    let (mut world, task) = working();
    let question = ask(&mut world, task);
    assert_eq!(world.task(task).activity(), Activity::WaitingAnswer);
    assert_eq!(world.primary(task).past.last_said, "How many?");
    let wrong = answer(&mut world, task, question.id, "many").expect_err("no number");
    assert_eq!(wrong.code(), "bad_answer");
    assert!(told(&mut world).is_empty());
    answer(&mut world, task, question.id, "3").expect("it fits");
    assert_eq!(told(&mut world), [FormAnswer::Accept { content: r#"{"n":3}"#.into() }]);
    assert_eq!(world.task(task).activity(), Activity::Working);
    assert_eq!(answer(&mut world, task, question.id, "4"), Err(Rejection::QuestionSettled));
    // The spool is read again.
    world.report(task, Report::Questioned(Box::new(question))).expect("current");
    assert_eq!(world.task(task).activity(), Activity::Working);
    assert!(told(&mut world).is_empty());
}

#[test]
fn a_message_answers_or_waits_its_turn() {
    let (mut world, task) = working();
    ask(&mut world, task);
    let phone = world.mint.id();
    world.open(phone, CHAT);
    let said = Intent::Answer { task, execution: None };
    let wrong = world.receive_in(phone, said.clone(), None, "lots", Urgency::InTurn).expect_err("no number");
    assert_eq!(wrong.code(), "bad_answer");
    world.receive_in(phone, said.clone(), None, "2", Urgency::InTurn).expect("it fits");
    assert_eq!(told(&mut world), [FormAnswer::Accept { content: r#"{"n":2}"#.into() }]);
    assert!(world.task(task).conversations.contains(&phone), "who answers takes part");
    assert!(world.primary(task).queue.is_empty());
    // Nothing waits any more: it is the next prompt.
    world.receive(said, None, "and more", Urgency::InTurn).expect("taken");
    assert_eq!(world.primary(task).queue.len(), 1);
}

#[test]
fn who_interrupts_does_not_answer_and_a_turn_that_stops_waits_for_nobody() {
    let (mut world, task) = working();
    let question = ask(&mut world, task);
    let said = Intent::Answer { task, execution: None };
    world.receive(said, None, "something else", Urgency::Interrupt).expect("taken");
    assert_eq!(told(&mut world), [FormAnswer::Cancel]);
    assert_eq!(answer(&mut world, task, question.id, "3"), Err(Rejection::QuestionSettled));
    let late = Question { id: world.mint.id(), ..question };
    world.report(task, Report::Questioned(Box::new(late))).expect("current");
    assert!(world.primary(task).question().is_none(), "nobody is asked for a turn that is to stop");
}

#[test]
fn an_agent_that_died_or_took_it_back_is_told_nothing_or_nothing_chosen() {
    let (mut world, task) = working();
    let question = ask(&mut world, task);
    world.report(task, Report::Withdrew { request: "8".into() }).expect("current");
    assert_eq!(world.primary(task).question().map(|known| known.id), Some(question.id));
    world.report(task, Report::Withdrew { request: question.request }).expect("current");
    assert!(world.primary(task).question().is_none());
    world.take_effects();
    let second = ask(&mut world, task);
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    assert!(told(&mut world).is_empty());
    assert_eq!(answer(&mut world, task, second.id, "3"), Err(Rejection::QuestionSettled));
    let declined = TaskCommand::AnswerQuestion { question: second.id, answer: Answer::Decline, by: world.person };
    assert_eq!(world.tell(task, declined).map(drop), Err(Rejection::QuestionSettled));
}

#[test]
fn a_question_that_is_said_twice_is_asked_once_and_under_an_answered_id_anew() {
    let (mut world, task) = working();
    let first = ask(&mut world, task);
    ask(&mut world, task);
    let asked = |world: &World| world.primary(task).active.as_ref().expect("it runs").questions.len();
    assert_eq!(asked(&world), 1);
    answer(&mut world, task, first.id, "3").expect("it fits");
    let second = ask(&mut world, task);
    assert_eq!(asked(&world), 2);
    answer(&mut world, task, second.id, "4").expect("it fits");
    let answers = ["3", "4"].map(|n| FormAnswer::Accept { content: format!(r#"{{"n":{n}}}"#) });
    assert_eq!(told(&mut world), answers);
}

#[test]
fn what_nobody_reads_is_not_taken() {
    assert_eq!(Question::MAX_BYTES, 16_384);
}

#[test]
fn to_decline_is_an_answer_and_a_turn_asks_only_so_often() {
    let (mut world, task) = working();
    let question = ask(&mut world, task);
    let by = world.person;
    world
        .tell(task, TaskCommand::AnswerQuestion { question: question.id, answer: Answer::Decline, by })
        .expect("taken");
    assert_eq!(told(&mut world), [FormAnswer::Decline]);
    for _ in 0..40 {
        let question = ask(&mut world, task);
        let _ = answer(&mut world, task, question.id, "3");
    }
    let active = world.primary(task).active.as_ref().expect("it runs");
    assert_eq!(active.questions.len(), 32);
}
