//! Our channels and the stubs of their platforms against software that others wrote: `channels-check/install` brings it.
//! Where it is missing these tests are skipped, and fail on CI.
#![allow(clippy::disallowed_methods, reason = "these tests start programs")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use throughline_channels::platforms::telegram::Telegram;
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{Button, Channel as _, Outbound, What};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, Callback, OpenPlatform, VERIFICATION_TOKEN};
use throughline_testkit::telegram::TOKEN;

use crate::inbox::{Listener, outbound};

/// How long a program may take for the next line.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder with the programs, or nothing if they are not installed and nobody insists.
fn installed() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../channels-check/install");
    let asked = Command::new(script).arg("--where").output().expect("bash runs");
    if asked.status.success() {
        return Some(PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim()));
    }
    let insisted = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!insisted, "{}", String::from_utf8_lossy(&asked.stderr));
    println!("channels-check is not installed: skipped");
    None
}

/// A program that prints a line of JSON for each thing that it did, until it is dropped.
struct Program {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
}

impl Program {
    /// None if it is not installed and nobody insists.
    fn start(script: &str, argument: &str) -> Option<Self> {
        let folder = installed()?;
        let mut command = Command::new("node");
        command
            .arg(folder.join(script))
            .arg(argument)
            .current_dir(folder)
            .env_remove("HTTP_PROXY")
            .env_remove("http_proxy");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node runs");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (print, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if print.send(line).is_err() {
                    return;
                }
            }
        });
        Some(Self { child, stdin, lines })
    }

    fn line(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the program says something")
    }

    fn asks(&mut self, order: &Value) -> Value {
        writeln!(self.stdin, "{order}").expect("the program listens");
        self.line()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_telegram_client_gets_on_with_a_bot_api_that_others_wrote() {
    let Some(mut api) = Program::start("bot-api.cjs", TOKEN) else { return };
    let url = api.line()["url"].as_str().unwrap().to_owned();
    let telegram = Arc::new(Telegram::new(&url, TOKEN, None).unwrap());
    let listener = Listener::start(telegram.clone());
    api.asks(&json!({"say": "hello"}));
    assert_eq!(listener.inbox.words(1).await, ["hello"]);
    let mut question = outbound("42", Rich::plain("run it? ").and(Look::Code, "a.b"));
    question.buttons = vec![vec![Button { label: "Yes".into(), token: "approve".into() }]];
    let receipt = telegram.send(&question).await.unwrap();
    let sent = api.asks(&json!({"look": 1}));
    assert_eq!(sent[0]["text"], "run it? `a.b`");
    assert_eq!(sent[0]["parse_mode"], "MarkdownV2");
    assert_eq!(sent[0]["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "approve");
    api.asks(&json!({"press": "approve"}));
    assert_eq!(listener.inbox.words(2).await, ["hello", "approve"]);
    let What::Pressed(press) = listener.inbox.taken().remove(1).what else { panic!("pressed") };
    assert_eq!(press.under, receipt.message);
    telegram.acknowledge(&press, "noted").await.unwrap();
    let change = Outbound { replaces: Some(receipt.message.clone()), ..outbound("42", Rich::plain("done.")) };
    assert_eq!(telegram.send(&change).await, Ok(receipt));
    let sent = api.asks(&json!({"look": 1}));
    assert_eq!((sent.as_array().unwrap().len(), &sent[0]["text"]), (1, &json!("done\\.")));
    listener.stop().await;
}

/// A message as an encrypted and signed callback, and the question that comes before all others.
fn callbacks() -> Value {
    let platform = OpenPlatform::start();
    let event = platform.says("ou_1", "sealed");
    let call = Callback::new(&platform.payload(&event), Some("key"), 1_790_000_000);
    let challenge = json!({"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "are you there?"});
    json!({"encryptKey": "key", "timestamp": call.timestamp, "nonce": call.nonce, "signature": call.signature,
        "body": call.body, "challenge": Callback::new(&challenge.to_string(), Some("key"), 1).body})
}

#[test]
fn the_platforms_own_sdk_is_content_with_our_stub() {
    let platform = OpenPlatform::start();
    platform.set_ack(600);
    let chat = platform.knows("ou_1");
    let asked = json!({"url": platform.url(), "appId": APP_ID, "appSecret": APP_SECRET, "chat": chat,
        "events": 4, "callback": callbacks()});
    let Some(sdk) = Program::start("feishu-sdk.cjs", &asked.to_string()) else { return };
    let first = sdk.line();
    let card = platform.sent().remove(0);
    assert_eq!(first, json!({"sent": card.id, "chat": chat}));
    assert_eq!(sdk.line(), json!({"again": card.id}), "the same key makes one message");
    assert_eq!(sdk.line(), json!({"patched": 0}));
    let replied = sdk.line();
    let answer = platform.sent().remove(1);
    assert_eq!((&replied["replied"], &replied["root"]), (&json!(answer.id), &json!(card.id)));
    assert!(replied["thread"].as_str().is_some_and(|thread| thread.starts_with("omt_")));
    assert_eq!(sdk.line(), json!({"file": "the file's bytes"}));
    assert_eq!(sdk.line(), json!({"refused": 230_002}));
    let challenge = json!({"isChallenge": true, "challenge": {"challenge": "are you there?"}});
    assert_eq!(sdk.line(), json!({"callback": ["sealed"], "challenge": challenge}), "and what is forged is not heard");
    assert_eq!((platform.sent()[0].words(), platform.sent()[0].edits), ("done".to_owned(), 1));

    assert_eq!(sdk.line(), json!({"listening": true}));
    let said = platform.says("ou_1", "hello");
    assert_eq!(sdk.line(), json!({"said": "hello", "by": "ou_1", "chat": chat}));
    platform.set_piece(50);
    let pressed = platform.presses("ou_1", &card, json!({"token": "approve"}));
    assert_eq!(sdk.line(), json!({"pressed": {"token": "approve"}, "under": card.id}));
    let refused = platform.says("ou_1", "no");
    assert_eq!(sdk.line()["said"], "no");
    platform.wait_for_quiet();
    platform.cut();
    assert_eq!(sdk.line(), json!({"reconnected": true}));
    platform.says("ou_1", "after");
    assert_eq!(sdk.line()["said"], "after");
    platform.wait_for_quiet();
    assert_eq!((platform.answers_to(&said), platform.answers_to(&pressed)), (vec![200], vec![200]));
    assert_eq!(platform.answers_to(&refused), [500, 200], "what was refused came again");
    assert!(platform.pings() >= 2, "one for each connection");
}
