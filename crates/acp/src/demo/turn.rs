//! One turn: the steps of a prompt, done in order, each through the ordinary protocol.
//!
//! *Invariants.* Every update is in the session's file before it is sent. A step that was not done is
//! never said to be done. Stopping a turn is dropping it: no step needs to know about cancelling,
//! and [`Turn::close_open_calls`] says afterwards what was cut short.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ContentChunk, Cost, CreateElicitationRequest, CurrentModeUpdate, ElicitationAction, ElicitationContentValue,
    ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, MessageId, Meta, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCall, ToolCallId, ToolCallUpdate, ToolCallUpdateFields,
    Usage, UsageUpdate,
};
use serde_json::json;

use super::line::{Line, Word, usage_list};
use super::offer::Mode;
use super::open_session::{OpenSession, interrupted};
use super::session_file::{Record, SessionFileError};
use super::shell;
use super::steps::Step;
use super::wire::Wire;

/// How an answer to `ask` comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The client shows forms: the turn waits for it.
    ByForm,
    /// As the next prompt: the turn ends on the question.
    ByPrompt,
}

/// How a turn came to its end by itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every step was gone through.
    Done,
    /// The last message is a question.
    Asked,
}

/// Why a turn did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The client answered a permission request with "cancelled".
    #[error("cancelled")]
    Cancelled,
    /// A `fail` line.
    #[error("the line `fail` asked for this turn to fail")]
    Asked,
    /// A `limit` line.
    #[error("the usage limit is reached, try again in {0} minutes")]
    Limited(u64),
    /// What happened could not be recorded.
    #[error(transparent)]
    Storage(#[from] SessionFileError),
    /// The client could not be reached.
    #[error("the client cannot be reached: {0}")]
    Wire(#[from] Error),
}

/// A turn that runs.
pub struct Turn {
    pub session: Arc<OpenSession>,
    pub wire: Wire,
    pub answers: Answers,
    number: usize,
    minted: usize,
}

impl Turn {
    /// The turn of the prompt that was recorded last.
    pub fn new(session: Arc<OpenSession>, wire: Wire, answers: Answers) -> Self {
        let number = session.known(|known| known.prompts.len());
        Self { session, wire, answers, number, minted: 0 }
    }

    /// Does the steps. `answering` is the question that this prompt may be the answer to.
    pub async fn perform(&mut self, steps: Vec<Step>, answering: Option<String>) -> Result<Ending, TurnError> {
        if steps.is_empty() {
            let text = format!("The prompt was empty. {}", understood());
            self.say(&text).await?;
        }
        let mut steps = steps.into_iter();
        while let Some(step) = steps.next() {
            match step {
                Step::Do(Line::Form(question)) if self.answers == Answers::ByForm => {
                    self.ask_by_form(&question).await?;
                }
                Step::Do(Line::Ask(question) | Line::Form(question)) => {
                    self.ask(question, steps.len()).await?;
                    return Ok(Ending::Asked);
                }
                Step::Do(line) => self.line(line).await?,
                Step::Acknowledge(attachment) => {
                    self.say(&format!("Received: {attachment}.")).await?;
                }
                Step::Explain(lines) => match &answering {
                    Some(question) => self.take_answer(question, &lines).await?,
                    None => self.explain(&lines).await?,
                },
            }
        }
        Ok(Ending::Done)
    }

    async fn line(&mut self, line: Line) -> Result<(), TurnError> {
        match line {
            Line::Run(command) => self.run(&command).await,
            Line::Write { path, text } => self.write(&path, &text).await,
            Line::Append { path, text } => self.append(&path, &text).await,
            Line::Read(path) => self.read(&path).await,
            Line::Plan(entries) => self.plan(&entries).await,
            Line::Ask(_) | Line::Form(_) => Ok(()), // Taken by `perform`, since they may end the turn.
            Line::Say(text) => self.say(&text).await,
            Line::Stream(chunks) => self.stream(chunks).await,
            Line::Sleep(millis) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                self.say(&format!("Slept for {millis} ms.")).await
            }
            Line::Spend { tokens, cents } => self.spend(tokens, cents).await,
            Line::Recall => self.recall().await,
            Line::Model => {
                let model = self.session.known(|known| known.model);
                self.say(&format!("The model is {}.", model.id())).await
            }
            Line::Mode(mode) => self.change_mode(mode).await,
            Line::Given => self.given().await,
            Line::Help => self.say(&understood()).await,
            Line::Fail => Err(TurnError::Asked),
            Line::Limit(minutes) => Err(TurnError::Limited(minutes)),
            Line::Crash => shell::kill_self(),
            Line::Hang => std::future::pending().await,
            Line::Flood(bytes) => self.flood(bytes).await,
            Line::Spawn(secs) => self.spawn(secs).await,
            Line::Incomplete(word) => self.complain(word).await,
            Line::Unknown(line) => self.explain(&[line]).await,
        }
    }

    /// Records an update, then sends it.
    pub async fn send(&self, update: SessionUpdate) -> Result<(), TurnError> {
        self.session.record(&Record::Updated { update: Box::new(update.clone()) })?;
        Ok(self.wire.send(update).await?)
    }

    /// A message of one chunk.
    pub async fn say(&mut self, text: &str) -> Result<(), TurnError> {
        let id = MessageId::new(self.mint("message"));
        let chunk = ContentChunk::new(text.into()).message_id(id);
        self.send(SessionUpdate::AgentMessageChunk(chunk)).await
    }

    /// Ids are unique in the session and the same on every replay.
    fn mint(&mut self, kind: &str) -> String {
        self.minted += 1;
        format!("{kind}-{}-{}", self.number, self.minted)
    }

    /// Announces a tool call under an id of its own.
    pub async fn open_call(
        &mut self,
        title: &str,
        describe: impl FnOnce(ToolCall) -> ToolCall,
    ) -> Result<ToolCall, TurnError> {
        let call = describe(ToolCall::new(self.mint("call"), title));
        self.send(SessionUpdate::ToolCall(call.clone())).await?;
        Ok(call)
    }

    /// Sends what changed about a tool call.
    pub async fn update_call(&self, call: &ToolCallId, fields: ToolCallUpdateFields) -> Result<(), TurnError> {
        let update = ToolCallUpdate::new(call.clone(), fields);
        self.send(SessionUpdate::ToolCallUpdate(update)).await
    }

    /// Marks the calls that a stopped turn left open.
    pub async fn close_open_calls(&self, why: &str) -> Result<(), TurnError> {
        for call in self.session.unfinished_calls() {
            self.update_call(&call, interrupted(why)).await?;
        }
        Ok(())
    }

    /// Sends the usage so far and returns this turn's. Four characters count as a token.
    pub async fn report_usage(&self, before: (u64, u64)) -> Result<Usage, TurnError> {
        let (read, said, size) =
            self.session.known(|known| (known.chars_in, known.chars_out, known.model.context_tokens()));
        let used = (read + said).div_ceil(4).min(size);
        self.send(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size))).await?;
        let input = (read - before.0).div_ceil(4);
        let output = (said - before.1).div_ceil(4);
        Ok(Usage::new(input + output, input, output))
    }

    /// Says what was used, in the midst of the turn.
    async fn spend(&self, tokens: u64, cents: u64) -> Result<(), TurnError> {
        let size = self.session.known(|known| known.model.context_tokens());
        let cost = (cents > 0).then(|| Cost::new(cents as f64 / 100.0, "USD"));
        self.send(SessionUpdate::UsageUpdate(UsageUpdate::new(tokens, size).cost(cost))).await
    }

    async fn plan(&mut self, entries: &[String]) -> Result<(), TurnError> {
        let publish = |done: usize, current: Option<usize>| {
            let entries = entries.iter().enumerate().map(|(index, entry)| {
                let status = match index {
                    _ if index < done => PlanEntryStatus::Completed,
                    _ if Some(index) == current => PlanEntryStatus::InProgress,
                    _ => PlanEntryStatus::Pending,
                };
                PlanEntry::new(entry, PlanEntryPriority::Medium, status)
            });
            SessionUpdate::Plan(Plan::new(entries.collect()))
        };
        self.send(publish(0, None)).await?;
        for index in 0..entries.len() {
            self.send(publish(index, Some(index))).await?;
            self.send(publish(index + 1, None)).await?;
        }
        let count = entries.len();
        let text = format!("Ticked off {count} plan entries. There was no work behind them.");
        self.say(&text).await
    }

    /// Asks as the last message of the turn.
    async fn ask(&mut self, question: String, undone: usize) -> Result<(), TurnError> {
        if undone > 0 {
            let text = format!("I stop here to ask. Not done after the question: {undone}.");
            self.say(&text).await?;
        }
        let id = MessageId::new(self.mint("message"));
        let chunk = ContentChunk::new(question.as_str().into()).message_id(id).meta(question_meta());
        self.send(SessionUpdate::AgentMessageChunk(chunk)).await?;
        self.session.record(&Record::Asked { question })?;
        Ok(())
    }

    async fn ask_by_form(&mut self, question: &str) -> Result<(), TurnError> {
        let scope = ElicitationSessionScope::new(self.session.id.clone());
        let form = ElicitationFormMode::new(scope, ElicitationSchema::new().string("answer", true));
        let request = CreateElicitationRequest::new(form, question);
        let response = self.wire.connection.send_request(request).block_task().await;
        let action = response.map(|response| response.action);
        let text = match action {
            Ok(ElicitationAction::Accept(accepted)) => {
                let answer = accepted.content.and_then(|mut form| form.remove("answer"));
                match answer {
                    Some(ElicitationContentValue::String(answer)) => {
                        format!("You answered “{answer}” to “{question}”.")
                    }
                    _ => format!("The answer to “{question}” was empty."),
                }
            }
            Ok(_) => format!("You did not answer “{question}”."),
            Err(error) => format!("“{question}” could not be asked: {error}"),
        };
        self.say(&text).await
    }

    async fn take_answer(&mut self, question: &str, lines: &[String]) -> Result<(), TurnError> {
        let answer = lines.join("\n");
        self.say(&format!("You answered “{answer}” to “{question}”.")).await
    }

    async fn stream(&mut self, chunks: u64) -> Result<(), TurnError> {
        let id = MessageId::new(self.mint("message"));
        for number in 1..=chunks {
            let text = format!("{number} ");
            let chunk = ContentChunk::new(text.into()).message_id(id.clone());
            self.send(SessionUpdate::AgentMessageChunk(chunk)).await?;
        }
        Ok(())
    }

    async fn recall(&mut self) -> Result<(), TurnError> {
        let earlier: Vec<String> = self.session.known(|known| {
            let before_this = &known.prompts[..self.number - 1];
            let numbered = before_this.iter().enumerate();
            numbered.map(|(index, prompt)| format!("{}. {prompt}", index + 1)).collect()
        });
        if earlier.is_empty() {
            return self.say("There is no earlier prompt in this session.").await;
        }
        self.say(&earlier.join("\n")).await
    }

    /// What an agent does that leaves its mode on its own: it says so, and goes on.
    async fn change_mode(&mut self, mode: Mode) -> Result<(), TurnError> {
        self.session.record(&Record::ModeSet { mode })?;
        self.wire.send(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.id()))).await?;
        self.say(&format!("The mode is {}.", mode.id())).await
    }

    async fn given(&mut self) -> Result<(), TurnError> {
        let (servers, roots) = self.session.known(|known| known.given.clone());
        let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        let list = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        self.say(&format!("MCP servers: {}. Other folders: {}.", list(servers), list(roots))).await
    }

    async fn complain(&mut self, word: &Word) -> Result<(), TurnError> {
        let (name, usage) = (word.name, word.usage());
        let text = format!("Nothing done for `{name}`: the line has to be `{usage}`.");
        self.say(&text).await
    }

    async fn explain(&mut self, lines: &[String]) -> Result<(), TurnError> {
        let quoted = clip(&lines.join(" ⏎ "), 200);
        let text = format!(
            "I did nothing about “{quoted}”: that takes an agent with a model behind it, and I have none. Try \
             `say hello`, `write notes.txt hello` or `run ls`; `help` says what else I understand."
        );
        self.say(&text).await
    }
}

/// Tells the client that an answer is waited for, where ACP has no word for it.
pub fn question_meta() -> Meta {
    Meta::from_iter([("throughline".to_owned(), json!({ "question": true }))])
}

fn understood() -> String {
    format!("I understand these lines:\n\n{}", usage_list())
}

/// The first `most` characters.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
