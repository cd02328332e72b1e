//! A client that speaks raw JSON-RPC lines, so that what is tested is what is on the wire.
//!
//! Every wait is bounded, and waits for a frame, never for time to pass.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split,
};
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(20);

/// The client's end, and all frames that it took off the wire and nobody has asked for yet.
pub struct Client {
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    pub frames: Vec<Value>,
    ids: usize,
}

pub type Agent = JoinHandle<Result<(), throughline_acp::demo::DemoError>>;

/// How one prompt went.
pub struct Turn {
    pub answer: Value,
    pub updates: Vec<Value>,
}

impl Client {
    pub fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        Self { input: Box::new(input), output: BufReader::new(Box::new(output)), frames: Vec::new(), ids: 0 }
    }

    /// Starts an agent on a pipe in memory, and says hello to it.
    pub async fn connect(state_dir: &Path) -> (Self, Agent) {
        let (mut client, agent) = Self::connect_silently(state_dir);
        client.initialize(json!({})).await;
        (client, agent)
    }

    pub fn connect_silently(state_dir: &Path) -> (Self, Agent) {
        let (near, far): (DuplexStream, DuplexStream) = duplex(64 * 1024);
        let (far_in, far_out) = split(far);
        let (near_in, near_out) = split(near);
        let state_dir = state_dir.to_owned();
        let agent = tokio::spawn(async move { throughline_acp::demo::serve(&state_dir, far_in, far_out).await });
        (Self::new(near_out, near_in), agent)
    }

    pub async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.call("initialize", params).await["result"].clone()
    }

    pub async fn send(&mut self, frame: Value) {
        let line = frame.to_string() + "\n";
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    /// Closes the agent's input, and goes on listening.
    pub async fn hang_up(&mut self) {
        self.input.shutdown().await.unwrap();
        // A pipe is closed by dropping it.
        self.input = Box::new(tokio::io::sink());
    }

    pub async fn request(&mut self, id: &str, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// The next frame, or `None` at the end of the agent's output.
    pub async fn read(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, self.output.read_line(&mut line));
            if read.await.expect("the agent says something").unwrap() == 0 {
                return None;
            }
            // A test binary that plays the agent prints its own chatter around the frames.
            if let Some(start) = line.find('{') {
                return Some(serde_json::from_str(&line[start..]).expect("frames are JSON"));
            }
        }
    }

    /// Reads on until a frame fits; the others are kept.
    pub async fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let frame = self.read().await.expect("the agent is still there");
            if fits(&frame) {
                return frame;
            }
            self.frames.push(frame);
        }
    }

    pub async fn answer_to(&mut self, id: &str) -> Value {
        self.until(|frame| frame["id"] == id && frame.get("method").is_none()).await
    }

    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.ids += 1;
        let id = format!("call:{}", self.ids);
        self.request(&id, method, params).await;
        self.answer_to(&id).await
    }

    pub async fn open(&mut self, cwd: &Path) -> String {
        let opened = self.call("session/new", json!({ "cwd": cwd, "mcpServers": [] })).await;
        let id = opened["result"]["sessionId"].as_str();
        id.expect("a session").to_owned()
    }

    /// `session/load`, `session/resume` or `session/fork`.
    pub async fn reopen(&mut self, method: &str, session: &str, cwd: &Path) -> Value {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        self.call(method, params).await
    }

    /// Sends a prompt under the id `turn:NAME`.
    pub async fn prompt(&mut self, name: &str, session: &str, text: &str) {
        let params = json!({
            "sessionId": session,
            "prompt": [{ "type": "text", "text": text }],
        });
        let id = format!("turn:{name}");
        self.request(&id, "session/prompt", params).await;
    }

    /// Waits for the end of a turn.
    pub async fn turn(&mut self, name: &str) -> Turn {
        let answer = self.answer_to(&format!("turn:{name}")).await;
        Turn { answer, updates: self.take_updates() }
    }

    /// A whole turn that needs no permission.
    pub async fn whole_turn(&mut self, session: &str, text: &str) -> Turn {
        self.take_updates();
        self.prompt("whole", session, text).await;
        self.turn("whole").await
    }

    pub async fn permission_request(&mut self) -> Value {
        self.until(|frame| frame["method"] == "session/request_permission").await
    }

    pub async fn choose(&mut self, request: &Value, option: &str) {
        let outcome = json!({ "outcome": "selected", "optionId": option });
        let result = json!({ "outcome": outcome });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub fn take_updates(&mut self) -> Vec<Value> {
        let frames = std::mem::take(&mut self.frames);
        let updates = frames.into_iter().filter(|frame| frame["method"] == "session/update");
        updates
            .map(|mut frame| frame["params"]["update"].take())
            .filter(|update| update["sessionUpdate"] != "available_commands_update")
            .collect()
    }
}

impl Turn {
    pub fn stop_reason(&self) -> &str {
        self.answer["result"]["stopReason"].as_str().unwrap_or("none")
    }

    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        of_kind(&self.updates, kind)
    }

    pub fn said(&self) -> String {
        said(&self.updates)
    }

    /// The last status of each tool call, in the order in which they ended.
    pub fn call_ends(&self) -> Vec<&str> {
        self.of_kind("tool_call_update")
            .filter_map(|update| update["status"].as_str())
            .filter(|status| *status == "completed" || *status == "failed")
            .collect()
    }
}

pub fn of_kind<'a>(updates: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    updates.iter().filter(move |update| update["sessionUpdate"] == kind)
}

/// All message text, one message per line.
pub fn said(updates: &[Value]) -> String {
    let mut text = String::new();
    let mut last = &Value::Null;
    for chunk in of_kind(updates, "agent_message_chunk") {
        if !text.is_empty() && *last != chunk["messageId"] {
            text.push('\n');
        }
        last = &chunk["messageId"];
        text += chunk["content"]["text"].as_str().expect("text");
    }
    text
}
