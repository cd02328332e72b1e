//! The open platform's HTTP interface: the few calls that are needed, over either domain, with a token that is
//! fetched anew before it runs out and whenever the platform no longer knows it.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::channel::SendError;

/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a file may take.
const FILE_PATIENCE: Duration = Duration::from_secs(120);
/// A token is not used in the last minutes of its life.
const TOKEN_MARGIN: Duration = Duration::from_secs(300);
/// How long to wait before calling again when nobody was there.
const ABSENT_SECS: u64 = 5;
/// How long to wait before trying an app again that was refused.
const REFUSED_SECS: u64 = 60;
/// The platform no longer knows the token.
const STALE_TOKEN: [i64; 4] = [99_991_661, 99_991_663, 99_991_664, 99_991_668];
/// Too many calls, or the same message is on its way already.
const TOO_FAST: [i64; 4] = [99_991_400, 230_020, 230_049, 11_232];
/// The message was taken back, or deleted.
const GONE: [i64; 2] = [230_011, 230_110];

pub(super) struct Api {
    http: reqwest::Client,
    patience: Duration,
    domain: String,
    app_id: String,
    app_secret: String,
    token: Mutex<Option<Token>>,
}

#[derive(Clone)]
struct Token {
    value: String,
    until: Instant,
}

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    #[error("{code}: {message}")]
    Refused { code: i64, message: String, after_secs: Option<u64> },
    #[error("the platform cannot be reached: {0}")]
    Absent(String),
    #[error("the answer was lost: {0}")]
    Lost(String),
    #[error("the app is not let in: {0}")]
    NotLetIn(String),
}

impl ApiError {
    /// The message that it is about was taken back.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, ApiError::Refused { code, .. } if GONE.contains(code))
    }
}

impl From<ApiError> for SendError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused { after_secs: Some(after_secs), .. } => SendError::Later { after_secs },
            ApiError::Refused { message, .. } => SendError::Dead(message),
            ApiError::Absent(_) => SendError::Later { after_secs: ABSENT_SECS },
            ApiError::NotLetIn(_) => SendError::Later { after_secs: REFUSED_SECS },
            ApiError::Lost(why) => SendError::Unknown(why),
        }
    }
}

/// Where the long connection is to be made, and how often to ask whether it stands.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) ping: Duration,
}

#[derive(Deserialize)]
struct Answer {
    code: i64,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
struct TokenAnswer {
    code: i64,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    tenant_access_token: String,
    #[serde(default)]
    expire: u64,
}

impl Api {
    pub(super) fn new(domain: &str, app_id: &str, app_secret: &str) -> Result<Self, reqwest::Error> {
        Ok(Api {
            http: crate::http::client(PATIENCE)?,
            patience: PATIENCE,
            domain: domain.trim_end_matches('/').to_owned(),
            app_id: app_id.to_owned(),
            app_secret: app_secret.to_owned(),
            token: Mutex::new(None),
        })
    }

    /// Waits as long as this for an answer, instead of as long as is usual.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Api { patience, ..self }
    }

    /// Calls with the app's token.
    pub(super) async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value, ApiError> {
        let request = || Ok(self.http.request(method.clone(), self.url(path)).timeout(self.patience).json(body));
        self.admitted(request, read).await
    }

    /// Puts a file on the platform. Answers with its key.
    pub(super) async fn upload(&self, name: &str, mime: &str, bytes: &[u8]) -> Result<String, ApiError> {
        let request = || {
            let part = Part::bytes(bytes.to_vec()).file_name(name.to_owned()).mime_str(mime).map_err(unsent)?;
            let form = Form::new().text("file_type", "stream").text("file_name", name.to_owned()).part("file", part);
            Ok(self.http.post(self.url("/open-apis/im/v1/files")).timeout(FILE_PATIENCE).multipart(form))
        };
        let data = self.admitted(request, read).await?;
        let key = data.get("file_key").and_then(Value::as_str);
        key.map(str::to_owned).ok_or_else(|| ApiError::Absent("the file has no key".into()))
    }

    /// Sends a request with the app's token; once more with a new one if the platform does not know it. It says so
    /// with a status, or only in what is read of its answer.
    async fn admitted<T>(
        &self,
        request: impl Fn() -> Result<RequestBuilder, ApiError>,
        read: impl AsyncFn(Response) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let with = async |token: &str| read(sent(request()?.bearer_auth(token)).await?).await;
        let token = self.token().await?;
        match with(&token).await {
            Err(ApiError::Refused { code, .. }) if STALE_TOKEN.contains(&code) => {
                self.token.lock().await.take_if(|known| known.value == token);
                with(&self.token().await?).await
            }
            other => other,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.domain)
    }

    async fn token(&self) -> Result<String, ApiError> {
        // Held while fetching, so that one call fetches for all.
        let mut known = self.token.lock().await;
        if let Some(token) = known.as_ref().filter(|token| token.until > Instant::now()) {
            return Ok(token.value.clone());
        }
        let url = format!("{}/open-apis/auth/v3/tenant_access_token/internal", self.domain);
        let body = json!({"app_id": self.app_id, "app_secret": self.app_secret});
        let response = self.http.post(url).timeout(PATIENCE).json(&body).send().await.map_err(unsent)?;
        let answer: TokenAnswer = response.json().await.map_err(unsent)?;
        if answer.code != 0 {
            return Err(turned_away(answer.code, answer.msg));
        }
        let life = Duration::from_secs(answer.expire);
        let until = Instant::now() + life.saturating_sub(TOKEN_MARGIN).max(life / 2);
        let token = Token { value: answer.tenant_access_token, until };
        Ok(known.insert(token).value.clone())
    }

    /// Asks where the long connection is to be made.
    pub(super) async fn endpoint(&self) -> Result<Endpoint, ApiError> {
        let url = format!("{}/callback/ws/endpoint", self.domain);
        let body = json!({"AppID": self.app_id, "AppSecret": self.app_secret});
        let response = self.http.post(url).timeout(PATIENCE).json(&body).send().await.map_err(unsent)?;
        let answer: Answer = response.json().await.map_err(unsent)?;
        if answer.code != 0 {
            return Err(turned_away(answer.code, answer.msg));
        }
        let url = answer.data.get("URL").and_then(Value::as_str).unwrap_or_default().to_owned();
        let secs = answer.data.pointer("/ClientConfig/PingInterval").and_then(Value::as_u64).unwrap_or(120);
        Ok(Endpoint { url, ping: Duration::from_secs(secs.clamp(1, 600)) })
    }

    /// The bytes behind a path, at most so many.
    pub(super) async fn download(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SendError> {
        let request = || Ok(self.http.get(self.url(path)).timeout(FILE_PATIENCE));
        let mut response = self.admitted(request, async |response| Ok(response)).await?;
        let mut bytes = vec![];
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > max_bytes {
                return Err(SendError::Dead(format!("the file is larger than {max_bytes} bytes")));
            }
        }
        Ok(bytes)
    }
}

async fn sent(request: RequestBuilder) -> Result<Response, ApiError> {
    let response = request.send().await.map_err(lost)?;
    if response.status().is_success() { Ok(response) } else { Err(refusal(response).await) }
}

async fn read(response: Response) -> Result<Value, ApiError> {
    match response.json().await.map_err(lost)? {
        Answer { code: 0, data, .. } => Ok(data),
        Answer { code, msg, .. } => Err(refused(code, msg, None)),
    }
}

/// Why a call came back with another status than success.
async fn refusal(response: Response) -> ApiError {
    let status = response.status();
    let reset = response.headers().get("x-ogw-ratelimit-reset").and_then(|value| value.to_str().ok()?.parse().ok());
    let answer: Option<Answer> = response.json().await.ok();
    if status.is_server_error() {
        return ApiError::Lost(answer.map_or_else(|| status.to_string(), |answer| answer.msg));
    }
    let fast = (status.as_u16() == 429).then(|| reset.unwrap_or(1));
    match answer {
        Some(Answer { code, msg, .. }) => refused(code, msg, fast.or(reset.filter(|_| TOO_FAST.contains(&code)))),
        None => refused(i64::from(status.as_u16()), status.to_string(), fast),
    }
}

fn refused(code: i64, message: String, after_secs: Option<u64>) -> ApiError {
    let after_secs = after_secs.or_else(|| TOO_FAST.contains(&code).then_some(1));
    ApiError::Refused { code, message, after_secs }
}

fn lost(error: reqwest::Error) -> ApiError {
    let absent = error.is_connect();
    let why = error.without_url().to_string();
    if absent { ApiError::Absent(why) } else { ApiError::Lost(why) }
}

/// For calls that change nothing: whatever went wrong, nothing was done.
fn unsent(error: reqwest::Error) -> ApiError {
    ApiError::Absent(error.without_url().to_string())
}

/// The app itself is refused: for being too fast, or for good.
fn turned_away(code: i64, message: String) -> ApiError {
    match refused(code, message, None) {
        slow @ ApiError::Refused { after_secs: Some(_), .. } => slow,
        other => ApiError::NotLetIn(other.to_string()),
    }
}
