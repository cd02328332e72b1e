//! Goose, against the scripted model.

use super::{Agent, Settings};

const GOOSE: Agent = Agent {
    name: "goose",
    program: "goose",
    settings,
    denied_turn: "completed",
    limited_code: "usage_limit",
    other_model: Some(("fake-b", "fake-b")),
};

fn settings(model: &str) -> Settings {
    let env = vec![
        ("GOOSE_PROVIDER", "openai".into()),
        ("OPENAI_HOST", model.to_owned()),
        ("OPENAI_API_KEY", "none".into()),
        ("GOOSE_MODEL", "fake-a".into()),
        ("GOOSE_MODE", "approve".into()),
        ("GOOSE_DISABLE_KEYRING", "1".into()),
        ("GOOSE_TELEMETRY_ENABLED", "false".into()),
    ];
    Settings { env, ..Settings::default() }
}

stories!(GOOSE =>
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
