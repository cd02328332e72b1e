//! A transcript as Markdown: pure, entry by entry.
//!
//! What people and agents wrote is quoted and what tools wrote is fenced, so that nothing of it can pass for the
//! transcript's own structure. *Invariant:* a fence is longer than any in what it holds; no control character but
//! newline and tab comes out; one entry has a bound.

use std::collections::HashMap;
use std::fmt::Write as _;

use throughline_api::approval::{Approval, ApprovalState};
use throughline_api::content::{ContentBlock, Text};
use throughline_api::diff::ChangedFile;
use throughline_api::task::{Task, TurnEnd};
use throughline_api::timeline::{AgentMessage, EntryBody, PlanEntry, TimelineEntry, ToolCall, ToolStatus, UserMessage};
use uuid::Uuid;

/// How much of a message is written out.
pub(super) const MESSAGE_BYTES: usize = 1024 * 1024;
/// How much of a tool's output, or of its input, is written out.
const OUTPUT_BYTES: usize = 16 * 1024;
/// How much of a line's own words is written out.
const LINE_CHARS: usize = 400;

/// What later entries depend on.
pub(crate) struct Markdown {
    /// Who is who, by execution.
    agents: HashMap<Uuid, String>,
    /// Requests that nobody has decided yet, by what they ask.
    asked: HashMap<Uuid, String>,
}

/// What comes before the entries: what the task is, and where it stands.
pub(super) fn head(task: &Task) -> String {
    let summary = &task.summary;
    let mut out = format!("# {}\n\n", line(&summary.title));
    let agents: Vec<String> = task
        .executions
        .iter()
        .map(|execution| format!("{} ({})", line(&execution.agent), execution.role.word()))
        .collect();
    let _ = write!(
        out,
        "- key: {}\n- project: {}\n- folder: {}\n- state: {}, {}\n- agents: {}\n\n",
        line(&summary.key),
        line(&summary.project.name),
        line(&task.root),
        summary.lifecycle,
        summary.activity.word,
        agents.join(", "),
    );
    let _ = write!(out, "## Goal\n\n{}\n", quoted(&task.goal));
    if !task.plan.is_empty() {
        let _ = write!(out, "## Plan\n\n{}\n", plan(&task.plan));
    }
    if !task.notes.is_empty() {
        out.push_str("## Notes\n\n");
        for note in &task.notes {
            let _ = writeln!(out, "{}", quoted(note));
        }
    }
    out.push_str("## What happened\n\n");
    out
}

impl Markdown {
    pub(super) fn new(task: &Task) -> Self {
        let agents = task.executions.iter().map(|execution| (execution.id, execution.agent.clone())).collect();
        Self { agents, asked: HashMap::new() }
    }

    /// One entry; empty if it says nothing to a reader.
    pub(super) fn entry(&mut self, entry: &TimelineEntry, names: &HashMap<Uuid, String>) -> String {
        let at = entry.at.as_str();
        let name = |person: &Uuid| names.get(person).map_or_else(|| "somebody".to_owned(), |name| line(name));
        match &entry.body {
            EntryBody::UserMessage(message) => user_message(at, &name(&message.person), message),
            EntryBody::TurnImported { said_at, text, .. } => {
                format!("### before the import · {said_at}\n\n{}\n", quoted(&text.text))
            }
            EntryBody::Message(message) => self.message(at, message),
            EntryBody::Thought { item, text } => {
                format!("**{}** thinks, {at}\n\n{}\n", self.agent(item.execution), quoted(&text.text))
            }
            EntryBody::ToolCall(call) => tool_call(call),
            EntryBody::Plan { version, entries } => format!("*plan, version {version}*\n\n{}\n", plan(entries)),
            EntryBody::Approval { approval } => self.asked(approval),
            EntryBody::ApprovalSettled { approval, state, by, reason, .. } => {
                let what = self.asked.remove(approval).unwrap_or_else(|| "a request".to_owned());
                let who = by.as_ref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
                let why = reason.as_ref().map(|why| format!(": {}", line(why))).unwrap_or_default();
                format!("**{}**{who}{why} ({what})\n\n", settled(*state))
            }
            EntryBody::NotePinned { person, text } => {
                format!("**note** by {}, {at}\n\n{}\n", name(person), quoted(text))
            }
            EntryBody::TaskArchived { person } => format!("*archived by {}, {at}*\n\n", name(person)),
            EntryBody::TaskClosed { person } => format!("*closed by {}, {at}*\n\n", name(person)),
            EntryBody::ExecutionAdded { execution, agent, role, primary } => {
                self.agents.insert(*execution, agent.clone());
                match primary {
                    // The head names it.
                    true => String::new(),
                    false => format!("*{} joins as {}*\n\n", line(agent), role.word()),
                }
            }
            EntryBody::AgentNote { about, text, .. } => {
                format!("*{}*\n\n{}\n", line(&about.replace('_', " ")), fenced(&text.text, "text", bytes_of(text)))
            }
            other => aside(other).map(|words| format!("*{words}*\n\n")).unwrap_or_default(),
        }
    }

    fn agent(&self, execution: Uuid) -> String {
        self.agents.get(&execution).map_or_else(|| "agent".to_owned(), |agent| line(agent))
    }

    fn message(&self, at: &str, message: &AgentMessage) -> String {
        let verb = if message.question { " asks" } else { "" };
        let mut text =
            format!("### {}{verb} · {at}\n\n{}", self.agent(message.item.execution), quoted(&message.text.text));
        let bytes = bytes_of(&message.text);
        if bytes > message.text.text.len() as u64 {
            let _ = write!(text, "\n*cut here: it has {bytes} bytes*\n");
        }
        for block in &message.attachments {
            let _ = write!(text, "\n*{}*\n", line(&attachment(block)));
        }
        text.push('\n');
        text
    }

    fn asked(&mut self, approval: &Approval) -> String {
        let title = line(&approval.request.title);
        let mut text = format!("**{} asks**: {title}\n\n", self.agent(approval.execution));
        if let Some(input) = &approval.request.input {
            let _ = writeln!(text, "{}", fenced(input, "json", input.len() as u64));
        }
        self.asked.insert(approval.id, title);
        text
    }
}

fn user_message(at: &str, who: &str, message: &UserMessage) -> String {
    let words: Vec<String> = message.content.iter().map(attachment).collect();
    let mut text = format!("### {who} · {at}\n\n{}", quoted(&words.join("\n")));
    if let Some(decision) = &message.decision {
        let why = decision.evidence.first().map(|why| format!(": {}", line(why))).unwrap_or_default();
        let _ = write!(text, "\n*→ {}{why}*\n", line(&decision.aim.intent.replace('_', " ")));
    }
    text.push('\n');
    text
}

/// The words of a block, or its name.
fn attachment(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image { name, blob, .. } => {
            format!("[image {}, {} bytes]", name.as_deref().unwrap_or("unnamed"), blob.bytes)
        }
        ContentBlock::File { name, blob, .. } => format!("[file {name}, {} bytes]", blob.bytes),
    }
}

fn tool_call(call: &ToolCall) -> String {
    let mark = match call.status {
        ToolStatus::Completed => "✓",
        ToolStatus::Failed => "✗",
        ToolStatus::Pending | ToolStatus::InProgress | ToolStatus::Unknown => "·",
    };
    let unasked = if call.not_asked { ", not asked" } else { "" };
    let mut text = format!("{mark} **{}** ({}{unasked})\n\n", line(&call.title), line(&call.tool));
    for change in &call.changes {
        let verb = if change.before.is_some() { "changed" } else { "new" };
        let _ = writeln!(text, "- {verb} {}", line(&change.path));
    }
    if !call.changes.is_empty() {
        text.push('\n');
    }
    if let Some(output) = call.output.as_ref().filter(|output| !output.text.trim().is_empty()) {
        let _ = writeln!(text, "{}", fenced(&output.text, "text", bytes_of(output)));
    }
    text
}

/// What is told in a line: results, changed files, recoveries.
fn aside(body: &EntryBody) -> Option<String> {
    Some(match body {
        EntryBody::TurnEnded { end, .. } => turn_end(end),
        EntryBody::CheckpointTaken { changed, .. } if !changed.is_empty() => {
            let files: Vec<String> = changed.iter().map(changed_file).collect();
            format!("files changed: {}", files.join(", "))
        }
        EntryBody::CheckpointTaken { left_out: Some(why), side, .. } if side == "after" => {
            format!("no checkpoint: {}", line(why))
        }
        EntryBody::TurnHeld { behind, .. } => format!("waits for {}", line(behind)),
        EntryBody::TurnStalled { silent_secs, .. } => format!("not heard of for {silent_secs} s"),
        EntryBody::TurnStopping { wish, .. } => format!("is to stop ({})", line(wish)),
        EntryBody::InputWithdrawn { .. } => "the message was taken back".to_owned(),
        EntryBody::RuntimeSessionStarted { reason, .. } => format!("a new agent session starts ({reason})"),
        EntryBody::RuntimeSessionImported { native_id, .. } => format!("imported: session {}", line(native_id)),
        EntryBody::PastImported { left_out: Some(why), .. } => format!("not all was imported: {}", line(why)),
        EntryBody::RuntimeSessionResumed { cause, .. } => format!("the agent's session is resumed ({cause})"),
        EntryBody::RuntimeSessionReattached { .. } => "a new daemon goes on with the running turn".to_owned(),
        EntryBody::RuntimeSessionLost { cause, .. } => format!("the agent's session is lost: {}", line(cause)),
        EntryBody::RuntimeSessionParked { cause, .. } => format!("the agent's session is parked: {}", line(cause)),
        EntryBody::RuntimeSessionClosed { .. } => "the agent's session is closed".to_owned(),
        EntryBody::ExecutionEnded { end, .. } => format!("an execution ended: {}", line(end)),
        EntryBody::ModelChosen { model, .. } => format!("the model is to be {}", line(model)),
        EntryBody::HandoffGiven { .. } => "the agent gets a brief of what was done".to_owned(),
        EntryBody::TaskRetitled { title } => format!("is now called {}", line(title)),
        EntryBody::TaskReopened {} => "reopened".to_owned(),
        _ => return None,
    })
}

fn turn_end(end: &TurnEnd) -> String {
    let mut text = end.outcome.word().to_owned();
    if let Some(millis) = end.duration_ms {
        let _ = write!(text, " in {}.{} s", millis / 1000, millis % 1000 / 100);
    }
    let why = end.reason.as_deref().or(end.stop_reason.as_deref().filter(|stop| *stop != "end_turn"));
    if let Some(why) = why {
        let _ = write!(text, ": {}", line(why));
    }
    text
}

fn settled(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Ruled => "ruled",
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "expired",
        ApprovalState::Void => "void",
        ApprovalState::Unknown => "settled",
    }
}

fn changed_file(file: &ChangedFile) -> String {
    format!("{} {} (+{} −{})", file.change.replace('_', " "), line(&file.path), file.added, file.removed)
}

fn plan(entries: &[PlanEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let (mark, note) = match entry.status.as_str() {
            "completed" => ("x", ""),
            "in_progress" => (" ", " (in progress)"),
            _ => (" ", ""),
        };
        let _ = writeln!(text, "- [{mark}] {}{note}", line(&entry.content));
    }
    text
}

/// How many bytes there are in all, here or in a blob.
fn bytes_of(text: &Text) -> u64 {
    text.blob.as_ref().map_or(text.text.len() as u64, |blob| blob.bytes)
}

/// Somebody's words: a quotation ends where its lines do, whatever is in it.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for row in visible(cut(text, MESSAGE_BYTES)).trim_end().lines() {
        out.push_str(if row.is_empty() { ">" } else { "> " });
        out.push_str(row);
        out.push('\n');
    }
    if out.is_empty() {
        out.push_str(">\n");
    }
    out
}

/// A tool's words, of which there are so many bytes, within a fence that is longer than any that they have.
fn fenced(text: &str, language: &str, bytes: u64) -> String {
    let shown = cut(text, OUTPUT_BYTES);
    let body = visible(shown);
    let longest = body.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let mut out = format!("{fence}{language}\n{}\n{fence}\n", body.trim_end());
    if (shown.len() as u64) < bytes {
        let _ = write!(out, "\n*cut here: it has {bytes} bytes*\n");
    }
    out
}

/// Words in a line of the transcript's own: nothing in them is Markdown.
fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars().take(LINE_CHARS) {
        match letter {
            '\n' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' => out.extend(['\\', letter]),
            letter if hidden(letter) => out.extend(letter.escape_default()),
            letter => out.push(letter),
        }
    }
    if text.chars().nth(LINE_CHARS).is_some() {
        out.push('…');
    }
    out
}

fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if hidden(letter) && !matches!(letter, '\n' | '\t') {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Whether a character would move the cursor, or turn its neighbours around.
fn hidden(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most so many bytes, cut at a character.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_what_it_holds() {
        assert_eq!(fenced("plain", "text", 5), "```text\nplain\n```\n");
        assert_eq!(fenced("```\nrm\n````", "text", 11), "`````text\n```\nrm\n````\n`````\n");
    }

    #[test]
    fn a_long_output_is_cut_and_says_so() {
        let out = fenced(&"é".repeat(OUTPUT_BYTES), "text", 2 * OUTPUT_BYTES as u64);
        assert!(out.ends_with("*cut here: it has 32768 bytes*\n"), "{}", &out[out.len() - 80..]);
    }

    #[test]
    fn words_cannot_pass_for_structure() {
        assert_eq!(quoted("# no heading\n\n```\nopen"), "> # no heading\n>\n> ```\n> open\n");
        assert_eq!(line("a *b* `c`\n# d\u{1b}[2J"), "a \\*b\\* \\`c\\` \\# d\\u{1b}\\[2J");
    }
}
