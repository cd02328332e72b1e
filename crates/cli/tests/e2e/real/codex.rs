//! Codex, through codex-acp, against the scripted model.

use super::{Agent, Settings};

const CODEX: Agent = Agent {
    name: "codex",
    program: "codex-acp",
    settings,
    denied_turn: "cancelled",
    limited_code: "usage_limit",
    other_model: Some(("gpt-5.6-luna", "gpt-5.6-luna")),
};

fn settings(model: &str) -> Settings {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1
"#,
        model
    );
    Settings {
        env: vec![
            ("SCRIPTED_KEY", "none".into()),
            ("NO_BROWSER", "1".into()),
            ("INITIAL_AGENT_MODE", "workspace-write".into()),
        ],
        files: vec![(".codex/config.toml", config)],
    }
}

#[test]
fn a_native_session_goes_on_here() {
    let program = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    super::imported::a_native_session_goes_on_here(&CODEX, program, &["exec", "--skip-git-repo-check", "{}"]);
}

stories!(CODEX =>
    a_follow_up_has_the_context,
    the_work_is_remembered_elsewhere,
    a_yes_in_a_chat_runs_the_command,
    a_yes_runs_the_command,
    a_no_keeps_it_from_running,
    a_cancel_stops_the_stream,
    a_cancel_stops_the_tool,
    a_killed_agent_goes_on_with_its_context,
    a_killed_agent_takes_its_tools_along,
    a_turn_outlives_the_daemon,
    a_permission_outlives_the_daemon,
    a_yes_from_a_second_surface_after_a_kill_runs_it_once,
    a_session_is_loaded_without_doubling,
    a_failing_model_fails_the_turn,
    a_limiting_model_limits_the_turn,
    a_limit_says_until_when,
    another_model_stays_in_the_session_and_after_a_load,
    a_fork_knows_what_was_said_and_leaves_the_task_alone,
    a_projects_tool_server_is_asked_for_its_tools,
    a_reviewer_cannot_write,
);
