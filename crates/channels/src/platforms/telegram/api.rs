//! The Bot API: the few methods that are needed, over any base address. The token is in the address, so no address
//! is ever part of an error.

use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::multipart::Form;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use crate::channel::SendError;

/// How long a call may take that does not wait for news.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a file may take.
const FILE_PATIENCE: Duration = Duration::from_secs(120);
/// How long to wait before calling again when nobody was there.
const ABSENT_SECS: u64 = 5;
/// How long to wait before trying a token again that was refused.
const REFUSED_SECS: u64 = 60;

pub(super) struct Api {
    http: reqwest::Client,
    patience: Duration,
    methods: String,
    files: String,
}

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    /// The platform said no.
    #[error("{code}: {description}")]
    Refused { code: u16, description: String, retry_after_secs: Option<u64> },
    /// Nobody was there, so nothing was done.
    #[error("the platform cannot be reached: {0}")]
    Absent(String),
    /// It may or may not have been done.
    #[error("the answer was lost: {0}")]
    Lost(String),
}

impl ApiError {
    /// The platform says that what was asked for is so already.
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self, ApiError::Refused { code: 400, description, .. } if description.contains("is not modified"))
    }

    /// The platform wants us to write more slowly.
    pub(super) fn is_too_fast(&self) -> bool {
        matches!(self, ApiError::Refused { code: 429, .. })
    }

    /// The platform could not read the markup.
    pub(super) fn is_unreadable(&self) -> bool {
        matches!(self, ApiError::Refused { code: 400, description, .. } if description.contains("can't parse"))
    }
}

impl From<ApiError> for SendError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused { retry_after_secs: Some(after_secs), .. } => SendError::Later { after_secs },
            ApiError::Refused { code: 401 | 404, .. } => SendError::Later { after_secs: REFUSED_SECS },
            ApiError::Refused { code: 429, .. } | ApiError::Absent(_) => SendError::Later { after_secs: ABSENT_SECS },
            ApiError::Refused { code, description, .. } if code >= 500 => SendError::Unknown(description),
            ApiError::Refused { description, .. } => SendError::Dead(description),
            ApiError::Lost(why) => SendError::Unknown(why),
        }
    }
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: bool,
    result: Option<T>,
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    description: String,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
}

impl Api {
    pub(super) fn new(address: &str, token: &str) -> Result<Self, reqwest::Error> {
        let http = crate::http::client(PATIENCE)?;
        let address = address.trim_end_matches('/');
        let (methods, files) = (format!("{address}/bot{token}"), format!("{address}/file/bot{token}"));
        Ok(Api { http, patience: PATIENCE, methods, files })
    }

    /// Waits as long as this for an answer, instead of as long as is usual.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Api { patience, ..self }
    }

    /// Calls a method whose result is needed.
    pub(super) async fn call<T: DeserializeOwned>(&self, method: &str, body: &Value) -> Result<T, ApiError> {
        self.call_within(self.patience, method, body).await
    }

    pub(super) async fn call_within<T: DeserializeOwned>(
        &self,
        patience: Duration,
        method: &str,
        body: &Value,
    ) -> Result<T, ApiError> {
        answer(self.request(patience, method, body)).await?.ok_or_else(empty)
    }

    /// Calls a method whose result says nothing: some servers leave it out.
    pub(super) async fn tell(&self, method: &str, body: &Value) -> Result<(), ApiError> {
        answer::<IgnoredAny>(self.request(self.patience, method, body)).await.map(|_| ())
    }

    /// What is not said is left out: the platform would read a `null` as the word.
    fn request(&self, patience: Duration, method: &str, body: &Value) -> RequestBuilder {
        let said = body.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let said: Map<String, Value> = said.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.http.post(format!("{}/{method}", self.methods)).timeout(patience).json(&said)
    }

    /// Calls a method with a file.
    pub(super) async fn call_with_file<T: DeserializeOwned>(&self, method: &str, form: Form) -> Result<T, ApiError> {
        let request = self.http.post(format!("{}/{method}", self.methods)).timeout(FILE_PATIENCE).multipart(form);
        answer(request).await?.ok_or_else(empty)
    }

    /// The bytes of a file, at most so many.
    pub(super) async fn download(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SendError> {
        let too_large = || SendError::Dead(format!("the file is larger than {max_bytes} bytes"));
        let request = self.http.get(format!("{}/{path}", self.files)).timeout(FILE_PATIENCE);
        let mut response = request.send().await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(SendError::Dead(format!("the file cannot be had: {}", response.status())));
        }
        let mut bytes = vec![];
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > max_bytes {
                return Err(too_large());
            }
        }
        Ok(bytes)
    }
}

async fn answer<T: DeserializeOwned>(request: RequestBuilder) -> Result<Option<T>, ApiError> {
    let response = request.send().await.map_err(lost)?;
    let status = response.status().as_u16();
    let answer: Answer<T> = match response.json().await {
        Ok(answer) => answer,
        Err(error) if status < 400 => return Err(lost(error)),
        Err(_) => return Err(refused(status, "the platform answered without an explanation".into(), None)),
    };
    match answer {
        Answer { ok: true, result, .. } => Ok(result),
        Answer { error_code, description, parameters, .. } => {
            let code = if error_code == 0 { status } else { error_code };
            Err(refused(code, description, parameters.and_then(|known| known.retry_after)))
        }
    }
}

fn empty() -> ApiError {
    ApiError::Lost("the answer is empty".into())
}

fn refused(code: u16, description: String, retry_after_secs: Option<u64>) -> ApiError {
    ApiError::Refused { code, description, retry_after_secs }
}

fn lost(error: reqwest::Error) -> ApiError {
    let absent = error.is_connect();
    let why = error.without_url().to_string();
    if absent { ApiError::Absent(why) } else { ApiError::Lost(why) }
}
