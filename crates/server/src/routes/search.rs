//! Search over titles and messages.

use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use throughline_api::content::ContentBlock;
use throughline_api::search::{Mention, SearchResult};
use throughline_api::timeline::{EntryBody, TimelineEntry};
use throughline_model::ids::{ProjectId, TaskId};
use throughline_model::stream::StreamId;
use throughline_model::view::TaskRow;
use throughline_store::port::{Answer, Ask, TaskQuery};
use utoipa::IntoParams;

use super::tasks;
use crate::app::{Shared, mismatch, task_ref};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Refusal;

/// How many of each are given.
const MOST: usize = 20;
/// How many events are looked at for messages: tool calls mention the words too.
const LOOKED_AT: usize = 400;
/// How many titles are looked at.
const TITLES: usize = 2_000;
/// How much stands before and after the words.
const AROUND: usize = 60;

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// The words, as they were written.
    q: String,
}

/// Tasks and messages with these words. Blobs are not looked into, and only the newest half million events.
#[utoipa::path(get, path = "/api/v1/search", tag = "tasks", params(SearchQuery),
    responses((status = 200, description = "What was found", body = SearchResult)))]
pub(super) async fn search(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<SearchQuery>,
) -> Result<axum::Json<SearchResult>, Refusal> {
    let words = query.q.trim();
    if words.is_empty() {
        return Err(Refusal::invalid("invalid_query", "`q` is empty"));
    }
    let mut seen = Seen { app: &app, caller, members: HashMap::new(), rows: HashMap::new() };
    let rows = app.engine.store().tasks(TaskQuery { all: true, limit: TITLES, ..TaskQuery::default() }).await?;
    let mut titled = vec![];
    for row in rows.into_iter().filter(|row| find(&row.title, words).is_some() || find(&row.key, words).is_some()) {
        if titled.len() < MOST && seen.may_see(row.project).await {
            titled.push(row);
        }
    }
    let messages = mentions(&app, words, &mut seen).await?;
    Ok(axum::Json(SearchResult { tasks: tasks::summaries(&app, caller.locale, &titled).await?, messages }))
}

async fn mentions(app: &Shared, words: &str, seen: &mut Seen<'_>) -> Result<Vec<Mention>, Refusal> {
    let events = match app.ask(Ask::Mentions { text: words.to_owned(), limit: LOOKED_AT }).await? {
        Answer::Events(events) => events,
        other => return Err(mismatch(&other)),
    };
    let mut found = vec![];
    for recorded in &events {
        let StreamId::Task(task) = recorded.stream else { continue };
        let entry = app.feed.encoder.entry(recorded).await;
        let Some((excerpt, who)) = said(&entry, words) else { continue };
        let Some(row) = seen.row(task).await else { continue };
        let (item, input) = match who {
            Who::Agent(item) => (Some(item), None),
            Who::Person(input) => (None, Some(input)),
        };
        let (task, title) = (task_ref(row), row.title.clone());
        found.push(Mention { task, title, cursor: entry.cursor, at: entry.at, item, input, excerpt });
        if found.len() == MOST {
            break;
        }
    }
    Ok(found)
}

/// What the caller may see, looked up once for each task and project.
struct Seen<'a> {
    app: &'a Shared,
    caller: Caller,
    members: HashMap<ProjectId, bool>,
    rows: HashMap<TaskId, Option<TaskRow>>,
}

impl Seen<'_> {
    async fn may_see(&mut self, project: ProjectId) -> bool {
        if let Some(known) = self.members.get(&project) {
            return *known;
        }
        let member = self.app.check_member(self.caller.person, project).await.is_ok();
        self.members.insert(project, member);
        member
    }

    async fn row(&mut self, task: TaskId) -> Option<&TaskRow> {
        if !self.rows.contains_key(&task) {
            let row = match self.app.row(&task.to_string()).await {
                Ok(row) if self.may_see(row.project).await => Some(row),
                _ => None,
            };
            self.rows.insert(task, row);
        }
        self.rows.get(&task)?.as_ref()
    }
}

enum Who {
    Agent(uuid::Uuid),
    Person(uuid::Uuid),
}

/// The words in a message, and who said it; nothing if they stand elsewhere in the entry.
fn said(entry: &TimelineEntry, words: &str) -> Option<(String, Who)> {
    match &entry.body {
        EntryBody::Message(message) => Some((excerpt(&message.text.text, words)?, Who::Agent(message.item.item))),
        EntryBody::UserMessage(message) => {
            let texts = message.content.iter().filter_map(|block| match block {
                ContentBlock::Text(text) => Some(text.text.as_str()),
                ContentBlock::Image { .. } | ContentBlock::File { .. } => None,
            });
            texts.filter_map(|text| excerpt(text, words)).next().map(|text| (text, Who::Person(message.input)))
        }
        _ => None,
    }
}

/// Where the words stand, letters in either case.
fn find(text: &str, words: &str) -> Option<usize> {
    let (text, words) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    text.find(&words)
}

fn excerpt(text: &str, words: &str) -> Option<String> {
    let at = find(text, words)?;
    let before = text.get(..at)?.chars().rev().take(AROUND).count();
    let start = text.get(..at)?.chars().count() - before;
    let wanted = before + words.chars().count() + AROUND;
    let piece: String = text.chars().skip(start).take(wanted).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ends = text.chars().count() <= start + wanted;
    Some(format!("{}{}{}", if start > 0 { "…" } else { "" }, piece.trim(), if ends { "" } else { "…" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_words_with_a_few_around_them() {
        assert_eq!(excerpt("make the Button green", "button").as_deref(), Some("make the Button green"));
        assert_eq!(excerpt("把按钮改成绿色", "按钮").as_deref(), Some("把按钮改成绿色"));
        assert_eq!(excerpt("nothing", "else"), None);
        let long = format!("{} needle {}", "straw ".repeat(100), "straw ".repeat(100));
        let found = excerpt(&long, "needle").unwrap();
        assert!(found.starts_with('…') && found.ends_with('…') && found.contains("needle"), "{found}");
        assert!(found.chars().count() < 140, "{found}");
    }
}
