//! What stands around a message, read from the store: a handful of small queries, bounded however much work there is.

use std::collections::BTreeSet;

use throughline_model::context::{FOCUS_MILLIS, ReplyTo, Surroundings};
use throughline_model::conversation::Conversation;
use throughline_model::ids::{PersonId, ProjectId, TaskId};
use throughline_model::router::input::Agent;
use throughline_model::router::text::fold;
use throughline_model::router::weights::Weights;
use throughline_model::time::Timestamp;
use throughline_model::view::{Addressed, ApprovalRow, ProjectRow, TaskRow};
use throughline_store::port::{Answer, Ask, TaskQuery};

use crate::driver::launch::AboutProject;
use crate::engine::Engine;
use crate::error::EngineError;

/// The most tasks that the router looks at.
const MOST_TASKS: usize = 200;
/// How many tasks that were addressed lately are looked at.
const MOST_ADDRESSED: usize = 20;
/// How many typed keys of tasks outside the list are looked up.
const MOST_KEYS: usize = 4;
/// From how many tasks' sessions models are learned.
const MOST_SESSIONS: usize = 6;

impl Engine {
    /// What stands around a message of a person in a conversation.
    pub(crate) async fn surroundings(
        &self,
        person: PersonId,
        conversation: &Conversation,
        project: Option<ProjectId>,
        reply_to: Option<ReplyTo>,
        text: &str,
    ) -> Result<Surroundings, EngineError> {
        let now = self.inner.core.clock.now().at;
        let own_focus = conversation.focus.get(&person).copied();
        let projects = self.projects_of(person).await?;
        let addressed = self.addressed(person, now).await?;
        let mut wanted: Vec<TaskId> = own_focus.into_iter().collect();
        wanted.extend(addressed.iter().map(|known| known.task));
        if let Some(ReplyTo::Task(task)) = reply_to {
            wanted.push(task);
        }
        let tasks = self.visible(&projects, wanted, text).await?;
        // Where there is only one project, or the talk is of one, nobody has to say which.
        let talked_of = || tasks.iter().find(|task| Some(task.id) == own_focus).map(|task| task.project);
        let project = project.or_else(|| only(&projects)).or_else(talked_of);
        let known: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
        let mut approvals: Vec<ApprovalRow> = match self.store().ask(Ask::PendingApprovals).await? {
            Answer::Approvals(rows) => rows,
            _ => vec![],
        };
        approvals.retain(|row| known.contains(&row.task));
        Ok(Surroundings {
            now,
            channel: conversation.channel,
            project,
            own_focus: own_focus.filter(|task| known.contains(task)),
            agents: self.known_agents(project, &tasks, own_focus).await?,
            addressed,
            reply_to,
            tasks,
            approvals,
            projects,
        })
    }

    pub(crate) async fn addressed(&self, person: PersonId, now: Timestamp) -> Result<Vec<Addressed>, EngineError> {
        let since = Timestamp::from_millis(now.millis() - i64::try_from(FOCUS_MILLIS).unwrap_or(i64::MAX));
        match self.store().ask(Ask::Addressed(person, since, MOST_ADDRESSED)).await? {
            Answer::Addressed(rows) => Ok(rows),
            _ => Ok(vec![]),
        }
    }

    /// The tasks that a person can see: the most urgent and most recent ones, and those that matter to this message.
    async fn visible(
        &self,
        projects: &[ProjectRow],
        wanted: Vec<TaskId>,
        text: &str,
    ) -> Result<Vec<TaskRow>, EngineError> {
        let ids: Vec<ProjectId> = projects.iter().map(|project| project.id).collect();
        if ids.is_empty() {
            return Ok(vec![]);
        }
        let query = TaskQuery { projects: ids.clone(), all: true, limit: MOST_TASKS, ..TaskQuery::default() };
        let mut tasks = self.store().tasks(query).await?;
        let mut asks: Vec<Ask> = wanted.into_iter().map(Ask::Task).collect();
        asks.extend(typed_keys(text, projects).into_iter().take(MOST_KEYS).map(Ask::TaskByKey));
        for ask in asks {
            let listed = |row: &TaskRow| match &ask {
                Ask::Task(id) => row.id == *id,
                Ask::TaskByKey(key) => row.key.eq_ignore_ascii_case(key),
                _ => false,
            };
            if tasks.iter().any(listed) {
                continue;
            }
            if let Answer::Task(Some(row)) = self.store().ask(ask).await?
                && ids.contains(&row.project)
            {
                tasks.push(*row);
            }
        }
        Ok(tasks)
    }

    /// The installed agents, with the models that their newest sessions offered.
    async fn known_agents(
        &self,
        project: Option<ProjectId>,
        tasks: &[TaskRow],
        focus: Option<TaskId>,
    ) -> Result<Vec<Agent>, EngineError> {
        let mut agents = self.installed_agents(project).await;
        let mut recent: Vec<&TaskRow> = tasks.iter().collect();
        recent.sort_by_key(|task| std::cmp::Reverse(task.updated_at));
        let looked_at: BTreeSet<TaskId> =
            focus.into_iter().chain(recent.iter().take(MOST_SESSIONS).map(|task| task.id)).collect();
        for task in looked_at {
            let Some(task) = self.task(task).await? else { continue };
            for execution in &task.executions {
                let Some(session) = &execution.session else { continue };
                let Some(agent) = agents.iter_mut().find(|agent| agent.id == execution.agent) else { continue };
                let offered = session.description.models.iter().map(|model| model.id.clone());
                let new: Vec<String> =
                    offered.filter(|model| tells_apart(model) && !agent.models.contains(model)).collect();
                agent.models.extend(new);
            }
        }
        Ok(agents)
    }

    async fn installed_agents(&self, project: Option<ProjectId>) -> Vec<Agent> {
        let shared = self.inner.drivers.shared();
        let about = match project {
            Some(project) => shared.about(project).await,
            None => AboutProject::default(),
        };
        let folder = about.folder(&shared.home);
        let mut agents = vec![];
        for agent in &shared.config.agents {
            if shared.find(agent, folder, &about).await.is_some() {
                agents.push(Agent {
                    id: agent.name.clone(),
                    aliases: agent.aliases.clone(),
                    models: vec![],
                    words: agent.words.clone(),
                });
            }
        }
        agents
    }
}

/// The only project there is.
pub(crate) fn only(projects: &[ProjectRow]) -> Option<ProjectId> {
    match projects {
        [only] => Some(only.id),
        _ => None,
    }
}

/// Whether a model's name is more than an everyday word such as "default".
fn tells_apart(model: &str) -> bool {
    model != "default" && !Weights::embedded().is_common(&fold(model))
}

/// Words that look like keys of these projects' tasks.
fn typed_keys(text: &str, projects: &[ProjectRow]) -> Vec<String> {
    let edge = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let numbered = |word: &&str| {
        let parts = word.trim_end_matches('.').rsplit_once('-');
        parts.is_some_and(|(name, number)| {
            number.parse::<u64>().is_ok() && projects.iter().any(|project| project.name.eq_ignore_ascii_case(name))
        })
    };
    let words = text.split(edge).filter(numbered);
    words.map(|word| word.trim_end_matches('.').to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_model::ids::Mint;

    #[test]
    fn keys_of_known_projects_are_looked_up() {
        let mut mint = Mint::new(Timestamp::from_millis(1), 7);
        let shop = ProjectRow { id: mint.id(), name: "shop".into(), root: "/shop".into(), agent: "demo".into() };
        let found = typed_keys("how is Shop-12? utf-8 aside, shop-7.", &[shop]);
        assert_eq!(found, ["shop-12", "shop-7"]);
    }
}
