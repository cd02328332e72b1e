//! OpenCode, against the scripted model.

use super::{Agent, Settings};
use serde_json::json;

const OPENCODE: Agent = Agent {
    name: "opencode",
    program: "opencode",
    settings,
    denied_turn: "completed",
    limited_code: "usage_limit",
    other_model: Some(("scripted/fake-b", "fake-b")),
};

fn settings(model: &str) -> Settings {
    let config = json!({
        "model": "scripted/fake-a",
        "small_model": "scripted/fake-a",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": format!("{}/v1", model), "apiKey": "none"},
            "models": {"fake-a": {"name": "fake-a"}, "fake-b": {"name": "fake-b"}}
        }},
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": false,
        "share": "disabled"
    });
    let env = vec![
        ("OPENCODE_CONFIG_CONTENT", config.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".into()),
        ("OPENCODE_DISABLE_SHARE", "1".into()),
        // Else it fetches its plugins' library from npm at the first start.
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".into()),
        ("OPENCODE_PURE", "1".into()),
        ("npm_config_offline", "true".into()),
    ];
    Settings { env, ..Settings::default() }
}

stories!(OPENCODE =>
    a_follow_up_has_the_context,
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
);
