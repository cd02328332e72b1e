//! Copilot CLI, against the scripted model.

use super::{Agent, Settings};

const COPILOT: Agent = Agent {
    name: "copilot",
    program: "copilot",
    settings,
    denied_turn: "completed",
    limited_code: "usage_limit",
    other_model: Some(("fake-b", "fake-b")),
};

fn settings(model: &str) -> Settings {
    let env = vec![
        ("COPILOT_OFFLINE", "true".into()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", model)),
        ("COPILOT_PROVIDER_API_KEY", "none".into()),
        ("COPILOT_MODEL", "fake-a".into()),
    ];
    Settings { env, ..Settings::default() }
}

stories!(COPILOT =>
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
    another_model_starts_another_session_with_a_brief,
    a_failing_model_fails_the_turn,
    a_limiting_model_limits_the_turn,
);
