//! How things stand, from the record: no agent is woken, and only the newest records of a task are read.

use throughline_model::ids::TaskId;
use throughline_model::present::Locale;
use throughline_model::present::status::{self, Evidence};
use throughline_model::rejection::Rejection;
use throughline_model::reply::Reply;
use throughline_model::stream::StreamId;
use throughline_store::port::{PageQuery, TaskQuery};

use crate::engine::Engine;
use crate::error::EngineError;

/// How many tasks are looked at for an answer about all of them.
const TASKS: usize = 100;

impl Engine {
    /// How a task stands, or all that are open, in words and with links to the events that they rest on.
    ///
    /// # Errors
    /// If there is no such task, or the store fails.
    pub async fn standing(&self, locale: Locale, task: Option<TaskId>) -> Result<Reply, EngineError> {
        let now = self.now();
        let Some(id) = task else {
            let rows = self.store().tasks(TaskQuery { limit: TASKS, ..TaskQuery::default() }).await?;
            return Ok(status::of_all(locale, &rows, now));
        };
        let task = self.task(id).await?.ok_or(Rejection::NotFound { what: "task" })?;
        let stream = StreamId::Task(id);
        let newest = self.store().page(PageQuery { stream, before: None, limit: Evidence::LOOK_BACK }).await?;
        Ok(status::of_task(locale, &task, &Evidence::of(&newest), now))
    }
}
