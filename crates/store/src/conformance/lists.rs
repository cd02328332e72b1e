//! Rows of lists and look-ups.

use throughline_model::execution::Activity;
use throughline_model::ids::{PersonId, TaskId, TurnId};
use throughline_model::task::Lifecycle;
use throughline_model::view::{Addressed, DeliveryRow, InputMoved, NameRow, Row, TaskRow};

use super::Site;
use super::fixture::{Fixture, at};
use crate::port::{Answer, ApprovalQuery, Ask, Batch, DeliveryQuery, Lookup, Store, TaskPlace, TaskQuery};

async fn write(store: &dyn Store, rows: Vec<Row>) {
    store.commit(Batch { rows, ..Batch::default() }).await.expect("rows");
}

async fn write_tasks(store: &dyn Store, tasks: &[TaskRow]) {
    write(store, tasks.iter().map(|task| Row::Task(Box::new(task.clone()))).collect()).await;
}

async fn list(store: &dyn Store, query: TaskQuery) -> Vec<TaskRow> {
    store.tasks(query).await.expect("a list")
}

fn everything() -> TaskQuery {
    TaskQuery { limit: 1000, ..TaskQuery::default() }
}

fn urgency_then_recency(tasks: &mut [TaskRow]) {
    tasks.sort_by_key(|task| (task.activity.rank(), std::cmp::Reverse(task.updated_at), task.id));
}

pub(super) async fn tasks_are_listed_by_urgency_then_recency(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(20));
    let project = make.id();
    let blocked = Activity::Blocked { reason: "usage limit".into(), until: None };
    let mut tasks = vec![
        make.task(project, Activity::Resting, at(900)),
        make.task(project, Activity::WaitingApproval, at(1)),
        make.task(project, Activity::Working, at(5)),
        make.task(project, Activity::Working, at(7)),
        make.task(project, blocked, at(2)),
        make.task(project, Activity::WaitingApproval, at(3)),
        make.task(project, Activity::Working, at(7)),
    ];
    write_tasks(&*store, &tasks).await;
    urgency_then_recency(&mut tasks);
    assert_eq!(list(&*store, everything()).await, tasks);
    let moved = tasks.last_mut().expect("the least urgent");
    (moved.activity, moved.updated_at, moved.title) = (Activity::WaitingAnswer, at(901), "Asked".into());
    write_tasks(&*store, std::slice::from_ref(moved)).await;
    urgency_then_recency(&mut tasks);
    assert_eq!(list(&*store, everything()).await, tasks, "a row takes the place of the one with its id");
}

pub(super) async fn pages_of_tasks_neither_skip_nor_repeat(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(21));
    let projects = [make.id(), make.id()];
    let activities = [Activity::Resting, Activity::Working, Activity::WaitingAnswer];
    // Times repeat, so that ties have to be broken.
    let mut tasks: Vec<_> = (0..60)
        .map(|nr: usize| {
            let mut task =
                make.task(projects[nr % 2], activities[nr % 3].clone(), at(i64::try_from(nr / 10).unwrap_or(0)));
            task.lifecycle = if nr.is_multiple_of(4) { Lifecycle::Closed } else { Lifecycle::Open };
            task
        })
        .collect();
    write_tasks(&*store, &tasks).await;
    urgency_then_recency(&mut tasks);
    for projects in [vec![], projects.to_vec(), vec![projects[1]]] {
        for all in [true, false] {
            let wanted = tasks.iter().filter(|task| all || task.lifecycle == Lifecycle::Open);
            let wanted: Vec<_> =
                wanted.filter(|task| projects.is_empty() || projects.contains(&task.project)).cloned().collect();
            let (mut after, mut listed) = (None, vec![]);
            loop {
                let query = TaskQuery { projects: projects.clone(), all, after, limit: 7, needs_person: false };
                let page = list(&*store, query).await;
                let Some(last) = page.last() else { break };
                after = Some(TaskPlace { rank: last.activity.rank(), updated_at: last.updated_at, id: last.id });
                listed.extend(page);
            }
            assert_eq!(listed, wanted);
        }
    }
}

pub(super) async fn tasks_are_filtered(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(22));
    let (shop, blog) = (make.id(), make.id());
    let failed = Activity::Failed { reason: "crashed".into() };
    let mut tasks = [
        make.task(shop, Activity::WaitingApproval, at(4)),
        make.task(blog, failed, at(3)),
        make.task(shop, Activity::Working, at(2)),
        make.task(shop, Activity::Resting, at(1)),
        make.task(shop, Activity::Resting, at(0)),
    ];
    tasks[3].lifecycle = Lifecycle::Closed;
    tasks[4].lifecycle = Lifecycle::Archived;
    write_tasks(&*store, &tasks).await;
    let found = async |query: TaskQuery| {
        let listed = list(&*store, query).await;
        let place = |row: &TaskRow| tasks.iter().position(|task| task.id == row.id).expect("a known task");
        listed.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(found(everything()).await, [0, 1, 2]);
    assert_eq!(found(TaskQuery { all: true, ..everything() }).await, [0, 1, 2, 3, 4]);
    assert_eq!(found(TaskQuery { needs_person: true, ..everything() }).await, [0, 1]);
    assert_eq!(found(TaskQuery { projects: vec![shop], ..everything() }).await, [0, 2]);
    assert_eq!(found(TaskQuery { projects: vec![shop], all: true, needs_person: true, ..everything() }).await, [0]);
    assert_eq!(found(TaskQuery { projects: vec![blog, shop, blog], ..everything() }).await, [0, 1, 2]);
    assert_eq!(found(TaskQuery { projects: vec![make.id()], ..everything() }).await, [0; 0]);
    assert_eq!(found(TaskQuery { limit: 0, ..everything() }).await, [0; 0]);
}

pub(super) async fn a_task_is_found_by_key_and_by_id(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(23));
    let project = make.id();
    let mut tasks: Vec<_> = (0..3).map(|_| make.task(project, Activity::Resting, at(0))).collect();
    for task in &mut tasks {
        task.key = String::new();
    }
    // Several tasks may wait for their keys at once.
    write_tasks(&*store, &tasks).await;
    let by_key = async |key: &str| store.ask(Ask::TaskByKey(key.into())).await.expect("an answer");
    assert_eq!(by_key("").await, Answer::Task(None));
    tasks[1].key = "shop-12".into();
    write_tasks(&*store, &tasks).await;
    let found = Answer::Task(Some(Box::new(tasks[1].clone())));
    assert_eq!(by_key("shop-12").await, found);
    assert_eq!(store.ask(Ask::Task(tasks[1].id)).await.expect("an answer"), found);
    assert_eq!(by_key("shop-1").await, Answer::Task(None));
    assert_eq!(store.ask(Ask::Task(make.id())).await.expect("an answer"), Answer::Task(None));
    let mut thief = make.task(project, Activity::Resting, at(0));
    thief.key = "shop-12".into();
    let stolen = store.commit(Batch { rows: vec![Row::Task(Box::new(thief))], ..Batch::default() }).await;
    assert!(stolen.is_err(), "a key has one task");
    assert_eq!(by_key("shop-12").await, found);
}

pub(super) async fn inputs_move_and_are_found_by_decision(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(24));
    let task = make.id();
    let (mut moved, withdrawn) = (make.input(task), make.input(task));
    write(&*store, vec![Row::Input(Box::new(moved.clone())), Row::Input(Box::new(withdrawn.clone()))]).await;
    let turn: TurnId = make.id();
    let row = |id, turn| Row::InputMoved(InputMoved { id, turn });
    write(&*store, vec![row(moved.id, Some(turn)), row(withdrawn.id, None), row(make.id(), None)]).await;
    moved.turn = Some(turn);
    let find = async |lookup| store.input(lookup).await.expect("a look-up");
    assert_eq!(find(Lookup::Input(moved.id)).await, Some(moved.clone()));
    assert_eq!(find(Lookup::Decision(moved.decision_id())).await, Some(moved));
    assert_eq!(find(Lookup::Decision(withdrawn.decision_id())).await, Some(withdrawn));
    assert_eq!(find(Lookup::Input(make.id())).await, None);
    assert_eq!(find(Lookup::Decision(make.id())).await, None);
}

pub(super) async fn approvals_are_pending_until_settled(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(25));
    let (later, mut sooner) = (make.approval(at(2)), make.approval(at(1)));
    write(&*store, vec![Row::Approval(Box::new(later.clone())), Row::Approval(Box::new(sooner.clone()))]).await;
    let ask = async |ask| store.ask(ask).await.expect("an answer");
    assert_eq!(ask(Ask::PendingApprovals).await, Answer::Approvals(vec![sooner.clone(), later.clone()]));
    sooner.state = "approved".into();
    write(&*store, vec![Row::Approval(Box::new(sooner.clone()))]).await;
    assert_eq!(ask(Ask::PendingApprovals).await, Answer::Approvals(vec![later.clone()]));
    assert_eq!(ask(Ask::Approval(sooner.id)).await, Answer::Approvals(vec![sooner.clone()]));
    assert_eq!(ask(Ask::Approval(make.id())).await, Answer::Approvals(vec![]));
    let list = |state: Option<&str>, after, limit| {
        Ask::Approvals(ApprovalQuery { state: state.map(Into::into), after, limit })
    };
    let both = Answer::Approvals(vec![later.clone(), sooner.clone()]);
    assert_eq!(ask(list(None, None, 10)).await, both, "as they came, whatever became of them");
    assert_eq!(ask(list(None, None, 1)).await, Answer::Approvals(vec![later.clone()]));
    assert_eq!(ask(list(None, Some(later.id), 10)).await, Answer::Approvals(vec![sooner.clone()]));
    assert_eq!(ask(list(Some("pending"), None, 10)).await, Answer::Approvals(vec![later]));
}

pub(super) async fn what_a_person_addressed_lately_is_listed(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(27));
    let (me, you): (PersonId, PersonId) = (make.id(), make.id());
    let tasks: [TaskId; 3] = [make.id(), make.id(), make.id()];
    let row = |person, task, millis| Addressed { person, task, at: at(millis) };
    let said = [row(me, tasks[0], 10), row(me, tasks[1], 20), row(you, tasks[2], 30), row(me, tasks[0], 40)];
    write(&*store, said.map(Row::Addressed).to_vec()).await;
    let ask = async |since, limit| store.ask(Ask::Addressed(me, at(since), limit)).await.expect("an answer");
    assert_eq!(ask(0, 9).await, Answer::Addressed(vec![said[3], said[1]]), "each task once, the newest first");
    assert_eq!(ask(21, 9).await, Answer::Addressed(vec![said[3]]));
    assert_eq!(ask(0, 1).await, Answer::Addressed(vec![said[3]]));
    assert_eq!(ask(41, 9).await, Answer::Addressed(vec![]));
}

pub(super) async fn projects_and_deliveries_are_listed(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(26));
    let (mut shop, blog) = (make.project("shop"), make.project("blog"));
    write(&*store, vec![Row::Project(shop.clone()), Row::Project(blog.clone())]).await;
    shop.agent = "codex".into();
    write(&*store, vec![Row::Project(shop.clone())]).await;
    assert_eq!(store.ask(Ask::Projects).await.expect("an answer"), Answer::Projects(vec![blog, shop]), "by name");
    let (mut first, second, third) = (make.delivery(at(1)), make.delivery(at(2)), make.delivery(at(3)));
    write(&*store, vec![Row::Delivery(first.clone()), Row::Delivery(second.clone()), Row::Delivery(third.clone())])
        .await;
    (first.state, first.at) = ("sent".into(), at(4));
    write(&*store, vec![Row::Delivery(first.clone())]).await;
    let ask = async |query: DeliveryQuery| store.ask(Ask::Deliveries(query)).await.expect("an answer");
    let all = DeliveryQuery { limit: 9, ..DeliveryQuery::default() };
    let is = |rows: &[&DeliveryRow]| Answer::Deliveries(rows.iter().map(|row| (*row).clone()).collect());
    assert_eq!(ask(all.clone()).await, is(&[&third, &second, &first]), "by when they were queued");
    assert_eq!(ask(DeliveryQuery { limit: 1, ..all.clone() }).await, is(&[&third]));
    let before = DeliveryQuery { before: Some(third.id), limit: 1, ..all.clone() };
    assert_eq!(ask(before).await, is(&[&second]), "the next page");
    let of_task = DeliveryQuery { task: first.task, ..all.clone() };
    assert_eq!(ask(of_task.clone()).await, is(&[&first]));
    let states = vec!["pending".into(), "dead".into()];
    assert_eq!(ask(DeliveryQuery { states: states.clone(), ..of_task }).await, is(&[]), "it was sent");
    assert_eq!(ask(DeliveryQuery { states, ..all.clone() }).await, is(&[&third, &second]));
    let conversations = vec![first.conversation, third.conversation];
    assert_eq!(ask(DeliveryQuery { conversations, ..all }).await, is(&[&third, &first]));
}

pub(super) async fn a_name_is_found_until_it_is_taken_back(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(27));
    let named = |name: &str, of: Option<&str>| Row::Name(NameRow { name: name.into(), of: of.map(str::to_owned) });
    let found = async |name: &str| store.ask(Ask::Name(name.into())).await.expect("an answer");
    write(&*store, vec![named("a", Some("1")), named("b", Some("2"))]).await;
    assert_eq!(found("a").await, Answer::Name(Some("1".into())));
    write(&*store, vec![named("a", Some("3")), named("b", None)]).await;
    assert_eq!(found("a").await, Answer::Name(Some("3".into())), "the newest counts");
    assert_eq!(found("b").await, Answer::Name(None));
    let delivery = make.delivery(at(1));
    write(&*store, vec![Row::Delivery(delivery.clone())]).await;
    assert_eq!(store.ask(Ask::Delivery(delivery.id)).await.expect("an answer"), Answer::Deliveries(vec![delivery]));
    assert_eq!(store.ask(Ask::Delivery(make.id())).await.expect("an answer"), Answer::Deliveries(vec![]));
}
