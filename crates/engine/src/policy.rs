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
    use std::path::PathBuf;
    use std::sync::Arc;

    use throughline_channels::Channels;
    use throughline_model::approval::{Approval, Verdict};
    use throughline_model::channel::Channel;
    use throughline_model::ids::{Mint, TaskId};
    use throughline_model::task::TaskSeed;
    use throughline_model::time::Timestamp;
    use throughline_store::{OpenOptions, SqliteStore};

    use super::*;
    use crate::config::Config;
    use crate::engine::Options;
    use crate::home::Home;

    /// An engine with a project and a task in it, whose agent was never started.
    struct Place {
        engine: Engine,
        project: ProjectId,
        process: Process,
        author: Author,
        mint: Mint,
        root: PathBuf,
        _folder: tempfile::TempDir,
    }

    impl Place {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::at(&folder.path().join("home")).unwrap();
            let (lock, config) = (home.lock().unwrap(), Config::load(&home).unwrap());
            let store = Arc::new(SqliteStore::open(&OpenOptions::new(home.path())).unwrap());
            let options =
                Options { home, lock, config, keeper_exe: "/bin/false".into(), channels: Channels::default() };
            let engine = Engine::start(options, store).await.unwrap();
            let by = engine.owner(1).await.unwrap();
            let root = folder.path().canonicalize().unwrap().join("shop");
            std::fs::create_dir(&root).unwrap();
            let project = engine.add_project(by, &root, None, Some("demo".into())).await.unwrap().id;
            let mut mint = Mint::new(Timestamp::from_millis(1), 7);
            let (task, execution): (TaskId, _) = (mint.id(), mint.id());
            let seed = TaskSeed {
                project,
                title: "run it".into(),
                goal: "run it".into(),
                root: root.display().to_string(),
                execution,
                agent: "demo".into(),
                role: Role::Editor,
            };
            let create = TaskCommand::Create { seed, person: by, conversation: mint.id() };
            engine.send(StreamId::Task(task), Command::Task(create)).await.unwrap();
            let process = Process { task, execution, session: mint.id(), epoch: 1 };
            let author = Author { by, source: Source { surface: Channel::Web, identity: None, conversation: None } };
            Self { engine, project, process, author, mint, root, _folder: folder }
        }

        fn ask(&self, input: &serde_json::Value, cwd: &Path) -> Ask {
            let input = Some(input.to_string().into());
            let (call, title, tool) = ("c".into(), "Run it".into(), "execute".into());
            Ask { call, title, tool, input, cwd: cwd.display().to_string() }
        }

        async fn verdict(&self, ask: &Ask) -> Option<Verdict> {
            let ruling = judge(&self.engine.inner.core, self.process, ask).await;
            ruling.map(|ruling| ruling.standing.verdict())
        }

        async fn rule(&self, words: &[&str]) -> Rule {
            let draft = RuleDraft::of(words.iter().map(|word| (*word).to_owned()).collect(), None);
            self.engine.add_rule(self.project, draft, self.author.clone()).await.unwrap()
        }

        fn row(&mut self, state: &str, ask: Ask) -> ApprovalRow {
            let approval = Approval {
                id: self.mint.id(),
                execution: self.process.execution,
                session: self.process.session,
                epoch: 1,
                turn: self.mint.id(),
                request: "1".into(),
                ask,
                options: vec![],
                expires_at: Timestamp::from_millis(2),
                ruled: false,
            };
            let (id, task, asked_at) = (approval.id, self.process.task, Timestamp::from_millis(1));
            ApprovalRow { id, task, approval, state: state.into(), asked_at, settled: None }
        }
    }

    #[tokio::test]
    async fn a_rule_decides_what_runs_inside_the_project_and_nothing_else() {
        let place = Place::new().await;
        let test = serde_json::json!({ "command": "cargo test" });
        let inside = place.ask(&test, &place.root);
        assert_eq!(place.verdict(&inside).await, None, "nothing is allowed yet");
        place.rule(&["cargo", "test"]).await;
        assert_eq!(place.verdict(&inside).await, Some(Verdict::Approve));
        assert_eq!(place.verdict(&place.ask(&test, Path::new("/"))).await, None);
        assert_eq!(place.verdict(&place.ask(&test, &place.root.join("not-there/.."))).await, None);
        let other = serde_json::json!({ "command": "cargo build" });
        assert_eq!(place.verdict(&place.ask(&other, &place.root)).await, None);
    }

    #[tokio::test]
    async fn what_a_role_may_do_is_all_that_is_named_and_nothing_else() {
        let place = Place::new().await;
        std::fs::write(place.root.join("a.txt"), "a").unwrap();
        let read = serde_json::json!({ "file_path": "a.txt" });
        let mut read = place.ask(&read, &place.root);
        read.tool = "read".into();
        let set = |allowed: &'static [Allowed]| {
            place.engine.set_allowances(place.project, &[Role::Editor], allowed, place.author.clone())
        };
        set(&[Allowed::Reads]).await.unwrap();
        assert_eq!(place.verdict(&read).await, Some(Verdict::Approve));
        set(&[]).await.unwrap();
        assert_eq!(place.verdict(&read).await, None);
    }

    #[tokio::test]
    async fn the_rule_that_is_taken_back_is_the_one_that_is_named() {
        let place = Place::new().await;
        let (first, second) = (place.rule(&["cargo", "test"]).await, place.rule(&["make"]).await);
        let revoke = |number| place.engine.revoke_rule(place.project, number, place.author.clone());
        assert_eq!(revoke(second.number).await.unwrap().draft.argv, ["make"]);
        assert_eq!(revoke(first.number).await.unwrap().draft.argv, ["cargo", "test"]);
        assert!(revoke(first.number).await.is_err());
    }

    #[tokio::test]
    async fn a_rule_is_made_of_what_was_approved_inside_the_project_for_as_long_as_is_said() {
        let mut place = Place::new().await;
        let (root, test) = (place.root.clone(), serde_json::json!({ "command": "cargo test" }));
        let inside = place.ask(&test, &root);
        let outside = place.ask(&test, Path::new("/"));
        let span = Some(Duration::from_secs(60));
        for refused in [place.row("denied", inside.clone()), place.row("approved", outside)] {
            let no = place.engine.rule_from(&refused, place.author.clone(), span).await.unwrap_err();
            assert!(matches!(no, EngineError::Rejected(Rejection::NoRule { .. })), "{no}");
        }
        let approved = place.row("approved", inside);
        let rule = place.engine.rule_from(&approved, place.author.clone(), span).await.unwrap();
        assert_eq!((rule.draft.argv.join(" "), rule.draft.approval), ("cargo test".into(), Some(approved.id)));
        let ends = rule.draft.expires_at.unwrap();
        let now = place.engine.now();
        assert!(now < ends && ends <= now.after(Duration::from_secs(60)));
    }

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
