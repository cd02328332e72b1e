//! The daemon dies and another one reads on: from the safe mark, and silently up to what was told.

use serde_json::json;
use throughline_acp::assembler::Memory;
use throughline_acp::happening::Want;
use throughline_acp::{Assembler, Happening, Mark, Start};

use crate::script::*;

#[test]
fn the_mark_waits_for_what_is_open() {
    let mut reader = Reader::new(in_turn());
    let mut ends = Vec::new();
    for line in [
        said("a"),
        said("b"),
        call("c", json!({"title": "ls"})),
        said("d"),
        call_update("c", json!({"status": "completed"})),
        turn_done(1),
    ] {
        reader.line(line);
        ends.push((reader.mark().safe, reader.mark().seen));
    }
    let seen: Vec<u64> = ends.iter().map(|(_, seen)| *seen).collect();
    let safe: Vec<u64> = ends.iter().map(|(safe, _)| *safe).collect();
    let (first_chunk, call_start, fourth_line, done) = (0, seen[1], seen[3], seen[5]);
    assert_eq!(safe, [first_chunk, first_chunk, call_start, call_start, fourth_line + seen[4] - seen[3], done]);
}

#[test]
fn a_new_assembler_goes_on_in_the_middle_of_a_message() {
    let spool = Spool::of([said("Hel"), said("lo"), turn_done(1)]);
    let mut first = Reader::new(in_turn());
    first.line(&spool.lines[0].2);
    let mark = first.mark();
    assert_eq!(mark, Mark { safe: 0, seen: spool.lines[0].1, not_json: 0 });

    let mut second = Assembler::new(Start { mark, ..in_turn() });
    let told = spool.feed(&mut second, mark.safe);
    assert_eq!(brief(&told), [r#"live message @3 "lo""#, r#"message "Hello""#, "turn EndTurn"]);
}

#[test]
fn what_was_told_is_not_told_again_except_for_replies_and_requests() {
    let refused = json!({"id": 1, "method": "fs/read_text_file", "params": {}}).to_string();
    let asked = permission("1", json!({"toolCallId": "d", "title": "rm"}));
    let form = json!({"mode": "form", "message": "Which?", "requestedSchema": {}});
    let asks = json!({"id": 1, "method": "elicitation/create", "params": form}).to_string();
    let spool = Spool::of([call("c", json!({"title": "ls"})), said("hm"), thought("so"), refused, asked, asks]);
    let mut first = Assembler::new(in_turn());
    let told = spool.feed(&mut first, 0);
    let mark = first.mark();
    assert_eq!(mark.safe, 0, "the call is open");

    let memory = Memory { current: items(&told), ..Memory::default() };
    let mut second = Assembler::new(Start { mark, memory, ..in_turn() });
    let again = spool.feed(&mut second, mark.safe);
    let at = |line: usize| spool.lines[line].0;
    let places: Vec<_> = told.iter().filter_map(Happening::wanted).map(|wanted| wanted.at).collect();
    assert_eq!(places, [at(4), at(5)], "the id is the same, the place is not");
    match &again[..] {
        [Happening::Reply { at: refused, .. }, Happening::AskedBefore(asked), Happening::AskedBefore(asks)] => {
            assert_eq!((*refused, asked.at, asks.at), (at(3), at(4), at(5)));
            assert_eq!((asked.what, asks.what), (Want::Decision, Want::Answer));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(second.mark(), first.mark());
    assert_eq!(second.so_far(), first.so_far());
}

#[test]
fn a_call_number_that_was_used_before_keeps_its_new_id() {
    let mut first = Reader::new(in_turn());
    let before = items(&first.lines([call("1", json!({"title": "a", "status": "completed"})), turn_done(1)]));
    first.assembler.begin_turn(turn(2));
    let begun = first.mark();
    let line = call("1", json!({"title": "b"}));
    let opened = items(&first.line(&line));
    assert_ne!(opened[0].id, before[0].id);

    let memory = Memory { current: opened.clone(), ..Memory::default() };
    let phase = throughline_acp::Phase::Turn(turn(2));
    let mut second = Reader::new(Start { mark: first.mark(), memory, ..in_phase(phase) });
    assert_eq!(second.mark().safe, begun.seen);
    assert_eq!(second.line(&line), []);
    let closed = items(&second.line(call_update("1", json!({"status": "completed"}))));
    assert_eq!(closed[0].id, opened[0].id);
}

#[test]
fn a_late_update_of_a_call_before_the_mark_keeps_the_rest_of_it() {
    let spool = Spool::of([
        call("c", json!({"title": "make", "status": "completed"})),
        call_update("c", json!({"status": "in_progress", "content": output("late")})),
    ]);
    let mut first = Reader::new(in_turn());
    let told = first.line(&spool.lines[0].2);
    let mark = first.mark();
    assert_eq!(mark.safe, mark.seen);

    let memory = Memory { current: items(&told), ..Memory::default() };
    let mut second = Assembler::new(Start { mark, memory, ..in_turn() });
    assert_eq!(brief(&spool.feed(&mut second, mark.safe)), [r#"call c Completed other "make" -> "late""#]);
}

#[test]
fn a_late_update_of_a_forgotten_call_does_not_overwrite_it() {
    let mut start = in_turn();
    let told = Reader::new(in_turn()).line(call("c", json!({"title": "make", "status": "completed"})));
    start.memory.earlier = Some(items(&told).iter().map(|item| item.id).collect());
    let mut reader = Reader::new(start);
    let late = brief(&reader.line(call_update("c", json!({"content": output("late")}))));
    assert!(late[0].starts_with("note UnknownUpdate"), "{late:?}");
    let again = items(&reader.line(call("c", json!({"title": "again"}))));
    assert_ne!(again[0].id, items(&told)[0].id);
}

#[test]
fn noise_is_counted_over_restarts() {
    let mut reader = Reader::new(in_turn());
    for _ in 0..60 {
        reader.line("noise");
    }
    let mut second = Reader::new(Start { mark: reader.mark(), ..in_turn() });
    let ends: Vec<bool> =
        (0..41).map(|_| second.line("noise").iter().any(|told| matches!(told, Happening::Ended(_)))).collect();
    assert_eq!(ends.iter().position(|ended| *ended), Some(40));
}

#[test]
fn a_turn_that_begins_or_is_given_up_leaves_nothing_open() {
    let mut reader = Reader::new(in_turn());
    reader.lines([call("c", json!({"title": "ls"})), call_update("c", json!({"content": output("a")})), said("b")]);
    let left = brief(&reader.assembler.finish());
    assert_eq!(left, [r#"message "b""#, r#"call c Pending other "ls" -> "a""#]);
    assert_eq!(reader.mark().safe, reader.mark().seen);
    reader.line(said("astray"));
    assert_eq!(brief(&reader.assembler.begin_turn(turn(2))), [r#"message "astray" (between turns)"#]);
    assert_eq!(reader.mark().safe, reader.mark().seen);
    assert_eq!(reader.assembler.begin_turn(turn(2)), []);
}
