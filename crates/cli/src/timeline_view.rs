//! A task's timeline as a person reads it: one entry, one paragraph, each with its time.
//!
//! A pure function of the entries that came before. Entries that say nothing to a person (the
//! bookkeeping between a message and its turn) show nothing; none is ever guessed at. Of a plan that
//! changed, only what changed is shown again.

use std::collections::HashMap;

use throughline_api::content::ContentBlock;
use throughline_api::diff::ChangedFile;
use throughline_api::task::{Question, ResumeCause, Role, StartReason, Task};
use throughline_api::timeline::{EntryBody, PlanEntry, TimelineEntry, ToolCall, ToolStatus, UserMessage};
use throughline_model::checkpoint;
use throughline_model::present::Locale;
use throughline_model::present::card::changed_file;
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
    locale: Locale,
    /// Who is who, by execution.
    agents: HashMap<Uuid, String>,
    plan: Vec<PlanEntry>,
    /// The note that was shown last, and how often it came in a row.
    repeated_note: Option<(String, usize)>,
}

impl TimelineView {
    /// Nothing shown yet.
    pub(crate) fn new(output: Output, locale: Locale, task: &Task) -> Self {
        let name =
            |execution: &throughline_api::task::Execution| (execution.id, safe_line(&execution.agent).into_owned());
        let agents = task.executions.iter().map(name).collect();
        Self { output, locale, agents, plan: Vec::new(), repeated_note: None }
    }

    /// One entry; empty if it says nothing to a person.
    pub(crate) fn entry(&mut self, entry: &TimelineEntry) -> String {
        let paragraph = match &entry.body {
            EntryBody::Plan { version, entries } => self.plan(*version, entries),
            EntryBody::Message(message) => {
                let agent = self.agent(message.item.execution);
                let who = if message.question { self.locale.agent_asks(agent) } else { agent };
                let cut = message.text.blob.as_ref().map(|blob| format!("\n{}", self.locale.cut_here(blob.bytes)));
                let said = safe(&message.text.text);
                Some(self.locale.because(who, format_args!("{said}{}", cut.unwrap_or_default())))
            }
            EntryBody::ExecutionAdded { execution, agent, .. } => {
                let agent = safe_line(agent).into_owned();
                self.agents.insert(*execution, agent);
                paragraph(self.output, self.locale, &entry.body)
            }
            EntryBody::ExecutionEnded { execution, end } if end == "cancelled" => {
                let name = self.agents.get(execution).map_or("agent", String::as_str);
                Some(self.output.paint(Style::Faint, &self.locale.was_dismissed(name)))
            }
            EntryBody::TurnImported { text, .. } => {
                let before = self.output.paint(Style::Faint, &self.locale.before_import());
                let you = self.output.paint(Style::Accent, &self.locale.you());
                Some(self.locale.because(you, format_args!("{}\n{before}", safe(&text.text))))
            }
            EntryBody::AgentNote { about, text, .. } => self.note(about, &text.text),
            body => paragraph(self.output, self.locale, body),
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
            2 => Some(self.locale.same_again()),
            _ => None,
        };
        self.repeated_note = Some((note, times));
        shown.map(|text| self.output.paint(Style::Faint, &text))
    }

    fn plan(&mut self, version: u32, entries: &[PlanEntry]) -> Option<String> {
        let known = std::mem::replace(&mut self.plan, entries.to_vec());
        let changed = entries.iter().enumerate().filter(|(at, entry)| known.get(*at) != Some(*entry));
        let lines: Vec<String> = changed.map(|(_, entry)| plan_line(entry)).collect();
        (!lines.is_empty()).then(|| format!("{}\n  {}", self.locale.plan_version(version), lines.join("\n  ")))
    }
}

fn paragraph(output: Output, locale: Locale, body: &EntryBody) -> Option<String> {
    let faint = |text: String| output.paint(Style::Faint, &text);
    Some(match body {
        EntryBody::TaskCreated { title, root, .. } => {
            locale.made_in(output.paint(Style::Strong, &safe_line(title)), faint(safe_line(root).into_owned()))
        }
        EntryBody::TaskRetitled { title } => faint(locale.now_called(safe_line(title))),
        EntryBody::TaskClosed { .. } => faint(locale.closed()),
        EntryBody::TaskArchived { .. } => faint(locale.archived()),
        EntryBody::TaskReopened {} => faint(locale.reopened()),
        EntryBody::NotePinned { text, .. } => locale.note_pinned(safe(text)),
        EntryBody::UserMessage(message) => user_message(output, locale, message),
        EntryBody::InputWithdrawn { .. } => faint(locale.taken_back()),
        EntryBody::InputMovedOut { .. } => faint(locale.moved_out()),
        EntryBody::InputMovedIn { .. } => faint(locale.moved_in()),
        EntryBody::Thought { text, .. } => faint(locale.thinks(safe(&text.text))),
        EntryBody::ToolCall(call) => tool_call(output, locale, call),
        EntryBody::Approval { approval } => approval_view::request(output, locale, approval),
        EntryBody::BudgetSet { .. } => faint(locale.budget_set()),
        EntryBody::BudgetReached { .. } => output.paint(Style::Warn, &locale.budget_reached()),
        EntryBody::QuestionAsked { question, .. } => asked(output, question),
        EntryBody::QuestionSettled { content, by, reason, .. } => faint(match (content, by, reason) {
            (Some(content), ..) => locale.answered(safe_line(content)),
            (None, Some(_), _) => locale.not_answered(),
            (None, None, reason) => locale.question_void(safe_line(reason.as_deref().unwrap_or_default())),
        }),
        EntryBody::ApprovalsRefused { .. } => output.paint(Style::Warn, &locale.asks_too_much()),
        EntryBody::ApprovalSettled { reason: Some(reason), not_asked: true, .. } => {
            faint(format!("not asked: {}", safe_line(reason)))
        }
        EntryBody::ApprovalSettled { state, reason, told, .. } => {
            let word = serde_json::to_value(state).ok();
            let word = locale.settled(word.as_ref().and_then(|word| word.as_str()).unwrap_or("settled"));
            match told.get(locale.tag()).or(reason.as_ref()) {
                Some(reason) => faint(locale.because(word, safe_line(reason))),
                None => faint(word),
            }
        }
        EntryBody::TurnHeld { behind, .. } => faint(locale.held_behind(safe_line(behind))),
        EntryBody::TurnStopping { .. } => faint(locale.to_stop()),
        EntryBody::TurnEnded { end, .. } => faint(end_line(locale, end)),
        other => return session_paragraph(output, locale, other),
    })
}

/// A question, with what the answer has to be. Each line but the first is indented: none can pass for one of ours.
pub(crate) fn asked(output: Output, question: &Question) -> String {
    let mut text =
        format!("{} {}\n", output.paint(Style::Warn, "asks:"), safe(&question.message).replace('\n', "\n  "));
    for field in &question.fields {
        text.push_str(&format!("  {}\n", safe_line(field)));
    }
    text
}

/// What a turn changed, a file a line.
pub(crate) fn changed_files(locale: Locale, files: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| {
        let file = checkpoint::ChangedFile {
            path: file.path.clone(),
            change: file.change.clone(),
            added: file.added,
            removed: file.removed,
        };
        changed_file(locale, &file)
    };
    let lines: Vec<String> = files.iter().map(line).collect();
    lines.join("\n")
}

/// What is being done to the workspace itself.
fn change_line(locale: Locale, what: &str, side: Option<&str>, other: &str) -> String {
    match (what, side) {
        ("prepare", _) => locale.workspace_prepared(),
        ("take", _) => locale.changes_come(safe_line(other)),
        ("yield", _) => locale.changes_go(safe_line(other)),
        ("remove", _) => locale.workspace_removed(),
        ("restore", Some("before")) => locale.restored_before(),
        ("restore", Some(_)) => locale.restored_after(),
        ("restore", None) => locale.restored_back(),
        (other, _) => locale.workspace_changes(safe_line(other)),
    }
}

/// Why a new session started, in words.
fn started(locale: Locale, reason: StartReason) -> String {
    match reason {
        StartReason::FirstUse | StartReason::Unknown => locale.session_first(),
        StartReason::Requested => locale.session_requested(),
        StartReason::Changed => locale.session_changed(),
        StartReason::Lost => locale.session_rebuilt(),
    }
}

/// Why a session was taken up again, in words.
pub(crate) fn taken_up(locale: Locale, cause: ResumeCause) -> String {
    match cause {
        ResumeCause::Parked | ResumeCause::Unknown => locale.session_resumed(),
        ResumeCause::ProcessDied => locale.session_revived(),
    }
}

/// What an execution is for, as the API names it.
pub(crate) fn role_word(locale: Locale, role: Role) -> String {
    match role {
        Role::Editor => locale.role_editor(),
        Role::Reviewer => locale.role_reviewer(),
        Role::Tester => locale.role_tester(),
        Role::Researcher => locale.role_researcher(),
    }
}

/// What came of a change, where there is something to say.
pub(crate) fn change_end(output: Output, locale: Locale, kept: &[String], notes: &[String]) -> Option<String> {
    let left = kept.iter().map(|kept| locale.left_as_it_is(safe_line(kept)));
    let lines: Vec<String> = left.chain(notes.iter().map(|note| safe(note).into_owned())).collect();
    (!lines.is_empty()).then(|| output.paint(Style::Warn, &lines.join("\n")))
}

/// What happens to executions and runtime sessions.
fn session_paragraph(output: Output, locale: Locale, body: &EntryBody) -> Option<String> {
    let text = match body {
        EntryBody::RuntimeSessionStarted { reason, .. } => started(locale, *reason),
        EntryBody::RuntimeSessionResumed { cause, .. } => taken_up(locale, *cause),
        EntryBody::RuntimeSessionOpened { read_only: Some(held), .. } => match held.enforced_by {
            Some(_) => locale.read_only_enforced(),
            None => locale.read_only_not_enforced(),
        },
        EntryBody::RuntimeSessionImported { native_id, .. } => locale.session_imported(safe_line(native_id)),
        EntryBody::PastImported { left_out: Some(why), .. } => locale.not_all_imported(safe_line(why)),
        EntryBody::CheckpointTaken { left_out: Some(why), side, .. } if side == "after" => {
            locale.no_checkpoint(safe_line(why))
        }
        EntryBody::CheckpointTaken { changed, .. } if !changed.is_empty() => changed_files(locale, changed),
        EntryBody::WorktreeGiven { root, .. } => locale.works_apart(safe_line(root)),
        EntryBody::TaskForked { from, native: true } => locale.fork_of_native(safe_line(&from.task.key)),
        EntryBody::TaskForked { from, native: false } => locale.fork_of(safe_line(&from.task.key)),
        EntryBody::ForkMade { fork, .. } => locale.fork_made(safe_line(&fork.key)),
        EntryBody::NativeForkRefused { cause, .. } => locale.fork_refused(safe_line(cause)),
        EntryBody::WorkspaceChangeBegun { what, side, other, .. } => {
            change_line(locale, what, side.as_deref(), other.as_ref().map_or("", |task| &task.key))
        }
        EntryBody::WorkspaceChangePlanned { changed, .. } if changed.is_empty() => return None,
        EntryBody::WorkspaceChangePlanned { changed, .. } => changed_files(locale, changed),
        EntryBody::WorkspaceChangeEnded { failure: Some(why), .. } => locale.did_not_work(safe_line(why)),
        EntryBody::WorkspaceChangeEnded { kept, notes, .. } => return change_end(output, locale, kept, notes),
        EntryBody::RuntimeSessionReattached { .. } => locale.session_reattached(),
        EntryBody::TurnStalled { silent_secs, .. } => locale.stalled(silent_secs.div_ceil(60)),
        EntryBody::RuntimeSessionParked { cause, .. } => locale.session_parked(safe_line(cause)),
        EntryBody::RuntimeSessionLost { cause, .. } => locale.session_lost(safe_line(cause)),
        EntryBody::RuntimeSessionClosed { .. } => locale.session_closed(),
        EntryBody::ExecutionAdded { agent, role, primary: false, .. } => {
            locale.joins(safe_line(agent), role_word(locale, *role))
        }
        EntryBody::RuntimeSessionOpened { left_out, .. } if !left_out.is_empty() => {
            locale.goes_without(safe_line(&left_out.join("; ")))
        }
        EntryBody::RuntimeSessionChanged { setting, value, .. } => match setting.as_str() {
            "mode" => locale.mode_is(safe_line(value)),
            "mode_set_back" => locale.mode_set_back(safe_line(value)),
            "model_refused" => locale.model_refused(safe_line(value)),
            _ => return None,
        },
        EntryBody::ExecutionEnded { end, .. } if end == "replaced" => locale.replaced(),
        EntryBody::ExecutionEnded { end, .. } => locale.execution_ended(safe_line(end)),
        EntryBody::ModelChosen { model, .. } => locale.model_chosen(safe_line(model)),
        EntryBody::HandoffGiven { text, .. } => locale.brief_ready(safe_glance(&text.text, 80)),
        _ => return None,
    };
    Some(output.paint(Style::Faint, &text))
}

fn user_message(output: Output, locale: Locale, message: &UserMessage) -> String {
    let mut text = locale.because(output.paint(Style::Accent, &locale.you()), safe(&words(&message.content)));
    if let Some(decision) = &message.decision {
        let why = decision.evidence.first().map_or("", String::as_str);
        let line = locale.decided_so(locale.intent(&decision.aim.intent), safe_line(why));
        text.push('\n');
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

fn tool_call(output: Output, locale: Locale, call: &ToolCall) -> String {
    let mark = match call.status {
        ToolStatus::Completed => output.paint(Style::Good, "✓"),
        ToolStatus::Failed => output.paint(Style::Bad, "✗"),
        _ => output.paint(Style::Faint, "·"),
    };
    let mut text = format!("{mark} {}", safe_line(&call.title));
    if call.not_asked {
        text.push_str(&output.paint(Style::Warn, &format!(" ({})", locale.not_asked())));
    }
    for change in &call.changes {
        let path = safe_line(&change.path);
        let line = if change.before.is_some() { locale.file_changed(path) } else { locale.file_new(path) };
        text.push_str(&format!("\n  {line}"));
    }
    if let Some(result) = &call.output {
        let lines: Vec<&str> = result.text.trim_end().lines().collect();
        for line in lines.iter().take(OUTPUT_LINES) {
            let line = output.paint(Style::Faint, &safe_output(line));
            text.push_str(&format!("\n  {line}"));
        }
        if lines.len() > OUTPUT_LINES {
            text.push_str(&format!("\n  {}", locale.more_lines((lines.len() - OUTPUT_LINES) as u64)));
        }
    }
    text
}
