//! Claude Code, through claude-agent-acp, against the scripted model.

use super::{Agent, Settings};

const CLAUDE: Agent = Agent {
    name: "claude-code",
    program: "claude-agent-acp",
    settings,
    denied_turn: "completed",
    limited_code: "usage_limit",
    other_model: Some(("haiku", "claude-haiku")),
};

fn settings(model: &str) -> Settings {
    let env = vec![
        ("ANTHROPIC_BASE_URL", model.to_owned()),
        ("ANTHROPIC_API_KEY", "none".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("DISABLE_TELEMETRY", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        ("DISABLE_ERROR_REPORTING", "1".into()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
    ];
    Settings { env, ..Settings::default() }
}

#[test]
fn a_native_session_goes_on_here() {
    let program = "@anthropic-ai/claude-agent-sdk-linux-x64/claude";
    super::imported::a_native_session_goes_on_here(&CLAUDE, program, &["-p", "{}"]);
}

stories!(CLAUDE =>
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
