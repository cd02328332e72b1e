//! `tl` as a person uses it: every test starts the real binary in a home of its own.
//!
//! One binary for all of them: each test binary more is one more link of the whole product.

mod support;

mod asking;
mod bad_input;
mod budgets;
mod channels;
mod channels_called;
mod channels_campaign;
mod channels_files;
mod channels_groups;
mod channels_killed;
mod checkpoints;
mod daemon;
mod deliveries;
mod dialogues;
mod dismiss;
mod export;
mod follow_up;
mod forks;
mod gc;
mod handoff;
mod help;
mod import;
mod installed;
mod json;
mod kill;
mod language;
mod logins;
mod notices;
mod questions;
mod real;
mod restore;
mod roles;
mod route;
mod rules;
mod sessions;
mod settings;
mod story;
mod terminal;
mod ties;
mod transcript;
mod turns;
mod worktrees;
