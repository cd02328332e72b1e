//! The client side as pure transitions: lines in, happenings out. No IO, no async, no clock; except in `roundtrip`,
//! which talks to the built-in agent.

mod answers;
mod properties;
mod recorded;
mod restart;
mod roundtrip;
mod script;
mod transcript;
