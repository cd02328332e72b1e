//! A platform that nothing here has heard of: what its folder would tell is enough for all the rest to work there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use support::{Daemon, Working, asked, asked_for, within};
use throughline_api::approval::Approval;
use throughline_api::client::DeliveryListQuery;
use throughline_api::delivery::Delivery;
use throughline_api::identity::OfferPairing;
use throughline_channels::{
    Abilities, Account, Channel, Channels, Formatting, Inbox, Manifest, MessageRef, Outbound, Place, Press, Receipt,
    SendError, Setting, Settings, Unit, Update, What,
};
use throughline_model::channel::Platform;
use throughline_model::command::Command;
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TurnAnswer};
use throughline_model::turn::{StopReason, Usage};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

const MANIFEST: Manifest = Manifest::of::<LoftSettings>(Platform::named("pigeon")).also(&["dove"]);
/// Letters, and nothing else.
const BARE: Abilities = Abilities {
    buttons: false,
    edits: false,
    threads: false,
    formatting: Formatting::Plain,
    max_length: 1_000,
    unit: Unit::Bytes,
    toasts: false,
    typing: false,
    remembers: None,
    max_file_bytes: 0,
    max_upload_bytes: 0,
};
const WITH_BUTTONS: Abilities = Abilities { buttons: true, ..BARE };
const ADA: &str = "grey-7";
const SECRET: &str = "corn-for-the-keeper";

/// `[channels.pigeon]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoftSettings {
    secret: String,
    #[serde(default)]
    bare: bool,
}

impl Settings for LoftSettings {
    fn connect(&self, _: Option<&str>) -> Result<Account, String> {
        let (arriving, arrives) = mpsc::unbounded_channel();
        let abilities = if self.bare { &BARE } else { &WITH_BUTTONS };
        let loft = Loft { abilities, arrives: Mutex::new(Some(arrives)), sent: watch::Sender::default() };
        LOFT.set(Some(Sky { arriving, sent: loft.sent.subscribe() }));
        Ok(Account { secrets: vec![self.secret.clone()], ..Account::new(loft) })
    }
}

thread_local! {
    /// What the settings led to, for the test to see and to do.
    static LOFT: Cell<Option<Sky>> = const { Cell::new(None) };
}

/// Our account there.
struct Loft {
    abilities: &'static Abilities,
    arrives: Mutex<Option<mpsc::UnboundedReceiver<Update>>>,
    sent: watch::Sender<Vec<Outbound>>,
}

#[async_trait]
impl Channel for Loft {
    fn manifest(&self) -> &'static Manifest {
        &MANIFEST
    }

    fn abilities(&self) -> &'static Abilities {
        self.abilities
    }

    async fn send(&self, message: &Outbound) -> Result<Receipt, SendError> {
        self.sent.send_modify(|sent| sent.push(message.clone()));
        Ok(Receipt { message: MessageRef(format!("m{}", self.sent.borrow().len())) })
    }

    async fn listen(&self, inbox: Arc<dyn Inbox>, stop: CancellationToken) {
        let mut arrives = self.arrives.lock().unwrap().take().unwrap();
        while let Some(Some(update)) = stop.run_until_cancelled(arrives.recv()).await {
            inbox.take(update).await.unwrap();
        }
    }
}

/// The other end of it.
struct Sky {
    arriving: mpsc::UnboundedSender<Update>,
    sent: watch::Receiver<Vec<Outbound>>,
}

impl Sky {
    fn brings(&self, key: &str, sender: &str, what: What) {
        let place = Place(format!("roof-of-{sender}"));
        let update =
            Update { key: key.into(), raw: "{}".into(), place, setting: Setting::Private, sender: sender.into(), what };
        self.arriving.send(update).unwrap();
    }

    fn says(&self, sender: &str, text: &str) {
        let key = format!("said:{sender}:{text}");
        let message = MessageRef(key.clone());
        self.brings(&key, sender, What::Said { message, text: text.into(), answers: None, files: vec![] });
    }

    /// The first message with these words, and its name there.
    async fn hears(&mut self, words: &str) -> (Outbound, MessageRef) {
        let found = |sent: &Vec<Outbound>| sent.iter().position(|sent| sent.text.letters().contains(words));
        let sent = within(words, self.sent.wait_for(|sent| found(sent).is_some())).await.unwrap();
        let at = found(&sent).unwrap();
        (sent[at].clone(), MessageRef(format!("m{}", at + 1)))
    }
}

async fn reports(daemon: &Daemon, working: &Working, report: Report) {
    let command = TaskCommand::Report { session: working.session, epoch: 1, report };
    daemon.engine.send(StreamId::Task(working.task), Command::Task(command)).await.unwrap();
}

/// A daemon that has a loft.
async fn daemon(settings: serde_json::Value) -> (Daemon, Sky) {
    let account = (MANIFEST.read)(settings).unwrap().connect(None).unwrap();
    let sky = LOFT.take().unwrap();
    (Daemon::start_with_channels(Channels::new(vec![account]), |_| {}).await, sky)
}

/// Ada is known there from now on, by the platform's other name.
async fn paired(daemon: &Daemon, sky: &mut Sky) {
    let pairing = daemon.client.pair(&OfferPairing { channel: "dove".into() }).await.unwrap();
    assert_eq!(pairing.channel, "pigeon");
    sky.says(ADA, &pairing.say);
    sky.hears("Paired").await;
}

fn is_sent(delivery: &Delivery) -> bool {
    delivery.state == "sent"
}

async fn approved(daemon: &Daemon, count: usize) -> Vec<Approval> {
    let approved = async {
        loop {
            let approved = daemon.client.approvals_in("approved", None).await.unwrap().approvals;
            if approved.len() == count {
                return approved;
            }
        }
    };
    within("it is approved", approved).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_goes_on_from_a_platform_that_nothing_else_knows() {
    assert!((MANIFEST.read)(json!({"secert": SECRET})).is_err_and(|error| error.to_string().contains("secert")));
    let (daemon, mut sky) = daemon(json!({"secret": SECRET})).await;
    assert_eq!(daemon.client.identities().await.unwrap().channels, ["pigeon"]);

    // Whoever is not known is told one line.
    sky.says("white-1", "give me the keys");
    sky.hears("I only talk to people that I know").await;
    paired(&daemon, &mut sky).await;
    let known = daemon.client.identities().await.unwrap().identities;
    assert_eq!(known.last().unwrap().id, "pigeon:grey-7");

    // An approval, decided by its button, with what must not be read left out.
    let working = daemon.working(1).await;
    daemon.message(&working, &format!("It is {SECRET}, by the way.")).await;
    reports(&daemon, &working, asked(&working, "test")).await;
    let (asking, under) = sky.hears("cargo test").await;
    let token = asking.buttons[0][0].token.clone();
    sky.brings("pressed", ADA, What::Pressed(Press { token, under, id: "pressed".into() }));
    let approval = approved(&daemon, 1).await.remove(0);
    let given = serde_json::to_string(&approval).unwrap();
    assert!(given.contains(r#""surface":"pigeon""#), "{given}");

    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    reports(&daemon, &working, Report::TurnAnswered { turn: working.turn, answer, usage: Usage::default() }).await;
    let (result, _) = sky.hears("✓ shop-1001").await;
    let read = result.text.letters();
    assert!(read.contains("by the way") && !read.contains(SECRET), "{read}");
    let sent = daemon.client.deliveries(&DeliveryListQuery::default()).await.unwrap().deliveries;
    assert!(sent.iter().any(|sent| (sent.kind.as_str(), sent.to.as_deref()) == ("completed", Some("pigeon:grey-7"))));

    // Revoked at once.
    daemon.client.revoke_identity("pigeon:grey-7").await.unwrap();
    sky.says(ADA, "/tasks");
    let polite = |sent: &Vec<Outbound>| {
        sent.last()
            .is_some_and(|last| last.place.0 == format!("roof-of-{ADA}") && last.text.letters().contains("I only talk"))
    };
    within("nobody any more", sky.sent.wait_for(polite)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn letters_are_enough_to_decide_choose_and_read() {
    let (daemon, mut sky) = daemon(json!({"secret": SECRET, "bare": true})).await;
    paired(&daemon, &mut sky).await;

    // What cannot be shown letter by letter is not approved by a word either.
    let hidden = daemon.working(1).await;
    let input = format!(r#"{{"command":["curl","-H","{SECRET}"]}}"#);
    reports(&daemon, &hidden, asked_for(&hidden, "curl", Some(input.as_str().into()))).await;
    let (asking, _) = sky.hears("so it cannot be approved here").await;
    assert!(asking.buttons.is_empty() && !asking.text.letters().contains(SECRET), "{asking:?}");
    sky.says(ADA, "yes");
    let twice = |sent: &Vec<Outbound>| {
        sent.iter().filter(|sent| sent.text.letters().contains("cannot be approved")).count() == 2
    };
    within("it is refused", sky.sent.wait_for(twice)).await.unwrap();
    assert_eq!(daemon.client.approvals_in("approved", None).await.unwrap().approvals, []);
    sky.says(ADA, "no");
    sky.hears("enied").await;

    // What is shown says how it is decided.
    let plain = daemon.working(2).await;
    reports(&daemon, &plain, asked(&plain, "test")).await;
    let (asking, _) = sky.hears("Answer this message with yes or no.").await;
    assert!(asking.text.letters().contains("cargo test"), "{asking:?}");
    sky.says(ADA, "yes, go ahead");
    approved(&daemon, 1).await;

    // An answer that is too long for messages is cut where no file can be sent, and not lost.
    daemon.message(&plain, &"a very long story. ".repeat(500)).await;
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    reports(&daemon, &plain, Report::TurnAnswered { turn: plain.turn, answer, usage: Usage::default() }).await;
    sky.hears("✓ shop-1002").await;
    sky.says(ADA, "/more shop-1002");
    let cut = |sent: &Vec<Outbound>| sent.last().is_some_and(|last| last.text.letters().ends_with("\n…"));
    within("what there is room for", sky.sent.wait_for(cut)).await.unwrap();
    sky.says(ADA, "/file README.md");
    sky.hears("Files cannot be sent here").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn where_there_are_no_buttons_a_number_chooses() {
    let (daemon, mut sky) = daemon(json!({"secret": SECRET, "bare": true})).await;
    paired(&daemon, &mut sky).await;
    for number in [1, 2] {
        let working = daemon.working(number).await;
        reports(&daemon, &working, asked(&working, "test")).await;
        sky.hears(&format!("shop-{}", 1000 + number)).await;
    }
    sky.says(ADA, "yes");
    let (question, _) = sky.hears("Answer with a number.").await;
    let text = question.text.letters();
    let wanted = text.lines().find(|line| line.contains("Approve once: shop-1002 cargo test"));
    let (number, _) = wanted.and_then(|line| line.split_once(". ")).unwrap_or_else(|| panic!("{text}"));
    // A number is about a message that we know to have arrived.
    let arrived = async {
        while !daemon.client.deliveries(&DeliveryListQuery::default()).await.unwrap().deliveries.iter().all(is_sent) {}
    };
    within("it has arrived", arrived).await;
    sky.says(ADA, number);
    assert_eq!(approved(&daemon, 1).await[0].task.key, "shop-1002");
}
