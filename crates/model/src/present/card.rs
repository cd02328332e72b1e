//! Card: all that a person has to know of a task before they act, and what they can do. Its text has at most
//! [`MAX_CHARS`] characters.
//!
//! **Invariant:** a request can be approved from a card only if the card shows the whole of it.

use super::fit;
use super::glance::NAME_CHARS;
use super::locale::Locale;
use crate::approval::{Approval, Verdict};
use crate::checkpoint::ChangedFile;
use crate::content::plain_text;
use crate::execution::{Activity, Execution};
use crate::plan::{Plan, PlanEntry, PlanStatus};
use crate::reply::{Action, Choice};
use crate::runtime_session::Unasked;
use crate::shown::{Shown, View};
use crate::task::{Lifecycle, Task};
use crate::time::Timestamp;
use crate::turn::TurnStage;

/// A card's text is never longer.
pub const MAX_CHARS: usize = 1_500;
/// A line of a card is never longer, but for the request that is to be approved.
const LINE_CHARS: usize = 160;
/// A request that is longer cannot be approved from a card.
const REQUEST_CHARS: usize = 600;
/// So many entries of one kind are shown.
const ENTRIES: usize = 8;

/// A task, closer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The handle that a person types.
    pub key: String,
    /// What it is called.
    pub title: String,
    /// What there is to know, most important first.
    pub fields: Vec<Field>,
    /// What can be done, most likely first.
    pub buttons: Vec<Choice>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is about.
    pub about: About,
    /// The same in the person's language.
    pub label: String,
    /// What there is to say, each line safe to show.
    pub lines: Vec<String>,
}

/// What a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Both axes of the state.
    State,
    /// What an agent asks to do.
    Request,
    /// Who works on it.
    Agent,
    /// The agent's last words.
    Said,
    /// The plan and how far it is.
    Plan,
    /// What the last turn changed.
    Changed,
    /// What was pinned.
    Note,
    /// What waits for an agent.
    Queued,
    /// In which project, and where.
    Place,
}

impl About {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            About::State => "state",
            About::Request => "request",
            About::Agent => "agent",
            About::Said => "said",
            About::Plan => "plan",
            About::Changed => "changed",
            About::Note => "note",
            About::Queued => "queued",
            About::Place => "place",
        }
    }

    fn label(self, locale: Locale) -> String {
        match self {
            About::State => locale.label_state(),
            About::Request => locale.label_request(),
            About::Agent => locale.label_agent(),
            About::Said => locale.label_said(),
            About::Plan => locale.label_plan(),
            About::Changed => locale.label_changed(),
            About::Note => locale.label_note(),
            About::Queued => locale.label_queued(),
            About::Place => locale.label_place(),
        }
    }
}

/// What a card needs besides the task.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The project's name.
    pub project: &'a str,
    /// The time, for ages.
    pub now: Timestamp,
}

/// A task's card.
#[must_use]
pub fn card(locale: Locale, task: &Task, around: Around<'_>) -> Card {
    // Only the first is shown and decided here: the next one comes into view with its own bytes.
    let request = task.approvals.pending.first().map(|pending| Request::of(&pending.approval));
    let others = task.approvals.pending.len().saturating_sub(1);
    let mut asked = request.as_ref().map(|request| request.lines.clone()).unwrap_or_default();
    asked.extend((others > 0).then(|| locale.more(others)));
    let field = |about: About, lines: Vec<String>| Field { about, label: about.label(locale), lines };
    let changed = task.primary().map(|execution| changed(locale, &execution.past.changed));
    let said = match task.spent() {
        Some(spent) => spent.question(locale),
        None => task.last_said().to_owned(),
    };
    let queued = task.executions.iter().flat_map(|execution| &execution.queue);
    let mut fields = vec![
        field(About::State, vec![state_line(locale, task, around.now)]),
        field(About::Request, asked),
        field(
            About::Agent,
            few(locale, task.executions.iter().flat_map(|execution| agent_lines(locale, execution)).collect()),
        ),
        field(About::Said, Some(fit(&said, LINE_CHARS)).filter(|said| !said.is_empty()).into_iter().collect()),
        field(About::Plan, plan(locale, &task.plan)),
        field(About::Changed, changed.unwrap_or_default()),
        field(About::Note, few(locale, task.notes.iter().map(|note| fit(note, LINE_CHARS)).collect())),
        field(About::Queued, few(locale, queued.map(|queued| fit(&plain_text(&queued.content), LINE_CHARS)).collect())),
        field(About::Place, places(locale, task, around.project)),
    ];
    fields.retain(|field| !field.lines.is_empty());
    Card {
        key: fit(&task.key, NAME_CHARS),
        title: fit(&task.title, LINE_CHARS),
        fields,
        buttons: buttons(locale, task, request.as_ref()),
    }
}

impl Card {
    /// The card as text: the title, then a line for each thing to know.
    #[must_use]
    pub fn text(&self, locale: Locale) -> String {
        let mut text = super::cut(format!("{} *{}*", self.key, self.title), MAX_CHARS - 2);
        let mut left = MAX_CHARS - 2 - text.chars().count();
        let labelled = self.fields.iter().flat_map(|field| {
            let first = |(at, line): (usize, &String)| match at {
                0 => format!("\n{}", locale.because(&field.label, line)),
                _ => format!("\n  {line}"),
            };
            field.lines.iter().enumerate().map(first)
        });
        for line in labelled {
            match left.checked_sub(line.chars().count()) {
                Some(rest) => left = rest,
                None => return text + "\n…",
            }
            text.push_str(&line);
        }
        text
    }
}

fn state_line(locale: Locale, task: &Task, now: Timestamp) -> String {
    let activity = task.activity();
    let words = locale.state(task.lifecycle, &activity);
    let words = match activity.until() {
        Some(until) => locale.until(words, until.utc()),
        None => words,
    };
    let words = match activity.reason() {
        Some(reason) => locale.because(words, fit(reason, LINE_CHARS)),
        None => words,
    };
    match since(task) {
        Some(then) => locale.since(words, locale.ago(then, now)),
        None => words,
    }
}

/// When the task came into the state that it is in, as far as the record says.
pub(super) fn since(task: &Task) -> Option<Timestamp> {
    if let Some(pending) = task.approvals.pending.first() {
        return Some(pending.asked_at);
    }
    let live = task.executions.iter().filter(|execution| execution.ended.is_none());
    let most_urgent = live.min_by_key(|execution| execution.activity().rank())?;
    let active = most_urgent.active.as_ref().map(|turn| turn.started_at.unwrap_or(turn.requested_at));
    active.or_else(|| most_urgent.past.last.as_ref().map(|turn| turn.at))
}

/// An agent's line, then what a person should know of its session besides how it is.
fn agent_lines(locale: Locale, execution: &Execution) -> Vec<String> {
    let mut lines = vec![agent_line(locale, execution)];
    let session = execution.session.as_ref().filter(|_| execution.ended.is_none());
    let Some(about) = session.map(|session| &session.description) else { return lines };
    lines.extend(about.unasked().map(|unasked| match unasked {
        Unasked::Some(what) => locale.runs_some_unasked(fit(&what, LINE_CHARS)),
        Unasked::Everything(mode) => locale.runs_all_unasked(fit(&mode, NAME_CHARS)),
    }));
    if !about.mcp_servers.is_empty() {
        lines.push(locale.mcp_servers(fit(&about.mcp_servers.join(", "), LINE_CHARS)));
    }
    lines
}

/// Where the task is, and where executions of it work apart.
fn places(locale: Locale, task: &Task, project: &str) -> Vec<String> {
    let mut places = vec![locale.place(fit(project, NAME_CHARS), fit(&task.workplace().root, LINE_CHARS))];
    let live = task.executions.iter().filter(|execution| execution.ended.is_none());
    let apart = live.filter(|execution| task.site_of(execution.id).root != task.workplace().root);
    places.extend(apart.map(|execution| {
        let root = fit(&task.site_of(execution.id).root, LINE_CHARS);
        locale.because(fit(&execution.agent, NAME_CHARS), locale.works_apart(root))
    }));
    few(locale, places)
}

/// Who works as what, how much they did, and how far they are.
fn agent_line(locale: Locale, execution: &Execution) -> String {
    let mut parts = vec![locale.agent_as(fit(&execution.agent, NAME_CHARS), locale.role(execution.role))];
    let held = execution.session.as_ref().and_then(|session| locale.read_only(session.description.write_access));
    parts.extend(held);
    if let Some(end) = execution.ended {
        parts.push(locale.execution_end(end));
    }
    parts.push(locale.turns(execution.past.turns));
    if let Some(session) = &execution.session {
        let phase = locale.phase(session.phase);
        parts.push(match &session.description.model {
            Some(model) => locale.session_with_model(phase, fit(model, NAME_CHARS)),
            None => locale.session(phase),
        });
    }
    match (&execution.active, &execution.past.last) {
        (Some(turn), _) => parts.push(match &turn.stage {
            TurnStage::AwaitingLease { .. } => locale.turn_awaits_workspace(),
            TurnStage::AwaitingSession => locale.turn_awaits_session(),
            TurnStage::Running => match turn.silent_secs {
                Some(secs) => locale.turn_silent(secs.div_ceil(60)),
                None => locale.turn_runs(),
            },
        }),
        (None, Some(last)) => parts.push(locale.last_turn(locale.outcome(&last.outcome))),
        (None, None) => {}
    }
    super::cut(parts.join(&locale.comma()), LINE_CHARS)
}

/// How far the plan is, then its steps: those around the one that is worked on, if they are many.
fn plan(locale: Locale, plan: &Plan) -> Vec<String> {
    let Some((done, total)) = plan.progress() else { return vec![] };
    let current = plan.entries.iter().position(|entry| entry.status != PlanStatus::Completed).unwrap_or(total);
    let first = current.saturating_sub(2).min(total.saturating_sub(ENTRIES));
    let mut lines = vec![locale.plan_progress(done, total, plan.version)];
    lines.extend(plan.entries.iter().skip(first).take(ENTRIES).map(step));
    match total - lines.len().saturating_sub(1) {
        0 => {}
        hidden => lines.push(locale.more(hidden)),
    }
    lines
}

/// One step of a plan.
#[must_use]
pub fn step(entry: &PlanEntry) -> String {
    let mark = match entry.status {
        PlanStatus::Pending => "[ ]",
        PlanStatus::InProgress => "[>]",
        PlanStatus::Completed => "[x]",
    };
    format!("{mark} {}", fit(&entry.content, LINE_CHARS - 4))
}

fn changed(locale: Locale, files: &[ChangedFile]) -> Vec<String> {
    few(locale, files.iter().map(|file| changed_file(locale, file)).collect())
}

/// A file that a turn changed, in one line.
#[must_use]
pub fn changed_file(locale: Locale, file: &ChangedFile) -> String {
    let word = match file.change.as_str() {
        "added" => locale.file_added(),
        "modified" => locale.file_modified(),
        "deleted" => locale.file_deleted(),
        "renamed" => locale.file_renamed(),
        other => fit(&other.replace('_', " "), NAME_CHARS),
    };
    format!("{word} {} (+{} −{})", fit(&file.path, LINE_CHARS - 60), file.added, file.removed)
}

/// The first few, and how many more there are.
fn few(locale: Locale, mut lines: Vec<String>) -> Vec<String> {
    let hidden = lines.len().saturating_sub(ENTRIES);
    if hidden > 0 {
        lines.truncate(ENTRIES);
        lines.push(locale.more(hidden));
    }
    lines
}

/// A request as a card shows it.
struct Request<'a> {
    approval: &'a Approval,
    lines: Vec<String>,
    /// Whether all of it is shown.
    complete: bool,
}

impl<'a> Request<'a> {
    fn of(approval: &'a Approval) -> Self {
        let ask = &approval.ask;
        let mut room = REQUEST_CHARS;
        let mut complete = true;
        let mut lines = vec![];
        let exact = |view: View| ask.input.is_some().then(|| approval.shown(view));
        let parts: [&dyn Fn(View) -> Option<Shown>; 3] =
            [&|view| Some(view.show(&ask.title)), &exact, &|view| Some(view.show(&ask.cwd))];
        for part in parts {
            let Some(shown) = part(View::line(room)) else { continue };
            complete &= shown.complete;
            room -= shown.text.chars().count().min(room);
            lines.push(if shown.complete { shown.text } else { shown.text + "…" });
        }
        Request { approval, lines, complete }
    }
}

fn buttons(locale: Locale, task: &Task, request: Option<&Request<'_>>) -> Vec<Choice> {
    let mut buttons = vec![];
    let mut offer = |label: String, action: Action| buttons.push(Choice { label, action });
    if let Some(request) = request {
        let decide =
            |verdict| Action::Decide { approval: request.approval.id, verdict, digest: request.approval.digest() };
        if request.complete {
            offer(locale.button_approve(), decide(Verdict::Approve));
        }
        offer(locale.button_deny(), decide(Verdict::Deny));
    }
    let id = task.id;
    match task.activity() {
        Activity::WaitingAnswer => offer(locale.button_answer(), Action::Answer { task: id }),
        Activity::Blocked { .. } | Activity::Failed { .. } => offer(locale.button_retry(), Action::Retry { task: id }),
        Activity::WaitingApproval | Activity::Working | Activity::Queued { .. } | Activity::Resting => {}
    }
    if task.executions.iter().any(|execution| execution.active.is_some()) {
        offer(locale.button_stop(), Action::Stop { task: id });
    } else if task.lifecycle == Lifecycle::Open {
        offer(locale.button_close(), Action::Close { task: id });
    }
    if task.lifecycle != Lifecycle::Open {
        offer(locale.button_reopen(), Action::Reopen { task: id });
    }
    offer(locale.button_open(), Action::Open { task: id });
    buttons
}
