//! Errors towards clients: every one is a problem document with a stable code and a hint.
//!
//! Owns which HTTP status a code gets. A code that this file does not know is the daemon's own fault (500).

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use throughline_api::problem::{MEDIA_TYPE, Problem};
use throughline_engine::EngineError;
use throughline_model::runtime_session::Failure;
use throughline_store::StoreError;

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: String,
    detail: String,
    hint: String,
}

impl Refusal {
    /// The status follows from the code.
    pub(crate) fn new(code: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        let code = code.into();
        Refusal { status: status_of(&code), code, detail: detail.into(), hint: hint.into() }
    }

    /// The document that is sent.
    pub(crate) fn problem(&self) -> Problem {
        Problem {
            kind: format!("urn:throughline:error:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            code: self.code.clone(),
            detail: self.detail.clone(),
            hint: self.hint.clone(),
            instance: None,
        }
    }

    /// There is no such task, approval, input, …
    pub(crate) fn not_found(what: &str, name: &str) -> Self {
        let detail = format!("there is no {what} `{name}`");
        Refusal::new("not_found", detail, "`tl tasks --all` lists the tasks, `tl project list` the projects")
    }

    /// Something in the request's head or body has the wrong shape.
    pub(crate) fn invalid(code: &str, detail: impl Into<String>) -> Self {
        Refusal::new(code, detail, "see /api/v1/openapi.json for what is expected")
    }
}

/// What a request runs into as things stand: they may stand otherwise later.
const CONFLICTS: [&str; 27] = [
    "exists",
    "native_session_taken",
    "project_exists",
    "approval_settled",
    "stale_epoch",
    "policy_changed",
    "question_settled",
    "turn_running",
    "workspace_busy",
    "workspace_gone",
    "not_a_fork",
    "which_worktree",
    "not_related",
    "take_conflict",
    "no_checkpoint",
    "nothing_to_undo",
    "checkpoint_not_taken",
    "no_turn",
    "no_findings",
    "input_gone",
    "last_execution",
    "needs_consent",
    "worktree_kept",
    "folder_not_empty",
    "no_public_url",
    "idempotency_conflict",
    "home_in_use",
];

/// The one table from codes to statuses.
fn status_of(code: &str) -> StatusCode {
    match code {
        "invalid_body"
        | "invalid_json"
        | "invalid_utf8"
        | "invalid_query"
        | "invalid_path"
        | "invalid_header"
        | "invalid_subscription"
        | "empty_message" => StatusCode::BAD_REQUEST,
        "unauthenticated" | "login_code_used" => StatusCode::UNAUTHORIZED,
        "forbidden" | "forbidden_host" | "forbidden_origin" | "local_only" | "hook_not_believed" | "not_a_browser" => {
            StatusCode::FORBIDDEN
        }
        "not_found" | "native_session_unknown" => StatusCode::NOT_FOUND,
        "method_not_allowed" => StatusCode::METHOD_NOT_ALLOWED,
        "upgrade_required" => StatusCode::UPGRADE_REQUIRED,
        "body_timeout" => StatusCode::REQUEST_TIMEOUT,
        code if CONFLICTS.contains(&code) => StatusCode::CONFLICT,
        "cursor_expired" | "checkpoint_gone" => StatusCode::GONE,
        "digest_mismatch" | "not_shown" => StatusCode::PRECONDITION_FAILED,
        "message_too_large" | "blob_too_large" | "body_too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "unsupported_media_type" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "project_unknown"
        | "agent_unknown"
        | "agent_not_installed"
        | "model_unknown"
        | "channel_unknown"
        | "blob_unknown"
        | "bad_locale"
        | "bad_quiet_hours"
        | "bad_path"
        | "bad_project_name"
        | "no_such_option"
        | "bad_answer"
        | "no_rule"
        | "too_many_rules"
        | "not_importable" => StatusCode::UNPROCESSABLE_ENTITY,
        "queue_full" => StatusCode::TOO_MANY_REQUESTS,
        "not_available" => StatusCode::NOT_IMPLEMENTED,
        "store_busy" | "store_read_only" | "contended" | "stopping" | "too_many_sockets" | "hook_not_taken"
        | "file_not_fetched" => StatusCode::SERVICE_UNAVAILABLE,
        "disk_full" => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // Logged here and nowhere else: what a client did wrong is its own affair, what we did wrong is ours.
        if self.status.is_server_error() {
            tracing::error!(code = self.code, detail = self.detail, "request failed");
        } else {
            tracing::debug!(code = self.code, detail = self.detail, "request refused");
        }
        let body = serde_json::to_vec(&self.problem()).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Refusal::new(error.code(), error.to_string(), error.hint())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::new(error.code(), error.to_string(), error.hint())
    }
}

impl From<Failure> for Refusal {
    /// An agent that does not work is not the daemon's fault: 424 whatever its code.
    fn from(failure: Failure) -> Self {
        let hint = failure.hint.unwrap_or_else(|| "`tl agents` shows which agents are here".into());
        Refusal { status: StatusCode::FAILED_DEPENDENCY, code: failure.code, detail: failure.message, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS: &str = include_str!("../../../docs/errors.md");
    /// What only a terminal says.
    const OF_THE_TERMINAL: [&str; 6] = ["usage", "bad_case", "bad_id", "ambiguous_id", "interrupted", "fork_failed"];
    /// A restore that a disk or somebody else's process broke off.
    const OURS: [&str; 1] = ["restore_incomplete"];

    /// The codes in the first column of a section of docs/errors.md.
    fn documented(section: &str) -> Vec<&'static str> {
        let (_, rest) = ERRORS.split_once(&format!("## {section}\n")).expect("the section is there");
        let table = rest.split("\n## ").next().unwrap_or(rest);
        let columns = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        columns.flat_map(|codes| codes.split(", ").map(|code| code.trim_matches('`'))).collect()
    }

    #[test]
    fn what_a_person_can_mend_is_never_the_daemons_fault() {
        for section in ["What was said or asked for", "Approvals", "The HTTP API"] {
            let codes = documented(section);
            assert!(codes.len() > 8, "{section} has {codes:?}");
            for code in codes {
                let known = OF_THE_TERMINAL.contains(&code) || OURS.contains(&code);
                let faulty = status_of(code) == StatusCode::INTERNAL_SERVER_ERROR;
                assert_eq!(faulty, known, "{code}");
            }
        }
    }
}
