//! Chats in crowds: each update once however often it comes and the daemon dies, and nothing at all of strangers.
//!
//! Small here; `cargo xtask campaign channels` plays 10,000 updates and a million strangers on each channel, with the
//! seed that a failure printed if `TL_SEED` says it.
#![allow(clippy::disallowed_methods, reason = "kills go by the real clock, and so does a seed that nobody chose")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};
use throughline_model::ids::{ConversationId, PersonId};
use throughline_store::port::{Answer, Ask, DeliveryQuery, Store};
use throughline_store::{OpenOptions, SqliteStore};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, OpenPlatform, VERIFICATION_TOKEN};
use throughline_testkit::noise::Noise;
use throughline_testkit::telegram::BotApi;

use crate::support::dump::dump;
use crate::support::{World, kill_and_wait};

/// How long a daemon lives at most.
const LIFE: Duration = Duration::from_secs(3);
/// How many updates may wait before more are made.
const BACKLOG: usize = 200;
/// The numbers that no noise is going to hit.
const ADA: i64 = 7_345_812_934_455;
const ADA_OPEN_ID: &str = "ou_9f3c51d27ab84e6f";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn noise() -> Noise {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number("TL_SEED").unwrap_or(u64::from(since.subsec_nanos()));
    println!("TL_SEED={seed}");
    Noise::new(seed)
}

/// How Telegram's updates come.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Asked,
    Called,
}

fn settings(bot: &BotApi, app: &OpenPlatform, way: Way) -> String {
    let hook = if way == Way::Called { "webhook = true\n" } else { "" };
    format!(
        "[web]\npublic_url = \"https://desk.example\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n{hook}\
         [channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{}\"\n",
        bot.token(),
        bot.url(),
        app.url()
    )
}

/// Where the daemon listens.
fn address(world: &World) -> String {
    let notice = std::fs::read(world.home.join("daemon.json")).expect("a daemon");
    let notice: Value = serde_json::from_slice(&notice).expect("its notice");
    notice["url"].as_str().expect("its address").trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// The people of a campaign: one person, by four identities.
struct Crowd {
    bot: BotApi,
    app: OpenPlatform,
    world: World,
    kills: usize,
    born: Instant,
}

/// One of the person's chats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Chat {
    Telegram(i64),
    Feishu(usize),
}

const CHATS: [Chat; 4] = [Chat::Telegram(1), Chat::Telegram(2), Chat::Feishu(1), Chat::Feishu(2)];

fn open_id(user: usize) -> String {
    format!("ou_{user}")
}

impl Crowd {
    fn new(way: Way) -> Self {
        let (bot, app) = (BotApi::start(), OpenPlatform::start());
        app.set_ack(600);
        let world = World::with_settings(&settings(&bot, &app, way));
        bot.set_tunnel(&address(&world));
        let crowd = Crowd { bot, app, world, kills: 0, born: Instant::now() };
        for chat in CHATS {
            let channel = if matches!(chat, Chat::Telegram(_)) { "telegram" } else { "feishu" };
            let pairing = crowd.world.json(&["pair", channel]);
            crowd.says(chat, pairing["say"].as_str().expect("what to say"));
            crowd.wait_for(chat, "Paired");
        }
        crowd
    }

    fn says(&self, chat: Chat, text: &str) -> String {
        match chat {
            Chat::Telegram(user) => self.bot.says(user, text).to_string(),
            Chat::Feishu(user) => self.app.says(&open_id(user), text),
        }
    }

    /// What was said in a chat.
    fn heard(&self, chat: Chat) -> Vec<String> {
        match chat {
            Chat::Telegram(user) => {
                let sent = self.bot.sent().into_iter().filter(|sent| sent.chat == user);
                sent.map(|sent| sent.shown.text).collect()
            }
            Chat::Feishu(user) => {
                let place = self.app.knows(&open_id(user));
                let sent = self.app.sent().into_iter().filter(|sent| sent.chat == place);
                sent.map(|sent| sent.words()).collect()
            }
        }
    }

    fn wait_for(&self, chat: Chat, words: &str) {
        match chat {
            Chat::Telegram(user) => {
                self.bot.wait_for_sent(|sent| sent.chat == user && sent.shown.text.contains(words));
            }
            Chat::Feishu(user) => {
                let place = self.app.knows(&open_id(user));
                self.app.wait_for_sent(|sent| sent.chat == place && sent.words().contains(words));
            }
        }
    }

    /// Brings something again that was brought before.
    fn brings_again(&self, chat: Chat, update: &str) {
        match chat {
            Chat::Telegram(_) => self.bot.repeats(update.parse().expect("a number")),
            Chat::Feishu(_) => self.app.brings_again(update),
        }
    }

    fn kill(&mut self) {
        assert!(kill_and_wait(self.world.daemon_pid(), Signal::KILL));
        self.world.ok(&["up"]);
        self.bot.set_tunnel(&address(&self.world));
        self.kills += 1;
        self.born = Instant::now();
    }

    fn conversation(&self, chat: Chat) -> ConversationId {
        let person = PersonId::of_os_user(rustix::process::getuid().as_raw());
        match chat {
            Chat::Telegram(user) => ConversationId::of_place(Some(person), "telegram", &user.to_string()),
            Chat::Feishu(user) => ConversationId::of_place(Some(person), "feishu", &self.app.knows(&open_id(user))),
        }
    }
}

/// What the outbox says, once the daemon is down: the state of each delivery, by conversation and words.
fn outbox(world: &World) -> Vec<(ConversationId, String, String)> {
    world.ok(&["down"]);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&OpenOptions::new(&world.home)).expect("a store"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let answer = runtime
        .block_on(store.ask(Ask::Deliveries(DeliveryQuery { limit: 1_000_000, ..DeliveryQuery::default() })))
        .expect("an answer");
    let Answer::Deliveries(rows) = answer else { panic!("{answer:?}") };
    rows.into_iter().map(|row| (row.conversation, row.text, row.state)).collect()
}

fn play(way: Way) {
    let (updates, mut noise) = (number("TL_UPDATES").unwrap_or(40), noise());
    let mut crowd = Crowd::new(way);
    let mut asked: Vec<(Chat, String, String)> = vec![];
    let (mut turns, mut again) = (0, 0);
    for chat in CHATS {
        crowd.says(chat, "/new say begin");
        crowd.wait_for(chat, "✓");
    }
    for nth in 0..updates {
        let chat = *noise.one_of(&CHATS);
        let words = if nth % 50 == 7 { format!("say word-{nth}.") } else { format!("/status nothing-{nth}") };
        turns += usize::from(words.starts_with("say"));
        let update = crowd.says(chat, &words);
        asked.push((chat, words, update));
        if noise.below(5) == 0 {
            let (chat, _, update) = noise.one_of(&asked).clone();
            crowd.brings_again(chat, &update);
            again += 1;
        }
        if nth % 50 == 49 {
            crowd.bot.wait_for_backlog(BACKLOG);
            crowd.app.wait_for_backlog(BACKLOG);
        }
        if nth % updates.div_ceil(8).max(1) == 4 || crowd.born.elapsed() > LIFE {
            crowd.kill();
        }
    }
    crowd.bot.wait_for_backlog(0);
    crowd.app.wait_for_backlog(0);
    // A result goes to the chat that takes part in its task, and is queued when the turn ends.
    for (nth, chat) in CHATS.into_iter().enumerate() {
        let said = asked.iter().filter(|(from, words, _)| *from == chat && words.starts_with("say")).count();
        crowd.world.wait_for_turns(&format!("shop-{}", nth + 1), said + 1);
    }
    // Each chat gets its messages in order, so what comes before this has ended one way or the other.
    for chat in CHATS {
        crowd.says(chat, "/status the-end");
        crowd.wait_for(chat, "the-end");
    }
    judge(&crowd, &asked, turns);
    println!("{updates} updates, {again} of them again, {turns} turns, {} kills", crowd.kills);
}

fn judge(crowd: &Crowd, asked: &[(Chat, String, String)], turns: usize) {
    let tasks = crowd.world.json(&["tasks", "--all"])["tasks"].as_array().expect("a list").len();
    assert_eq!(tasks, CHATS.len(), "no update made a task twice");
    let done =
        |task: usize| crowd.world.task(&format!("shop-{task}"))["executions"][0]["turns"].as_u64().expect("turns");
    let done: u64 = (1..=CHATS.len()).map(done).sum();
    assert_eq!(done, (turns + CHATS.len()) as u64, "each prompt was given once");
    let heard: BTreeMap<Chat, Vec<String>> = CHATS.into_iter().map(|chat| (chat, crowd.heard(chat))).collect();
    let rows = outbox(&crowd.world);
    let mut unknown = 0;
    for (chat, words, _) in asked.iter().filter(|(_, words, _)| words.starts_with("/status")) {
        let answer = format!("{}.", words.trim_start_matches("/status "));
        let count = heard[chat].iter().filter(|said| said.ends_with(&format!(" {answer}"))).count();
        let conversation = crowd.conversation(*chat);
        let told: Vec<_> =
            rows.iter().filter(|(at, text, _)| *at == conversation && text.ends_with(&format!(" {answer}"))).collect();
        assert_eq!(told.len(), 1, "{answer} had one effect: {told:?}");
        match (chat, told[0].2.as_str()) {
            (_, "sent") => assert_eq!(count, 1, "{answer} was sent, in {chat:?}"),
            (Chat::Telegram(_), "unknown") => {
                unknown += 1;
                assert!(count <= 1, "{answer} was sent blindly again");
            }
            other => panic!("{answer} ended as {other:?}"),
        }
    }
    for (from, words, _) in asked.iter().filter(|(_, words, _)| words.starts_with("say")) {
        let word = words.trim_start_matches("say ");
        for (chat, heard) in &heard {
            let results = heard.iter().filter(|said| said.starts_with('✓') && said.contains(word)).count();
            // One platform knows a delivery again, so no result can be lost or doubled there. No other chat is told.
            let most = usize::from(chat == from);
            let few = matches!(chat, Chat::Telegram(_)) && results == 0;
            assert!(results == most || few, "{word} came {results} times to {chat:?}");
        }
    }
    assert!(unknown <= crowd.kills * 2, "{unknown} answers are unknown after {} kills", crowd.kills);
    println!("{unknown} answers are unknown, and were not sent again");
}

#[test]
fn each_update_has_one_effect_however_often_it_comes_and_the_daemon_dies() {
    play(Way::Called);
}

#[test]
fn each_update_has_one_effect_where_the_platform_is_asked_and_the_daemon_dies() {
    play(Way::Asked);
}

/// How many calls are made before the first is answered.
const AT_ONCE: usize = 50;
/// How much one stranger does.
const EACH: u64 = 5;
/// How many connections a channel's strangers have.
const CONNECTIONS: u64 = 4;

/// A connection that is used again and again.
struct Caller {
    stream: BufReader<TcpStream>,
    path: &'static str,
    header: String,
}

impl Caller {
    fn new(host: &str, path: &'static str, header: &str) -> Self {
        let stream = BufReader::new(TcpStream::connect(host).expect("it listens"));
        Caller { stream, path, header: format!("host: {host}\r\n{header}") }
    }

    /// The statuses of these calls, which are made one after the other without waiting.
    fn post(&mut self, bodies: &[String]) -> Vec<u16> {
        let (path, header) = (self.path, &self.header);
        let call =
            |body: &String| format!("POST {path} HTTP/1.1\r\n{header}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let calls: String = bodies.iter().map(call).collect();
        self.stream.get_mut().write_all(calls.as_bytes()).expect("sent");
        bodies.iter().map(|_| self.answer()).collect()
    }

    fn answer(&mut self) -> u16 {
        let (mut status, mut length) = (0, 0);
        for nth in 0.. {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a line");
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if nth == 0 {
                status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
            }
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.parse().expect("a length");
            }
        }
        self.stream.read_exact(&mut vec![0; length]).expect("a body");
        status
    }
}

/// So many calls of strangers, over several connections; how many were looked at, and did not only knock.
fn crowd(
    strangers: u64,
    noise: &mut Noise,
    caller: impl Fn() -> Caller,
    seeds: impl Fn(&mut Noise) -> Vec<Value> + Send + Clone + 'static,
) -> Vec<JoinHandle<u64>> {
    let one = |nth: u64| {
        let (mut caller, mut noise, seeds) = (caller(), Noise::new(noise.number()), seeds.clone());
        let mut left = (strangers + nth) / CONNECTIONS;
        std::thread::spawn(move || {
            let mut looked_at = 0;
            while left > 0 {
                let mut bodies = vec![];
                while bodies.len() < AT_ONCE && (bodies.len() as u64) < left {
                    let some = seeds(&mut noise);
                    let fit = left - bodies.len() as u64;
                    bodies.extend((0..fit.min(EACH)).map(|_| strange(&mut noise, &some)));
                }
                for (status, body) in caller.post(&bodies).into_iter().zip(&bodies) {
                    assert!(status == 200 || status == 403, "{status} to {body}");
                    looked_at += u64::from(status == 200);
                }
                left -= bodies.len() as u64;
            }
            looked_at
        })
    };
    (0..CONNECTIONS).map(one).collect()
}

/// Tells the chats nothing more, and waits until nothing is on its way to them, nor left to be done about it: then the record
/// rests.
fn rest(world: &World) -> BTreeMap<String, Vec<String>> {
    for chat in ["telegram", "feishu"] {
        world.ok(&["notify", chat, "--off"]);
    }
    let rests = |tables: &BTreeMap<String, Vec<String>>| {
        let on_its_way =
            |row: &String| ["pending", "sending"].iter().any(|state| row.contains(&format!("\"state\":\"{state}\"")));
        !tables["outbox"].iter().any(on_its_way) && !tables["effects"].iter().any(|row| row.contains("deliver:"))
    };
    for _ in 0..1_000 {
        world.json(&["notify"]);
        let tables = dump(&world.home);
        if rests(&tables) {
            return tables;
        }
    }
    panic!("something stays on its way: {:#?}", dump(&world.home)["effects"]);
}

/// What a stranger could send, and what is almost that.
fn strange(noise: &mut Noise, seeds: &[Value]) -> String {
    match noise.below(3) {
        0 => noise.document(seeds),
        _ => noise.one_of(seeds).to_string(),
    }
}

fn updates(noise: &mut Noise, token: &str, message: i64) -> Vec<Value> {
    let user = 1_000 + noise.number() % 100_000;
    let from = json!({"id": user, "is_bot": false, "first_name": "M"});
    let words = ["yes", "approve", "/stop", "/new run rm -rf /", "/start ABCDEFGHJK", "是", "shop-1", "//x", "/file a"];
    let private = json!({"id": user, "type": "private"});
    let theirs = json!({"message_id": message, "date": 1, "chat": {"id": ADA, "type": "private"}});
    let said = json!({"message_id": noise.number() % 1_000_000, "date": 1, "from": from, "chat": private,
        "text": noise.one_of(&words)});
    let group = json!({"message_id": 5, "date": 1, "from": from, "chat": {"id": -5, "type": "supergroup"},
        "text": noise.one_of(&words), "reply_to_message": theirs});
    let in_chat = json!({"message_id": 5, "date": 1, "from": from, "chat": {"id": ADA, "type": "private"}, "text": "yes",
        "reply_to_message": theirs});
    let file = json!({"message_id": 6, "date": 1, "from": from, "chat": private, "caption": "yes",
        "document": {"file_id": "x", "file_name": "a", "file_size": 7}});
    let press = |data: String| json!({"id": "p", "from": from, "message": theirs, "chat_instance": "1", "data": data});
    let number = noise.number() >> 1;
    vec![
        json!({"update_id": number, "message": said}),
        json!({"update_id": number, "message": group}),
        json!({"update_id": number, "message": in_chat}),
        json!({"update_id": number, "message": file}),
        json!({"update_id": number, "callback_query": press(token.to_owned())}),
        json!({"update_id": number, "callback_query": press(token.replace(":y:", ":n:"))}),
    ]
}

fn events(noise: &mut Noise, token: &str, message: &str, chat: &str) -> Vec<Value> {
    let id = format!("e{}", noise.number());
    let user = json!({"open_id": format!("ou_{}", noise.number() % 100_000)});
    let header =
        |kind: &str| json!({"event_id": id, "event_type": kind, "app_id": APP_ID, "token": VERIFICATION_TOKEN});
    let words = ["yes", "/new run rm -rf /", "ABCDEFGHJK", "/stop", "批准"];
    let content = json!({ "text": noise.one_of(&words) }).to_string();
    let said = |kind: &str, place: &str| {
        json!({"schema": "2.0", "header": header("im.message.receive_v1"), "event": {
            "sender": {"sender_id": user, "sender_type": "user"},
            "message": {"message_id": "om_x", "parent_id": message, "chat_id": place, "chat_type": kind,
                "message_type": "text", "content": content}}})
    };
    let press = |token: String| {
        json!({"schema": "2.0", "header": header("card.action.trigger"), "event": {"operator": user,
            "action": {"tag": "button", "value": {"token": token}},
            "context": {"open_message_id": message, "open_chat_id": chat}}})
    };
    vec![
        said("p2p", "oc_x"),
        said("p2p", chat),
        said("group", "oc_g"),
        press(token.to_owned()),
        press(token.replace(":y:", ":n:")),
    ]
}

#[test]
fn whatever_strangers_send_leaves_no_trace_in_any_table() {
    let (strangers, mut noise) = (number("TL_STRANGERS").unwrap_or(1_500), noise());
    let (bot, app) = (BotApi::start(), OpenPlatform::start());
    let called = format!("[channels.feishu.callback]\nverification_token = \"{VERIFICATION_TOKEN}\"\n");
    // A million take longer than an idle process has, and what is due by then is no stranger's doing.
    let lasting = "park_after_secs = 86400\n";
    let world = World::with_settings(&format!("{lasting}{}{called}", settings(&bot, &app, Way::Called)));
    let host = address(&world);
    bot.set_tunnel(&host);
    bot.says(ADA, world.json(&["pair", "telegram"])["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.shown.text.contains("Paired"));
    let pairing = app.payload(&app.says(ADA_OPEN_ID, world.json(&["pair", "feishu"])["say"].as_str().expect("words")));
    let json = "content-type: application/json";
    while Caller::new(&host, "/hooks/feishu", json).post(std::slice::from_ref(&pairing)) != [200] {}
    app.wait_for_sent(|sent| sent.words().contains("Paired"));
    // Both chats take part, so both are asked.
    bot.says(ADA, "/new say ready");
    bot.wait_for_sent(|sent| sent.shown.text.contains("✓ shop-1"));
    let order = app.payload(&app.says(ADA_OPEN_ID, "run echo hi"));
    while Caller::new(&host, "/hooks/feishu", json).post(std::slice::from_ref(&order)) != [200] {}
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    let card = app.wait_for_sent(|sent| sent.words().contains("waiting for approval"));
    let yes = asked.buttons.iter().flatten().next().expect("a button").data.clone();
    let card_yes = card.buttons()[0].1["token"].as_str().expect("a token").to_owned();
    let secret = format!("x-telegram-bot-api-secret-token: {}", bot.wait_for_hook().secret.expect("a secret"));
    let approval = world.wait_for_approval("shop-1");
    let (before, began) = (rest(&world), Instant::now());
    assert!(before["events"].len() > 10 && !before["outbox"].is_empty(), "the record is there");
    let feishus = crowd(
        strangers,
        &mut noise,
        || Caller::new(&host, "/hooks/feishu", json),
        move |noise| events(noise, &card_yes, &card.id, &card.chat),
    );
    let telegrams = crowd(
        strangers,
        &mut noise,
        || Caller::new(&host, "/hooks/telegram", &secret),
        move |noise| updates(noise, &yes, asked.id),
    );
    let looked_at = |crowd: Vec<JoinHandle<u64>>| crowd.into_iter().map(|one| one.join().expect("an end")).sum::<u64>();
    assert_eq!(looked_at(telegrams), strangers, "all have the secret");
    let believed = looked_at(feishus);
    assert!(believed > strangers / 2, "{believed} of {strangers} have the token");
    println!("{strangers} updates and {strangers} events of strangers in {} s", began.elapsed().as_secs());
    assert_eq!(world.task("shop-1")["approvals"][0]["id"], approval, "it still waits");
    assert_eq!(world.json(&["identities"])["identities"].as_array().expect("a list").len(), 3);
    for (table, rows) in dump(&world.home) {
        let new: Vec<_> = rows.iter().filter(|row| !before[&table].contains(row)).collect();
        assert!(new.is_empty() && rows.len() == before[&table].len(), "{table} has changed: {new:#?}");
    }
}
