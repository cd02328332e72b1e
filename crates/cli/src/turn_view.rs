//! A turn as it happens: frames of the event stream in, pieces of text out.
//!
//! Pure, so that it is tested without a daemon. Live text and the durable message that ends it have the
//! same item: what was shown live is not shown again. *Invariant:* entries of other turns and of other
//! tasks show nothing.

use std::collections::{HashMap, HashSet};

use throughline_api::approval::ApprovalState;
use throughline_api::content::Blob;
use throughline_api::event::{LiveKind, LiveText};
use throughline_api::task::{TurnEnd, TurnOutcome};
use throughline_api::timeline::{AgentMessage, EntryBody, PlanEntry, ToolCall, ToolStatus};
use throughline_model::present::Locale;
use uuid::Uuid;

use crate::output::{Output, Style};
use crate::safe_text::{safe, safe_line, safe_output};
use crate::timeline_view::taken_up;

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 5;

/// What has been shown of a turn.
pub(crate) struct TurnView {
    output: Output,
    locale: Locale,
    /// The turn, once the input became one.
    turn: Option<Uuid>,
    /// Bytes shown, by item.
    shown: HashMap<Uuid, usize>,
    /// Tool calls whose last status was shown.
    tools: HashMap<Uuid, ToolStatus>,
    /// Requests that the project's policy decides.
    ruled: HashSet<Uuid>,
    plan: Vec<PlanEntry>,
    /// Whether the cursor stands in the middle of a line.
    mid_line: bool,
}

impl TurnView {
    /// Nothing shown yet.
    pub(crate) fn new(output: Output, locale: Locale) -> Self {
        Self {
            output,
            locale,
            turn: None,
            shown: HashMap::new(),
            tools: HashMap::new(),
            ruled: HashSet::new(),
            plan: Vec::new(),
            mid_line: false,
        }
    }

    /// The input became this turn.
    pub(crate) fn begin(&mut self, turn: Uuid) {
        self.turn = Some(turn);
    }

    /// A piece of live text.
    pub(crate) fn live(&mut self, live: &LiveText) -> String {
        if !self.is_ours(live.turn) || live.kind != LiveKind::Message {
            return String::new();
        }
        let shown = self.shown.get(&live.item).copied().unwrap_or_default();
        let Ok(at) = usize::try_from(live.at) else {
            return String::new();
        };
        // After a gap nothing is shown until the whole message is there.
        match shown.checked_sub(at).and_then(|skip| live.text.get(skip..)) {
            Some(fresh) if !fresh.is_empty() => self.words(live.item, shown, fresh),
            _ => String::new(),
        }
    }

    /// Where all of a message of this turn is, if it is not in the entry and was not shown live.
    pub(crate) fn missing<'a>(&self, message: &'a AgentMessage) -> Option<&'a Blob> {
        let shown = self.shown.get(&message.item.item).copied().unwrap_or_default();
        let blob = message.text.blob.as_ref().filter(|blob| (shown as u64) < blob.bytes);
        blob.filter(|_| self.is_ours(message.item.turn))
    }

    /// A durable entry.
    pub(crate) fn entry(&mut self, body: &EntryBody) -> String {
        match body {
            EntryBody::Message(message) if self.is_ours(message.item.turn) => {
                let item = message.item.item;
                let shown = self.shown.get(&item).copied().unwrap_or_default();
                let mut text = match message.text.text.get(shown..) {
                    Some(rest) if !rest.is_empty() => self.words(item, shown, rest),
                    _ => String::new(),
                };
                text.push_str(&self.end_line());
                text
            }
            EntryBody::ToolCall(call) if self.is_ours(call.item.turn) => self.tool(call),
            // Nobody is asked; what decided is told.
            EntryBody::Approval { approval }
                if approval.state == ApprovalState::Ruled && self.is_ours(Some(approval.turn)) =>
            {
                self.ruled.insert(approval.id);
                String::new()
            }
            EntryBody::ApprovalSettled { approval, reason: Some(reason), told, .. } if self.ruled.remove(approval) => {
                self.faint(&safe_line(told.get(self.locale.tag()).unwrap_or(reason)))
            }
            EntryBody::AgentNote { item, text, .. } if self.is_ours(item.turn) => self.faint(&safe_line(&text.text)),
            EntryBody::Plan { entries, .. } if self.turn.is_some() => self.plan(entries),
            EntryBody::TurnHeld { turn, behind } if self.is_ours(Some(*turn)) => {
                self.faint(&self.locale.held_behind(safe_line(behind)))
            }
            EntryBody::RuntimeSessionResumed { cause, .. } if self.turn.is_some() => {
                self.faint(&taken_up(self.locale, *cause))
            }
            EntryBody::RuntimeSessionChanged { setting, value, .. } if setting == "mode_set_back" => {
                self.faint(&self.locale.mode_set_back(safe_line(value)))
            }
            EntryBody::RuntimeSessionLost { cause, .. } if self.turn.is_some() => {
                self.faint(&self.locale.session_lost(safe_line(cause)))
            }
            EntryBody::TurnEnded { turn, end } if self.is_ours(Some(*turn)) => self.ended(end),
            _ => String::new(),
        }
    }

    /// Whatever stands in the middle of a line gets its end.
    pub(crate) fn end_line(&mut self) -> String {
        if std::mem::take(&mut self.mid_line) { "\n".to_owned() } else { String::new() }
    }

    fn is_ours(&self, turn: Option<Uuid>) -> bool {
        self.turn.is_some() && self.turn == turn
    }

    fn words(&mut self, item: Uuid, shown: usize, fresh: &str) -> String {
        let mut text = String::new();
        if shown == 0 {
            text.push_str(&self.end_line());
        }
        text.push_str(&safe(fresh));
        self.mid_line = !fresh.ends_with('\n');
        self.shown.insert(item, shown + fresh.len());
        text
    }

    fn line(&mut self, text: &str) -> String {
        format!("{}{text}\n", self.end_line())
    }

    fn faint(&mut self, text: &str) -> String {
        let painted = self.output.paint(Style::Faint, text);
        self.line(&painted)
    }

    fn tool(&mut self, call: &ToolCall) -> String {
        if self.tools.insert(call.item.item, call.status) == Some(call.status) {
            return String::new();
        }
        let title = safe_line(&call.title);
        let mark = match call.status {
            ToolStatus::Completed => self.output.paint(Style::Good, "✓"),
            ToolStatus::Failed => self.output.paint(Style::Bad, "✗"),
            // Said once, when it begins to run; a request that waits shows itself.
            ToolStatus::InProgress => self.output.paint(Style::Faint, "·"),
            ToolStatus::Pending | ToolStatus::Unknown => return String::new(),
        };
        let unasked = if call.not_asked {
            self.output.paint(Style::Warn, &format!(" ({})", self.locale.not_asked()))
        } else {
            String::new()
        };
        let mut text = self.line(&format!("{mark} {title}{unasked}"));
        if let (true, Some(output)) = (is_over(call.status), &call.output) {
            text.push_str(&self.tool_output(&output.text));
        }
        text
    }

    fn tool_output(&mut self, output: &str) -> String {
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let mut text = String::new();
        for line in lines.iter().take(OUTPUT_LINES) {
            text.push_str(&self.faint(&format!("  {}", safe_output(line))));
        }
        if lines.len() > OUTPUT_LINES {
            let more = lines.len() - OUTPUT_LINES;
            text.push_str(&self.faint(&format!("  {}", self.locale.more_lines(more as u64))));
        }
        text
    }

    /// The whole plan at first, then only what changed.
    fn plan(&mut self, entries: &[PlanEntry]) -> String {
        let known = std::mem::replace(&mut self.plan, entries.to_vec());
        let mut text = String::new();
        for (at, entry) in entries.iter().enumerate() {
            if known.get(at) != Some(entry) {
                text.push_str(&self.line(&plan_line(entry)));
            }
        }
        text
    }

    fn ended(&mut self, end: &TurnEnd) -> String {
        let summary = end_line(self.locale, end);
        let style = match end.outcome {
            TurnOutcome::Completed => Style::Faint,
            TurnOutcome::Cancelled | TurnOutcome::Interrupted => Style::Warn,
            TurnOutcome::Failed | TurnOutcome::Unknown => Style::Bad,
        };
        let painted = self.output.paint(style, &summary);
        self.line(&painted)
    }
}

fn is_over(status: ToolStatus) -> bool {
    matches!(status, ToolStatus::Completed | ToolStatus::Failed)
}

/// One step of a plan.
pub(crate) fn plan_line(entry: &PlanEntry) -> String {
    let mark = match entry.status.as_str() {
        "completed" => "[x]",
        "in_progress" => "[>]",
        _ => "[ ]",
    };
    format!("{mark} {}", safe_line(&entry.content))
}

/// How a turn ended, in one line.
pub(crate) fn end_line(locale: Locale, end: &TurnEnd) -> String {
    let word = match end.outcome {
        TurnOutcome::Completed => locale.turn_completed(),
        TurnOutcome::Failed => locale.turn_failed(),
        TurnOutcome::Cancelled => locale.turn_cancelled(),
        TurnOutcome::Interrupted => locale.turn_interrupted(),
        TurnOutcome::Unknown => locale.turn_unknown(),
    };
    let text = match end.duration_ms {
        Some(millis) => locale.ended_in(word, locale.took(millis)),
        None => word,
    };
    let stop = end.stop_reason.as_deref().filter(|stop| *stop != "end_turn");
    match end.reason.as_deref().or(stop) {
        Some(reason) => locale.because(text, safe_line(reason)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use throughline_api::content::Text;
    use throughline_api::task::TaskRef;
    use throughline_api::timeline::ItemRef;

    use super::*;

    const TURN: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);
    const ITEM: Uuid = Uuid::from_u128(3);

    fn view() -> TurnView {
        let mut view = TurnView::new(Output::plain(), Locale::En);
        view.begin(TURN);
        view
    }

    fn live(at: u64, text: &str) -> LiveText {
        LiveText {
            task: TaskRef { id: Uuid::nil(), key: "shop-1".to_owned() },
            item: ITEM,
            turn: Some(TURN),
            kind: LiveKind::Message,
            at,
            text: text.to_owned(),
        }
    }

    fn item(turn: Uuid) -> ItemRef {
        ItemRef { item: ITEM, execution: Uuid::nil(), turn: Some(turn) }
    }

    fn message(turn: Uuid, text: &str) -> EntryBody {
        EntryBody::Message(AgentMessage {
            item: item(turn),
            text: Text::from(text.to_owned()),
            attachments: vec![],
            question: false,
        })
    }

    fn tool(status: ToolStatus, output: Option<&str>) -> EntryBody {
        EntryBody::ToolCall(Box::new(ToolCall {
            item: item(TURN),
            call: "1".to_owned(),
            title: "run ls".to_owned(),
            tool: "execute".to_owned(),
            status,
            input: None,
            output: output.map(|text| Text::from(text.to_owned())),
            exit_code: None,
            changes: vec![],
            locations: vec![],
            not_asked: false,
        }))
    }

    fn step(content: &str, status: &str) -> PlanEntry {
        PlanEntry { content: content.to_owned(), priority: "medium".to_owned(), status: status.to_owned() }
    }

    #[test]
    fn what_was_shown_live_is_not_shown_again() {
        let mut view = view();
        assert_eq!(view.live(&live(0, "Hel")), "Hel");
        assert_eq!(view.live(&live(3, "lo")), "lo");
        assert_eq!(view.entry(&message(TURN, "Hello, you")), ", you\n");
    }

    #[test]
    fn a_piece_that_comes_again_after_a_reconnect_shows_only_its_new_part() {
        let mut view = view();
        assert_eq!(view.live(&live(0, "Hel")), "Hel");
        assert_eq!(view.live(&live(0, "Hello")), "lo");
        assert_eq!(view.live(&live(0, "Hel")), "");
    }

    #[test]
    fn after_a_gap_the_whole_message_fills_in() {
        let mut view = view();
        assert_eq!(view.live(&live(0, "a")), "a");
        assert_eq!(view.live(&live(5, "f")), "");
        assert_eq!(view.entry(&message(TURN, "abcdef")), "bcdef\n");
    }

    #[test]
    fn what_did_not_come_live_of_a_long_message_is_missing() {
        let blob = Blob { sha256: "b".to_owned(), bytes: 5 };
        let long = |turn| AgentMessage {
            item: item(turn),
            text: Text { text: "He".to_owned(), blob: Some(blob.clone()) },
            attachments: vec![],
            question: false,
        };
        let mut view = view();
        assert_eq!(view.missing(&long(OTHER)), None);
        assert_eq!(view.missing(&long(TURN)), Some(&blob));
        view.live(&live(0, "Hell"));
        assert_eq!(view.missing(&long(TURN)), Some(&blob));
        view.live(&live(4, "o"));
        assert_eq!(view.missing(&long(TURN)), None);
    }

    #[test]
    fn other_turns_show_nothing() {
        let mut view = view();
        assert_eq!(view.entry(&message(OTHER, "not ours")), "");
        let mut early = TurnView::new(Output::plain(), Locale::En);
        assert_eq!(early.entry(&message(TURN, "before ours")), "");
    }

    #[test]
    fn a_tool_is_one_line_per_status_and_a_little_of_its_output() {
        let mut view = view();
        assert_eq!(view.live(&live(0, "text")), "text");
        assert_eq!(view.entry(&tool(ToolStatus::Pending, None)), "");
        assert_eq!(view.entry(&tool(ToolStatus::InProgress, None)), "\n· run ls\n");
        assert_eq!(view.entry(&tool(ToolStatus::InProgress, None)), "");
        let output = "1\n2\n3\n4\n5\n6\n7\n";
        assert_eq!(
            view.entry(&tool(ToolStatus::Completed, Some(output))),
            "✓ run ls\n  1\n  2\n  3\n  4\n  5\n  … 2 more lines\n"
        );
    }

    #[test]
    fn a_plan_is_shown_once_and_then_what_changed() {
        let mut view = view();
        let plan = |first, second| EntryBody::Plan { version: 1, entries: vec![step("a", first), step("b", second)] };
        assert_eq!(view.entry(&plan("pending", "pending")), "[ ] a\n[ ] b\n");
        assert_eq!(view.entry(&plan("completed", "pending")), "[x] a\n");
        assert_eq!(view.entry(&plan("completed", "pending")), "");
    }

    #[test]
    fn what_an_agent_says_cannot_move_the_cursor() {
        let mut view = view();
        assert_eq!(view.live(&live(0, "\u{1b}[2J")), "\\u{1b}[2J");
    }
}
