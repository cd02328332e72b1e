//! The pure heart of Throughline: entities, commands, events, effects and the functions between them.
//!
//! **Invariant:** nothing in this crate does IO, reads a clock or draws randomness. Time and entropy come in as
//! [`Now`]; ids that a caller has to know are minted outside.
//!
//! The three functions below only route; each entity's file holds its logic.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod answer;
pub mod approval;
pub mod budget;
pub mod channel;
pub mod checkpoint;
pub mod command;
pub mod content;
pub mod context;
pub mod conversation;
pub mod correction;
pub mod delivery;
pub mod effect;
pub mod event;
pub mod execution;
pub mod findings;
pub mod handoff;
pub mod identity;
pub mod ids;
pub mod input;
pub mod item;
pub mod notice;
pub mod outbound;
pub mod person;
pub mod plan;
pub mod policy;
pub mod present;
pub mod project;
pub mod question;
mod raw_input;
pub mod rejection;
pub mod remember;
pub mod reopen;
pub mod reply;
pub mod route;
pub mod router;
pub mod runtime_session;
pub mod shown;
pub mod site;
pub mod state;
pub mod stream;
pub mod task;
pub mod time;
pub mod turn;
pub mod view;
pub mod workspace;

use command::Command;
use effect::Effect;
use event::Event;
use rejection::Rejection;
use state::State;
use stream::StreamId;
use time::{Now, Timestamp};

/// What follows from a command, given the aggregate that it is addressed to.
///
/// # Errors
/// A [`Rejection`] if the command cannot be carried out; nothing has changed then.
pub fn decide(to: StreamId, state: &State, command: Command, now: Now) -> Result<Vec<Event>, Rejection> {
    fn wrap<T>(events: Vec<T>, event: fn(T) -> Event) -> Vec<Event> {
        events.into_iter().map(event).collect()
    }
    match (to, state, command) {
        (StreamId::Person(_), State::Person(state), Command::Person(command)) => {
            person::decide(state.as_ref(), command, now).map(|events| wrap(events, Event::Person))
        }
        (StreamId::Project(_), State::Project(state), Command::Project(command)) => {
            project::decide(state.as_ref(), command, now.at).map(|events| wrap(events, Event::Project))
        }
        (StreamId::Conversation(_), State::Conversation(state), Command::Conversation(command)) => {
            conversation::decide(state.as_deref(), command, now.at).map(|events| wrap(events, Event::Conversation))
        }
        (StreamId::Task(id), State::Task(state), Command::Task(command)) => {
            task::decide(id, state.as_deref(), command, now).map(|events| wrap(events, Event::Task))
        }
        (StreamId::Workspace(_), State::Workspace(state), Command::Workspace(command)) => {
            workspace::decide(state.as_ref(), command).map(|events| wrap(events, Event::Workspace))
        }
        // A command that was sent to a stream of another kind concerns nobody there.
        _ => Err(Rejection::NotFound { what: "addressee" }),
    }
}

/// Takes one event in. Infallible, and the only way in which state changes.
pub fn evolve(state: &mut State, event: &Event, at: Timestamp) {
    match (state, event) {
        (State::Person(state), Event::Person(event)) => person::evolve(state, event),
        (State::Project(state), Event::Project(event)) => project::evolve(state, event),
        (State::Conversation(state), Event::Conversation(event)) => {
            let mut inner = state.take().map(|boxed| *boxed);
            conversation::evolve(&mut inner, event, at);
            *state = inner.map(Box::new);
        }
        (State::Task(state), Event::Task(event)) => task::evolve(state, event, at),
        (State::Workspace(state), Event::Workspace(event)) => workspace::evolve(state, event),
        _ => {}
    }
}

/// What an event asks of the outside world, given the state before and after it.
#[must_use]
pub fn react(before: &State, after: &State, event: &Event, at: Timestamp) -> Vec<Effect> {
    match (after, event) {
        (State::Person(Some(after)), Event::Person(event)) => person::react(after, event),
        (State::Project(Some(after)), Event::Project(event)) => project::react(after, event),
        (State::Conversation(Some(after)), Event::Conversation(event)) => conversation::react(after, event, at),
        (State::Task(Some(after)), Event::Task(event)) => task::react(before.task(), after, event, at),
        (State::Workspace(Some(after)), Event::Workspace(event)) => workspace::react(after, event),
        _ => vec![],
    }
}
