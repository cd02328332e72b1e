//! A model that breaks the router's ties: it is asked where the person would be, and only there.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use crate::support::World;

/// A model that always says two; what it was asked comes out of the channel.
fn always_two() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut asked = vec![0; 64 * 1024];
            let read = stream.read(&mut asked).expect("a request");
            let body = r#"{"choices":[{"message":{"content":"2"}}]}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
            stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).expect("an answer");
            let _ = sender.send(String::from_utf8_lossy(&asked[..read]).into_owned());
        }
    });
    (url, receiver)
}

/// Two tasks, and a place where neither is current.
fn tied(url: &str) -> World {
    let world =
        World::with_settings(&format!("[router.model]\napi = \"openai\"\nurl = \"{url}\"\nmodel = \"small\"\n"));
    world.ok(&["say", "--new", "say the footer is blue"]);
    world.ok(&["say", "--new", "say the header is red"]);
    world
}

#[test]
fn a_tie_is_put_to_the_model_and_a_clear_message_is_not() {
    let (url, asked) = always_two();
    let world = tied(&url);
    let said = world.ok(&["say", "--conversation", "phone", "make it green"]);
    let question = asked.try_recv().unwrap_or_else(|_| panic!("nobody asked: {said}"));
    assert!(question.contains("make it green") && question.contains("the footer is blue"), "{question}");
    assert!(said.stdout.contains("→ continues"), "{said}");
    let chosen = world.keys().into_iter().find(|key| {
        let shown = world.ok(&["show", key]).stdout;
        shown.contains("small chose between the readings")
    });
    assert!(chosen.is_some(), "the record says who chose: {said}");
    world.ok(&["say", "--conversation", "phone", "say on"]);
    world.ok(&["say", "--conversation", "phone", "what is going on?"]);
    assert!(asked.try_recv().is_err(), "what is clear is not asked");
}

#[test]
fn a_model_that_cannot_be_reached_leaves_the_question_to_the_person() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let world = tied(&url);
    drop(listener);
    let said = world.ok(&["say", "--conversation", "phone", "make it green"]);
    assert!(!said.stdout.contains("→ continues") && said.stdout.contains("shop-1"), "it asks which: {said}");
}
