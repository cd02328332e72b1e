//! Messages, thoughts, tool calls, plans and permissions, as they come in a turn and around one.

use serde_json::json;
use throughline_acp::assembler::Limits;
use throughline_acp::{Happening, Opening, Phase, Replay, Start};

use crate::script::*;

const UNCHANGED: &str = "Passed(Unchanged)";
const REPLAY: &str = "Passed(Replay)";

#[test]
fn a_message_is_live_while_it_grows_and_recorded_once() {
    let lines = [said("Hel"), said("lo"), turn_done(1)];
    assert_eq!(
        told(in_turn(), lines),
        [r#"live message @0 "Hel""#, r#"live message @3 "lo""#, r#"message "Hello""#, "turn EndTurn"]
    );
}

#[test]
fn whatever_else_happens_finishes_a_message() {
    for (line, expected) in [
        (thought("hm"), r#"live thought @0 "hm""#.to_owned()),
        (said_as("m2", "next"), r#"live message @0 "next""#.to_owned()),
        (call("c", json!({"title": "ls"})), r#"call c Pending other "ls""#.to_owned()),
        (call_update("c", json!({"title": "ls"})), r#"call c Pending other "ls""#.to_owned()),
        (
            update(json!({"sessionUpdate": "plan", "entries": [
                {"content": "a", "priority": "low", "status": "completed"}
            ]})),
            "plan a=Completed".to_owned(),
        ),
        (turn_done(1), "turn EndTurn".to_owned()),
    ] {
        let happened = told(in_turn(), [said("one"), line]);
        assert_eq!(happened, [r#"live message @0 "one""#, r#"message "one""#, &expected]);
    }
}

#[test]
fn what_the_session_is_does_not_finish_a_message() {
    let happened = told(
        in_turn(),
        [
            said("o"),
            update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10})),
            update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"})),
            said("ne"),
            turn_done(1),
        ],
    );
    assert_eq!(happened.last_chunk::<2>().expect("two"), &[r#"message "one""#.to_owned(), "turn EndTurn".to_owned()]);
    assert_eq!(happened.iter().filter(|line| line.starts_with("message")).count(), 1);
}

#[test]
fn a_named_message_goes_on_after_an_update_of_a_running_call() {
    let happened = told(
        in_turn(),
        [
            call("c", json!({"title": "build", "status": "in_progress"})),
            said_as("m", "one "),
            call_update("c", json!({"content": output("50%")})),
            said_as("m", "two"),
            turn_done(1),
        ],
    );
    assert_eq!(
        happened,
        [
            r#"call c InProgress other "build""#,
            r#"live message @0 "one ""#,
            r#"live output @0 "50%""#,
            r#"live message @4 "two""#,
            r#"message "one two""#,
            r#"call c InProgress other "build" -> "50%""#,
            "turn EndTurn",
        ]
    );
}

#[test]
fn a_message_that_is_taken_up_again_is_another_item() {
    let lines = [said_as("m", "one"), thought("hm"), said_as("m", "two"), turn_done(1)];
    let items = items(&Reader::new(in_turn()).lines(lines));
    assert_eq!(items.len(), 3);
    assert_ne!(items[0].id, items[2].id);
}

#[test]
fn an_endless_message_goes_on_as_another_one() {
    let limits = Limits { text_bytes: 4, ..Limits::default() };
    let happened = told(Start { limits, ..in_turn() }, [said("12345"), said("67"), turn_done(1)]);
    assert_eq!(
        happened,
        [
            r#"live message @0 "12345""#,
            r#"message "12345""#,
            r#"live message @0 "67""#,
            r#"message "67""#,
            "turn EndTurn"
        ]
    );
}

#[test]
fn a_question_is_marked_wherever_the_mark_stands() {
    let mark = json!({"throughline": {"question": true}});
    let block = |meta| json!({"type": "text", "text": "Which?", "_meta": meta});
    let plain = json!({"type": "text", "text": "Which?"});
    let on_chunk = json!({"sessionUpdate": "agent_message_chunk", "content": plain, "_meta": mark});
    let on_block = json!({"sessionUpdate": "agent_message_chunk", "content": block(mark.clone())});
    let outside = json!({"method": "session/update", "params": {
        "sessionId": NATIVE, "_meta": mark, "update": {"sessionUpdate": "agent_message_chunk", "content": plain}
    }});
    for line in [update(on_chunk), update(on_block), outside.to_string()] {
        assert_eq!(told(in_turn(), [line, turn_done(1)])[1], r#"question "Which?""#);
    }
}

#[test]
fn pictures_and_files_come_before_the_message_that_names_them() {
    let chunk = |content| update(json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    let happened = told(
        in_turn(),
        [
            chunk(json!({"type": "image", "mimeType": "image/png", "data": "AAEC"})),
            chunk(json!({"type": "resource", "resource": {"uri": "a.txt", "text": "hello"}})),
            chunk(json!({"type": "resource_link", "name": "docs", "uri": "http://x"})),
            chunk(json!({"type": "image", "mimeType": "image/png", "data": "!!!"})),
            turn_done(1),
        ],
    );
    assert_eq!(
        happened[4..],
        [
            "attached 3 bytes",
            "attached 5 bytes",
            r#"message "[docs](http://x)[image/png that could not be read]" with 2"#,
            "turn EndTurn"
        ]
    );
}

#[test]
fn a_call_is_recorded_when_it_appears_and_when_it_changes_and_its_output_is_live() {
    let happened = told(
        in_turn(),
        [
            call("c", json!({"title": "make", "kind": "execute", "rawInput": {"cmd": "make"}})),
            call_update("c", json!({"status": "in_progress"})),
            call_update("c", json!({"content": output("a")})),
            call_update("c", json!({"content": output("ab")})),
            call_update("c", json!({"content": output("xy")})),
            call_update("c", json!({"content": output("xy")})),
            call_update("c", json!({"status": "completed"})),
            turn_done(1),
        ],
    );
    assert_eq!(
        happened,
        [
            r#"call c Pending execute "make""#,
            r#"call c InProgress execute "make""#,
            r#"live output @0 "a""#,
            r#"live output @1 "b""#,
            r#"live output @0 "xy""#,
            UNCHANGED,
            r#"call c Completed execute "make" -> "xy""#,
            "turn EndTurn",
        ]
    );
}

#[test]
fn an_update_before_its_call_creates_it_and_an_end_is_final() {
    let happened = told(
        in_turn(),
        [
            call_update("c", json!({"status": "completed", "content": output("done")})),
            call("c", json!({"title": "make", "status": "pending", "content": []})),
            call_update("c", json!({"status": "in_progress"})),
            call_update("c", json!({"status": "failed"})),
        ],
    );
    assert_eq!(
        happened,
        [
            r#"call c Completed other "" -> "done""#,
            r#"call c Completed other "make" -> "done""#,
            UNCHANGED,
            r#"call c Failed other "make" -> "done""#,
        ]
    );
}

#[test]
fn file_changes_stay_and_raw_output_fills_in() {
    let diff = json!([{"type": "diff", "path": "/a", "oldText": null, "newText": "x"}]);
    let happened = told(
        in_turn(),
        [
            call("c", json!({"title": "edit", "content": diff})),
            call_update("c", json!({"content": [], "rawOutput": {"ok": true}})),
            call_update("c", json!({"status": "completed", "content": output("saved"), "rawOutput": "raw"})),
        ],
    );
    assert_eq!(
        happened,
        [
            r#"call c Pending other "edit" changes /a"#,
            r#"live output @0 "{\"ok\":true}""#,
            r#"call c Completed other "edit" -> "saved" changes /a"#,
        ]
    );
}

#[test]
fn what_a_command_prints_adds_up() {
    let printed = |key: &str, data: &str| json!({"_meta": {key: {"terminal_id": "c", "data": data}}});
    let mut last = printed("terminal_output", "three");
    last["status"] = json!("completed");
    let happened = told(
        in_turn(),
        [
            call("c", json!({"title": "make", "content": [{"type": "terminal", "terminalId": "c"}]})),
            call_update("c", printed("terminal_output_delta", "one ")),
            call_update("c", printed("terminal_output_delta", "two ")),
            call_update("c", last),
        ],
    );
    assert_eq!(
        happened,
        [
            r#"call c Pending other "make""#,
            r#"live output @0 "one ""#,
            r#"live output @4 "two ""#,
            r#"call c Completed other "make" -> "one two three""#,
        ]
    );
}

#[test]
fn extensions_that_we_do_not_know_are_passed_over() {
    let line = r#"{"method":"_auth/status_update","params":{}}"#;
    assert_eq!(told(in_turn(), [line]), ["Passed(Private)"]);
}

#[test]
fn a_call_number_that_is_used_again_in_another_turn_is_another_call() {
    let mut reader = Reader::new(in_turn());
    let first = items(&reader.lines([call("1", json!({"title": "a", "status": "completed"})), turn_done(1)]));
    reader.assembler.begin_turn(turn(2));
    let second =
        items(&reader.lines([call("1", json!({"title": "b"})), call_update("1", json!({"status": "completed"}))]));
    assert_ne!(first[0].id, second[0].id);
    assert_eq!(second[0].id, second[1].id);
    assert_eq!(second[1].turn, Some(turn(2)));
}

#[test]
fn a_late_update_of_an_earlier_turns_call_still_belongs_to_it() {
    let mut reader = Reader::new(in_turn());
    let first = items(&reader.lines([call("1", json!({"title": "watch", "status": "in_progress"})), turn_done(1)]));
    let late = items(&reader.line(call_update("1", json!({"content": output("more")}))));
    assert_eq!(late[0].id, first[0].id);
    assert_eq!(late[0].turn, Some(turn(1)));
    assert_eq!(brief(&[Happening::Recorded(late[0].clone())]), [r#"call 1 InProgress other "watch" -> "more""#]);
}

#[test]
fn a_permission_request_records_its_call_first_and_shows_the_exact_input() {
    let options =
        r#"[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"?","name":"Odd","kind":"ask_mum"}]"#;
    let ask = |id: &str, tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"{NATIVE}","toolCall":{tool},"options":{options}}}}}"#
        )
    };
    let happened = told(
        in_turn(),
        [
            said("May I?"),
            ask("0", r#"{"toolCallId":"c","title":"rm","kind":"execute","rawInput":{"b": 1.0,  "a":2}}"#),
            ask(r#""id-2""#, r#"{"toolCallId":"c"}"#),
            ask("3", r#"{"title":"nameless"}"#),
        ],
    );
    assert_eq!(
        happened[1..],
        [
            r#"message "May I?""#.to_owned(),
            r#"call c Pending execute "rm""#.to_owned(),
            r#"asks 0 for c "rm" input Some("{\"b\": 1.0,  \"a\":2}") options y,?"#.to_owned(),
            r#"asks "id-2" for c "rm" input Some("{\"b\": 1.0,  \"a\":2}") options y,?"#.to_owned(),
            format!(
                r#"note Refused session/request_permission {{"sessionId":"{NATIVE}","toolCall":{{"title":"nameless"}},"options":{options}}}"#
            ),
            r#"reply {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"the request names no tool call or no options"}}"#
                .to_owned(),
        ]
    );
}

#[test]
fn a_request_of_a_later_turn_shows_nothing_of_an_earlier_one_with_the_same_names() {
    let mut reader = Reader::new(in_turn());
    let first = reader.lines([
        permission("1", json!({"toolCallId": "c", "title": "ls", "rawInput": {"command": "ls"}})),
        turn_done(1),
    ]);
    reader.assembler.begin_turn(turn(2));
    let second = reader.line(permission("1", json!({"toolCallId": "c", "title": "rm"})));
    assert_eq!(brief(&second)[1], r#"asks 1 for c "rm" input None options y"#);
    assert_ne!(items(&first)[0].id, items(&second)[0].id);
    assert_eq!(items(&second)[0].turn, Some(turn(2)));
}

#[test]
fn requests_that_are_not_offered_are_refused_and_noted() {
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/complete", "_made/up"] {
        let line = json!({"jsonrpc": "2.0", "id": 4, "method": method, "params": {"path": "/etc"}}).to_string();
        assert_eq!(
            told(in_turn(), [line]),
            [
                format!(r#"note Refused {method} {{"path":"/etc"}}"#),
                format!(
                    r#"reply {{"jsonrpc":"2.0","id":4,"error":{{"code":-32601,"message":"{method} is not offered"}}}}"#
                ),
            ]
        );
    }
}

#[test]
fn a_withdrawn_request_is_told() {
    let line = json!({"method": "$/cancel_request", "params": {"requestId": 7}}).to_string();
    assert_eq!(told(in_turn(), [line]), [r#"PermissionWithdrawn(AgentRequestId("7"))"#]);
}

#[test]
fn what_is_unknown_is_kept_as_a_note() {
    for (line, text) in [
        (update(json!({"sessionUpdate": "dream", "of": "sheep"})), r#"{"of":"sheep","sessionUpdate":"dream"}"#),
        (update(json!({"sessionUpdate": "tool_call"})), r#"{"sessionUpdate":"tool_call"}"#),
        (update(json!("odd")), r#""odd""#),
        (r#"{"method":"session/update","params":{"a":1}}"#.to_owned(), r#"{"a":1}"#),
        (r#"{"method":"x/y","params":[1]}"#.to_owned(), "x/y [1]"),
        (r#"{"id":99,"result":{}}"#.to_owned(), r#"{"id":99,"result":{}}"#),
        (r#"[{"method":"a"}]"#.to_owned(), r#"[{"method":"a"}]"#),
    ] {
        let happened = told(in_turn(), [line]);
        let sorted = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let note = happened[0].strip_prefix("note UnknownUpdate ").expect("a note");
        assert!(note == text || sorted(note) == sorted(text), "{note}");
    }
}

#[test]
fn an_update_of_another_session_is_kept_and_not_mixed_in() {
    let line = said("psst").replace(NATIVE, "other");
    assert!(told(in_turn(), [line])[0].starts_with("note UnknownUpdate"));
}

#[test]
fn a_hundred_lines_of_noise_pass_and_one_more_ends_the_stream() {
    let mut reader = Reader::new(in_turn());
    reader.line(said("half a sen"));
    for _ in 0..100 {
        assert_eq!(brief(&reader.line("warning: noise")), ["note NotJson warning: noise"]);
    }
    let last = brief(&reader.line(b"\xff\xfe noise"));
    assert_eq!(last[1..], [r#"message "half a sen""#.to_owned(), "Ended(NotJson { allowed: 100 })".to_owned()]);
    assert_eq!(brief(&reader.line(said("more"))), ["Passed(AfterEnd)"]);
}

#[test]
fn a_frame_over_the_bound_ends_the_stream() {
    let limits = Limits { frame_bytes: 300, ..Limits::default() };
    let happened = told(Start { limits, ..in_turn() }, [said("ok"), said(&"x".repeat(300))]);
    assert_eq!(happened[1], r#"message "ok""#);
    assert!(happened[2].starts_with("Ended(Oversized"));
}

#[test]
fn the_past_is_not_recorded_again() {
    let resumed = |phase| in_phase(phase);
    let past = || [user("hi"), said("hello"), thought("hm"), call("c", json!({"title": "ls"}))];
    for phase in [
        Phase::Opening(Opening::Load),
        Phase::Opening(Opening::Resume),
        Phase::Opened(Opening::Load),
        Phase::Opened(Opening::Resume),
    ] {
        assert_eq!(told(resumed(phase), past()), [REPLAY; 4], "{phase:?}");
    }
}

#[test]
fn the_present_is_taken_while_the_past_is_told() {
    let mode = update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    assert_eq!(told(in_phase(Phase::Opening(Opening::Load)), [mode]), [r#"ModeChanged("ask")"#]);
}

#[test]
fn after_the_first_prompt_nothing_is_a_replay() {
    let mut reader = Reader::new(in_phase(Phase::Opened(Opening::Resume)));
    reader.assembler.begin_turn(turn(1));
    assert_eq!(brief(&reader.lines([said("hi"), turn_done(1)]))[1], r#"message "hi""#);
    assert_eq!(brief(&reader.lines([said("by the way"), thought("hm")]))[1], r#"message "by the way" (between turns)"#);
}

#[test]
fn between_resuming_and_the_first_prompt_only_what_the_record_does_not_know_is_news() {
    let known = items(&Reader::new(in_turn()).lines([said_as("old", "past"), turn_done(1)]));
    let mut start = in_phase(Phase::Opened(Opening::Resume));
    start.memory.earlier = Some(known.iter().map(|item| item.id).collect());
    let happened = told(start, [said_as("old", "past"), said_as("new", "job done"), said("nameless"), thought("hm")]);
    assert_eq!(happened, [REPLAY, r#"live message @0 "job done""#, REPLAY, REPLAY]);
}

#[test]
fn an_import_keeps_the_past() {
    let start = Start { replay: Replay::Keep, ..in_phase(Phase::Opening(Opening::Load)) };
    let lines =
        [user("do "), user("it"), said("done"), call("c", json!({"title": "ls"})), answer("open:load", json!(null))];
    let happened = told(start, lines);
    let kept: Vec<_> = happened.iter().filter(|line| !line.starts_with("live") && *line != REPLAY).collect();
    assert_eq!(
        kept,
        [
            r#"retold "do it""#,
            r#"message "done" (between turns)"#,
            r#"call c Pending other "ls" (between turns)"#,
            "opened Load None"
        ]
    );
}

#[test]
fn an_echo_of_the_prompt_is_passed_over() {
    assert_eq!(told(in_turn(), [user("do it")]), ["Passed(Echo)"]);
}

#[test]
fn whoever_begins_to_watch_gets_what_there_is_so_far() {
    let mut reader = Reader::new(in_turn());
    reader.lines([
        call("c", json!({"title": "make"})),
        call_update("c", json!({"content": output("50%")})),
        said("wait"),
        said(" for it"),
    ]);
    let so_far: Vec<_> = reader.assembler.so_far().into_iter().map(|live| (live.at, live.text)).collect();
    assert_eq!(so_far, [(0, "wait for it".to_owned()), (0, "50%".to_owned())]);
}
