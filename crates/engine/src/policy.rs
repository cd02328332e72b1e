//! A project's policy in force: judges what agents ask to do, and makes rules of what people approved.
//!
//! The model judges. This looks up where folders and files really are, because the model looks nowhere.
//!
//! **Invariant:** a ruling commits together with the request that it decides, in the version of the policy that it was
//! found in, or not at all.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use throughline_model::approval::{Ask, Decision, Source};
use throughline_model::command::Command;
use throughline_model::effect::Process;
use throughline_model::execution::Role;
use throughline_model::ids::{PersonId, ProjectId};
use throughline_model::policy::action::{Action, Places};
use throughline_model::policy::{Allowed, Question, Rule, RuleDraft, Ruling, rule_for};
use throughline_model::project::{Asking, Project, ProjectCommand};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskCommand};
use throughline_model::view::ApprovalRow;

use crate::core::Core;
use crate::engine::Engine;
use crate::error::EngineError;

/// What a role can be allowed.
const ALL: [Allowed; 2] = [Allowed::Reads, Allowed::Edits];

/// Who changes a policy, and from where.
#[derive(Clone, Debug)]
pub struct Author {
    /// Who.
    pub by: PersonId,
    /// From where.
    pub source: Source,
}

/// What became of a yes that was meant for later too. The yes itself holds either way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Always {
    /// The rule that allows it from now on.
    Rule(Box<Rule>),
    /// No rule can be about it.
    No(Rejection),
}

/// What decides a request in the place of a person; none if a person has to.
pub(crate) async fn judge(core: &Core, process: Process, ask: &Ask) -> Option<Ruling> {
    let state = core.task(process.task).await.ok()?;
    let task = state.task()?;
    let role = task.execution(process.execution)?.role;
    let state = core.state(StreamId::Project(task.project)).await.ok()?;
    let project = state.project()?;
    if project.policy.rules.is_empty() && project.policy.allowances.is_empty() {
        return None;
    }
    let action = Action::of(ask);
    let places = look_up(&action, &ask.cwd).await;
    let at = core.clock.now().at;
    project.policy.judge(Question { role, action: &action, places: &places, roots: &roots(project, task), at })
}

/// The folders that are the project's, for this task: a fork's workspace is one of them, and so are its worktrees.
fn roots<'a>(project: &'a Project, task: &'a Task) -> Vec<&'a str> {
    let own = task.site.worktrees.iter().map(|own| &own.site.root);
    project.roots.iter().chain([&task.site.root]).chain(own).map(String::as_str).collect()
}

async fn look_up(action: &Action, cwd: &str) -> Places {
    let paths: Vec<String> = action.paths().into_iter().map(str::to_owned).collect();
    let cwd = cwd.to_owned();
    // A file system can take its time.
    let found = tokio::task::spawn_blocking(move || {
        paths.into_iter().filter_map(|path| real(Path::new(&cwd), &path).map(|real| (path, real))).collect()
    });
    Places(found.await.unwrap_or_default())
}

/// Where a path really is: links followed; names that are not there yet stay below the last folder that is.
fn real(cwd: &Path, path: &str) -> Option<String> {
    let path = cwd.join(path);
    let (mut known, mut missing) = (path.as_path(), vec![]);
    let folder = loop {
        match known.canonicalize() {
            Ok(folder) => break folder,
            // A link to nowhere could lead anywhere by the time it is used.
            Err(error) if error.kind() == ErrorKind::NotFound && known.symlink_metadata().is_err() => {
                missing.push(known.file_name()?);
                known = known.parent()?;
            }
            Err(_) => return None,
        }
    };
    missing.into_iter().rev().fold(folder, |folder, name| folder.join(name)).into_os_string().into_string().ok()
}

impl Engine {
    /// Approves a request and makes the rule that allows it from now on, together. Where no rule can be about it, it is
    /// approved this once.
    ///
    /// # Errors
    /// If it cannot be approved, or the store fails.
    pub async fn approve_always(
        &self,
        row: &ApprovalRow,
        decision: Decision,
        expires: Option<Duration>,
    ) -> Result<Always, EngineError> {
        let author = Author { by: decision.by, source: decision.source.clone() };
        let approve = TaskCommand::DecideApproval { approval: row.id, decision: Box::new(decision) };
        let approve = (StreamId::Task(row.task), Command::Task(approve));
        let no = match self.drafted(row, expires).await {
            Ok((project, draft)) => match self.make(project, draft, author, vec![approve.clone()]).await {
                Ok(rule) => return Ok(Always::Rule(Box::new(rule))),
                Err(EngineError::Rejected(no @ (Rejection::NoRule { .. } | Rejection::TooManyRules))) => no,
                Err(other) => return Err(other),
            },
            Err(EngineError::Rejected(no @ Rejection::NoRule { .. })) => no,
            Err(other) => return Err(other),
        };
        self.send(approve.0, approve.1).await?;
        Ok(Always::No(no))
    }

    /// Makes the rule that allows from now on what was approved.
    ///
    /// # Errors
    /// If it was not approved, no rule can be about it, or the store fails.
    pub async fn rule_from(
        &self,
        row: &ApprovalRow,
        author: Author,
        expires: Option<Duration>,
    ) -> Result<Rule, EngineError> {
        if row.state != "approved" {
            return Err(Rejection::NoRule { why: "it was not approved".into() }.into());
        }
        let (project, draft) = self.drafted(row, expires).await?;
        self.make(project, draft, author, vec![]).await
    }

    /// Makes a rule.
    ///
    /// # Errors
    /// If it is about something that is no plain command, there are too many, or the store fails.
    pub async fn add_rule(&self, project: ProjectId, draft: RuleDraft, author: Author) -> Result<Rule, EngineError> {
        self.make(project, draft, author, vec![]).await
    }

    /// Takes a rule back, and gives it.
    ///
    /// # Errors
    /// If there is none with this number, or the store fails.
    pub async fn revoke_rule(&self, project: ProjectId, number: u64, author: Author) -> Result<Rule, EngineError> {
        let rule = self.project(project).await?.policy.rules.into_iter().find(|rule| rule.number == number);
        let Author { by, source } = author;
        let revoke = ProjectCommand::RevokeRule { number, by, source };
        self.send(StreamId::Project(project), Command::Project(revoke)).await?;
        Ok(rule.ok_or(Rejection::NotFound { what: "rule" })?)
    }

    /// Says what these roles may do without asking: all that is named, and nothing else.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn set_allowances(
        &self,
        project: ProjectId,
        roles: &[Role],
        allowed: &[Allowed],
        author: Author,
    ) -> Result<(), EngineError> {
        let set = |role: Role, what: Allowed| {
            let answer = if allowed.contains(&what) { Asking::Allow } else { Asking::Ask };
            let Author { by, source } = author.clone();
            Command::Project(ProjectCommand::Allow { role, what, answer, by, source })
        };
        let all = roles.iter().flat_map(|role| ALL.map(|what| (StreamId::Project(project), set(*role, what))));
        self.send_all(all.collect()).await
    }

    /// The rule that a request would become, if it runs inside the project.
    async fn drafted(
        &self,
        row: &ApprovalRow,
        expires: Option<Duration>,
    ) -> Result<(ProjectId, RuleDraft), EngineError> {
        let ask = &row.approval.ask;
        let draft = rule_for(ask, row.id)?;
        let task = self.task(row.task).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let project = self.project(task.project).await?;
        let action = Action::of(ask);
        if !look_up(&action, &ask.cwd).await.all_inside(&action, &roots(&project, &task)) {
            return Err(Rejection::NoRule { why: "it would not run inside the project".into() }.into());
        }
        let expires_at = expires.map(|span| self.now().after(span));
        Ok((project.id, RuleDraft { expires_at, ..draft }))
    }

    /// Makes a rule after what comes first, all of it or nothing.
    async fn make(
        &self,
        project: ProjectId,
        draft: RuleDraft,
        author: Author,
        mut commands: Vec<(StreamId, Command)>,
    ) -> Result<Rule, EngineError> {
        let Author { by, source } = author;
        let add = ProjectCommand::AddRule { draft: draft.clone(), by, source };
        commands.push((StreamId::Project(project), Command::Project(add)));
        self.send_all(commands).await?;
        let rules = self.project(project).await?.policy.rules;
        let rule = rules.into_iter().find(|rule| rule.draft.same(&draft));
        Ok(rule.ok_or(Rejection::NotFound { what: "rule" })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_where_its_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::os::unix::fs::symlink("/", root.join("out")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink("src", root.join("in")).unwrap();
        let at = |path: &str| real(&root, path);
        let below = |path: &str| Some(root.join(path).to_str().unwrap().to_owned());
        assert_eq!(at("."), root.to_str().map(str::to_owned));
        assert_eq!(at("src"), below("src"));
        assert_eq!(at("in/new/file.rs"), below("src/new/file.rs"));
        assert_eq!(at("src/../new.rs"), below("new.rs"));
        assert_eq!(at("out/etc").as_deref(), Some("/etc"));
        assert_eq!(at("/etc").as_deref(), Some("/etc"));
        assert_eq!(at("dangling"), None);
        assert_eq!(at("dangling/below"), None);
        assert_eq!(at("new/../../x"), None, "what is not there cannot be gone up from");
    }
}
