//! Agents as they are found on this machine, and the processes that still run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use throughline_acp::assembler::{Assembler, Phase, Start};
use throughline_acp::happening::Happening;
use throughline_acp::outgoing;
use throughline_acp::request_id::Opening;
use throughline_keeper::client::{self, Happening as Kept, Reader};
use throughline_model::execution::Role;
use throughline_model::ids::{Id as _, ProjectId, RuntimeSessionId};
use throughline_model::runtime_session::{AgentDescription, Failure, WriteAccess};
use throughline_model::turn::{EndedTurn, TurnOutcome};
use throughline_store::port::TaskQuery;
use tokio::time::{Duration, timeout};

use crate::config::AgentProfile;
use crate::driver::launch::{AboutProject, how_to_install, launch_failure, whole};
use crate::engine::Engine;
use crate::error::EngineError;

/// An agent, and whether it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStatus {
    /// Its name.
    pub name: String,
    /// The program it is started with.
    pub program: String,
    /// Where that program is, if it is anywhere.
    pub found: Option<PathBuf>,
    /// How to get it.
    pub install: String,
    /// Whether it has a login of its own.
    pub has_login: bool,
    /// Its strictest workable mode, which it is set to.
    pub mode: Option<String>,
    /// What it runs without a question even in that mode, in words.
    pub runs_unasked: Option<String>,
    /// Its newest turn failed for want of a login.
    pub wants_login: bool,
}

/// In how many tasks it is looked for what agents wait for.
const RECENT_TASKS: usize = 50;

/// A process that still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKeeper {
    /// Its keeper's process id.
    pub pid: i32,
    /// The key of the task it works for, if this daemon listens to it.
    pub task: Option<String>,
}

impl Engine {
    /// The agents that can be named.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn agents(&self) -> Result<Vec<AgentStatus>, EngineError> {
        let logged_out = self.logged_out().await?;
        let shared = self.inner.drivers.shared();
        // Who asks may have installed one just now.
        shared.environments.forget(shared.home.path());
        let mut agents = vec![];
        for agent in &shared.config.agents {
            agents.push(AgentStatus {
                name: agent.name.clone(),
                found: shared.find(agent, shared.home.path(), &AboutProject::default()).await,
                program: shared.program(agent),
                install: agent.install.clone(),
                has_login: !agent.login.is_empty(),
                mode: agent.asking.mode.clone(),
                runs_unasked: agent.asking.runs_unasked.clone(),
                wants_login: logged_out.contains(&agent.name),
            });
        }
        Ok(agents)
    }

    /// The name of the agent that a person wants to bring in, if it can be started in this project.
    ///
    /// # Errors
    /// If nobody knows it, or it is not installed.
    pub async fn installed_agent(&self, name: &str, project: ProjectId) -> Result<String, EngineError> {
        let name = self.agent_name(name)?;
        let shared = self.inner.drivers.shared();
        let Some(agent) = shared.config.agent(&name) else { return Ok(name) };
        let about = shared.about(project).await;
        match shared.find_now(agent, about.folder(&shared.home), &about).await {
            Some(_) => Ok(name),
            None => Err(EngineError::AgentNotInstalled {
                program: shared.program(agent),
                install: how_to_install(agent),
                name,
            }),
        }
    }

    /// The agents whose newest turn failed for want of a login.
    async fn logged_out(&self) -> Result<Vec<String>, EngineError> {
        let query = TaskQuery { all: true, limit: RECENT_TASKS, ..TaskQuery::default() };
        let mut newest: HashMap<String, EndedTurn> = HashMap::new();
        for row in self.store().tasks(query).await? {
            let Some(task) = self.task(row.id).await? else { continue };
            for execution in &task.executions {
                let Some(last) = &execution.past.last else { continue };
                if newest.get(&execution.agent).is_none_or(|known| known.at < last.at) {
                    newest.insert(execution.agent.clone(), last.clone());
                }
            }
        }
        let wants = |turn: &EndedTurn| matches!(&turn.outcome, TurnOutcome::Failed { failure } if failure.code == "login_needed");
        Ok(newest.into_iter().filter(|(_, turn)| wants(turn)).map(|(agent, _)| agent).collect())
    }

    /// What an agent in a role would be held to.
    #[must_use]
    pub fn write_access(&self, agent: &str, role: Role) -> WriteAccess {
        let shared = self.inner.drivers.shared();
        shared.write_access(shared.config.agent(agent), role)
    }

    /// Starts an agent, asks who it is, and ends it again.
    ///
    /// # Errors
    /// Whatever a person would have to mend.
    pub async fn probe_agent(&self, name: &str) -> Result<AgentDescription, Failure> {
        let shared = self.inner.drivers.shared();
        let Some(agent) = shared.config.agent(name) else {
            return Err(failure("agent_unknown", format!("there is no agent called `{name}`"), "see `tl agents`"));
        };
        let id: RuntimeSessionId = shared.core.clock.now().mint().id();
        let dir = shared.home.keepers().join(format!("probe-{id}"));
        let spec = shared.launch_spec(agent, shared.home.path(), &AboutProject::default(), None).await;
        client::launch(&shared.keeper_exe, &dir, &spec).await.map_err(|error| launch_failure(agent, &error))?;
        let answer = self.ask_who(agent, &dir, id).await;
        let _ = client::sweep_dir(&dir).await;
        let _ = client::remove(&dir);
        answer
    }

    async fn ask_who(
        &self,
        agent: &AgentProfile,
        dir: &Path,
        id: RuntimeSessionId,
    ) -> Result<AgentDescription, Failure> {
        let shared = self.inner.drivers.shared();
        let unreachable = |error: &dyn std::error::Error| failure("keeper_unreachable", whole(error), "try again");
        let (writer, mut reader) = client::attach(dir, shared.fence, 0).await.map_err(|error| unreachable(&error))?;
        let frame = outgoing::initialize(env!("CARGO_PKG_VERSION"), &agent.on_the_wire());
        let asked = async {
            writer.write(&frame.id, frame.bytes).await.map_err(|error| unreachable(&error))?;
            first_answer(&mut reader, id).await
        };
        let secs = shared.config.initialize_timeout;
        let late = || {
            failure(
                "agent_timeout",
                format!("it did not answer `initialize` within {} s", secs.as_secs()),
                "start it by hand to see why",
            )
        };
        let answer = timeout(secs, asked).await.unwrap_or_else(|_| Err(late()));
        let _ = writer.stop(Duration::from_millis(200)).await;
        let _ = timeout(Duration::from_secs(10), async { while let Some(Ok(Kept::Frame(_))) = reader.next().await {} })
            .await;
        answer
    }

    /// Processes that still run.
    pub async fn running(&self) -> Vec<RunningKeeper> {
        let shared = self.inner.drivers.shared();
        let processes = self.inner.drivers.processes();
        let mut running = vec![];
        for kept in client::list(&shared.home.keepers()).unwrap_or_default() {
            let Some(pid) = kept.keeper_pid else { continue };
            let name = kept.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let process =
                processes.iter().find(|process| name == format!("{}-{}", process.session.uuid(), process.epoch));
            let task = match process {
                Some(process) => self.task(process.task).await.ok().flatten().map(|task| task.key.clone()),
                None => None,
            };
            running.push(RunningKeeper { pid, task });
        }
        running
    }
}

async fn first_answer(reader: &mut Reader, id: RuntimeSessionId) -> Result<AgentDescription, Failure> {
    let mut assembler = Assembler::new(Start::new(id, 1, Phase::Opening(Opening::New)));
    while let Some(Ok(kept)) = reader.next().await {
        let Kept::Frame(frame) = kept else { break };
        for happening in assembler.feed(frame.offset_start, frame.offset_end, &frame.bytes) {
            match happening {
                Happening::Initialized(initialized) => return Ok(initialized.agent),
                Happening::InitializeFailed(error) => {
                    return Err(failure("agent_refused", error.in_words(), "update the agent"));
                }
                Happening::Ended(reason) => {
                    return Err(failure(
                        "agent_garbage",
                        reason.to_string(),
                        "it has to speak ACP on its standard output",
                    ));
                }
                _ => {}
            }
        }
    }
    Err(failure("agent_exited", "it ended before it answered".into(), "start it by hand to see why"))
}

fn failure(code: &str, message: String, hint: &str) -> Failure {
    Failure { code: code.into(), message, hint: Some(hint.into()), until: None }
}
