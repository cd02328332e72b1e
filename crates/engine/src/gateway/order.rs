//! Commands of a chat: `/new`, `/tasks`, `/status`, `/more`, `/stop`, `/agents`, `/help`, and `//command` for the
//! agent's own (`/file` and `/diff` are in [`super::files`], `/notify`, `/quiet` and `/digest` in [`super::notices`]).
//! Everything else is words, and goes to the router.

use throughline_model::context::ReplyTo;
use throughline_model::ids::{ConversationId, PersonId, ProjectId, TaskId};
use throughline_model::present::card::{About, Around};
use throughline_model::present::{Locale, card};
use throughline_model::reply::Reply;
use throughline_model::route::{Intent, Stated};
use throughline_model::stream::StreamId;
use throughline_model::view::{ApprovalRow, ProjectRow, TaskRow};
use throughline_store::port::{Answer, Ask};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::letter::{approval_row, last_words};
use crate::surroundings::only;

/// How many letters a pairing code can have, however it is typed.
const CODE_LETTERS: std::ops::RangeInclusive<usize> = 8..=16;

/// A message, and where it was said.
pub(super) struct Heard<'a> {
    pub(super) person: PersonId,
    pub(super) conversation: ConversationId,
    pub(super) reply_to: Option<ReplyTo>,
    pub(super) text: &'a str,
}

/// What is to be done with a message.
#[derive(Default)]
pub(super) struct Order {
    pub(super) text: String,
    pub(super) stated: Stated,
    pub(super) project: Option<ProjectId>,
    pub(super) command: Option<(Intent, Option<Reply>)>,
}

/// The code that a stranger brings: `/start CODE`, or nothing but the code.
pub(super) fn code(text: &str) -> Option<String> {
    let text = text.trim();
    let brought = match command(text) {
        Some(("start" | "pair", rest)) => rest,
        Some(_) => return None,
        None => text,
    };
    let letters = brought.chars().filter(|letter| *letter != '-').count();
    let one = brought.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    (one && CODE_LETTERS.contains(&letters)).then(|| brought.to_owned())
}

/// A slash, a name, perhaps a bot's, and the rest.
pub(super) fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = name.split('@').next().unwrap_or_default();
    (!name.is_empty()).then_some((name, rest.trim()))
}

impl Engine {
    /// What a message in a chat asks for; words to say where it asks for nothing that there is.
    pub(super) async fn order(&self, heard: &Heard<'_>) -> Result<Result<Order, String>, EngineError> {
        let text = heard.text.trim().to_owned();
        let locale = self.locale(heard.person).await?;
        let focus = self.meant_task(heard).await?;
        let project = self.chat_project(heard, focus).await?;
        if let Some(verbatim) = text.strip_prefix("//") {
            let Some(task) = focus else { return Ok(Err(locale.no_task_here())) };
            let stated = Stated { task: Some(task), ..Stated::default() };
            return Ok(Ok(Order { text: format!("/{verbatim}"), stated, project, command: None }));
        }
        let Some((name, rest)) = command(&text) else {
            return Ok(Ok(Order { text, project, ..Order::default() }));
        };
        let answered = |intent, reply| {
            Ok(Ok(Order { text: text.clone(), project, command: Some((intent, reply)), ..Order::default() }))
        };
        match name {
            "new" => self.new_task(heard.person, locale, rest, project).await,
            "start" | "help" => {
                let help = format!("{}\n{}", locale.help(), locale.commands());
                answered(Intent::Help, Some(Reply::plain(help)))
            }
            "agents" => {
                let here =
                    self.agents().await?.into_iter().filter(|agent| agent.found.is_some()).map(|agent| agent.name);
                let list = here.collect::<Vec<_>>().join(", ");
                answered(Intent::Help, Some(Reply::plain(locale.agents_here(list))))
            }
            "tasks" => answered(Intent::Status { task: None }, None),
            "status" if rest.is_empty() && focus.is_none() => answered(Intent::Status { task: None }, None),
            "status" | "more" | "stop" => {
                let task = match self.named_task(heard.person, rest, focus, locale).await? {
                    Ok(task) => task,
                    Err(words) => return Ok(Err(words)),
                };
                match name {
                    "status" => answered(Intent::Status { task: Some(task) }, None),
                    "stop" => answered(Intent::Cancel { task: Some(task), running: vec![task] }, None),
                    _ => answered(Intent::Status { task: Some(task) }, Some(self.more(locale, task).await?)),
                }
            }
            // A path is no command, and begins like one.
            other if !other.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
                Ok(Ok(Order { text, project, ..Order::default() }))
            }
            // A slip of the finger must not set an agent to work.
            other => Ok(Err(locale.no_such_command(other))),
        }
    }

    /// `/new TEXT`, or `/new PROJECT TEXT`.
    async fn new_task(
        &self,
        person: PersonId,
        locale: Locale,
        rest: &str,
        project: Option<ProjectId>,
    ) -> Result<Result<Order, String>, EngineError> {
        let projects = self.projects_of(person).await?;
        let (first, tail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let named = projects.iter().find(|known| known.name.eq_ignore_ascii_case(first));
        let (project, text) = match named {
            Some(named) => (Some(named.id), tail.trim()),
            None => (project, rest),
        };
        if text.is_empty() {
            return Ok(Err(locale.new_what()));
        }
        let stated = Stated { new: true, ..Stated::default() };
        Ok(Ok(Order { text: text.to_owned(), stated, project, command: None }))
    }

    /// Everything that a glance leaves out: the card, and the agent's last words whole.
    pub(super) async fn more(&self, locale: Locale, task: TaskId) -> Result<Reply, EngineError> {
        let Some(known) = self.task(task).await? else { return Ok(Reply::plain(locale.no_such_task(task))) };
        let project = self.project(known.project).await?;
        let mut shown = card(locale, &known, Around { project: &project.name, now: self.now() });
        let said = last_words(&self.inner.core, task, None).await?;
        // The last words follow whole.
        shown.fields.retain(|field| said.is_none() || field.about != About::Said);
        let mut text = shown.text(locale);
        if let Some(said) = said {
            text.push_str("\n\n");
            text.push_str(&said);
        }
        if let Some(page) = &self.config().reach.public_url {
            text.push_str(&format!("\n\n{}", locale.more_on_the_page(format_args!("{page}/tasks/{}", known.key))));
        }
        Ok(Reply::plain(text))
    }

    /// The task that a chat is about: the one that a message answers, else the focus.
    pub(super) async fn meant_task(&self, heard: &Heard<'_>) -> Result<Option<TaskId>, EngineError> {
        match heard.reply_to {
            Some(ReplyTo::Task(task)) => return Ok(Some(task)),
            Some(ReplyTo::Approval(approval)) => {
                let row: Option<ApprovalRow> = approval_row(&self.inner.core, approval).await?;
                return Ok(row.map(|row| row.task));
            }
            Some(ReplyTo::Execution(_)) | None => {}
        }
        let state = self.state(StreamId::Conversation(heard.conversation)).await?;
        Ok(state.conversation().and_then(|known| known.focus.get(&heard.person).copied()))
    }

    /// The project of a new task in a chat: that of the task which it is about, else of the one addressed last
    /// anywhere, else the only one.
    async fn chat_project(&self, heard: &Heard<'_>, focus: Option<TaskId>) -> Result<Option<ProjectId>, EngineError> {
        let projects = self.projects_of(heard.person).await?;
        if let Some(only) = only(&projects) {
            return Ok(Some(only));
        }
        let addressed = self.addressed(heard.person, self.now()).await?;
        for task in focus.into_iter().chain(addressed.into_iter().map(|known| known.task)) {
            if let Answer::Task(Some(row)) = self.store().ask(Ask::Task(task)).await?
                && projects.iter().any(|known| known.id == row.project)
            {
                return Ok(Some(row.project));
            }
        }
        Ok(None)
    }

    /// What to say when nobody can tell which project is meant.
    pub(super) async fn which_project(&self, person: PersonId, locale: Locale) -> Result<String, EngineError> {
        let projects: Vec<ProjectRow> = self.projects_of(person).await?;
        Ok(match projects.is_empty() {
            true => locale.no_project_yet(),
            false => {
                locale.which_project(projects.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", "))
            }
        })
    }

    /// The task with this key, or the one in focus if none is named, for someone who may see it: what was said in a group
    /// can be answered by everyone there.
    pub(super) async fn named_task(
        &self,
        person: PersonId,
        key: &str,
        focus: Option<TaskId>,
        locale: Locale,
    ) -> Result<Result<TaskId, String>, EngineError> {
        let ask = match focus {
            _ if !key.is_empty() => Ask::TaskByKey(key.to_lowercase()),
            Some(focus) => Ask::Task(focus),
            None => return Ok(Err(locale.no_task_here())),
        };
        let found: Option<TaskRow> = match self.store().ask(ask).await? {
            Answer::Task(row) => row.map(|row| *row),
            _ => None,
        };
        let projects = self.projects_of(person).await?;
        let mine = found.filter(|row| projects.iter().any(|known| known.id == row.project));
        let none = || if key.is_empty() { locale.no_task_here() } else { locale.no_such_task(key) };
        Ok(mine.map(|row| row.id).ok_or_else(none))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_brought_alone_or_with_start() {
        for text in ["/start ABCDE23456", "ABCDE23456", " abcde-23456 ", "/start@my_bot ABCDE23456"] {
            let brought = code(text).expect(text);
            assert_eq!(brought.replace('-', "").to_uppercase(), "ABCDE23456");
        }
        for text in ["/start", "hello", "what is this thing here", "/tasks ABCDE23456", "", "a b c d e f g h i j"] {
            assert_eq!(code(text), None, "{text}");
        }
    }

    #[test]
    fn commands_may_name_the_bot() {
        assert_eq!(command("/tasks@my_bot now "), Some(("tasks", "now")));
        assert_eq!(command("/new  fix\nit"), Some(("new", "fix\nit")));
        assert_eq!(command("no /tasks"), None);
        assert_eq!(command("/"), None);
    }
}
