//! Answers to our requests, whose meaning stands in their ids.

use serde_json::{Value, json};
use throughline_acp::happening::{FailureKind, TurnEnd, TurnFailure};
use throughline_acp::quirks::{FailedMessage, Quirks};
use throughline_acp::{Happening, Opening, Phase, Start};
use throughline_model::runtime_session::Choice;
use throughline_model::time::Timestamp;
use throughline_model::turn::StopReason;

use crate::script::*;

fn opening(opening: Opening) -> Start {
    in_phase(Phase::Opening(opening))
}

fn only(start: Start, line: String) -> Happening {
    let mut happened = Reader::new(start).line(line);
    assert_eq!(happened.len(), 1, "{happened:?}");
    happened.remove(0)
}

#[test]
fn initialize_tells_who_the_agent_is_and_what_it_can_do() {
    let line = answer(
        "init",
        json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "codex-acp", "version": "2.6.0"},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true},
                "sessionCapabilities": {"resume": {}, "list": {}, "fork": {}}
            },
            "authMethods": [{"id": "key", "name": "API key", "description": "of OpenAI"}]
        }),
    );
    let Happening::Initialized(told) = only(opening(Opening::New), line) else { panic!("initialized") };
    assert_eq!((told.agent.name.as_str(), told.agent.version.as_str()), ("codex-acp", "2.6.0"));
    let can = told.capabilities;
    assert!(can.load && can.resume && can.list && can.fork && can.images);
    assert!(!can.close && !can.embedded_context);
    assert_eq!(told.auth_methods[0].id, "key");
}

#[test]
fn initialize_fails_on_an_error_another_version_or_nonsense() {
    for line in [
        error("init", json!({"code": -32603, "message": "no"})),
        answer("init", json!({"protocolVersion": 2})),
        answer("init", json!("hello")),
    ] {
        assert!(matches!(only(opening(Opening::New), line), Happening::InitializeFailed(_)));
    }
}

#[test]
fn a_new_session_has_an_id_and_settings() {
    let line = answer(
        "open:new",
        json!({
            "sessionId": "n-7",
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]},
            "models": {"currentModelId": "old", "availableModels": [{"modelId": "old", "name": "Old"}]},
            "configOptions": [
                {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "big",
                 "options": [{"value": "big", "name": "Big"}, {"value": "small", "name": "Small"}]},
                {"id": "web", "name": "Web", "type": "boolean", "currentValue": true}
            ]
        }),
    );
    let mut reader = Reader::new(opening(Opening::New));
    let happened = reader.line(line);
    let [Happening::Opened { native, settings, .. }] = &happened[..] else { panic!("{happened:?}") };
    assert_eq!(native.as_deref(), Some("n-7"));
    assert_eq!(settings.mode.as_deref(), Some("ask"));
    assert_eq!(settings.model.as_deref(), Some("big"));
    assert_eq!(settings.model_option.as_deref(), Some("model"));
    assert_eq!(settings.models[1], Choice { id: "small".into(), name: "Small".into() });
    assert_eq!(settings.options[1].current, "true");
    assert_eq!(reader.assembler.phase(), Phase::Opened(Opening::New));
}

#[test]
fn models_without_a_config_option_are_set_the_old_way() {
    let line = answer(
        "open:load",
        json!({"models": {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]}}),
    );
    let Happening::Opened { settings, native, .. } = only(opening(Opening::Load), line) else { panic!("opened") };
    assert_eq!((settings.model.as_deref(), settings.model_option, native), (Some("m"), None, None));
}

#[test]
fn why_a_session_could_not_be_opened() {
    let mut table: Vec<(&str, Value, &str)> = vec![
        ("open:resume", json!({"code": -32002, "message": "Resource not found"}), "UnknownSession"),
        (
            "open:load",
            json!({"code": -32603, "message": "Internal error", "data": {"details": "No conversation found with session ID"}}),
            "UnknownSession",
        ),
        ("open:load", json!({"code": -32603, "message": "x", "data": "thread_active_writer"}), "InUse"),
        ("open:new", json!({"code": -32000, "message": "Authentication required"}), "Auth"),
        ("open:new", json!({"code": -32603, "message": "folder not found"}), "Other"),
    ];
    table.push(("open:resume", json!({"code": -32601, "message": "Method not available"}), "Other"));
    for (id, sent, kind) in table {
        assert_eq!(told(opening(Opening::Load), [error(id, sent)]), [format!("open failed {kind}")]);
    }
    assert_eq!(told(opening(Opening::New), [answer("open:new", json!({}))]), ["open failed Other"]);
}

#[test]
fn how_a_turn_ended() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("max_turn_requests", StopReason::MaxTurnRequests),
        ("refusal", StopReason::Refusal),
        ("cancelled", StopReason::Cancelled),
        ("bored", StopReason::Other),
    ] {
        let line = answer(&format!("turn:{}", turn(1)), json!({"stopReason": reason}));
        let Happening::TurnAnswered { outcome: Ok(TurnEnd { stop_reason, usage }), .. } = only(in_turn(), line) else {
            panic!("answered")
        };
        assert_eq!((stop_reason, usage), (expected, None));
    }
}

#[test]
fn usage_comes_with_the_answer() {
    let usage = json!({"totalTokens": 9, "inputTokens": 6, "outputTokens": 3});
    let line = answer(&format!("turn:{}", turn(1)), json!({"stopReason": "end_turn", "usage": usage}));
    let Happening::TurnAnswered { outcome: Ok(TurnEnd { usage: Some(usage), .. }), .. } = only(in_turn(), line) else {
        panic!("answered")
    };
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(6), Some(3), Some(9)));
}

#[test]
fn why_a_turn_failed() {
    let hidden = |failure: Value| {
        let meta = json!({"jetbrains": {"air": {"version": 1, "sessionFailure": failure}}});
        answer(&format!("turn:{}", turn(1)), json!({"stopReason": "end_turn", "_meta": meta}))
    };
    let open = |sent: Value| error(&format!("turn:{}", turn(1)), sent);
    for (line, expected) in [
        (hidden(json!({"category": "service", "severity": "error", "title": "500"})), "turn Failed 0: 500"),
        (hidden(json!({"category": "limit", "severity": "error", "title": "429"})), "turn Limited 0: 429"),
        (hidden(json!({"category": "access", "severity": "error", "title": "401"})), "turn Auth 0: 401"),
        (hidden(json!({"category": "service", "severity": "warning", "title": "reconnected"})), "turn EndTurn"),
        (hidden(Value::Null), "turn EndTurn"),
        (open(json!({"code": -32000, "message": "log in"})), "turn Auth -32000: log in"),
        (open(json!({"code": -32603, "message": "a", "data": {"errorKind": "rate_limit"}})), "turn Limited -32603: a"),
        (open(json!({"code": -32603, "message": "a", "data": {"details": "b"}})), "turn Failed -32603: a: b"),
        (open(json!({"code": -32800, "message": "cancelled"})), "turn Cancelled"),
    ] {
        assert_eq!(told(in_turn(), [line]), [expected]);
    }
}

#[test]
fn a_limit_may_say_when_it_is_lifted() {
    let data = json!({"errorKind": "rate_limit", "resetsAt": 1_800_000_000});
    let line = error(&format!("turn:{}", turn(1)), json!({"code": -32603, "message": "slow down", "data": data}));
    let Happening::TurnAnswered { outcome: Err(TurnFailure { kind, retry_at, .. }), .. } = only(in_turn(), line) else {
        panic!("failed")
    };
    assert_eq!((kind, retry_at), (FailureKind::Limited, Some(Timestamp::from_millis(1_800_000_000_000))));
}

#[test]
fn the_answer_to_an_older_prompt_leaves_the_running_turn_alone() {
    let mut reader = Reader::new(in_turn());
    let happened = reader.lines([said("so"), turn_done(9), said(" far"), turn_done(1)]);
    let [_, Happening::TurnAnswered { turn: stale, .. }, ..] = &happened[..] else { panic!("{happened:?}") };
    assert_eq!(*stale, turn(9));
    assert!(brief(&happened).contains(&r#"message "so far""#.to_owned()));
}

#[test]
fn the_other_requests_are_done_or_refused() {
    for id in ["auth:1", "close", "set-mode:2", "set-model:3", "configure:4"] {
        assert!(matches!(only(in_turn(), answer(id, Value::Null)), Happening::Done(done) if done.to_string() == id));
        let refused = error(id, json!({"code": -32601, "message": "no"}));
        assert!(matches!(only(in_turn(), refused), Happening::RequestFailed { id: of, .. } if of.to_string() == id));
    }
}

#[test]
fn setting_an_option_tells_all_options() {
    let line = answer(
        "configure:1",
        json!({"configOptions": [{"id": "model", "name": "Model", "type": "select", "currentValue": "b", "options": []}]}),
    );
    let happened = Reader::new(in_turn()).line(line);
    let [Happening::SettingsChanged(settings), Happening::Done(_)] = &happened[..] else { panic!("{happened:?}") };
    assert_eq!(settings.model.as_deref(), Some("b"));
}

#[test]
fn a_page_of_sessions() {
    let line =
        answer("list:2", json!({"sessions": [{"sessionId": "a", "cwd": "/w", "title": "T"}], "nextCursor": "c"}));
    let Happening::Listed { page, sessions, next } = only(in_turn(), line) else { panic!("listed") };
    assert_eq!((page, next.as_deref()), (2, Some("c")));
    assert_eq!((sessions[0].native.as_str(), sessions[0].cwd.as_str()), ("a", "/w"));
}

#[test]
fn what_the_session_is_changes() {
    for (sent, expected) in [
        (
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": "Plans"}]}),
            r#"Commands([Choice { id: "plan", name: "Plans" }])"#,
        ),
        (json!({"sessionUpdate": "session_info_update", "title": "Fix it"}), r#"TitleChanged(Some("Fix it"))"#),
        (json!({"sessionUpdate": "session_info_update", "title": null}), "TitleChanged(None)"),
        (json!({"sessionUpdate": "session_info_update"}), "Passed(Unchanged)"),
    ] {
        assert_eq!(told(in_turn(), [update(sent)]), [expected]);
    }
    let sent =
        json!({"sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": {"amount": 0.12, "currency": "USD"}});
    let Happening::UsageChanged(usage) = only(in_turn(), update(sent)) else { panic!("usage") };
    assert_eq!(
        (usage.context_tokens, usage.context_limit, usage.cost.as_deref()),
        (Some(5), Some(10), Some("0.12 USD"))
    );
}

#[test]
fn a_failure_that_an_agent_only_says_is_one() {
    let shape = FailedMessage { begins: "Ran into this error: ".into(), ends: "try again.".into() };
    let quirks = Quirks { failed_messages: vec![shape], ..Quirks::default() };
    let ended = answer(&format!("turn:{}", turn(1)), json!({"stopReason": "end_turn"}));
    for (said, expected) in [
        ("Wait. Ran into this error: 500. Now try again.\n", "turn Failed 0: Ran into this error: 500. Now try again."),
        (
            "Ran into this error: Rate limit. So try again.",
            "turn Limited 0: Ran into this error: Rate limit. So try again.",
        ),
        ("Ran into this error: and mended it", "turn EndTurn"),
        ("all is well", "turn EndTurn"),
    ] {
        let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}});
        let start = Start { quirks: quirks.clone(), ..in_turn() };
        let told = told(start, [update(chunk), ended.clone()]);
        assert_eq!(told.last().map(String::as_str), Some(expected), "{told:?}");
    }
}

#[test]
fn a_warning_in_meta_data_is_kept_and_other_meta_data_is_not() {
    let info = |air: Value| {
        let meta = json!({"jetbrains": {"air": air}});
        update(json!({"sessionUpdate": "session_info_update", "_meta": meta}))
    };
    let warning = json!({"sessionFailure": {"severity": "warning", "title": "Reconnecting 1/5"}});
    let kept = &told(in_turn(), [info(warning)])[0];
    assert!(kept.starts_with("note UnknownUpdate") && kept.contains("Reconnecting 1/5"), "{kept}");
    assert!(!kept.contains("sessionFailure"), "in words: {kept}");
    for silent in [json!({"sessionFailure": null}), json!({"goal": "x"})] {
        assert_eq!(told(in_turn(), [info(silent)]), ["Passed(Unchanged)"]);
    }
}
