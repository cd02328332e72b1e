//! Events, streams and snapshots: order, versions, atomicity.

use std::sync::Arc;

use throughline_model::event::{Recorded, Seq};
use throughline_model::ids::{Id as _, ItemId, PersonId, TaskId};
use throughline_model::item::ToolStatus;
use throughline_model::person::Person;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::view::{NameRow, Row};
use tokio::task::JoinSet;

use super::Site;
use super::fixture::{Fixture, appending, at};
use crate::port::{
    Answer, Append, Ask, Batch, CommitError, DeliveryQuery, Feed, InboxEntry, Loaded, Lookup, Mark, PageQuery, Store,
    TaskQuery,
};

/// Everything of every stream.
pub(super) async fn everything(store: &dyn Store) -> Vec<Recorded> {
    let feed = Feed { stream: None, after: Seq(0), limit: 1_000_000 };
    store.read(feed).await.expect("the feed of all streams")
}

pub(super) async fn a_committed_batch_is_read_back_as_it_was(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(1));
    let stream = make.stream();
    let events = vec![make.note("one"), make.message("two 中文 \u{0} \"quoted\""), make.note("three")];
    let committed = store.commit(appending(stream, 0, events.clone())).await.expect("a first batch");
    let expected: Vec<_> = events
        .into_iter()
        .zip(1..)
        .map(|(event, nr)| Recorded { seq: Seq(nr), stream, version: nr, at: at(0), event })
        .collect();
    assert_eq!(committed.events, expected);
    assert_eq!(everything(&*store).await, expected);
    assert_eq!(store.ask(Ask::Head).await.expect("the head"), Answer::Head(Seq(3)));
    let nothing = store.commit(Batch::default()).await.expect("an empty batch");
    assert!(nothing.events.is_empty());
}

pub(super) async fn what_mentions_a_text_is_found_newest_first(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(4));
    let said = [r#"the Button is "green" 100%"#, "把按钮改成绿色", "nothing", "a button again"];
    let events = said.map(|text| make.message(text)).to_vec();
    store.commit(appending(make.stream(), 0, events)).await.expect("messages");
    let person = StreamId::Person(make.id());
    store.commit(appending(person, 0, vec![make.enrolled("button")])).await.expect("a person");
    let find = async |text: &str, limit| match store.ask(Ask::Mentions { text: text.into(), limit }).await {
        Ok(Answer::Events(events)) => events.iter().map(|found| found.seq.0).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(find("button", 9).await, [4, 1], "of tasks alone, in either case");
    assert_eq!(find("button", 1).await, [4]);
    assert_eq!(find("按钮", 9).await, [2], "two characters are a word");
    assert_eq!(find(r#""green" 100%"#, 9).await, [1], "as it was written");
    assert_eq!(find("b_tton", 9).await, Vec::<u64>::new(), "nothing is a wildcard");
}

pub(super) async fn an_append_at_the_wrong_version_is_refused(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(2));
    let stream = make.stream();
    let ahead = store.commit(appending(stream, 1, vec![make.note("too early")])).await;
    assert!(matches!(ahead, Err(CommitError::Conflict { expected: 1, actual: 0, .. })), "{ahead:?}");
    store.commit(appending(stream, 0, vec![make.note("one"), make.note("two")])).await.expect("a first batch");
    let behind = store.commit(appending(stream, 1, vec![make.note("too late")])).await;
    let Err(CommitError::Conflict { stream: named, expected: 1, actual: 2 }) = behind else { panic!("{behind:?}") };
    assert_eq!(named, stream);
    store.commit(appending(stream, 2, vec![make.note("three")])).await.expect("the right version");
    assert_eq!(everything(&*store).await.len(), 3);
}

pub(super) async fn a_refused_batch_changes_nothing(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(3));
    let (one, other) = (make.stream(), make.stream());
    store.commit(appending(one, 0, vec![make.note("one")])).await.expect("a first batch");
    let before = everything(&*store).await;
    let project = make.project("shop");
    let task = make.task(project.id, throughline_model::execution::Activity::Working, at(1));
    let (input, approval, delivery) = (make.input(task.id), make.approval(at(1)), make.delivery(at(1)));
    let session = make.id();
    let refused = Batch {
        appends: vec![
            Append {
                stream: other,
                expected: 0,
                events: vec![make.note("fits")],
                snapshot: Some(Arc::new(State::Task(None))),
            },
            Append { stream: one, expected: 0, events: vec![make.note("does not")], snapshot: None },
        ],
        rows: vec![
            Row::Task(Box::new(task.clone())),
            Row::Project(project),
            Row::Input(Box::new(input.clone())),
            Row::Approval(Box::new(approval)),
            Row::Delivery(delivery),
            Row::Name(NameRow { name: "n".into(), of: Some("o".into()) }),
        ],
        effects: vec![make.prompt()],
        inbox: Some(InboxEntry { key: "k".into(), digest: "d".into(), input: input.id, raw: None }),
        mark: Some(Mark { session, epoch: 1, safe: 5, seen: 6, not_json: 0 }),
        ..Batch::default()
    };
    let outcome = store.commit(refused).await;
    assert!(matches!(outcome, Err(CommitError::Conflict { .. })), "{outcome:?}");
    assert_eq!(everything(&*store).await, before);
    let loaded = store.load(other).await.expect("an empty stream");
    assert_eq!((loaded.version, loaded.tail.len()), (0, 0));
    assert_eq!(store.tasks(TaskQuery { all: true, limit: 9, ..TaskQuery::default() }).await.expect("a list"), []);
    assert_eq!(store.input(Lookup::Input(input.id)).await.expect("a look-up"), None);
    assert_eq!(store.due(at(9), 9).await.expect("effects"), crate::port::Due::default());
    for (ask, nothing) in [
        (Ask::Task(task.id), Answer::Task(None)),
        (Ask::Projects, Answer::Projects(vec![])),
        (Ask::PendingApprovals, Answer::Approvals(vec![])),
        (Ask::Deliveries(DeliveryQuery { limit: 9, ..DeliveryQuery::default() }), Answer::Deliveries(vec![])),
        (Ask::Inbox("k".into()), Answer::Inbox(None)),
        (Ask::Name("n".into()), Answer::Name(None)),
        (Ask::Mark(session, 1), Answer::Mark(None)),
    ] {
        assert_eq!(store.ask(ask).await.expect("an answer"), nothing);
    }
    let next = store.commit(appending(one, 1, vec![make.note("two")])).await.expect("the next batch");
    assert_eq!(next.events[0].seq, Seq(2), "a refused batch takes no sequence numbers");
}

pub(super) async fn two_appends_to_one_stream_follow_each_other(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(4));
    let stream = make.stream();
    let append = |expected, event| Append { stream, expected, events: vec![event], snapshot: None };
    let (one, two, three) = (make.note("one"), make.note("two"), make.note("three"));
    let good = Batch { appends: vec![append(0, one), append(1, two)], ..Batch::default() };
    let versions: Vec<_> = store.commit(good).await.expect("both").events.iter().map(|event| event.version).collect();
    assert_eq!(versions, [1, 2]);
    let bad = Batch { appends: vec![append(2, three.clone()), append(2, three)], ..Batch::default() };
    let refused = store.commit(bad).await;
    assert!(matches!(refused, Err(CommitError::Conflict { expected: 2, actual: 3, .. })), "{refused:?}");
    assert_eq!(everything(&*store).await.len(), 2);
}

pub(super) async fn streams_of_two_kinds_with_one_id_are_two(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(5));
    let id = make.id::<TaskId>().uuid();
    let (task, person) = (StreamId::Task(TaskId::from_uuid(id)), StreamId::Person(PersonId::from_uuid(id)));
    store.commit(appending(task, 0, vec![make.note("one")])).await.expect("the task's");
    store.commit(appending(person, 0, vec![make.enrolled("Ada")])).await.expect("the person's");
    let loaded = store.load(person).await.expect("the person");
    assert_eq!(loaded.tail.iter().map(|event| event.stream).collect::<Vec<_>>(), [person]);
    assert_eq!(loaded.state, State::Person(None));
}

pub(super) async fn sequence_numbers_have_no_gaps_under_64_writers(site: &dyn Site) {
    const WRITERS: u64 = 64;
    const BATCHES: u64 = 8;
    let store = site.open().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let mut make = Fixture::new(1000 + u128::from(writer));
            let stream = make.stream();
            for batch in 0..BATCHES {
                // Every third one is refused, and must leave no gap.
                let wrong = appending(stream, 99, vec![make.note("refused")]);
                if batch % 3 == 0 {
                    assert!(store.commit(wrong).await.is_err());
                }
                let events = vec![make.note("first"), make.note("second")];
                let done = store.commit(appending(stream, batch * 2, events)).await.expect("a batch");
                let feed = Feed { stream: None, after: Seq(done.events[0].seq.0 - 1), limit: 2 };
                assert_eq!(store.read(feed).await.expect("what was acknowledged"), done.events);
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.expect("a writer");
    }
    let all = everything(&*store).await;
    let numbers: Vec<_> = all.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=WRITERS * BATCHES * 2).collect::<Vec<_>>());
    for pair in all.chunks(2) {
        assert_eq!((pair[0].stream, pair[0].version + 1), (pair[1].stream, pair[1].version), "a batch stays together");
    }
}

pub(super) async fn one_of_many_rivals_wins_each_version(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(6));
    let stream = make.stream();
    for version in 0..5 {
        let mut rivals = JoinSet::new();
        for _ in 0..16 {
            let (store, event) = (Arc::clone(&store), make.note("mine"));
            rivals.spawn(async move { store.commit(appending(stream, version, vec![event])).await });
        }
        let outcomes = rivals.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let conflicts = outcomes.iter().filter(|outcome| matches!(outcome, Err(CommitError::Conflict { .. })));
        assert_eq!(conflicts.count(), 15);
    }
    assert_eq!(everything(&*store).await.len(), 5);
}

pub(super) async fn a_feed_follows_one_stream_or_all(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(7));
    let (one, other) = (make.stream(), make.stream());
    for version in 0..10 {
        store.commit(appending(one, version, vec![make.note("one's")])).await.expect("a batch");
        store.commit(appending(other, version, vec![make.note("other's")])).await.expect("a batch");
    }
    let seqs = async |stream, after, limit| {
        let events = store.read(Feed { stream, after: Seq(after), limit }).await.expect("a feed");
        events.iter().map(|event| event.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(seqs(None, 0, 3).await, [1, 2, 3]);
    assert_eq!(seqs(None, 18, 9).await, [19, 20]);
    assert_eq!(seqs(Some(one), 0, 3).await, [1, 3, 5]);
    assert_eq!(seqs(Some(other), 4, 2).await, [6, 8]);
    assert_eq!(seqs(Some(other), 16, 9).await, [18, 20]);
    assert_eq!(seqs(Some(make.stream()), 0, 9).await, [0; 0]);
    assert_eq!(seqs(None, 20, 9).await, [0; 0]);
    assert_eq!(seqs(None, u64::MAX, 9).await, [0; 0]);
    assert_eq!(seqs(None, 0, 0).await, [0; 0]);
}

pub(super) async fn pages_go_from_the_newest_back(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(8));
    let (stream, noise) = (make.stream(), make.stream());
    for version in 0..7 {
        store.commit(appending(stream, version, vec![make.note("seen")])).await.expect("a batch");
        store.commit(appending(noise, version, vec![make.note("not seen")])).await.expect("a batch");
    }
    let (mut before, mut versions) = (None, vec![]);
    loop {
        let page = store.page(PageQuery { stream, before, limit: 3 }).await.expect("a page");
        let Some(last) = page.last() else { break };
        before = Some(last.seq);
        versions.push(page.iter().map(|event| event.version).collect::<Vec<_>>());
    }
    assert_eq!(versions, [vec![7, 6, 5], vec![4, 3, 2], vec![1]]);
}

pub(super) async fn the_newest_record_of_an_item_is_found(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(9));
    let (stream, other) = (make.stream(), make.stream());
    let items: Vec<ItemId> = (0..3).map(|_| make.id()).collect();
    let mut events: Vec<_> = items.iter().map(|item| make.tool_call(*item, ToolStatus::Pending)).collect();
    events.push(make.message("in between"));
    events.push(make.tool_call(items[1], ToolStatus::Completed));
    store.commit(appending(stream, 0, events)).await.expect("a batch");
    let unknown = make.id();
    let found = store.latest_items(stream, &[items[1], unknown, items[0]]).await.expect("items");
    assert_eq!(found.iter().map(|event| event.version).collect::<Vec<_>>(), [5, 1], "in the order asked for");
    assert_eq!(store.latest_items(other, &items).await.expect("another stream's"), []);
    assert_eq!(store.latest_items(stream, &[]).await.expect("none"), []);
}

pub(super) async fn a_stream_loads_as_a_snapshot_and_a_tail(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(10));
    let person: PersonId = make.id();
    let stream = StreamId::Person(person);
    let empty = store.load(stream).await.expect("nothing yet");
    assert_eq!((empty.state, empty.version, empty.tail), (State::Person(None), 0, vec![]));
    let state = |name: &str| {
        State::Person(Some(Person {
            id: person,
            name: name.into(),
            locale: "en".into(),
            identities: vec![],
            offers: vec![],
            chats: vec![],
            groups: vec![],
            notices: Default::default(),
        }))
    };
    let mut commit = async |expected, count: u64, snapshot: Option<State>| {
        let events = (0..count).map(|_| make.enrolled("Ada")).collect();
        let append = Append { stream, expected, events, snapshot: snapshot.map(Arc::new) };
        store.commit(Batch { appends: vec![append], ..Batch::default() }).await.expect("a batch")
    };
    let shape = |loaded: Loaded| {
        (loaded.state, loaded.version, loaded.tail.iter().map(|event| event.version).collect::<Vec<_>>())
    };
    commit(0, 3, None).await;
    assert_eq!(shape(store.load(stream).await.expect("a tail")), (State::Person(None), 0, vec![1, 2, 3]));
    commit(3, 2, Some(state("Ada"))).await;
    assert_eq!(shape(store.load(stream).await.expect("a snapshot")), (state("Ada"), 5, vec![]));
    commit(5, 2, None).await;
    assert_eq!(shape(store.load(stream).await.expect("both")), (state("Ada"), 5, vec![6, 7]));
    commit(7, 1, Some(state("Ada Lovelace"))).await;
    assert_eq!(shape(store.load(stream).await.expect("the newer one")), (state("Ada Lovelace"), 8, vec![]));
}

pub(super) async fn a_store_that_is_opened_again_is_the_same(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(11));
    let stream = make.stream();
    let name = store.ask(Ask::Incarnation).await.expect("a name");
    store.commit(appending(stream, 0, vec![make.note("one"), make.note("two")])).await.expect("a batch");
    let before = everything(&*store).await;
    drop(store);
    let store = site.open().await;
    assert_eq!(everything(&*store).await, before);
    assert_eq!(store.ask(Ask::Incarnation).await.expect("a name"), name);
    let stale = store.commit(appending(stream, 1, vec![make.note("stale")])).await;
    assert!(matches!(stale, Err(CommitError::Conflict { actual: 2, .. })), "{stale:?}");
    let next = store.commit(appending(stream, 2, vec![make.note("three")])).await.expect("the next batch");
    assert_eq!(next.events[0].seq, Seq(3));
}
