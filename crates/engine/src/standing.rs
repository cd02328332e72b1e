//! How things stand, from the record: no agent is woken, and only the newest records of a task are read.
//!
//! **Invariant:** a person is told of the tasks of their own projects, and of no other.

use throughline_model::ids::{PersonId, ProjectId, TaskId};
use throughline_model::present::Locale;
use throughline_model::present::status::{self, Evidence};
use throughline_model::rejection::Rejection;
use throughline_model::reply::Reply;
use throughline_model::stream::StreamId;
use throughline_model::view::{ProjectRow, TaskRow};
use throughline_store::port::{Answer, Ask, PageQuery, TaskQuery};

use crate::core::Core;
use crate::engine::Engine;
use crate::error::EngineError;

/// How many tasks are looked at for an answer about all of them.
const TASKS: usize = 100;

impl Engine {
    /// How a task stands, or all that are open, in words and with links to the events that they rest on.
    ///
    /// # Errors
    /// If there is no such task, it is of a project of others, or the store fails.
    pub async fn standing(&self, person: PersonId, locale: Locale, task: Option<TaskId>) -> Result<Reply, EngineError> {
        let now = self.now();
        let Some(id) = task else {
            let rows = self.tasks_of(person, TaskQuery { limit: TASKS, ..TaskQuery::default() }).await?;
            return Ok(status::of_all(locale, &rows, now));
        };
        let task = self.task(id).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let project = self.state(StreamId::Project(task.project)).await?;
        if !project.project().is_some_and(|project| project.members.contains(&person)) {
            return Err(Rejection::Forbidden.into());
        }
        let stream = StreamId::Task(id);
        let newest = self.store().page(PageQuery { stream, before: None, limit: Evidence::LOOK_BACK }).await?;
        Ok(status::of_task(locale, &task, &Evidence::of(&newest), now))
    }

    /// The tasks of a person's projects that a query asks for; of those that it names, if it names some.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn tasks_of(&self, person: PersonId, query: TaskQuery) -> Result<Vec<TaskRow>, EngineError> {
        self.inner.core.tasks_of(person, query).await
    }

    pub(crate) async fn projects_of(&self, person: PersonId) -> Result<Vec<ProjectRow>, EngineError> {
        self.inner.core.projects_of(person).await
    }
}

impl Core {
    async fn projects_of(&self, person: PersonId) -> Result<Vec<ProjectRow>, EngineError> {
        let Answer::Projects(rows) = self.store.ask(Ask::Projects).await? else { return Ok(vec![]) };
        let mut mine = vec![];
        for row in rows {
            let state = self.state(StreamId::Project(row.id)).await?;
            if state.project().is_some_and(|project| project.members.contains(&person)) {
                mine.push(row);
            }
        }
        Ok(mine)
    }

    pub(crate) async fn tasks_of(&self, person: PersonId, query: TaskQuery) -> Result<Vec<TaskRow>, EngineError> {
        let mine = self.projects_of(person).await?.into_iter().map(|row| row.id);
        let asked = |id: &ProjectId| query.projects.is_empty() || query.projects.contains(id);
        let projects: Vec<ProjectId> = mine.filter(asked).collect();
        // A query that names none asks for all.
        if projects.is_empty() {
            return Ok(vec![]);
        }
        Ok(self.store.tasks(TaskQuery { projects, ..query }).await?)
    }
}
