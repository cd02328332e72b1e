//! From a message to the first update of the agent: through the daemon, its record and a keeper, against the same agent
//! at the end of a pipe, in alternating rounds.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::Size;
use crate::daemon::{self, Daemon};
use crate::listener::{Listener, PATIENCE, ends_turn, has};
use crate::measure::{Readings, now_nanos};
use crate::table::{Figure, Goal};

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home)?;
    let daemon = Daemon::start(&home)?;
    daemon.add_project(&folder.path().join("project"), "demo").await?;
    daemon.open_conversation().await?;
    // The first turn starts the agent, which is not what is measured.
    let task = daemon.say(None, "say warm", "warm").await?.task.context("the message went to no task")?.key;
    let mut client = Listener::open(&daemon, &task).await?;
    client.settle(&daemon).await?;
    let mut agent = Agent::start(folder.path())?;
    agent.prompt("warm")?;
    let (mut through, mut direct) = (Readings::default(), Readings::default());
    for round in 0..size.pick(5, 200) {
        let word = format!("word-{round}");
        direct.add(agent.prompt(&word)?);
        through.add(prompt(&daemon, &mut client, &word).await?);
    }
    daemon.stop()?;
    let (through, direct) = (through.spread()?, direct.spread()?);
    let beside = format!(
        "through p50 {:.2} ms, p99 {:.2} ms; over a pipe p50 {:.2} ms, p99 {:.2} ms",
        through.p50_ms, through.p99_ms, direct.p50_ms, direct.p99_ms
    );
    Ok(vec![
        Figure::new("prompt", "added to the first update, p50", through.p50_ms - direct.p50_ms, "ms")
            .goal(Goal::Below(10.0))
            .beside(beside),
        Figure::new("prompt", "first update, p50 ÷ over a pipe", through.p50_ms / direct.p50_ms, "×"),
    ])
}

/// Sends a message and takes the time to the first of the agent's words; returns when the turn is over.
async fn prompt(daemon: &Daemon, client: &mut Listener, word: &str) -> Result<u64> {
    let text = format!("say {word}");
    let task = client.task().to_owned();
    let sent = now_nanos();
    let follow = async {
        let mut first = None;
        loop {
            let frame = client.next().await?;
            // A message that is short enough comes as a whole, not as live text.
            let agents = frame.name() == b"live" || has(&frame, br#""type":"message""#);
            if first.is_none() && agents && has(&frame, word.as_bytes()) {
                first = Some(client.arrived());
            }
            // The end of the turn before may still be on its way.
            if let (Some(first), true) = (first, ends_turn(&frame)) {
                return anyhow::Ok(first);
            }
        }
    };
    let both = async { tokio::try_join!(follow, daemon.say(Some(&task), &text, word)) };
    let (first, _) = tokio::time::timeout(PATIENCE, both).await.context("the word does not come")??;
    Ok(first.saturating_sub(sent))
}

/// The built-in agent at the end of a pipe, with one session. It ends when this goes.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    session: Value,
    calls: u64,
}

impl Agent {
    fn start(folder: &Path) -> Result<Self> {
        let cwd = folder.join("direct");
        std::fs::create_dir_all(&cwd)?;
        let mut child = Command::new(daemon::tl()?)
            .args(["agent", "demo"])
            .current_dir(&cwd)
            .env("THROUGHLINE_HOME", cwd.join("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = child.stdin.take().zip(child.stdout.take()).context("pipes")?;
        let mut agent = Agent { child, stdin, stdout: BufReader::new(stdout), session: Value::Null, calls: 0 };
        agent.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}), |_| ())?;
        let opened = agent.call("session/new", &json!({"cwd": cwd, "mcpServers": []}), |_| ())?;
        agent.session = opened["sessionId"].clone();
        Ok(agent)
    }

    /// The time to the first of its words.
    fn prompt(&mut self, word: &str) -> Result<u64> {
        let content = json!([{"type": "text", "text": format!("say {word}")}]);
        let params = json!({"sessionId": self.session, "prompt": content});
        let mut first = None;
        let sent = now_nanos();
        self.call("session/prompt", &params, |update| {
            let says = update["sessionUpdate"] == "agent_message_chunk";
            if says && update["content"]["text"].as_str().is_some_and(|text| text.contains(word)) {
                first.get_or_insert_with(now_nanos);
            }
        })?;
        Ok(first.context("the turn ended without the word")?.saturating_sub(sent))
    }

    /// Calls a method and hands on what it is told before the answer.
    fn call(&mut self, method: &str, params: &Value, mut update: impl FnMut(&Value)) -> Result<Value> {
        self.calls += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        self.stdin.write_all(format!("{call}\n").as_bytes())?;
        let mut line = String::new();
        while self.stdout.read_line(&mut line)? > 0 {
            let mut message: Value = serde_json::from_str(&line)?;
            if message["method"] == "session/update" {
                update(&message["params"]["update"]);
            } else if message["id"] == self.calls {
                if let Some(error) = message.get("error") {
                    bail!("the agent refused {method}: {error}");
                }
                return Ok(message["result"].take());
            }
            line.clear();
        }
        bail!("the agent ended within {method}")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
