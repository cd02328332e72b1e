//! A whole story as a person reads it on a phone: every message of it, on each platform and in each language. The platforms
//! are stubs that keep the real ones' rules; the daemon and the agent are the real ones.
//!
//! What is waited for is one message by its words, so it does not matter what else comes meanwhile: a message that tells how
//! far work is comes only where the work takes long.

use throughline_testkit::feishu::{Message, OpenPlatform};
use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::{World, chats};

const ADA: i64 = 42;
const ADA_OPEN_ID: &str = "ou_ada";

/// A message as a person sees it.
struct Seen {
    text: String,
    buttons: Vec<String>,
}

/// Whether a message follows work that takes long.
fn follows(text: &str) -> bool {
    text.contains('⏳') || text.contains("completed in") || text.contains("用时")
}

/// The same words however long it takes, and whenever.
fn steady(text: String) -> String {
    let text = (1..10).fold(text, |text, minutes| {
        let (en, zh) = (format!("{minutes} min"), format!("{minutes} 分钟"));
        let text = text.replace(&format!("{en} ago"), "just now").replace(&format!("{zh}前"), "刚刚");
        text.replace(&format!(" · {en}"), "").replace(&format!(" · {zh}"), "")
    });
    let lines = text.split('\n').map(|line| match (line.split_once(" in "), line.split_once("用时 ")) {
        (Some((head, _)), _) if head.ends_with("completed") => format!("{head} in 5 s"),
        (_, Some((head, _))) => format!("{head}用时 5 秒"),
        _ => moment_apart(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A moment such as `2026-11-16 14:00 UTC` is always the same one.
fn moment_apart(line: &str) -> String {
    const LETTERS: usize = "2026-11-16 14:00".len();
    match line.split_once(" UTC") {
        Some((head, rest)) if head.len() > LETTERS => {
            format!("{}2026-11-16 14:00 UTC{rest}", &head[..head.len() - LETTERS])
        }
        _ => line.to_owned(),
    }
}

/// A chat on one platform.
trait Phone {
    fn settings(&self) -> String;
    fn channel(&self) -> &'static str;
    fn says(&self, text: &str);
    /// Waits for a message that fits, after so many others.
    fn hears(&self, after: usize, fits: &dyn Fn(&str) -> bool) -> Seen;
    fn count(&self) -> usize;
    /// Presses a button of the newest message that has one like this.
    fn presses(&self, label: &str);
}

impl Phone for BotApi {
    fn settings(&self) -> String {
        chats::telegram(self)
    }

    fn channel(&self) -> &'static str {
        "telegram"
    }

    fn says(&self, text: &str) {
        BotApi::says(self, ADA, text);
    }

    fn hears(&self, after: usize, fits: &dyn Fn(&str) -> bool) -> Seen {
        let old: Vec<i64> = self.sent().iter().take(after).map(|sent| sent.id).collect();
        let sent = self.wait_for_sent(|sent| !old.contains(&sent.id) && fits(&sent.shown.text));
        let buttons = sent.buttons.iter().flatten().map(|key| key.text.clone()).collect();
        Seen { text: sent.shown.text, buttons }
    }

    fn count(&self) -> usize {
        self.sent().len()
    }

    fn presses(&self, label: &str) {
        let has = |sent: &Sent| sent.buttons.iter().flatten().any(|key| key.text.contains(label));
        let under = self.sent().into_iter().rfind(has).expect("a button");
        let key = under.buttons.iter().flatten().find(|key| key.text.contains(label)).expect("a button");
        BotApi::presses(self, ADA, &under, &key.data);
    }
}

impl Phone for OpenPlatform {
    fn settings(&self) -> String {
        chats::feishu(self)
    }

    fn channel(&self) -> &'static str {
        "feishu"
    }

    fn says(&self, text: &str) {
        OpenPlatform::says(self, ADA_OPEN_ID, text);
    }

    fn hears(&self, after: usize, fits: &dyn Fn(&str) -> bool) -> Seen {
        let old: Vec<String> = self.sent().iter().take(after).map(|sent| sent.id.clone()).collect();
        let sent = self.wait_for_sent(|sent| !old.contains(&sent.id) && fits(&sent.words()));
        Seen { text: sent.words(), buttons: sent.buttons().into_iter().map(|(label, _)| label).collect() }
    }

    fn count(&self) -> usize {
        self.sent().len()
    }

    fn presses(&self, label: &str) {
        let has = |sent: &Message| sent.buttons().iter().any(|(text, _)| text.contains(label));
        let under = self.sent().into_iter().rfind(has).expect("a button");
        let value = under.buttons().into_iter().find(|(text, _)| text.contains(label)).expect("a button").1;
        OpenPlatform::presses(self, ADA_OPEN_ID, &under, value);
    }
}

/// A story, and what was seen of it.
struct Story<'a> {
    phone: &'a dyn Phone,
    world: &'a World,
    told: String,
}

impl Story<'_> {
    /// Says something; each of these words comes in a message of its own.
    fn says(&mut self, text: &str, answers: &[&str]) {
        let before = self.phone.count();
        self.phone.says(text);
        self.told.push_str(&format!("\n> {}\n", text.replace('\n', "\n> ")));
        self.sees(before, answers);
    }

    fn presses(&mut self, label: &str, answers: &[&str]) {
        let before = self.phone.count();
        self.phone.presses(label);
        self.told.push_str(&format!("\n> [{label}]\n"));
        self.sees(before, answers);
    }

    fn sees(&mut self, before: usize, answers: &[&str]) {
        for words in answers {
            let seen = self.phone.hears(before, &|text| !follows(text) && text.contains(words));
            self.tells(&seen);
        }
    }

    /// Says something elsewhere, in a terminal.
    fn says_at_the_desk(&mut self, text: &str, answers: &[&str]) {
        let before = self.phone.count();
        self.world.ok(&["say", "--new", text]);
        self.told.push_str(&format!("\n(at the desk: {text})\n"));
        self.sees(before, answers);
    }

    /// The program `check` of the project waits for this file.
    fn waits_for(&self, file: &str) {
        let script = format!("until [ -e {file} ]; do sleep 0.1; done; echo all is well\n");
        std::fs::write(self.world.project.join("check"), script).expect("a program");
    }

    fn goes_on(&self, file: &str) {
        std::fs::write(self.world.project.join(file), "").expect("a file");
    }

    /// The message that follows work says this by now.
    fn follows(&mut self, words: &str) {
        let seen = self.phone.hears(0, &|text| follows(text) && text.contains(words));
        self.told.push_str("(silently)\n");
        self.tells(&seen);
    }

    /// A message that was there before says this by now.
    fn changed(&mut self, words: &str) {
        let seen = self.phone.hears(0, &|text| !follows(text) && text.contains(words));
        self.told.push_str("(changed)\n");
        self.tells(&seen);
    }

    fn tells(&mut self, seen: &Seen) {
        let project = self.world.project.display().to_string();
        let nobody = format!("user {}", rustix::process::getuid().as_raw());
        let text = steady(seen.text.replace(&project, "/code/shop").replace(&nobody, "Ada"));
        self.told.push_str(&format!("{text}\n"));
        if !seen.buttons.is_empty() {
            self.told.push_str(&format!("[{}]\n", seen.buttons.join("] [")));
        }
    }
}

fn begin<'a>(phone: &'a dyn Phone, world: &'a World, paired: &str) -> Story<'a> {
    let mut story = Story { phone, world, told: String::new() };
    let pairing = world.json(&["pair", phone.channel()]);
    story.phone.says(pairing["say"].as_str().expect("what to say"));
    story.sees(0, &[paired]);
    story
}

#[test]
fn as_read_on_a_phone_in_english() {
    let bot = BotApi::start();
    let world = World::with_settings(&bot.settings());
    let mut story = begin(&bot, &world, "Paired");
    story.says("/help", &["/new TEXT"]);
    story.says("/tasks", &["Nothing is open"]);
    story.says("/new plan look around; write notes", &["→ new task", "✓ shop-1"]);
    story.says("ask Which colour should it be?", &["→ continues", "❓ shop-1"]);
    story.says("green", &["→ answers", "You answered"]);
    story.says("form Which size?", &["→ continues", "❓ shop-1"]);
    story.says("big", &["→ answers", "You answered"]);
    story.says("run echo hi", &["→ continues", "waiting for approval"]);
    story.says("no, use make instead", &["Denied", "✓ shop-1"]);
    story.changed("denied by");
    story.says("run echo hi", &["→ continues", "waiting for approval"]);
    story.presses("Approve once", &["exit code 0"]);
    story.changed("approved by");
    story.says("/new fail", &["→ new task", "✗ shop-2"]);
    story.presses("Try again", &["✗ shop-2"]);
    story.says("/status shop-1", &["demo rests"]);
    story.says("/status shop-99", &["shop-99"]);
    story.says("/more shop-1", &["project: shop"]);
    story.says("/tasks", &["shop-2"]);
    story.says("/digest", &["The last"]);
    story.says("/notify", &["You are told here"]);
    story.says("/notify nonsense", &["nonsense"]);
    story.says("/quiet 25:00-07:00", &["no such time zone"]);
    story.says("/stop shop-1", &["Nothing runs"]);
    story.says("/diff shop-1", &["nothing yet"]);
    story.says("/file nothing.txt", &["nothing.txt"]);
    story.says("/new", &["Say what to do"]);
    story.says("thanks!", &["welcome"]);
    insta::assert_snapshot!(story.told);
}

#[test]
fn as_read_on_a_phone_in_chinese() {
    let app = OpenPlatform::start();
    let world = World::with_settings(&app.settings());
    world.ok(&["locale", "zh"]);
    let mut story = begin(&app, &world, "配对成功");
    story.says("/help", &["/new 文字"]);
    story.says("/tasks", &["没有打开的任务"]);
    story.says("/new plan 看一看; 写笔记", &["→ 新任务", "✓ shop-1"]);
    story.says("ask 用什么颜色？", &["→ 继续", "❓ shop-1"]);
    story.says("绿色", &["→ 回答", "You answered"]);
    story.says("form 要多大的尺寸", &["→ 继续", "❓ shop-1"]);
    story.says("大的", &["→ 回答", "You answered"]);
    story.says("run echo hi", &["→ 继续", "等待批准"]);
    story.presses("拒绝", &["✓ shop-1"]);
    story.changed("拒绝（");
    story.says("run echo hi", &["→ 继续", "等待批准"]);
    story.presses("批准一次", &["exit code 0"]);
    story.changed("批准（");
    story.says("/new fail", &["→ 新任务", "✗ shop-2"]);
    story.presses("重试", &["✗ shop-2"]);
    story.says("/status shop-1", &["demo 空闲"]);
    story.says("/status shop-99", &["shop-99"]);
    story.says("/more shop-1", &["项目：shop"]);
    story.says("/tasks", &["shop-2"]);
    story.says("/digest", &["最近"]);
    story.says("/notify", &["这里会通知你"]);
    story.says("/notify 胡说", &["胡说"]);
    story.says("/quiet 25:00-07:00", &["没有这个时区"]);
    story.says("/stop shop-1", &["没有正在运行"]);
    story.says("/diff shop-1", &["shop-1"]);
    story.says("/file nothing.txt", &["nothing.txt"]);
    story.says("/new", &["/new 文字"]);
    story.says("谢谢！", &["不客气"]);
    insta::assert_snapshot!(story.told);
}

/// Two tasks that began at the desk, one that takes long, and an agent that may do no more today.
#[test]
fn on_the_way_in_english() {
    let bot = BotApi::start();
    let world = World::with_settings(&bot.settings());
    let mut story = begin(&bot, &world, "Paired");
    story.says_at_the_desk("say the cart is ready", &["✓ shop-1"]);
    story.says_at_the_desk("say the login is ready", &["✓ shop-2"]);
    story.says("make it green", &["Which"]);
    story.presses("shop-1", &["→", "I did nothing"]);
    story.waits_for("go");
    story.says("/new run sh check", &["→ new task", "waiting for approval"]);
    story.presses("Approve once", &[]);
    story.follows("is working");
    story.goes_on("go");
    story.sees(0, &["exit code 0"]);
    story.follows("completed in");
    story.says("/new limit 90", &["→ new task", "✗ shop-4"]);
    story.says("/status shop-4", &["shop-4"]);
    story.says("/tasks", &["shop-1"]);
    insta::assert_snapshot!(story.told);
}

#[test]
fn on_the_way_in_chinese() {
    let app = OpenPlatform::start();
    let world = World::with_settings(&app.settings());
    world.ok(&["locale", "zh"]);
    let mut story = begin(&app, &world, "配对成功");
    story.says_at_the_desk("say 购物车好了", &["✓ shop-1"]);
    story.says_at_the_desk("say 登录好了", &["✓ shop-2"]);
    story.says("继续", &["哪"]);
    story.presses("shop-1", &["→", "I did nothing"]);
    story.waits_for("go");
    story.says("/new run sh check", &["→ 新任务", "等待批准"]);
    story.presses("批准一次", &[]);
    story.follows("正在工作");
    story.goes_on("go");
    story.sees(0, &["exit code 0"]);
    story.follows("用时");
    story.says("/new limit 90", &["→ 新任务", "✗ shop-4"]);
    story.says("/status shop-4", &["shop-4"]);
    story.says("/tasks", &["shop-1"]);
    insta::assert_snapshot!(story.told);
}
