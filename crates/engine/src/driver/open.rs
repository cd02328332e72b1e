//! Opening a session: initialize, open it the way that fits (with a key that is at hand, if the agent wants a login), then see to it that it is in the mode and has the model
//! that it should have, and only then call it live.
//!
//! Each step waits for the agent's answer to the last one, so no prompt overtakes the mode. *Invariant:* a session that
//! asks for nothing is never live, unless a person allowed that for the project.

use std::collections::VecDeque;
use std::path::Path;

use throughline_acp::happening::{AuthMethod, Initialized, OpenFailure, SessionSettings};
use throughline_acp::outgoing::{self, ConfigValue, McpServer, OutgoingFrame, Surroundings};
use throughline_acp::request_id::{Opening, RequestId};
use throughline_model::effect::Process;
use throughline_model::runtime_session::{
    AgentDescription, Capabilities, Choice, Failure, RuntimeDescription, SettingChange, Terms, WriteAccess,
};
use throughline_model::task::{NativeFate, Report};

use super::Driver;
use super::launch::AboutProject;
use crate::config::{AgentProfile, AskingProfile, McpServerSettings, ProjectSettings};
use crate::core::Request;

/// A session that is open and not yet as it should be.
pub(super) struct Settling {
    native: String,
    settings: SessionSettings,
    /// What the agent was told last, and what it will be told.
    wishes: VecDeque<Wish>,
    refused_model: Option<SettingChange>,
}

#[derive(Clone)]
enum Wish {
    Mode(String),
    Model(String),
}

impl Wish {
    /// Each is said once in the life of a process, so each can have a frame id of its own.
    fn frame(&self, native: &str, settings: &SessionSettings) -> OutgoingFrame {
        let choose = |count, option: &String, value: &String| {
            outgoing::set_config_option(count, native, option, ConfigValue::Choice(value.clone()))
        };
        match (self, &settings.mode_option, &settings.model_option) {
            (Wish::Mode(mode), Some(option), _) => choose(0, option, mode),
            (Wish::Mode(mode), None, _) => outgoing::set_mode(0, native, mode),
            (Wish::Model(model), _, Some(option)) => choose(1, option, model),
            (Wish::Model(model), _, None) => outgoing::set_model(0, native, model),
        }
    }
}

/// What a session is opened with, as far as the agent takes it.
struct Opened {
    servers: Vec<McpServer>,
    roots: Vec<String>,
    left_out: Vec<String>,
}

impl Opened {
    /// Relative folders are the project's.
    fn new(project: &ProjectSettings, root: &Path, offers: &Capabilities) -> Self {
        let mut left_out = vec![];
        let mut servers = vec![];
        for (name, settings) in &project.mcp_servers {
            match server(name, settings) {
                McpServer::Http { .. } if !offers.mcp_http => {
                    left_out.push(format!("MCP server {name}: the agent takes none over HTTP"));
                }
                server => servers.push(server),
            }
        }
        let roots: Vec<String> = project.extra_roots.iter().map(|folder| absolute(root, folder)).collect();
        if !offers.additional_directories {
            left_out.extend(roots.iter().map(|root| format!("folder {root}: the agent takes only one")));
        }
        let roots = if offers.additional_directories { roots } else { vec![] };
        Self { servers, roots, left_out }
    }
}

fn absolute(root: &Path, folder: &Path) -> String {
    let folder = root.join(folder);
    folder.canonicalize().unwrap_or(folder).display().to_string()
}

fn server(name: &str, settings: &McpServerSettings) -> McpServer {
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let name = name.to_owned();
    match settings {
        McpServerSettings::Process { command, args, env } => {
            McpServer::Stdio { name, command: command.clone(), args: args.clone(), env: pairs(env) }
        }
        McpServerSettings::Server { url, headers } => {
            McpServer::Http { name, url: url.clone(), headers: pairs(headers) }
        }
    }
}

impl Driver {
    pub(super) async fn initialized(&mut self, initialized: Initialized) {
        let Some(link) = self.link.as_mut() else { return };
        let gives_back = self.shared.config.agent(&link.opening.agent).is_none_or(|agent| agent.resumes);
        if link.opening.native.is_some() && !gives_back {
            link.opening.initialized = Some(initialized);
            return self.refused(OpenFailure::UnknownSession, "it does not give a session back safely".into()).await;
        }
        link.opening.initialized = Some(initialized);
        self.open();
    }

    /// Opens the session the way that fits.
    pub(super) fn open(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        let Some(initialized) = link.opening.initialized.as_ref() else { return };
        let opened = Opened::new(&link.opening.project, Path::new(&link.opening.root), &initialized.capabilities);
        let after_login = link.opening.logging_in;
        let (roots, servers) = (&opened.roots[..], &opened.servers[..]);
        let place = Surroundings { cwd: &link.opening.cwd, roots, servers, after_login };
        // Who does not offer it after all begins anew, with the brief.
        link.opening.fork.take_if(|_| !initialized.capabilities.fork);
        let frame = match &link.opening.native {
            None => match &link.opening.fork {
                Some(native) => {
                    link.assembler.opening(Opening::Fork);
                    outgoing::fork_session(native, place)
                }
                None => outgoing::new_session(place),
            },
            Some(native) if initialized.capabilities.resume => {
                link.assembler.opening(Opening::Resume);
                outgoing::resume_session(native, place)
            }
            // Without either the agent will refuse, and the refusal says that the session cannot be had again.
            Some(native) => {
                link.assembler.opening(Opening::Load);
                outgoing::load_session(native, place)
            }
        };
        link.frame(frame);
    }

    /// Where the agent wants a login and a key is at hand, it is given that, once. Whether it was.
    async fn logs_in(&mut self) -> bool {
        let Some(link) = self.link.as_ref().filter(|link| !link.opening.logging_in) else { return false };
        let Some(agent) = self.shared.config.agent(&link.opening.agent) else { return false };
        let about = AboutProject { root: link.opening.root.clone(), settings: link.opening.project.clone() };
        let env = self.shared.launch_spec(agent, Path::new(&link.opening.cwd), &about, None).await.env;
        let at_hand = |method: &&AuthMethod| {
            let variable = agent.quirks.key_logins.get(&method.id);
            variable.is_some_and(|variable| env.iter().any(|(name, value)| name == variable && !value.is_empty()))
        };
        let offered = link.opening.initialized.as_ref().map(|known| known.auth_methods.as_slice()).unwrap_or_default();
        let Some(method) = offered.iter().find(at_hand).map(|method| method.id.clone()) else { return false };
        let Some(link) = self.link.as_mut() else { return false };
        link.opening.logging_in = true;
        link.frame(outgoing::authenticate(1, &method));
        true
    }

    pub(super) async fn opened(&mut self, native: Option<String>, settings: SessionSettings) {
        let model = self.model_of_execution().await;
        let Some(link) = self.link.as_mut() else { return };
        let Some(native) = native.or_else(|| link.opening.native.clone()) else {
            return self.refused(OpenFailure::Other, "the agent gave the session no id".into()).await;
        };
        let read_only = self.shared.read_only_mode(&link.opening.agent, link.opening.role, &settings);
        let terms = terms(self.shared.config.agent(&link.opening.agent), &link.opening.project, &settings, read_only);
        let offers_strict = |strict: &&String| settings.modes.iter().any(|mode| mode.id == **strict);
        // Who only reads does so whatever the project allows.
        let free = link.opening.role.writes() && terms.may_skip;
        let strict = terms.strict.as_ref().filter(offers_strict).filter(|_| !free);
        let mode = strict.filter(|strict| settings.mode.as_ref() != Some(strict)).cloned().map(Wish::Mode);
        let mut settings = settings;
        let (model, refused_model) = match model {
            // Its process was started with it.
            Some(model) if terms.model_at_start && settings.models.is_empty() => {
                settings.model = Some(model);
                (None, None)
            }
            Some(model) => wish_for(model, &settings),
            None => (None, None),
        };
        let wishes = mode.into_iter().chain(model).collect();
        link.opening.settling = Some(Settling { native, settings, wishes, refused_model });
        self.settle_next().await;
    }

    /// Whether the session is open and not yet as it should be.
    pub(super) fn settling(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.opening.settling.is_some())
    }

    /// The agent answered a wish.
    pub(super) async fn settled(&mut self, id: RequestId, refused: Option<String>) {
        let Some(settling) = self.link.as_mut().and_then(|link| link.opening.settling.as_mut()) else { return };
        match (settling.wishes.pop_front(), refused) {
            (Some(Wish::Mode(mode)), None) => settling.settings.mode = Some(mode),
            (Some(Wish::Model(model)), None) => settling.settings.model = Some(model),
            (Some(Wish::Model(model)), Some(cause)) => {
                settling.refused_model = Some(SettingChange::ModelRefused { model, cause });
            }
            (Some(Wish::Mode(mode)), Some(cause)) => tracing::warn!(%id, mode, cause, "the agent refused a mode"),
            (None, _) => {}
        }
        self.settle_next().await;
    }

    async fn settle_next(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        let Some(settling) = link.opening.settling.as_ref() else { return };
        match settling.wishes.front() {
            Some(wish) => link.frame(wish.frame(&settling.native, &settling.settings)),
            None => self.ready().await,
        }
    }

    /// The session is as it should be.
    async fn ready(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        let process = link.process;
        let Some(Settling { native, settings, refused_model, .. }) = link.opening.settling.take() else { return };
        let read_only = self.shared.read_only_mode(&link.opening.agent, link.opening.role, &settings);
        let terms = terms(self.shared.config.agent(&link.opening.agent), &link.opening.project, &settings, read_only);
        if let Some(mode) = settings.mode.as_ref().filter(|mode| terms.forbids(mode)) {
            return self.refuses_to_ask(process, mode.clone()).await;
        }
        let offers = link.opening.initialized.as_ref().map(|known| known.capabilities.clone()).unwrap_or_default();
        let opened = Opened::new(&link.opening.project, Path::new(&link.opening.root), &offers);
        let about = link.opening.initialized.as_ref().map(|known| known.agent.clone()).unwrap_or_default();
        let forked_from = link.opening.fork.clone();
        let write_access = self.shared.held_to(process, &link.opening.agent, link.opening.role, &settings);
        let mut terms = terms;
        let profile = self.shared.config.agent(&link.opening.agent);
        let held = matches!(write_access, WriteAccess::ReadOnly { enforced_by: Some(_) });
        if let Some(what) = profile.and_then(|agent| agent.read_only.runs_unasked.clone()).filter(|_| held) {
            terms.runs_unasked = Some(what).filter(|what| !what.is_empty());
        }
        let described = describe(about, offers, settings, opened, terms);
        let description = RuntimeDescription { forked_from, write_access, ..described };
        let mark = link.mark();
        link.deadline = None;
        let parking = self.shared.parking(&link.opening.agent, process);
        let mut reports = vec![Report::Opened { native, description: Box::new(description), parking }];
        reports.extend(refused_model.map(Report::Changed));
        // `report` puts what comes along before the last one; nothing does here.
        let _ = self.shared.report(process, reports, Request { mark: Some(mark), ..Request::default() }).await;
    }

    async fn refuses_to_ask(&mut self, process: Process, mode: String) {
        if let Some(link) = self.link.as_mut() {
            link.deadline = None;
        }
        let failure = Failure {
            code: "agent_asks_nothing".into(),
            message: format!("the agent stays in its mode `{mode}`, which asks for nothing"),
            hint: Some("`unasked_modes = true` under [projects.NAME] in config.toml allows that".into()),
            until: None,
        };
        self.open_failed(process, failure, NativeFate::Kept).await;
    }

    async fn model_of_execution(&self) -> Option<String> {
        let process = self.link.as_ref()?.process;
        let state = self.shared.core.task(process.task).await.ok()?;
        state.task()?.execution(process.execution)?.model.clone()
    }

    /// The agent took, or refused, the model that was chosen last.
    pub(super) async fn model_answered(&mut self, refused: Option<String>) {
        let Some(model) = self.model_of_execution().await else { return };
        let Some(process) = self.link.as_ref().map(|link| link.process) else { return };
        let change = match refused {
            None => SettingChange::Model { model },
            Some(cause) => SettingChange::ModelRefused { model, cause },
        };
        let _ = self.shared.report(process, vec![Report::Changed(change)], Request::default()).await;
    }

    pub(super) async fn refused(&mut self, kind: OpenFailure, message: String) {
        if kind == OpenFailure::Auth && self.logs_in().await {
            return;
        }
        let Some(link) = self.link.as_mut() else { return };
        let process = link.process;
        link.deadline = None;
        let cannot_reopen = link.opening.initialized.as_ref().is_some_and(|known| {
            link.opening.native.is_some() && !known.capabilities.resume && !known.capabilities.load
        });
        let (code, hint) = match kind {
            OpenFailure::UnknownSession => ("session_lost", "the work goes on in a new session".to_owned()),
            OpenFailure::InUse => ("session_in_use", "close the other process that has this session open".to_owned()),
            OpenFailure::Auth => ("login_needed", self.shared.config.login_hint(&link.opening.agent)),
            OpenFailure::Other => ("agent_refused", "`tl doctor` checks the agent".to_owned()),
        };
        let fate =
            if kind == OpenFailure::UnknownSession || cannot_reopen { NativeFate::Gone } else { NativeFate::Kept };
        let failure = Failure {
            code: code.into(),
            message: format!("the agent opened no session: {message}"),
            hint: Some(hint),
            until: None,
        };
        self.open_failed(process, failure, fate).await;
    }
}

/// What to tell an agent about the model that was asked for, or why it is not told: some say yes to any name.
fn wish_for(model: String, settings: &SessionSettings) -> (Option<Wish>, Option<SettingChange>) {
    match Choice::meant(&settings.models, &model) {
        Some(known) if settings.model.as_ref() == Some(&known.id) => (None, None),
        Some(known) => (Some(Wish::Model(known.id.clone())), None),
        None if settings.models.is_empty() => (Some(Wish::Model(model)), None),
        None => {
            let offered: Vec<&str> = settings.models.iter().map(|known| known.id.as_str()).collect();
            let cause = format!("it offers {}", offered.join(", "));
            (None, Some(SettingChange::ModelRefused { model, cause }))
        }
    }
}

/// In a role that only reads, the agent's own read-only mode is the strict one.
fn terms(
    profile: Option<&AgentProfile>,
    project: &ProjectSettings,
    settings: &SessionSettings,
    read_only: Option<String>,
) -> Terms {
    let AskingProfile { mode, skips_asking, runs_unasked } =
        profile.map(|profile| profile.asking.clone()).unwrap_or_default();
    Terms {
        strict: read_only.or(mode),
        option: settings.mode_option.clone(),
        skipping: skips_asking,
        may_skip: project.unasked_modes,
        runs_unasked,
        model_at_start: profile.is_some_and(|profile| profile.quirks.model_env.is_some()),
        ..Terms::default()
    }
}

fn describe(
    agent: AgentDescription,
    capabilities: Capabilities,
    settings: SessionSettings,
    opened: Opened,
    terms: Terms,
) -> RuntimeDescription {
    let name = |server: &McpServer| match server {
        McpServer::Stdio { name, .. } | McpServer::Http { name, .. } => name.clone(),
    };
    RuntimeDescription {
        agent,
        capabilities,
        model: settings.model,
        models: settings.models,
        model_option: settings.model_option,
        mode: settings.mode,
        modes: settings.modes,
        mcp_servers: opened.servers.iter().map(name).collect(),
        terms: Terms { roots: opened.roots, left_out: opened.left_out, ..terms },
        ..RuntimeDescription::default()
    }
}
