//! The context builder: where a focus comes from, and what becomes of the router's verdicts.

use throughline_model::channel::Channel;
use throughline_model::context::{FOCUS_MILLIS, ReplyTo, Surroundings, TOUCHED_MILLIS};
use throughline_model::execution::{Activity, Role};
use throughline_model::ids::{ApprovalId, Mint, ProjectId, TaskId};
use throughline_model::route::{Focus, FocusSource, Intent};
use throughline_model::router::input::Agent;
use throughline_model::task::Lifecycle;
use throughline_model::time::Timestamp;
use throughline_model::view::{Addressed, ExecutionRow, ProjectRow, TaskRow};

const NOW: i64 = 1_000_000_000;

struct Desk {
    mint: Mint,
    around: Surroundings,
    project: ProjectId,
}

impl Desk {
    fn new() -> Self {
        let mut mint = Mint::new(Timestamp::from_millis(1), 7);
        let project: ProjectId = mint.id();
        let agent = |id: &str, alias: &str| Agent { id: id.into(), aliases: vec![alias.into()], ..Agent::default() };
        let shop = ProjectRow { id: project, name: "shop".into(), root: "/shop".into(), agent: "codex".into() };
        let around = Surroundings {
            now: Timestamp::from_millis(NOW),
            channel: Channel::Cli,
            project: Some(project),
            own_focus: None,
            addressed: vec![],
            reply_to: None,
            tasks: vec![],
            approvals: vec![],
            agents: vec![agent("codex", "cx"), agent("claude-code", "cc")],
            projects: vec![shop],
        };
        Self { mint, around, project }
    }

    /// A task that codex works on, called so, in this state.
    fn task(&mut self, title: &str, activity: Activity) -> TaskId {
        let id: TaskId = self.mint.id();
        let lead = ExecutionRow {
            id: self.mint.id(),
            agent: "codex".into(),
            role: Role::Editor,
            activity: activity.clone(),
            primary: true,
        };
        self.around.tasks.push(TaskRow {
            id,
            key: format!("shop-{}", self.around.tasks.len() + 1),
            project: self.project,
            title: title.into(),
            lifecycle: Lifecycle::Open,
            activity,
            agent: "codex".into(),
            last_said: String::new(),
            waiting_for: None,
            plan: None,
            executions: vec![lead],
            unasked_mode: None,
            updated_at: Timestamp::from_millis(NOW - 60_000),
        });
        id
    }

    /// The person addressed it so long ago, somewhere.
    fn addressed(&mut self, task: TaskId, ago: u64) {
        let at = Timestamp::from_millis(NOW - i64::try_from(ago).expect("a time"));
        let person = self.mint.id();
        self.around.addressed.push(Addressed { person, task, at });
        self.around.addressed.sort_by_key(|known| std::cmp::Reverse(known.at));
    }

    fn intent(&mut self, message: &str) -> Intent {
        let id = self.mint.id();
        self.around.route(id, message).intent
    }
}

#[test]
fn the_conversations_own_focus_comes_first() {
    let mut desk = Desk::new();
    let (own, other) = (desk.task("Fix routing", Activity::Resting), desk.task("Login page", Activity::Resting));
    desk.addressed(other, 1_000);
    desk.around.own_focus = Some(own);
    assert_eq!(desk.around.focus(), Some(Focus { task: own, source: FocusSource::Conversation }));
}

#[test]
fn else_the_task_that_was_addressed_last_in_the_project_is_the_focus_for_twelve_hours() {
    let mut desk = Desk::new();
    let (older, newer) = (desk.task("Fix routing", Activity::Resting), desk.task("Login page", Activity::Resting));
    desk.addressed(older, TOUCHED_MILLIS + 5);
    desk.addressed(newer, FOCUS_MILLIS - 5);
    assert_eq!(desk.around.focus(), Some(Focus { task: older, source: FocusSource::Elsewhere }));
    desk.around.addressed.retain(|known| known.task == newer);
    assert_eq!(desk.around.focus().map(|focus| focus.task), Some(newer));
    desk.around.addressed.clear();
    desk.addressed(newer, FOCUS_MILLIS + 1);
    assert_eq!(desk.around.focus(), None);
}

#[test]
fn two_that_were_touched_lately_leave_it_open() {
    let mut desk = Desk::new();
    let (one, two) = (desk.task("Fix routing", Activity::Resting), desk.task("Login page", Activity::Resting));
    desk.addressed(one, 1_000);
    desk.addressed(two, TOUCHED_MILLIS);
    assert_eq!(desk.around.focus(), None);
}

#[test]
fn another_projects_task_is_no_focus_here() {
    let mut desk = Desk::new();
    let task = desk.task("Fix routing", Activity::Resting);
    desk.addressed(task, 1_000);
    desk.around.project = Some(desk.mint.id());
    assert_eq!(desk.around.focus(), None);
}

#[test]
fn verdicts_become_intents_with_what_they_are_about() {
    let mut desk = Desk::new();
    let (task, other) = (desk.task("Fix routing", Activity::Working), desk.task("Login page", Activity::Resting));
    desk.around.own_focus = Some(task);
    let added = Intent::AddExecution { task, agent: "claude-code".into(), role: Role::Reviewer };
    assert_eq!(desk.intent("use cc to review it too"), added);
    let switched = Intent::SwitchAgent { task, agent: Some("claude-code".into()), model: None };
    assert_eq!(desk.intent("use cc instead"), switched);
    assert_eq!(desk.intent("stop"), Intent::Cancel { task: Some(task), running: vec![task] });
    assert_eq!(desk.intent("stop everything"), Intent::Cancel { task: None, running: vec![task] });
    assert_eq!(desk.intent("stop shop-2"), Intent::Cancel { task: Some(other), running: vec![] });
    assert_eq!(desk.intent("what's the status of everything?"), Intent::Status { task: None });
    assert_eq!(desk.intent("make the button green"), Intent::Continue { task, execution: None });
}

#[test]
fn a_reply_to_a_request_that_is_gone_decides_nothing() {
    let mut desk = Desk::new();
    let task = desk.task("Fix routing", Activity::Resting);
    desk.around.own_focus = Some(task);
    let gone: ApprovalId = desk.mint.id();
    desk.around.reply_to = Some(ReplyTo::Approval(gone));
    assert!(!matches!(desk.intent("yes"), Intent::Approve { .. }));
}
