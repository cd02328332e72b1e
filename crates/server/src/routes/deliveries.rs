//! What was to be said in chats, and what became of it.
//!
//! **Invariant:** what is about a task is for the members of its project; what is about none, for whom it was said to.

use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use throughline_api::delivery::{Delivery, DeliveryList, DeliveryWhy};
use throughline_api::task::TaskRef;
use throughline_model::delivery::PushReason;
use throughline_model::ids::{ConversationId, DeliveryId, Id as _, TaskId};
use throughline_model::present::why_not_sent;
use throughline_model::stream::StreamId;
use throughline_model::view::DeliveryRow;
use throughline_store::port::{Answer, Ask, DeliveryQuery};
use utoipa::IntoParams;
use uuid::Uuid;

use crate::app::{Shared, mismatch, task_ref};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Refusal;
use crate::wire;

/// How many rows are looked at in one go, and how often.
const LOOK: usize = 200;
const LOOKS: usize = 50;
/// How many a page has, if nobody says.
const PAGE: usize = 50;
const MOST: usize = 200;
/// The states that there are.
const STATES: [&str; 8] = ["pending", "sending", "held", "sent", "unknown", "dead", "expired", "superseded"];

/// Which deliveries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only about this task: its key or id.
    task: Option<String>,
    /// Only to these conversations: their ids, with commas between them.
    conversation: Option<String>,
    /// Only in these states, with commas between them.
    state: Option<String>,
    /// Only what somebody may have missed: `unknown`, `dead` and `expired`, without what only tells how far work is.
    undelivered: Option<bool>,
    /// Also every change of a message that tells how far work is.
    all: Option<bool>,
    /// Only those that were queued before this one: the last page's `before`.
    before: Option<Uuid>,
    /// How many at most.
    limit: Option<usize>,
}

/// Deliveries, newest first.
#[utoipa::path(get, path = "/api/v1/deliveries", tag = "people", params(ListQuery),
    responses((status = 200, description = "A page of them", body = DeliveryList)))]
pub(super) async fn list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<DeliveryList>, Refusal> {
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MOST);
    let (undelivered, all) = (query.undelivered == Some(true), query.all == Some(true));
    let wanted = |row: &DeliveryRow| match undelivered {
        true => row.is_lost(),
        false => all || !matches!(row.push, Some(PushReason::Progress | PushReason::Worked)),
    };
    let mut asked = asked(&app, caller, query).await?;
    let mut page = Page { app: &app, caller, tasks: HashMap::new(), places: HashMap::new() };
    let mut deliveries = vec![];
    for _ in 0..LOOKS {
        let rows = match app.ask(Ask::Deliveries(asked.clone())).await? {
            Answer::Deliveries(rows) => rows,
            other => return Err(mismatch(&other)),
        };
        let more = rows.len() == LOOK;
        for row in rows {
            asked.before = Some(row.id);
            if wanted(&row) {
                deliveries.extend(page.shown(&row).await?);
            }
            if deliveries.len() == limit {
                return Ok(axum::Json(DeliveryList { deliveries, before: Some(row.id.uuid()) }));
            }
        }
        if !more {
            return Ok(axum::Json(DeliveryList { deliveries, before: None }));
        }
    }
    Ok(axum::Json(DeliveryList { deliveries, before: asked.before.map(|id| id.uuid()) }))
}

/// What is asked of the store.
async fn asked(app: &Shared, caller: Caller, query: ListQuery) -> Result<DeliveryQuery, Refusal> {
    let invalid = |what: &str, word: &str| Refusal::invalid("invalid_query", format!("there is no {what} `{word}`"));
    let words = |list: &Option<String>| -> Vec<String> {
        list.iter().flat_map(|list| list.split(',')).map(|word| word.trim().to_owned()).collect()
    };
    let mut states = words(&query.state);
    if let Some(unknown) = states.iter().find(|state| !STATES.contains(&state.as_str())) {
        return Err(invalid("state", unknown));
    }
    if query.undelivered == Some(true) {
        states = DeliveryRow::LOST.map(str::to_owned).to_vec();
    }
    let conversation = |id: &String| id.parse::<ConversationId>().map_err(|_| invalid("conversation", id));
    let task = match &query.task {
        Some(name) => Some(app.row_for(caller.person, name).await?.id),
        None => None,
    };
    Ok(DeliveryQuery {
        task,
        conversations: words(&query.conversation).iter().map(conversation).collect::<Result<_, _>>()?,
        states,
        before: query.before.map(DeliveryId::from_uuid),
        limit: LOOK,
    })
}

/// Where a message goes.
#[derive(Clone)]
struct Place {
    channel: String,
    to: Option<String>,
    theirs: bool,
}

/// What one caller may see.
struct Page<'a> {
    app: &'a Shared,
    caller: Caller,
    /// The tasks that were looked at; none if they are not the caller's.
    tasks: HashMap<TaskId, Option<TaskRef>>,
    places: HashMap<ConversationId, Place>,
}

impl Page<'_> {
    async fn shown(&mut self, row: &DeliveryRow) -> Result<Option<Delivery>, Refusal> {
        let place = self.place(row.conversation).await?;
        let task = match row.task {
            Some(task) => self.task(task).await?,
            None => None,
        };
        if task.is_none() && (row.task.is_some() || !place.theirs) {
            return Ok(None);
        }
        let why = why_not_sent(self.caller.locale, row);
        Ok(Some(Delivery {
            id: row.id.uuid(),
            conversation: row.conversation.uuid(),
            channel: place.channel,
            to: place.to,
            task,
            kind: row.push.map_or("reply", PushReason::word).to_owned(),
            text: row.text.clone(),
            state: row.state.clone(),
            why: why.map(|(code, text)| DeliveryWhy { code: code.to_owned(), text }),
            tries: row.tries,
            at: wire::moment(row.at),
        }))
    }

    async fn place(&mut self, conversation: ConversationId) -> Result<Place, Refusal> {
        if let Some(known) = self.places.get(&conversation) {
            return Ok(known.clone());
        }
        let state = self.app.engine.state(StreamId::Conversation(conversation)).await?;
        let place = match state.conversation() {
            Some(known) => Place {
                channel: known.channel.word().to_owned(),
                to: known.address.as_ref().and_then(|address| address.with.as_ref()).map(|identity| identity.handle()),
                theirs: known.person == self.caller.person,
            },
            None => Place { channel: String::new(), to: None, theirs: false },
        };
        self.places.insert(conversation, place.clone());
        Ok(place)
    }

    async fn task(&mut self, task: TaskId) -> Result<Option<TaskRef>, Refusal> {
        if let Some(known) = self.tasks.get(&task) {
            return Ok(known.clone());
        }
        let row = self.app.row(&task.to_string()).await?;
        let project = self.app.engine.state(StreamId::Project(row.project)).await?;
        let member = project.project().is_some_and(|project| project.members.contains(&self.caller.person));
        let seen = member.then(|| task_ref(&row));
        self.tasks.insert(task, seen.clone());
        Ok(seen)
    }
}
