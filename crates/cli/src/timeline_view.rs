//! A task's timeline as a person reads it: one entry, one paragraph, each with its time.
//!
//! A pure function of the entries that came before. Entries that say nothing to a person (the
//! bookkeeping between a message and its turn) show nothing; none is ever guessed at. Of a plan that
//! changed, only what changed is shown again.

use std::collections::HashMap;

use throughline_api::content::ContentBlock;
use throughline_api::diff::ChangedFile;
use throughline_api::task::Task;
use throughline_api::timeline::{EntryBody, PlanEntry, TimelineEntry, ToolCall, ToolStatus, UserMessage};
use uuid::Uuid;

use crate::approval_view;
use crate::moment::clock;
use crate::output::{Output, Style};
use crate::safe_text::{safe, safe_glance, safe_line, safe_output};
use crate::turn_view::{end_line, plan_line};

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 20;

/// What was shown so far, as far as the next entry depends on it.
pub(crate) struct TimelineView {
    output: Output,
    /// Who is who, by execution.
    agents: HashMap<Uuid, String>,
    plan: Vec<PlanEntry>,
    /// The note that was shown last, and how often it came in a row.
    repeated_note: Option<(String, usize)>,
}

impl TimelineView {
    /// Nothing shown yet.
    pub(crate) fn new(output: Output, task: &Task) -> Self {
        let name =
            |execution: &throughline_api::task::Execution| (execution.id, safe_line(&execution.agent).into_owned());
        let agents = task.executions.iter().map(name).collect();
        Self { output, agents, plan: Vec::new(), repeated_note: None }
    }

    /// One entry; empty if it says nothing to a person.
    pub(crate) fn entry(&mut self, entry: &TimelineEntry) -> String {
        let paragraph = match &entry.body {
            EntryBody::Plan { entries, .. } => self.plan(entries),
            EntryBody::Message(message) => {
                let agent = self.agent(message.item.execution);
                let verb = if message.question { " asks" } else { "" };
                let cut = message.text.blob.as_ref().map(|blob| format!("\n… cut here: it has {} bytes", blob.bytes));
                Some(format!("{agent}{verb}: {}{}", safe(&message.text.text), cut.unwrap_or_default()))
            }
            EntryBody::ExecutionAdded { execution, agent, .. } => {
                let agent = safe_line(agent).into_owned();
                self.agents.insert(*execution, agent);
                paragraph(self.output, &entry.body)
            }
            EntryBody::TurnImported { text, .. } => {
                let before = self.output.paint(Style::Faint, "(before the import)");
                Some(format!("{} {}\n{before}", self.output.paint(Style::Accent, "you:"), safe(&text.text)))
            }
            EntryBody::AgentNote { about, text, .. } => self.note(about, &text.text),
            body => paragraph(self.output, body),
        };
        if !matches!(entry.body, EntryBody::AgentNote { .. }) {
            self.repeated_note = None;
        }
        let at = match &entry.body {
            EntryBody::TurnImported { said_at, .. } => said_at,
            _ => &entry.at,
        };
        paragraph.map_or_else(String::new, |text| self.dated(at, &text))
    }

    fn dated(&self, at: &str, paragraph: &str) -> String {
        let at = clock(at);
        let indent = " ".repeat(at.chars().count() + 2);
        let mut text = self.output.paint(Style::Faint, &at);
        for (number, line) in paragraph.trim_end().lines().enumerate() {
            if number == 0 {
                text.push_str("  ");
            } else if !line.is_empty() {
                text.push_str(&indent);
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn agent(&self, execution: Uuid) -> String {
        let name = self.agents.get(&execution).map_or("agent", String::as_str);
        self.output.paint(Style::Good, name)
    }

    /// An agent that writes garbage tends to write the same line again and again: twice is enough.
    fn note(&mut self, about: &str, text: &str) -> Option<String> {
        let note = format!("{}: {}", about.replace('_', " "), safe(text));
        let times = match self.repeated_note.take() {
            Some((known, times)) if known == note => times + 1,
            _ => 1,
        };
        let shown = match times {
            1 => Some(note.clone()),
            2 => Some("… and the same again".to_owned()),
            _ => None,
        };
        self.repeated_note = Some((note, times));
        shown.map(|text| self.output.paint(Style::Faint, &text))
    }

    fn plan(&mut self, entries: &[PlanEntry]) -> Option<String> {
        let known = std::mem::replace(&mut self.plan, entries.to_vec());
        let changed = entries.iter().enumerate().filter(|(at, entry)| known.get(*at) != Some(*entry));
        let lines: Vec<String> = changed.map(|(_, entry)| plan_line(entry)).collect();
        (!lines.is_empty()).then(|| format!("plan: {}", lines.join("\n      ")))
    }
}

fn paragraph(output: Output, body: &EntryBody) -> Option<String> {
    let faint = |text: String| output.paint(Style::Faint, &text);
    Some(match body {
        EntryBody::TaskCreated { title, root, .. } => {
            format!("{} {}", output.paint(Style::Strong, &safe_line(title)), faint(format!("in {}", safe_line(root))))
        }
        EntryBody::TaskRetitled { title } => faint(format!("is now called {}", safe_line(title))),
        EntryBody::TaskClosed { .. } => faint("closed".to_owned()),
        EntryBody::TaskReopened {} => faint("reopened".to_owned()),
        EntryBody::NotePinned { text, .. } => format!("note: {}", safe(text)),
        EntryBody::UserMessage(message) => user_message(output, message),
        EntryBody::InputWithdrawn { .. } => faint("the message was taken back".to_owned()),
        EntryBody::Thought { text, .. } => faint(format!("thinks: {}", safe(&text.text))),
        EntryBody::ToolCall(call) => tool_call(output, call),
        EntryBody::Approval { approval } => approval_view::request(output, approval),
        EntryBody::ApprovalSettled { state, reason, .. } => {
            let word = serde_json::to_value(state).ok();
            let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("settled");
            match reason {
                Some(reason) => faint(format!("{word}: {}", safe_line(reason))),
                None => faint(word.to_owned()),
            }
        }
        EntryBody::TurnHeld { behind, .. } => faint(format!("waits for {}", safe_line(behind))),
        EntryBody::TurnStopping { wish, .. } => faint(format!("is to stop ({})", safe_line(wish))),
        EntryBody::TurnEnded { end, .. } => faint(end_line(end)),
        other => return session_paragraph(output, other),
    })
}

/// What a turn changed, a file a line.
pub(crate) fn changed_files(files: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| {
        let lines = format!("+{} −{}", file.added, file.removed);
        format!("{} {} ({lines})", file.change.replace('_', " "), safe_line(&file.path))
    };
    let lines: Vec<String> = files.iter().map(line).collect();
    lines.join("\n")
}

/// What is being done to the workspace itself.
fn change_line(what: &str, side: Option<&str>) -> String {
    match (what, side) {
        ("restore", Some(side)) => format!("the workspace is restored as it was {} a turn", safe_line(side)),
        ("restore", None) => "the workspace is restored as it was before the last change".to_owned(),
        (other, _) => format!("the workspace changes: {}", safe_line(other)),
    }
}

/// What happens to executions and runtime sessions.
fn session_paragraph(output: Output, body: &EntryBody) -> Option<String> {
    let text = match body {
        EntryBody::RuntimeSessionStarted { reason, .. } => {
            format!("a new agent session starts ({reason})")
        }
        EntryBody::RuntimeSessionImported { native_id, .. } => {
            format!("the agent's session {} was imported", safe_line(native_id))
        }
        EntryBody::PastImported { left_out: Some(why), .. } => format!("not all was imported: {}", safe_line(why)),
        EntryBody::RuntimeSessionResumed { cause, .. } => {
            format!("the agent's session is resumed ({cause})")
        }
        EntryBody::CheckpointTaken { left_out: Some(why), side, .. } if side == "after" => {
            format!("no checkpoint: {}", safe_line(why))
        }
        EntryBody::CheckpointTaken { changed, .. } if !changed.is_empty() => changed_files(changed),
        EntryBody::WorkspaceChangeBegun { what, side, .. } => change_line(what, side.as_deref()),
        EntryBody::WorkspaceChangePlanned { changed, .. } if changed.is_empty() => "nothing changes".to_owned(),
        EntryBody::WorkspaceChangePlanned { changed, .. } => changed_files(changed),
        EntryBody::WorkspaceChangeEnded { failure: Some(why), .. } => format!("it did not work: {}", safe_line(why)),
        EntryBody::WorkspaceChangeEnded { kept, .. } if !kept.is_empty() => {
            let line = |kept: &String| format!("left as it is: {}", safe_line(kept));
            kept.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        EntryBody::RuntimeSessionReattached { .. } => "a new daemon goes on with the running turn".to_owned(),
        EntryBody::TurnStalled { silent_secs, .. } => {
            format!("the agent has not been heard of for {} min; tl cancel stops it", silent_secs.div_ceil(60))
        }
        EntryBody::RuntimeSessionParked { cause, .. } => {
            format!("the agent's session is parked: {}", safe_line(cause))
        }
        EntryBody::RuntimeSessionLost { cause, .. } => {
            format!("the agent's session is lost: {}", safe_line(cause))
        }
        EntryBody::RuntimeSessionClosed { .. } => "the agent's session is closed".to_owned(),
        EntryBody::ExecutionAdded { agent, role, primary: false, .. } => {
            format!("{} joins as {}", safe_line(agent), role.word())
        }
        EntryBody::ExecutionEnded { end, .. } => format!("an execution ended: {}", safe_line(end)),
        EntryBody::ModelChosen { model, .. } => format!("the model is to be {}", safe_line(model)),
        EntryBody::HandoffPrepared { text, .. } => {
            format!("a brief is ready: {}", safe_glance(text, 80))
        }
        _ => return None,
    };
    Some(output.paint(Style::Faint, &text))
}

fn user_message(output: Output, message: &UserMessage) -> String {
    let mut text = format!("{} {}", output.paint(Style::Accent, "you:"), safe(&words(&message.content)));
    if let Some(decision) = &message.decision {
        let why = decision.evidence.first().map_or("", String::as_str);
        let intent = decision.aim.intent.replace('_', " ");
        let line = format!("\n→ {}: {}", safe_line(&intent), safe_line(why));
        text.push_str(&output.paint(Style::Faint, &line));
    }
    text
}

/// The words of a message, files by their names.
pub(crate) fn words(content: &[ContentBlock]) -> String {
    let mut words: Vec<String> = Vec::with_capacity(content.len());
    for block in content {
        words.push(match block {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Image { name, .. } => {
                format!("[image {}]", name.as_deref().unwrap_or("unnamed"))
            }
            ContentBlock::File { name, .. } => format!("[file {name}]"),
        });
    }
    words.join("\n")
}

fn tool_call(output: Output, call: &ToolCall) -> String {
    let mark = match call.status {
        ToolStatus::Completed => output.paint(Style::Good, "✓"),
        ToolStatus::Failed => output.paint(Style::Bad, "✗"),
        _ => output.paint(Style::Faint, "·"),
    };
    let mut text = format!("{mark} {}", safe_line(&call.title));
    for change in &call.changes {
        let verb = if change.before.is_some() { "changed" } else { "new" };
        text.push_str(&format!("\n  {verb} {}", safe_line(&change.path)));
    }
    if let Some(result) = &call.output {
        let lines: Vec<&str> = result.text.trim_end().lines().collect();
        for line in lines.iter().take(OUTPUT_LINES) {
            let line = output.paint(Style::Faint, &safe_output(line));
            text.push_str(&format!("\n  {line}"));
        }
        if lines.len() > OUTPUT_LINES {
            text.push_str(&format!("\n  … {} more lines", lines.len() - OUTPUT_LINES));
        }
    }
    text
}
