//! Builds the frames that Throughline writes to an agent. One frame is one line.
//!
//! Nothing here is sent, remembered or numbered: the id of a frame is given by the caller ([`RequestId`]) or
//! follows from what it answers, so that an effect that is driven again builds the same frame again.
//!
//! Throughline offers agents neither files nor terminals: they work in the workspace themselves.

use std::fmt;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde_json::json;
use throughline_model::ids::TurnId;
use throughline_model::question::FormAnswer;

use crate::quirks::Quirks;
use crate::request_id::{AgentRequestId, Opening, RequestId};

/// One line for an agent's standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingFrame {
    /// By this the keeper knows a repetition. A request's JSON-RPC id.
    pub id: String,
    /// The line, with its newline.
    pub bytes: Vec<u8>,
}

impl OutgoingFrame {
    fn new(id: String, message: &impl Serialize) -> Self {
        let mut bytes = serde_json::to_vec(message).expect("a message of strings and maps with string keys is JSON");
        bytes.push(b'\n');
        Self { id, bytes }
    }

    fn request(id: RequestId, method: &str, params: impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Message<'a, P> {
            jsonrpc: &'a str,
            id: &'a str,
            method: &'a str,
            params: P,
        }
        let id = id.to_string();
        let message = Message { jsonrpc: "2.0", id: &id, method, params };
        Self::new(id.clone(), &message)
    }

    fn notification(id: String, method: &str, params: impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Message<'a, P> {
            jsonrpc: &'a str,
            method: &'a str,
            params: P,
        }
        Self::new(id, &Message { jsonrpc: "2.0", method, params })
    }

    /// The agent's id is spliced in as written: it may be a number that no integer type holds.
    fn response(frame: String, request: &AgentRequestId, field: &str, value: &impl Serialize) -> Self {
        let value = serde_json::to_string(value).expect("a message of strings and maps with string keys is JSON");
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"{field}\":{value}}}\n", request.as_json());
        Self { id: frame, bytes: line.into_bytes() }
    }
}

/// One block of a prompt, its bytes resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptBlock {
    /// Plain text.
    Text(String),
    /// A picture.
    Image {
        /// Such as `image/png`.
        mime: String,
        /// The bytes, in base64.
        base64: String,
    },
    /// Any other file, for agents that take embedded context.
    Resource {
        /// The file's name or URI.
        uri: String,
        /// Such as `text/plain`.
        mime: String,
        /// What is in it.
        contents: ResourceContents,
    },
}

/// What is in an embedded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceContents {
    /// Text.
    Text(String),
    /// Anything else, in base64.
    Base64(String),
}

/// A tool server that the agent should connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// A process of the agent.
    Stdio {
        /// What the agent calls it.
        name: String,
        /// What to run.
        command: String,
        /// With what.
        args: Vec<String>,
        /// Environment variables: name and value.
        env: Vec<(String, String)>,
    },
    /// A server.
    Http {
        /// What the agent calls it.
        name: String,
        /// Where it is.
        url: String,
        /// Headers: name and value.
        headers: Vec<(String, String)>,
    },
}

/// What a config option is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigValue {
    /// One of the option's choices.
    Choice(String),
    /// A switch.
    Switch(bool),
}

/// A person's answer to a permission request, in the agent's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// One of the options that the agent offered.
    Selected(String),
    /// Nobody decided, and nobody will: the turn was cancelled or the question is void.
    Cancelled,
}

/// `initialize`: who we are, that we offer neither files nor terminals but do answer questions by form, and what the
/// agent's quirks ask for.
#[must_use]
pub fn initialize(version: &str, quirks: &Quirks) -> OutgoingFrame {
    let forms = acp::ElicitationCapabilities::new().form(acp::ElicitationFormCapabilities::new());
    let mut capabilities = acp::ClientCapabilities::new().elicitation(forms);
    capabilities.meta = quirks.client_meta.as_ref().and_then(|meta| meta.as_object().cloned());
    let params = acp::InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(capabilities)
        .client_info(acp::Implementation::new("throughline", version).title("Throughline".to_owned()));
    OutgoingFrame::request(RequestId::Init, "initialize", params)
}

/// `authenticate` with one of the methods that the agent offered.
#[must_use]
pub fn authenticate(attempt: u64, method: &str) -> OutgoingFrame {
    OutgoingFrame::request(RequestId::Auth(attempt), "authenticate", acp::AuthenticateRequest::new(method.to_owned()))
}

/// Where a session works and what it works with.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Its folder.
    pub cwd: &'a str,
    /// Folders besides it, for agents that offer that.
    pub roots: &'a [String],
    /// Its tool servers.
    pub servers: &'a [McpServer],
    /// Whether the agent refused it before, for want of a login.
    pub after_login: bool,
}

impl<'a> Surroundings<'a> {
    /// A folder and nothing else.
    #[must_use]
    pub fn folder(cwd: &'a str) -> Self {
        Self { cwd, roots: &[], servers: &[], after_login: false }
    }

    /// An agent gets each id once, so a second attempt has one of its own.
    fn id(&self, opening: Opening) -> RequestId {
        if self.after_login { RequestId::Reopen(opening) } else { RequestId::Open(opening) }
    }

    fn roots(&self) -> Vec<std::path::PathBuf> {
        self.roots.iter().map(std::path::PathBuf::from).collect()
    }
}

/// `session/new` in a folder.
#[must_use]
pub fn new_session(place: Surroundings<'_>) -> OutgoingFrame {
    let params = acp::NewSessionRequest::new(place.cwd)
        .mcp_servers(mcp_servers(place.servers))
        .additional_directories(place.roots());
    OutgoingFrame::request(place.id(Opening::New), "session/new", params)
}

/// `session/load`: opens a native session again; the agent replays its history.
#[must_use]
pub fn load_session(native: &str, place: Surroundings<'_>) -> OutgoingFrame {
    let params = acp::LoadSessionRequest::new(native.to_owned(), place.cwd)
        .mcp_servers(mcp_servers(place.servers))
        .additional_directories(place.roots());
    OutgoingFrame::request(place.id(Opening::Load), "session/load", params)
}

/// `session/resume`: opens a native session again, without its history.
#[must_use]
pub fn resume_session(native: &str, place: Surroundings<'_>) -> OutgoingFrame {
    let params = acp::ResumeSessionRequest::new(native.to_owned(), place.cwd)
        .mcp_servers(mcp_servers(place.servers))
        .additional_directories(place.roots());
    OutgoingFrame::request(place.id(Opening::Resume), "session/resume", params)
}

/// `session/fork`: opens a new native session that begins where another one stands.
#[must_use]
pub fn fork_session(native: &str, place: Surroundings<'_>) -> OutgoingFrame {
    let params = acp::ForkSessionRequest::new(native.to_owned(), place.cwd)
        .mcp_servers(mcp_servers(place.servers))
        .additional_directories(place.roots());
    OutgoingFrame::request(place.id(Opening::Fork), "session/fork", params)
}

/// `session/list`: a page of the agent's sessions, of one folder or of all.
#[must_use]
pub fn list_sessions(page: u64, cwd: Option<&str>, cursor: Option<&str>) -> OutgoingFrame {
    let params =
        acp::ListSessionsRequest::new().cwd(cwd.map(std::path::PathBuf::from)).cursor(cursor.map(ToOwned::to_owned));
    OutgoingFrame::request(RequestId::List(page), "session/list", params)
}

/// `session/close`: the agent may free what the session holds.
#[must_use]
pub fn close_session(native: &str) -> OutgoingFrame {
    OutgoingFrame::request(RequestId::Close, "session/close", acp::CloseSessionRequest::new(native.to_owned()))
}

/// `session/prompt`: what the person said. The answer carries the turn's id.
#[must_use]
pub fn prompt(turn: TurnId, native: &str, blocks: &[PromptBlock]) -> OutgoingFrame {
    let blocks = blocks.iter().map(content_block).collect();
    let params = acp::PromptRequest::new(native.to_owned(), blocks);
    OutgoingFrame::request(RequestId::Turn(turn), "session/prompt", params)
}

/// `session/cancel`: the turn should stop. Pending permission requests have to be answered as cancelled too.
#[must_use]
pub fn cancel(turn: TurnId, native: &str) -> OutgoingFrame {
    let params = acp::CancelNotification::new(native.to_owned());
    OutgoingFrame::notification(format!("cancel:{turn}"), "session/cancel", params)
}

/// `session/set_mode`.
#[must_use]
pub fn set_mode(count: u64, native: &str, mode: &str) -> OutgoingFrame {
    let params = acp::SetSessionModeRequest::new(native.to_owned(), mode.to_owned());
    OutgoingFrame::request(RequestId::SetMode(count), "session/set_mode", params)
}

/// `session/set_model`, which the schema has dropped and some agents know as the only way.
#[must_use]
pub fn set_model(count: u64, native: &str, model: &str) -> OutgoingFrame {
    let params = json!({"sessionId": native, "modelId": model});
    OutgoingFrame::request(RequestId::SetModel(count), "session/set_model", params)
}

/// `session/set_config_option`.
#[must_use]
pub fn set_config_option(count: u64, native: &str, option: &str, value: ConfigValue) -> OutgoingFrame {
    let value = match value {
        ConfigValue::Choice(choice) => acp::SessionConfigOptionValue::value_id(choice),
        ConfigValue::Switch(on) => acp::SessionConfigOptionValue::Boolean { value: on },
    };
    let params = acp::SetSessionConfigOptionRequest::new(native.to_owned(), option.to_owned(), value);
    OutgoingFrame::request(RequestId::Configure(count), "session/set_config_option", params)
}

/// The answer to `session/request_permission`. The name tells the request from others to which the agent gave the same id.
/// A second, different answer has the same frame id, so that the keeper lets the first one stand.
#[must_use]
pub fn answer_permission(name: impl fmt::Display, request: &AgentRequestId, answer: PermissionAnswer) -> OutgoingFrame {
    let outcome = match answer {
        PermissionAnswer::Cancelled => acp::RequestPermissionOutcome::Cancelled,
        PermissionAnswer::Selected(option) => {
            acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(option))
        }
    };
    let result = acp::RequestPermissionResponse::new(outcome);
    OutgoingFrame::response(format!("answer:{name}"), request, "result", &result)
}

/// The answer to `elicitation/create`. As above, the first one stands.
#[must_use]
pub fn answer_question(name: impl fmt::Display, request: &AgentRequestId, answer: &FormAnswer) -> OutgoingFrame {
    let result = match answer {
        FormAnswer::Accept { content } => {
            let content: serde_json::Value = serde_json::from_str(content).unwrap_or_default();
            serde_json::json!({ "action": "accept", "content": content })
        }
        FormAnswer::Decline => serde_json::json!({ "action": "decline" }),
        FormAnswer::Cancel => serde_json::json!({ "action": "cancel" }),
    };
    OutgoingFrame::response(format!("answer:{name}"), request, "result", &result)
}

/// The answer to a request of the agent that we do not serve, by where its line begins in the spool.
#[must_use]
pub fn refuse(at: u64, request: &AgentRequestId, method: &str) -> OutgoingFrame {
    let error = acp::Error::new(-32601, format!("{method} is not offered"));
    OutgoingFrame::response(format!("refuse:{at}"), request, "error", &error)
}

/// The answer to a request of the agent that we could not read.
#[must_use]
pub fn refuse_params(at: u64, request: &AgentRequestId, why: &str) -> OutgoingFrame {
    let error = acp::Error::new(-32602, why);
    OutgoingFrame::response(format!("refuse:{at}"), request, "error", &error)
}

fn content_block(block: &PromptBlock) -> acp::ContentBlock {
    match block {
        PromptBlock::Text(text) => acp::ContentBlock::Text(acp::TextContent::new(text.clone())),
        PromptBlock::Image { mime, base64 } => {
            acp::ContentBlock::Image(acp::ImageContent::new(base64.clone(), mime.clone()))
        }
        PromptBlock::Resource { uri, mime, contents } => {
            let resource = match contents {
                ResourceContents::Text(text) => acp::EmbeddedResourceResource::TextResourceContents(
                    acp::TextResourceContents::new(text.clone(), uri.clone()).mime_type(mime.clone()),
                ),
                ResourceContents::Base64(base64) => acp::EmbeddedResourceResource::BlobResourceContents(
                    acp::BlobResourceContents::new(base64.clone(), uri.clone()).mime_type(mime.clone()),
                ),
            };
            acp::ContentBlock::Resource(acp::EmbeddedResource::new(resource))
        }
    }
}

fn mcp_servers(servers: &[McpServer]) -> Vec<acp::McpServer> {
    servers.iter().map(mcp_server).collect()
}

fn mcp_server(server: &McpServer) -> acp::McpServer {
    match server {
        McpServer::Stdio { name, command, args, env } => {
            let env = env.iter().map(|(name, value)| acp::EnvVariable::new(name.clone(), value.clone())).collect();
            let server = acp::McpServerStdio::new(name.clone(), command.clone()).args(args.clone()).env(env);
            acp::McpServer::Stdio(server)
        }
        McpServer::Http { name, url, headers } => {
            let headers = headers.iter().map(|(name, value)| acp::HttpHeader::new(name.clone(), value.clone()));
            let server = acp::McpServerHttp::new(name.clone(), url.clone()).headers(headers.collect());
            acp::McpServer::Http(server)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn line(frame: &OutgoingFrame) -> Value {
        assert_eq!(frame.bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(frame.bytes.last(), Some(&b'\n'));
        serde_json::from_slice(&frame.bytes).expect("one line of JSON")
    }

    fn turn() -> TurnId {
        "0199d6a0-0000-7000-8000-000000000001".parse().expect("a uuid")
    }

    #[test]
    fn initialize_says_who_we_are_and_offers_to_answer_forms_alone() {
        let frame = initialize("0.1.0", &Quirks::default());
        let message = line(&frame);
        assert_eq!(frame.id, "init");
        assert_eq!(message["id"], "init");
        assert_eq!(message["params"]["protocolVersion"], 1);
        assert_eq!(message["params"]["clientInfo"]["name"], "throughline");
        assert_eq!(message["params"]["clientInfo"]["version"], "0.1.0");
        let capabilities = &message["params"]["clientCapabilities"];
        assert_eq!(capabilities["fs"]["readTextFile"], false);
        assert_eq!(capabilities["fs"]["writeTextFile"], false);
        assert_eq!(capabilities["terminal"], false);
        assert_eq!(capabilities["elicitation"], json!({ "form": {} }), "only what can be shown anywhere");
        assert_eq!(capabilities["_meta"]["jetbrains"]["air"]["capabilities"], json!(["sessionFailure"]));
    }

    #[test]
    fn requests_carry_their_meaning_in_their_id() {
        let place = Surroundings::folder("/w");
        let servers = [McpServer::Http { name: "h".into(), url: "http://x".into(), headers: vec![] }];
        for (frame, id, method) in [
            (authenticate(2, "key"), "auth:2", "authenticate"),
            (new_session(Surroundings { servers: &servers, ..place }), "open:new", "session/new"),
            (load_session("n", place), "open:load", "session/load"),
            (resume_session("n", place), "open:resume", "session/resume"),
            (fork_session("n", place), "open:fork", "session/fork"),
            (list_sessions(1, Some("/w"), None), "list:1", "session/list"),
            (close_session("n"), "close", "session/close"),
            (set_mode(1, "n", "ask"), "set-mode:1", "session/set_mode"),
            (set_model(1, "n", "big"), "set-model:1", "session/set_model"),
            (
                set_config_option(1, "n", "model", ConfigValue::Choice("big".into())),
                "configure:1",
                "session/set_config_option",
            ),
        ] {
            let message = line(&frame);
            assert_eq!(frame.id, id);
            assert_eq!(message["id"], id);
            assert_eq!(message["method"], method);
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }

    #[test]
    fn a_prompt_holds_its_blocks() {
        let blocks = [
            PromptBlock::Text("two\nlines".into()),
            PromptBlock::Image { mime: "image/png".into(), base64: "AA==".into() },
            PromptBlock::Resource {
                uri: "a.txt".into(),
                mime: "text/plain".into(),
                contents: ResourceContents::Text("hi".into()),
            },
        ];
        let message = line(&prompt(turn(), "n", &blocks));
        assert_eq!(message["id"], format!("turn:{}", turn()));
        let prompt = &message["params"]["prompt"];
        assert_eq!(prompt[0], json!({"type": "text", "text": "two\nlines"}));
        assert_eq!(prompt[1], json!({"type": "image", "mimeType": "image/png", "data": "AA=="}));
        assert_eq!(prompt[2]["resource"], json!({"uri": "a.txt", "mimeType": "text/plain", "text": "hi"}));
    }

    #[test]
    fn cancel_is_a_notification_with_a_frame_id() {
        let frame = cancel(turn(), "n");
        let message = line(&frame);
        assert_eq!(frame.id, format!("cancel:{}", turn()));
        assert_eq!(message.get("id"), None);
        assert_eq!(message["params"], json!({"sessionId": "n"}));
    }

    #[test]
    fn answers_go_to_the_agents_own_id() {
        let request = AgentRequestId::parse("12345678901234567890123").expect("a number");
        let chosen = answer_permission("a", &request, PermissionAnswer::Selected("yes".into()));
        assert_eq!(
            String::from_utf8_lossy(&chosen.bytes),
            "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\
             \"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"yes\"}}}\n"
        );
        let cancelled = answer_permission("a", &request, PermissionAnswer::Cancelled);
        assert_eq!(line(&cancelled)["result"], json!({"outcome": {"outcome": "cancelled"}}));
        assert_eq!(chosen.id, cancelled.id, "the keeper writes one of them");
        let later = answer_permission("b", &request, PermissionAnswer::Cancelled);
        assert_ne!(chosen.id, later.id, "an id that is used again is another request");
        assert_eq!(line(&refuse(0, &request, "fs/read_text_file"))["error"]["code"], -32601);
        assert_ne!(refuse(0, &request, "x").id, refuse(90, &request, "x").id);
    }

    #[test]
    fn a_switch_is_a_boolean() {
        let message = line(&set_config_option(1, "n", "web", ConfigValue::Switch(true)));
        assert_eq!(message["params"], json!({"sessionId": "n", "configId": "web", "type": "boolean", "value": true}));
    }
}
