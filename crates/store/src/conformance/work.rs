//! What comes in and what is to be done: inbox, effects, marks, blobs.

use std::sync::Arc;

use throughline_model::effect::Effect;
use throughline_model::ids::RuntimeSessionId;
use throughline_model::time::Timestamp;
use tokio::task::JoinSet;

use super::Site;
use super::fixture::{Fixture, appending, at};
use super::log::everything;
use crate::port::{Answer, Ask, Batch, BlobSweep, CommitError, Due, InboxEntry, Mark, Store, SweepMode, Swept};

pub(super) async fn the_same_message_again_names_the_earlier_one(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(30));
    let stream = make.stream();
    let entry = InboxEntry { key: "web:1".into(), digest: "aa".into(), input: make.id(), raw: Some("{}".into()) };
    let first = Batch { inbox: Some(entry.clone()), ..appending(stream, 0, vec![make.note("heard")]) };
    store.commit(first).await.expect("the message");
    let again = InboxEntry { digest: "bb".into(), input: make.id(), ..entry.clone() };
    // Also where the stream has moved on since: the sender must hear of the message, not of the stream.
    let second = Batch { inbox: Some(again), ..appending(stream, 0, vec![make.note("heard twice")]) };
    let outcome = store.commit(second).await;
    let Err(CommitError::Duplicate(earlier)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(earlier, entry);
    assert_eq!(everything(&*store).await.len(), 1);
    assert_eq!(store.ask(Ask::Inbox("web:1".into())).await.expect("an answer"), Answer::Inbox(Some(entry)));
    assert_eq!(store.ask(Ask::Inbox("web:2".into())).await.expect("an answer"), Answer::Inbox(None));
}

pub(super) async fn one_of_many_equal_messages_gets_in(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(31));
    let mut senders = JoinSet::new();
    for _ in 0..32 {
        let entry = InboxEntry { key: "telegram:7".into(), digest: "aa".into(), input: make.id(), raw: None };
        let batch = Batch { inbox: Some(entry.clone()), ..appending(make.stream(), 0, vec![make.note("heard")]) };
        let store = Arc::clone(&store);
        senders.spawn(async move { (entry, store.commit(batch).await) });
    }
    let outcomes = senders.join_all().await;
    let taken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).collect();
    assert_eq!(taken.len(), 1);
    for (_, outcome) in outcomes.iter().filter(|(_, outcome)| outcome.is_err()) {
        let Err(CommitError::Duplicate(earlier)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(earlier, &taken[0].0);
    }
    assert_eq!(everything(&*store).await.len(), 1);
}

async fn put(store: &dyn Store, now: Timestamp, effects: Vec<Effect>) {
    store.commit(Batch { at: now, effects, ..Batch::default() }).await.expect("effects");
}

/// The keys of what is due, and when the next one is.
async fn due(store: &dyn Store, now: Timestamp, limit: usize) -> (Vec<String>, Option<Timestamp>) {
    let Due { effects, next_at } = store.due(now, limit).await.expect("effects");
    (effects.into_iter().map(|effect| effect.key).collect(), next_at)
}

pub(super) async fn effects_wait_in_order_until_settled(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(32));
    let (first, second, third) = (make.prompt(), make.prompt(), make.prompt());
    let timer = make.timer("turn", at(50));
    put(&*store, at(10), vec![first.clone(), timer.clone(), second.clone()]).await;
    put(&*store, at(20), vec![third.clone()]).await;
    let pending = store.due(at(20), 9).await.expect("effects");
    assert_eq!(pending.effects.iter().map(|known| &known.effect).collect::<Vec<_>>(), [&first, &second, &third]);
    assert_eq!(pending.effects.iter().map(|known| known.due_at).collect::<Vec<_>>(), [at(10), at(10), at(20)]);
    assert_eq!(pending.next_at, Some(at(50)));
    let keys: Vec<_> = [&first, &second, &third, &timer].map(Effect::key).to_vec();
    assert_eq!(due(&*store, at(49), 9).await, (keys[..3].to_vec(), Some(at(50))));
    assert_eq!(due(&*store, at(50), 9).await, (keys.clone(), None));
    assert_eq!(
        due(&*store, at(50), 2).await,
        (keys[..2].to_vec(), Some(at(20))),
        "the limit leaves the rest for later"
    );
    assert_eq!(due(&*store, at(9), 9).await, (vec![], Some(at(10))));
    let settled = vec![keys[0].clone(), keys[2].clone(), "unknown".to_owned()];
    store.commit(Batch { settled, ..Batch::default() }).await.expect("settled");
    assert_eq!(due(&*store, at(50), 9).await, (vec![keys[1].clone(), keys[3].clone()], None));
}

pub(super) async fn an_effect_replaces_the_one_with_its_key(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(33));
    put(&*store, at(0), vec![make.timer("idle", at(10)), make.timer("other", at(20))]).await;
    let later = make.timer("idle", at(30));
    put(&*store, at(0), vec![later.clone()]).await;
    assert_eq!(due(&*store, at(25), 9).await, (vec!["timer:other".to_owned()], Some(at(30))));
    let pending = store.due(at(30), 9).await.expect("effects");
    assert_eq!(pending.effects.len(), 2);
    assert_eq!(pending.effects[1].effect, later);
}

pub(super) async fn a_timer_is_forgotten_or_set_again_by_its_own_batch(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(34));
    put(&*store, at(0), vec![make.timer("a", at(1)), make.timer("b", at(1)), make.timer("c", at(1))]).await;
    let forget = |name: &str| Effect::Forget { timer: name.into() };
    put(&*store, at(0), vec![forget("a"), forget("never set")]).await;
    assert_eq!(due(&*store, at(9), 9).await.0, ["timer:b", "timer:c"]);
    // One that fired is settled, and may be set again by what came of it.
    let fired = Batch { settled: vec!["timer:b".into()], effects: vec![make.timer("b", at(5))], ..Batch::default() };
    store.commit(fired).await.expect("a timer that fired");
    assert_eq!(due(&*store, at(9), 9).await.0, ["timer:c", "timer:b"]);
    put(&*store, at(0), vec![forget("c"), make.timer("c", at(7)), make.timer("b", at(8)), forget("b")]).await;
    assert_eq!(due(&*store, at(9), 9).await.0, ["timer:c"], "in the order given");
}

pub(super) async fn marks_belong_to_one_process_and_never_go_back(site: &dyn Site) {
    let (store, mut make) = (site.open().await, Fixture::new(35));
    let session: RuntimeSessionId = make.id();
    let mark = |epoch, safe, seen, not_json| Mark { session, epoch, safe, seen, not_json };
    let set = async |mark| store.commit(Batch { mark: Some(mark), ..Batch::default() }).await.expect("a mark");
    let ask = async |session, epoch| store.ask(Ask::Mark(session, epoch)).await.expect("an answer");
    set(mark(1, 100, 200, 0)).await;
    set(mark(2, 0, 10, 1)).await;
    assert_eq!(ask(session, 1).await, Answer::Mark(Some(mark(1, 100, 200, 0))));
    set(mark(1, 150, 1 << 40, 3)).await;
    assert_eq!(ask(session, 1).await, Answer::Mark(Some(mark(1, 150, 1 << 40, 3))));
    set(mark(1, 1, 2, 0)).await;
    assert_eq!(ask(session, 1).await, Answer::Mark(Some(mark(1, 150, 1 << 40, 3))));
    assert_eq!(ask(session, 2).await, Answer::Mark(Some(mark(2, 0, 10, 1))));
    assert_eq!(ask(session, 3).await, Answer::Mark(None));
    assert_eq!(ask(make.id(), 1).await, Answer::Mark(None));
}

pub(super) async fn blobs_are_kept_by_their_digest(site: &dyn Site) {
    let store = site.open().await;
    let big: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let kept = store.put_blob(big.clone()).await.expect("a blob");
    assert_eq!(kept.bytes, big.len() as u64);
    assert_eq!(store.put_blob(big.clone()).await.expect("the same again"), kept);
    let abc = store.put_blob(b"abc".to_vec()).await.expect("a small one");
    assert_eq!(abc.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let empty = store.put_blob(vec![]).await.expect("an empty one");
    drop(store);
    let store = site.open().await;
    assert_eq!(store.blob(&kept.sha256).await.expect("a blob"), Some(big));
    assert_eq!(store.blob(&abc.sha256).await.expect("a blob"), Some(b"abc".to_vec()));
    assert_eq!(store.blob(&empty.sha256).await.expect("a blob"), Some(vec![]));
    for nobody in ["", "../throughline.db", &"0".repeat(64), &abc.sha256.to_uppercase(), "ünïcödé"] {
        assert_eq!(store.blob(nobody).await.expect("an answer"), None, "{nobody}");
    }
}

pub(super) async fn blobs_that_nobody_names_go_when_they_are_old(site: &dyn Site) {
    let store = site.open().await;
    let named = store.put_blob(b"named".to_vec()).await.expect("a blob");
    let stray = store.put_blob(b"stray".to_vec()).await.expect("a blob");
    let far = Timestamp::from_millis(i64::MAX);
    let sweep = |before, mode| BlobSweep { keep: [named.sha256.clone()].into(), before, mode };
    let fresh = store.sweep_blobs(sweep(Timestamp::from_millis(0), SweepMode::Remove)).await.expect("swept");
    assert_eq!(fresh, Swept::default(), "what was put just now stays");
    let looked = store.sweep_blobs(sweep(far, SweepMode::Look)).await.expect("looked at");
    assert_eq!(looked, Swept { count: 1, bytes: 5 });
    assert!(store.blob(&stray.sha256).await.expect("read").is_some(), "looking removes nothing");
    assert_eq!(store.sweep_blobs(sweep(far, SweepMode::Remove)).await.expect("swept"), looked);
    assert_eq!(store.blob(&stray.sha256).await.expect("read"), None);
    assert!(store.blob(&named.sha256).await.expect("read").is_some());
    assert_eq!(store.put_blob(b"stray".to_vec()).await.expect("put again"), stray);
}
