//! Gemini CLI, against the scripted model.
//!
//! It does not give a session back: what was done goes into the next one as a brief.

use super::{Agent, Settings};
use serde_json::json;

const GEMINI: Agent = Agent {
    name: "gemini",
    program: "gemini",
    settings,
    denied_turn: "completed",
    limited_code: "usage_limit",
    other_model: Some(("gemini-2.5-pro", "gemini-2.5-pro")),
};

fn settings(model: &str) -> Settings {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"maxAttempts": 1, "sessionRetention": {"enabled": false}, "disableAutoUpdate": true, "enableAutoUpdate": false},
        "telemetry": {"enabled": false},
        "privacy": {"usageStatisticsEnabled": false}
    });
    let env = vec![
        ("GEMINI_API_KEY", "none".into()),
        ("GOOGLE_GEMINI_BASE_URL", model.to_owned()),
        ("GEMINI_CLI_NO_RELAUNCH", "true".into()),
    ];
    Settings { env, files: vec![(".gemini/settings.json", settings.to_string())] }
}

stories!(GEMINI =>
    a_follow_up_has_the_context,
    a_yes_runs_the_command,
    a_no_keeps_it_from_running,
    a_cancel_stops_the_stream,
    a_cancel_stops_the_tool,
    a_killed_agent_is_rebuilt,
    a_turn_outlives_the_daemon,
    a_permission_outlives_the_daemon,
    a_yes_from_a_second_surface_after_a_kill_runs_it_once,
    a_stopped_agent_is_rebuilt,
    another_model_stays_in_the_session_and_after_a_rebuild,
    a_failing_model_fails_the_turn,
    a_limiting_model_limits_the_turn,
);
