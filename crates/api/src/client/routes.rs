//! One method per route.

use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderName, Method};
use uuid::Uuid;

use super::{Body, Call, Client, ClientError, decode, escaped, query};
use crate::approval::{Approval, ApprovalList, DecideApproval};
use crate::budget::{Budget, Caps};
use crate::content::Blob;
use crate::daemon::{AgentList, AgentProbe, Health, Status, StopDaemon, Stopping, Version};
use crate::delivery::DeliveryList;
use crate::diff::TurnDiff;
use crate::gc::{Freed, RunGc};
use crate::identity::{Identity, IdentityList, OfferPairing, Pairing};
use crate::import::{ImportNative, ImportedTask, NativeSessionList};
use crate::login::{LoginLink, Place};
use crate::message::{Correct, Explain, Explained, SendMessage, SentMessage};
use crate::notice::{ChooseMain, ChooseReasons, Digest, Notices, QuietHours};
use crate::person::{ChangeMe, Me};
use crate::policy::{AddRule, Decided, MakeRule, Policy, Rule, SetPolicy};
use crate::project::{AddProject, Conversation, OpenConversation, PinnedNotes, Project, ProjectList};
use crate::task::{AddExecution, AnswerQuestion, PinNote, SwitchTo, Task, TaskChange, TaskPage};
use crate::timeline::TimelinePage;
use crate::workspace::{Comparison, Discarded, ForkTask, RestoreTo, Restored, Taken, TurnList};
use crate::{CURSOR, IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED};

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskListQuery {
    /// Closed and archived ones too.
    pub all: bool,
    /// Only those that wait for a person.
    pub needs_me: bool,
    /// Only of this project: its id or name.
    pub project: Option<String>,
    /// The last page's `next`.
    pub after: Option<String>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryListQuery {
    /// Only about this task: its key or id.
    pub task: Option<String>,
    /// Only to these conversations; to all if empty.
    pub conversations: Vec<String>,
    /// Only in these states; in all if empty.
    pub states: Vec<String>,
    /// Only what somebody may have missed.
    pub undelivered: bool,
    /// Also every change of a message that tells how far work is.
    pub all: bool,
    /// The last page's `before`.
    pub before: Option<Uuid>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// Which page of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineQuery {
    /// The last page's `before`; the newest page if none.
    pub before: Option<String>,
    /// How many entries at most.
    pub limit: Option<usize>,
}

impl Client {
    /// Whether the daemon lives.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.json(Call::get("/healthz")).await
    }

    /// Who answers.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.json(Call::get("/api/v1/version")).await
    }

    /// Where things stand.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.json(Call::get("/api/v1/status")).await
    }

    /// Where one task stands.
    pub async fn status_of(&self, key: &str) -> Result<Status, ClientError> {
        self.json(Call::get(&format!("/api/v1/status{}", query(&[("task", Some(key))])))).await
    }

    /// Whoever calls.
    pub async fn me(&self) -> Result<Me, ClientError> {
        self.json(Call::get("/api/v1/me")).await
    }

    /// Changes whoever calls.
    pub async fn change_me(&self, change: &ChangeMe) -> Result<Me, ClientError> {
        self.json(Call { method: Method::PUT, ..Call::get("/api/v1/me") }.with_json(change)?).await
    }

    /// A one-time code that links whoever says it on a channel.
    pub async fn pair(&self, offer: &OfferPairing) -> Result<Pairing, ClientError> {
        self.json(Call::post("/api/v1/pairings").with_json(offer)?).await
    }

    /// Where whoever calls is recognised.
    pub async fn identities(&self) -> Result<IdentityList, ClientError> {
        self.json(Call::get("/api/v1/identities")).await
    }

    /// Recognises whoever calls there no longer.
    pub async fn revoke_identity(&self, id: &str) -> Result<Identity, ClientError> {
        let path = format!("/api/v1/identities/{}", escaped(id));
        self.json(Call { method: Method::DELETE, ..Call::get(&path) }).await
    }

    /// What whoever calls is told, and where.
    pub async fn notices(&self) -> Result<Notices, ClientError> {
        self.json(Call::get("/api/v1/notices")).await
    }

    /// Tells a chat for these reasons, and for no other.
    pub async fn choose_reasons(&self, chat: Uuid, choice: &ChooseReasons) -> Result<Notices, ClientError> {
        let path = format!("/api/v1/notices/chats/{chat}");
        self.json(Call { method: Method::PUT, ..Call::get(&path) }.with_json(choice)?).await
    }

    /// Tells a browser by push for these reasons, and for no other.
    pub async fn choose_browser_reasons(&self, login: Uuid, choice: &ChooseReasons) -> Result<Notices, ClientError> {
        let path = format!("/api/v1/notices/browsers/{login}");
        self.json(Call { method: Method::PUT, ..Call::get(&path) }.with_json(choice)?).await
    }

    /// Chooses the chat in which one hears of what one does elsewhere.
    pub async fn choose_main(&self, choice: &ChooseMain) -> Result<Notices, ClientError> {
        self.json(Call { method: Method::PUT, ..Call::get("/api/v1/notices/main") }.with_json(choice)?).await
    }

    /// Keeps quiet at these hours.
    pub async fn choose_quiet(&self, hours: &QuietHours) -> Result<Notices, ClientError> {
        self.json(Call { method: Method::PUT, ..Call::get("/api/v1/notices/quiet") }.with_json(hours)?).await
    }

    /// Keeps quiet no longer.
    pub async fn no_quiet(&self) -> Result<Notices, ClientError> {
        self.json(Call { method: Method::DELETE, ..Call::get("/api/v1/notices/quiet") }).await
    }

    /// What happened in so many hours, and what needs whoever calls.
    pub async fn digest(&self, hours: u64) -> Result<Digest, ClientError> {
        self.json(Call::get(&format!("/api/v1/digest?hours={hours}"))).await
    }

    /// What was to be said in chats, and what became of it.
    pub async fn deliveries(&self, query: &DeliveryListQuery) -> Result<DeliveryList, ClientError> {
        let flags = format!("/api/v1/deliveries?undelivered={}&all={}", query.undelivered, query.all);
        let named = [
            ("task", query.task.clone()),
            ("conversation", Some(query.conversations.join(","))),
            ("state", Some(query.states.join(","))),
            ("before", query.before.map(|id| id.to_string())),
            ("limit", query.limit.map(|limit| limit.to_string())),
        ];
        let path = named.into_iter().fold(flags, |path, (name, value)| match value.as_deref() {
            None | Some("") => path,
            Some(value) => format!("{path}&{name}={}", escaped(value)),
        });
        self.json(Call::get(&path)).await
    }

    /// Stops the daemon; only over the Unix socket.
    pub async fn stop(&self, stop: StopDaemon) -> Result<Stopping, ClientError> {
        self.json(Call::post("/api/v1/daemon/stop").with_json(&stop)?).await
    }

    /// A link that lets one browser in, once.
    pub async fn login_link(&self, place: Place) -> Result<LoginLink, ClientError> {
        let path = match place {
            Place::Here => "/api/v1/login-links",
            Place::Elsewhere => "/api/v1/login-links?place=elsewhere",
        };
        self.json(Call::post(path)).await
    }

    /// All projects.
    pub async fn projects(&self) -> Result<ProjectList, ClientError> {
        self.json(Call::get("/api/v1/projects")).await
    }

    /// Adds a project.
    pub async fn add_project(&self, add: &AddProject) -> Result<Project, ClientError> {
        self.json(Call::post("/api/v1/projects").with_json(add)?).await
    }

    /// All agents.
    pub async fn agents(&self) -> Result<AgentList, ClientError> {
        self.json(Call::get("/api/v1/agents")).await
    }

    /// Starts an agent to see whether it works, and stops it again.
    pub async fn probe_agent(&self, name: &str) -> Result<AgentProbe, ClientError> {
        self.json(Call::post(&format!("/api/v1/agents/{}/probe", escaped(name)))).await
    }

    /// Opens a conversation: a new one, or a terminal's own for a root.
    pub async fn open_conversation(&self, open: &OpenConversation) -> Result<Conversation, ClientError> {
        self.json(Call::post("/api/v1/conversations").with_json(open)?).await
    }

    /// Opens the conversation with this id or name, if it is not there.
    pub async fn put_conversation(
        &self,
        id: impl Display,
        open: &OpenConversation,
    ) -> Result<Conversation, ClientError> {
        let path = format!("/api/v1/conversations/{}", escaped(&id.to_string()));
        let call = Call { method: Method::PUT, ..Call::get(&path) };
        self.json(call.with_json(open)?).await
    }

    /// Says something in the conversation with this id or name. The same key again gets the same answer and has no
    /// second effect.
    pub async fn send_message(
        &self,
        conversation: impl Display,
        message: &SendMessage,
        key: &str,
    ) -> Result<SentMessage, ClientError> {
        let path = format!("/api/v1/conversations/{}/messages", escaped(&conversation.to_string()));
        let mut call = Call::post(&path).with_json(message)?;
        call.headers.push((HeaderName::from_static(IDEMPOTENCY_KEY), key.to_owned()));
        let answer = self.whole(call).await?;
        let repeated = answer.headers.contains_key(IDEMPOTENCY_REPLAYED);
        let cursor = answer.headers.get(CURSOR).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let sent: SentMessage = decode(&answer.body)?;
        Ok(SentMessage { repeated, cursor, ..sent })
    }

    /// Moves the message that a decision was about to where it was meant.
    pub async fn correct(&self, decision: impl Display, correct: &Correct) -> Result<SentMessage, ClientError> {
        self.moved(&format!("/api/v1/decisions/{}/correct", escaped(&decision.to_string())), correct).await
    }

    /// The same for the last message of a conversation.
    pub async fn correct_last(
        &self,
        conversation: impl Display,
        correct: &Correct,
    ) -> Result<SentMessage, ClientError> {
        self.moved(&format!("/api/v1/conversations/{}/correct", escaped(&conversation.to_string())), correct).await
    }

    async fn moved(&self, path: &str, correct: &Correct) -> Result<SentMessage, ClientError> {
        let answer = self.whole(Call::post(path).with_json(correct)?).await?;
        let cursor = answer.headers.get(CURSOR).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let sent: SentMessage = decode(&answer.body)?;
        Ok(SentMessage { cursor, ..sent })
    }

    /// What would be made of a message.
    pub async fn explain(&self, explain: &Explain) -> Result<Explained, ClientError> {
        self.json(Call::post("/api/v1/route/explain").with_json(explain)?).await
    }

    /// Takes a message back that was not dispatched.
    pub async fn withdraw(&self, input: Uuid) -> Result<TaskChange, ClientError> {
        let path = format!("/api/v1/inputs/{input}");
        self.json(Call { method: Method::DELETE, ..Call::get(&path) }).await
    }

    /// Puts bytes into the blob store.
    pub async fn put_blob(&self, bytes: impl Into<Bytes>) -> Result<Blob, ClientError> {
        self.json(Call { body: Body::Raw(bytes.into()), ..Call::post("/api/v1/blobs") }).await
    }

    /// Bytes of the blob store.
    pub async fn blob(&self, sha256: &str) -> Result<Bytes, ClientError> {
        Ok(self.whole(Call::get(&format!("/api/v1/blobs/{}", escaped(sha256)))).await?.body)
    }

    /// A page of tasks, most urgent first.
    pub async fn tasks(&self, list: &TaskListQuery) -> Result<TaskPage, ClientError> {
        let limit = list.limit.map(|limit| limit.to_string());
        let pairs = [
            ("all", list.all.then_some("true")),
            ("needs_me", list.needs_me.then_some("true")),
            ("project", list.project.as_deref()),
            ("after", list.after.as_deref()),
            ("limit", limit.as_deref()),
        ];
        self.json(Call::get(&format!("/api/v1/tasks{}", query(&pairs)))).await
    }

    /// A task by its key or id.
    pub async fn task(&self, key: &str) -> Result<Task, ClientError> {
        self.json(Call::get(&format!("/api/v1/tasks/{}", escaped(key)))).await
    }

    /// What a turn changed; the newest one that ended if none is named.
    pub async fn diff(&self, key: &str, turn: Option<Uuid>) -> Result<TurnDiff, ClientError> {
        let which = turn.map(|turn| format!("?turn={turn}")).unwrap_or_default();
        self.json(Call::get(&format!("/api/v1/tasks/{}/diff{which}", escaped(key)))).await
    }

    /// The turns of a task, and which of their checkpoints stand.
    pub async fn turns(&self, key: &str) -> Result<TurnList, ClientError> {
        self.json(Call::get(&format!("/api/v1/tasks/{}/turns", escaped(key)))).await
    }

    /// What a restore would do.
    pub async fn preview_restore(&self, key: &str, to: &RestoreTo) -> Result<Restored, ClientError> {
        let pairs = [
            ("turn", to.turn.as_deref()),
            ("before", to.before.then_some("true")),
            ("undo", to.undo.then_some("true")),
        ];
        self.json(Call::get(&format!("/api/v1/tasks/{}/restore{}", escaped(key), query(&pairs)))).await
    }

    /// Makes a fork; gives the new task.
    pub async fn fork(&self, key: &str, fork: &ForkTask) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/fork", escaped(key))).with_json(fork)?).await
    }

    /// Brings a fork's changes home.
    pub async fn take(&self, key: &str, agent: Option<&str>) -> Result<Taken, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/take{}", escaped(key), query(&[("agent", agent)])))).await
    }

    /// Closes a fork and removes its folder.
    pub async fn discard(&self, key: &str, agent: Option<&str>) -> Result<Discarded, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/discard{}", escaped(key), query(&[("agent", agent)])))).await
    }

    /// Two tasks side by side.
    pub async fn compare(&self, key: &str, with: &str) -> Result<Comparison, ClientError> {
        let pairs = [("with", Some(with))];
        self.json(Call::get(&format!("/api/v1/tasks/{}/compare{}", escaped(key), query(&pairs)))).await
    }

    /// Brings the workspace back to a checkpoint.
    pub async fn restore(&self, key: &str, to: &RestoreTo) -> Result<Restored, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/restore", escaped(key))).with_json(to)?).await
    }

    /// Native sessions that can be imported, or were; of this agent, or of all.
    pub async fn native_sessions(&self, agent: Option<&str>) -> Result<NativeSessionList, ClientError> {
        self.json(Call::get(&format!("/api/v1/native-sessions{}", query(&[("agent", agent)])))).await
    }

    /// Makes a native session a task; nothing changes if it is one.
    pub async fn import(&self, import: &ImportNative) -> Result<ImportedTask, ClientError> {
        self.json(Call::post("/api/v1/imports").with_json(import)?).await
    }

    /// A page of a task's timeline.
    pub async fn timeline(&self, key: &str, page: &TimelineQuery) -> Result<TimelinePage, ClientError> {
        let limit = page.limit.map(|limit| limit.to_string());
        let pairs = [("before", page.before.as_deref()), ("limit", limit.as_deref())];
        self.json(Call::get(&format!("/api/v1/tasks/{}/timeline{}", escaped(key), query(&pairs)))).await
    }

    /// Stops what runs.
    pub async fn cancel(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "cancel").await
    }

    /// Runs the last turn again.
    pub async fn retry(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "retry").await
    }

    /// The person is done with it.
    pub async fn close(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "close").await
    }

    /// The person puts it away.
    pub async fn archive(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "archive").await
    }

    /// Applies retention, or says what it would free.
    pub async fn gc(&self, gc: &RunGc) -> Result<Freed, ClientError> {
        // Packing a large store takes longer than any other answer.
        let patient = self.clone().with_patience(std::time::Duration::from_secs(30 * 60));
        patient.json(Call::post("/api/v1/gc").with_json(gc)?).await
    }

    /// The person goes on with it.
    pub async fn reopen(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "reopen").await
    }

    /// Drops the provider's context.
    pub async fn fresh(&self, key: &str) -> Result<TaskChange, ClientError> {
        self.act(key, "fresh").await
    }

    /// Adds an agent in a role.
    pub async fn add_execution(&self, key: &str, add: &AddExecution) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/executions", escaped(key))).with_json(add)?).await
    }

    /// Is done with one execution.
    pub async fn dismiss(&self, key: &str, execution: Uuid) -> Result<TaskChange, ClientError> {
        self.act(key, &format!("executions/{execution}/dismiss")).await
    }

    /// Goes on with another agent or model.
    pub async fn switch(&self, key: &str, to: &SwitchTo) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/switch", escaped(key))).with_json(to)?).await
    }

    /// Pins a note.
    pub async fn pin_note(&self, key: &str, note: &PinNote) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/notes", escaped(key))).with_json(note)?).await
    }

    /// How much a task may use, and has used.
    pub async fn budget(&self, key: &str) -> Result<Budget, ClientError> {
        self.json(Call::get(&format!("/api/v1/tasks/{}/budget", escaped(key)))).await
    }

    /// Says how much a task may use.
    pub async fn set_budget(&self, key: &str, caps: &Caps) -> Result<Budget, ClientError> {
        let path = format!("/api/v1/tasks/{}/budget", escaped(key));
        self.json(Call { method: Method::PUT, ..Call::get(&path) }.with_json(caps)?).await
    }

    /// Goes on with as much again.
    pub async fn extend_budget(&self, key: &str) -> Result<Budget, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/budget/extend", escaped(key)))).await
    }

    /// Answers the question that the running turn waits with.
    pub async fn answer(&self, key: &str, answer: &AnswerQuestion) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/answer", escaped(key))).with_json(answer)?).await
    }

    /// Sends what others found to the editor.
    pub async fn send_findings(&self, key: &str) -> Result<SentMessage, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/findings", escaped(key)))).await
    }

    /// Pins a note to a project.
    pub async fn pin_project_note(&self, project: &str, note: &PinNote) -> Result<PinnedNotes, ClientError> {
        self.json(Call::post(&format!("/api/v1/projects/{}/notes", escaped(project))).with_json(note)?).await
    }

    /// What a project allows and forbids.
    pub async fn policy(&self, project: &str) -> Result<Policy, ClientError> {
        self.json(Call::get(&format!("/api/v1/projects/{}/policy", escaped(project)))).await
    }

    /// Says what a role may do without asking.
    pub async fn set_policy(&self, project: &str, set: &SetPolicy) -> Result<Policy, ClientError> {
        let path = format!("/api/v1/projects/{}/policy", escaped(project));
        self.json(Call { method: Method::PUT, ..Call::get(&path) }.with_json(set)?).await
    }

    /// Makes a rule.
    pub async fn add_rule(&self, project: &str, add: &AddRule) -> Result<Rule, ClientError> {
        self.json(Call::post(&format!("/api/v1/projects/{}/rules", escaped(project))).with_json(add)?).await
    }

    /// Takes a rule back.
    pub async fn revoke_rule(&self, project: &str, number: u64) -> Result<Rule, ClientError> {
        let path = format!("/api/v1/projects/{}/rules/{number}", escaped(project));
        self.json(Call { method: Method::DELETE, ..Call::get(&path) }).await
    }

    /// Makes the rule that allows from now on what was approved.
    pub async fn make_rule(&self, approval: Uuid, make: &MakeRule) -> Result<Rule, ClientError> {
        self.json(Call::post(&format!("/api/v1/approvals/{approval}/rule")).with_json(make)?).await
    }

    /// Approvals that are pending.
    pub async fn approvals(&self) -> Result<ApprovalList, ClientError> {
        self.json(Call::get("/api/v1/approvals?state=pending")).await
    }

    /// Approvals in a state, or all of them (`all`), a page after the one that is named.
    pub async fn approvals_in(&self, state: &str, after: Option<Uuid>) -> Result<ApprovalList, ClientError> {
        let after = after.map(|id| format!("&after={id}")).unwrap_or_default();
        self.json(Call::get(&format!("/api/v1/approvals?state={}{after}", escaped(state)))).await
    }

    /// One approval, pending or settled.
    pub async fn approval(&self, id: Uuid) -> Result<Approval, ClientError> {
        self.json(Call::get(&format!("/api/v1/approvals/{id}"))).await
    }

    /// What the agent sent as the tool's input, whole.
    pub async fn approval_input(&self, id: Uuid) -> Result<String, ClientError> {
        let body = self.whole(Call::get(&format!("/api/v1/approvals/{id}/input"))).await?.body;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Says yes or no.
    pub async fn decide_approval(&self, id: Uuid, decision: &DecideApproval) -> Result<Decided, ClientError> {
        self.json(Call::post(&format!("/api/v1/approvals/{id}/decision")).with_json(decision)?).await
    }

    async fn act(&self, key: &str, verb: &str) -> Result<TaskChange, ClientError> {
        self.json(Call::post(&format!("/api/v1/tasks/{}/{verb}", escaped(key)))).await
    }
}
