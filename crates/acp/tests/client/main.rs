//! The client side as pure transitions: lines in, happenings out. No IO, no async, no clock.

mod answers;
mod properties;
mod restart;
mod script;
mod transcript;
