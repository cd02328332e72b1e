//! A model that breaks ties, if one is configured: it chooses among readings that the router could not tell apart.
//!
//! **Invariants:** it is asked only where the person would be asked otherwise, never about approvals, and never to stop or
//! close anything; it has two seconds; whatever else it says than the number of a reading leaves the question to the
//! person. What is a fact leaves no two readings, so it is not asked then. That it was used is part of the decision.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use throughline_model::context::Surroundings;
use throughline_model::route::{Intent, RouteDecision};

/// How long it may take, connecting included.
const BUDGET: Duration = Duration::from_secs(2);
/// How much of a message it is shown.
const SHOWN_CHARS: usize = 2_000;

/// Where the model is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TieModel {
    /// The endpoint's base, such as `https://api.openai.com/v1`.
    pub url: String,
    /// How it is spoken to.
    pub api: TieApi,
    /// Which model.
    pub model: String,
    /// The variable that holds the key; none if it needs no key.
    #[serde(default)]
    pub key_env: Option<String>,
}

/// How a model is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieApi {
    /// `POST {url}/chat/completions`.
    Openai,
    /// `POST {url}/v1/messages`.
    Anthropic,
}

/// The same decision, or the reading that the model chose.
pub(crate) async fn settle(
    model: Option<&TieModel>,
    message: &str,
    decision: RouteDecision,
    around: &Surroundings,
) -> RouteDecision {
    let readings = open_readings(&decision);
    let (Some(model), false) = (model, readings.len() < 2) else { return decision };
    match model.choose(message, &readings, around).await {
        Some(intent) => {
            let mut evidence = decision.evidence;
            evidence.insert(0, format!("{} chose between the readings that were open", model.model));
            let others = decision.alternatives.into_iter().filter(|other| *other != intent).collect();
            RouteDecision { intent, evidence, alternatives: others, ..decision }
        }
        None => decision,
    }
}

/// The readings between which the person would be asked to choose; none where the router is sure, or where approvals are
/// at stake.
fn open_readings(decision: &RouteDecision) -> Vec<Intent> {
    if !matches!(&decision.intent, Intent::Clarify { approvals, .. } if approvals.is_empty()) {
        return vec![];
    }
    let harmless = |intent: &&Intent| {
        matches!(
            intent,
            Intent::Continue { .. } | Intent::Answer { .. } | Intent::NewTask { .. } | Intent::Status { .. }
        )
    };
    decision.alternatives.iter().filter(harmless).cloned().collect()
}

impl TieModel {
    async fn choose(&self, message: &str, readings: &[Intent], around: &Surroundings) -> Option<Intent> {
        let question = question(message, readings, around);
        match tokio::time::timeout(BUDGET, self.ask(&question)).await {
            Ok(Ok(answer)) => {
                let number: usize = answer.trim().trim_end_matches('.').parse().ok()?;
                readings.get(number.checked_sub(1)?).cloned()
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the model for ties could not be asked");
                None
            }
            Err(_) => {
                tracing::warn!("the model for ties took too long");
                None
            }
        }
    }

    async fn ask(&self, question: &str) -> Result<String, reqwest::Error> {
        let key = self.key_env.as_ref().and_then(|name| std::env::var(name).ok()).unwrap_or_default();
        let base = self.url.trim_end_matches('/');
        let body = json!({
            "model": self.model,
            "max_tokens": 8,
            "messages": [{"role": "user", "content": question}],
        });
        let client = throughline_channels::http::client(BUDGET)?;
        let request = match self.api {
            TieApi::Openai => client.post(format!("{base}/chat/completions")).bearer_auth(key),
            TieApi::Anthropic => client
                .post(format!("{base}/v1/messages"))
                .header("x-api-key", key)
                .header("anthropic-version", "2023-06-01"),
        };
        let answer: Value = request.json(&body).send().await?.error_for_status()?.json().await?;
        let text = match self.api {
            TieApi::Openai => &answer["choices"][0]["message"]["content"],
            TieApi::Anthropic => &answer["content"][0]["text"],
        };
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

/// The readings as a numbered list, and what is known of the tasks in it.
fn question(message: &str, readings: &[Intent], around: &Surroundings) -> String {
    let named = |intent: &Intent| {
        let task = intent.task().and_then(|task| around.task(task));
        task.map_or_else(String::new, |task| format!(" {} \"{}\"", task.key, task.title))
    };
    let lines: Vec<String> = readings
        .iter()
        .enumerate()
        .map(|(at, intent)| {
            let what = match intent {
                Intent::NewTask { .. } => "it starts a new, unrelated task".to_owned(),
                Intent::Status { .. } => format!("it asks how things stand with{}", named(intent)),
                other => format!("it goes on with{}", named(other)),
            };
            format!("{}. {what}", at + 1)
        })
        .collect();
    let shown: String = message.chars().take(SHOWN_CHARS).collect();
    format!(
        "A person said to their coding assistant:\n\n{shown}\n\nWhich reading is right?\n{}\n0. It cannot be known\n\n\
         Answer with the number alone.",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use throughline_model::channel::Channel;
    use throughline_model::ids::{Mint, ProjectId, TaskId};
    use throughline_model::time::Timestamp;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A model on this machine that says the same to everyone, or nothing at all.
    async fn stub(says: Option<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = vec![0; 64 * 1024];
                let _ = stream.read(&mut asked).await;
                let Some(says) = says else {
                    std::future::pending::<()>().await;
                    return;
                };
                let body =
                    json!({"choices": [{"message": {"content": says}}], "content": [{"text": says}]}).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        format!("http://{address}")
    }

    fn around() -> Surroundings {
        Surroundings {
            now: Timestamp::from_millis(1),
            channel: Channel::Cli,
            project: None,
            own_focus: None,
            addressed: vec![],
            reply_to: None,
            tasks: vec![],
            approvals: vec![],
            agents: vec![],
            projects: vec![],
        }
    }

    fn tied() -> (RouteDecision, Intent, Intent) {
        let mut mint = Mint::new(Timestamp::from_millis(1), 7);
        let (task, project): (TaskId, ProjectId) = (mint.id(), mint.id());
        let go_on = Intent::Continue { task, execution: None };
        let start = Intent::NewTask { project, agent: None };
        let decision = RouteDecision {
            id: mint.id(),
            intent: Intent::Clarify { candidates: vec![task], approvals: vec![] },
            confidence: 0.4,
            evidence: vec!["it is not clear enough to act on".into()],
            alternatives: vec![go_on.clone(), start.clone()],
            focus: None,
        };
        (decision, go_on, start)
    }

    async fn settled(says: Option<&'static str>, api: TieApi, decision: RouteDecision) -> RouteDecision {
        let model = TieModel { url: stub(says).await, api, model: "tiny".into(), key_env: None };
        settle(Some(&model), "hm, the footer", decision, &around()).await
    }

    #[tokio::test]
    async fn it_chooses_among_the_open_readings_and_that_is_recorded() {
        for api in [TieApi::Openai, TieApi::Anthropic] {
            let (decision, go_on, start) = tied();
            let settled = settled(Some("2"), api, decision).await;
            assert_eq!((settled.intent, settled.alternatives), (start, vec![go_on]));
            assert!(settled.evidence[0].contains("tiny"), "{:?}", settled.evidence);
        }
    }

    #[tokio::test]
    async fn nonsense_leaves_the_question_to_the_person() {
        for says in [Some("0"), Some("9"), Some("the first one, I think"), Some("")] {
            let (decision, ..) = tied();
            assert_eq!(settled(says, TieApi::Openai, decision.clone()).await, decision);
        }
    }

    /// The clock stands still until nothing else is to be done, and then goes to the end of the budget.
    #[tokio::test(start_paused = true)]
    async fn it_has_two_seconds() {
        let (decision, ..) = tied();
        let begun = tokio::time::Instant::now();
        assert_eq!(settled(None, TieApi::Openai, decision.clone()).await, decision);
        assert_eq!(begun.elapsed().as_secs(), BUDGET.as_secs());
    }

    #[tokio::test]
    async fn it_is_not_asked_about_approvals_nor_where_the_router_is_sure() {
        let mut mint = Mint::new(Timestamp::from_millis(2), 8);
        let (decision, ..) = tied();
        let sure = RouteDecision { intent: decision.alternatives[0].clone(), ..decision.clone() };
        let approvals = vec![mint.id()];
        let about = RouteDecision { intent: Intent::Clarify { candidates: vec![], approvals }, ..decision };
        for decision in [sure, about] {
            assert_eq!(settled(Some("1"), TieApi::Openai, decision.clone()).await, decision);
        }
    }
}
